"""One look into a model that reads a text: a head, its block, the vectors' path and the guess after every layer."""

from models.errors import InputError
from models.inside.block import block_numbers, compose_layer, vector_path
from models.inside.lens import lens
from models.inside.outputs import Look, TranslationSteps
from models.inside.reading import read, record
from models.inside.tokens import FROM_THE_MODEL
from models.tasks.attention import causal
from models.tasks.base import AnyTaskModel
from models.tasks.translation import Translation, TranslationInput


def look_inside(
    model: AnyTaskModel, text: str, layer: int = 0, head: int = 0, position: int = FROM_THE_MODEL, kind: str = ""
) -> Look:
    """Follow the token at `position` through `layer` and `head`, all counted from 0.

    `kind` is one of the model's kinds of self-attention, the first one where it is empty. Raises `InputError` for a
    text that cannot be read and for a layer, head, position or kind that is not there.
    """
    reading = read(model, text, kind)
    place = reading.place(position)
    recording = record(model, reading)
    layers, heads = len(recording.parts), recording.parts[0].heads
    if not 0 <= layer < layers:
        raise InputError(f"Layer {layer} is not there: this model has layers 0 to {layers - 1}.", "layer")
    if not 0 <= head < heads:
        raise InputError(f"Head {head} is not there: this model has heads 0 to {heads - 1}.", "head")
    masked = causal(len(reading.tokens))
    if reading.kind == "encoder":
        masked[:] = False
    composed = compose_layer(recording, layer, masked)
    return Look(
        model.looked_into,
        reading.tokens,
        reading.segments,
        reading.kind,
        reading.kinds,
        layers,
        heads,
        layer,
        head,
        place,
        composed.heads[head],
        block_numbers(recording, layer, composed, place),
        vector_path(recording),
        lens(model, reading, recording, place),
    )


def translation_steps(model: AnyTaskModel, text: str) -> TranslationSteps:
    """The translation of `text` by greedy search, with the cross-attention of every step; raises `InputError`."""
    if not isinstance(model, Translation):
        raise InputError(f"{model.checkpoint.title} does not translate.", "checkpoint")
    inputs = TranslationInput(text, num_beams=1)
    output = model.answer(inputs)
    written = tuple(token.id for token in output.target_tokens)
    cross = model.attend(inputs, written)["cross"]
    return TranslationSteps(model.identity, cross.key_tokens, output.generated, cross.weights)
