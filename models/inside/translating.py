"""Step 7: an encoder-decoder writes a translation, token by token, and looks back at the source before each."""

from models.errors import InputError
from models.inside.outputs import TranslationSteps
from models.tasks.base import AnyTaskModel
from models.tasks.translation import Translation, TranslationInput


def translation_steps(model: AnyTaskModel, text: str) -> TranslationSteps:
    """The translation of `text` by greedy search, with the cross-attention of every step; raises `InputError`."""
    if not isinstance(model, Translation):
        raise InputError(f"{model.checkpoint.title} does not translate.", "checkpoint")
    inputs = TranslationInput(text, num_beams=1)
    output = model.answer(inputs)
    written = tuple(token.id for token in output.target_tokens)
    cross = model.attend(inputs, written)["cross"]
    return TranslationSteps(model.identity, cross.key_tokens, output.generated, cross.weights)
