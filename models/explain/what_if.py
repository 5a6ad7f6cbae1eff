"""Ask a model again with heads switched off (ablation), or with a token of the input replaced."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter
from typing import Any

from torch import Tensor, nn

from models.architectures import architecture, heads_of
from models.errors import InputError, require_there
from models.outputs.attention import MEAN, SwitchedOff
from models.outputs.base import Token
from models.tasks.base import AnyTaskModel
from models.tasks.endings import Endings
from models.tasks.fill_mask import FillMask, with_masks
from models.tasks.question_answering import QuestionAnswering
from models.tasks.sentence_pair import SentencePair
from models.tasks.surprise import Surprise
from models.tasks.teach import Teach
from models.tasks.text_generation import TextGeneration
from models.tasks.token_classification import TokenClassification
from models.tasks.translation import Translation
from models.tasks.word_in_context import WordInContext, lines_of
from models.tasks.written_by import WrittenBy
from models.text.characters import over_marks
from models.wording import Sentence


@contextmanager
def without(model: AnyTaskModel, off: SwitchedOff) -> Iterator[None]:
    """Set the outputs of the heads that `off` names to zero inside this context, in this thread and no other.

    Inside, ask `model.exact`, whose answers the network itself computes. The rest of the layer stays: its residual
    connection, the bias of its output projection, its feed-forward layer. Raises `InputError` for a kind, layer or head
    that is not there, and for an architecture whose heads cannot be switched off.
    """
    maps, layers, heads = _heads(model, off.kind)
    require_there("layer", off.layer, layers)
    require_there("head", off.head, heads, least=MEAN)
    # ALBERT calls the same layer several times in a pass, so calls are counted to find the wanted one.
    uses = layers // len(maps)
    here, calls = threading.get_ident(), 0

    def silence(_map: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        nonlocal calls
        if threading.get_ident() != here:
            return None
        calls += 1
        if (calls - 1) % uses != off.layer % uses:
            return None
        mixed: Tensor = inputs[0].clone()
        size = mixed.shape[-1] // heads
        mixed[..., slice(None) if off.head == MEAN else slice(off.head * size, (off.head + 1) * size)] = 0
        return (mixed, *inputs[1:])

    # Other threads run the network under this lock, so no hook is added or removed during their passes.
    with model.lock:
        hook = maps[off.layer // uses].register_forward_pre_hook(silence)
    try:
        yield
    finally:
        with model.lock:
            hook.remove()


def _heads(model: AnyTaskModel, kind: str) -> tuple[list[nn.Module], int, int]:
    """The output projections of the heads of `kind`, the number of layers, and the number of heads in each."""
    kinds = model.checkpoint.task.kinds
    if kind not in kinds:
        raise InputError(Sentence("This run has no such attention; it has: {kinds}.", kinds=", ".join(kinds)), "kind")
    config = model.network.config
    names = architecture(config.model_type).layers.get(kind)
    if names is None:
        raise InputError(Sentence("The heads of this model cannot be switched off one by one."))
    layers = attrgetter(names.layers)(model.network.base_model)
    maps = [attrgetter(names.together)(layer) for layer in layers]
    return maps, len(maps) if config.is_encoder_decoder else config.num_hidden_layers, heads_of(config, kind)


MASK = "[MASK]"
"""How visitors write a blank, whatever the checkpoint's own mask token is."""

Span = tuple[int, int]
_NOWHERE = (-1, -1)


def replaced(
    model: AnyTaskModel, inputs: Any, tokens: Sequence[Token], position: int, word: str, last: int | None = None
) -> Any:
    """`inputs` with `word` in place of the token at `position` of `tokens`, those that the answer was read from.

    With `last`, `word` replaces all tokens from `position` to `last`. It may be any text; `[MASK]` or nothing is a
    blank. A model without a mask token refuses `[MASK]`, and for nothing leaves the old word out. Raises `InputError`
    for a position that is not there, and for a token that stands for nothing the visitor wrote.
    """
    last = position if last is None else last
    for place in (position, last):
        require_there("token", place, len(tokens), field="position")
    mask = model.tokenizer.settings.mask_token
    word = word.strip().removeprefix("##") or (MASK if mask else "")
    if MASK in word and not mask:
        raise InputError(Sentence("This model knows no blank. Please type the new word."), "token")
    field, text, (start, end) = _place(model, inputs, tokens, position)
    if last != position:
        of_last, _, (_, end) = _place(model, inputs, tokens, last)
        end = end if of_last == field else start
    if start >= end:
        raise InputError(Sentence("That token is a mark of the model's own and no part of the text."), "position")
    if not word:
        # The space before a word that is left out goes with it.
        start -= text[:start].endswith(" ") and text[end : end + 1] in ("", " ")
    elif text[start:end].strip():
        # A byte-level token includes the space before its word, which stays; a line break is replaced whole.
        start += len(text[start:end]) - len(text[start:end].lstrip())
    changed = text[:start] + word.replace(MASK, str(mask)) + text[end:]
    return replace(inputs, **{field: (changed, *inputs.texts[1:]) if field == "texts" else changed})


def _place(model: AnyTaskModel, inputs: Any, tokens: Sequence[Token], position: int) -> tuple[str, str, Span]:
    """The field that the token is from, the field's text, and the token's span in it."""
    token, tokenizer = tokens[position], model.tokenizer
    field = "prompt" if isinstance(model, TextGeneration) else "text"
    match model:
        case QuestionAnswering() if token.start >= 0:
            return "context", inputs.context, (token.start, token.end)
        case QuestionAnswering():
            question = inputs.question.strip()
            encoded = tokenizer.encode(question, inputs.context)
            spans = [span if part == 0 else _NOWHERE for span, part in zip(encoded.offsets, encoded.parts, strict=True)]
            return "question", question, over_marks(question, spans)[position]
        case TokenClassification() | Surprise() | WrittenBy():
            # `tokens` may be one window of a long text; their own spans count from the beginning of the text.
            return field, inputs.text, (token.start, token.end)
        case WordInContext():
            # The tokens are those of the first sentence.
            begin = lines_of(inputs.sentences)[0][1] if token.start >= 0 else 0
            return "sentences", inputs.sentences, (begin + token.start, begin + token.end)
        case SentencePair() | Endings() if token.start < 0:
            return "a" if isinstance(model, SentencePair) else "beginning", "", _NOWHERE
        case SentencePair() | Endings():
            second = any(each.is_mark for each in tokens[1:position])
            if isinstance(model, Endings) and second:
                raise InputError(Sentence("Here only words of the beginning can be replaced."), "position")
            field = "beginning" if isinstance(model, Endings) else "b" if second else "a"
            return field, getattr(inputs, field), (token.start, token.end)
        case Translation() if tokenizer.settings.is_fast:
            return field, inputs.text, (token.start, token.end)
        case TextGeneration() if not inputs.prompt.strip():
            return field, inputs.prompt, _NOWHERE
        case Teach() if not inputs.texts:
            raise InputError(Sentence("There is no text to judge whose word could be replaced."), "position")
        case Teach():
            text = inputs.texts[0]
            return "texts", text, over_marks(text, tokenizer.encode(text).offsets)[position]
        case _ if not tokenizer.settings.is_fast:
            return field, *_spelt(tokens, position)
    text = getattr(inputs, field)
    if isinstance(model, FillMask):
        text = with_masks(text, str(tokenizer.settings.mask_token))
    return field, text, over_marks(text, tokenizer.encode(text).offsets)[position]


def _spelt(tokens: Sequence[Token], position: int) -> tuple[str, Span]:
    """The text that the pieces spell, and a token's span in it: published Marian tokenizers give no offsets."""
    spelt, place = "", _NOWHERE
    for number, token in enumerate(tokens):
        piece = "" if token.special else token.text if spelt else token.text.lstrip()
        if number == position:
            place = (len(spelt), len(spelt) + len(piece))
        spelt += piece
    return spelt, place
