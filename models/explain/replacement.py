"""Another word in the place of a token or a word: the inputs of a run as they would have been with it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from models.errors import InputError
from models.outputs import Token
from models.tasks.base import AnyTaskModel
from models.tasks.fill_mask import FillMask, with_masks
from models.tasks.question_answering import QuestionAnswering
from models.tasks.text_generation import TextGeneration
from models.tasks.translation import Translation
from models.text.characters import over_marks
from models.text.tokenizer import Tokenizer

MASK = "[MASK]"
"""How visitors write a blank, whatever the checkpoint's own mask token is."""

Span = tuple[int, int]
_NOWHERE = (-1, -1)


def replaced(
    model: AnyTaskModel, inputs: Any, tokens: Sequence[Token], position: int, word: str, last: int | None = None
) -> Any:
    """`inputs` with `word` in place of the token at `position` among `tokens`, those that the answer was read from.

    With `last`, all tokens from `position` to `last` give way. `word` may be any text. `[MASK]` is a blank where the
    model knows one; nothing is a blank too, and where the model knows none, the old word is left out. Raises
    `InputError` for a position that is not there, or that stands for nothing the visitor wrote.
    """
    last = position if last is None else last
    for place in (position, last):
        if not 0 <= place < len(tokens):
            raise InputError(f"Token {place} is not there: this text has tokens 0 to {len(tokens) - 1}.", "position")
    mask = model.tokenizer.mask_token
    word = word.strip().removeprefix("##") or (MASK if mask else "")
    if MASK in word and not mask:
        raise InputError("This model knows no blank. Please type the new word.", "token")
    field, text, (start, end) = _place(model, inputs, tokens, position)
    if last != position:
        of_last, _, (_, end) = _place(model, inputs, tokens, last)
        end = end if of_last == field else start
    if start >= end:
        raise InputError("That token is a mark of the model's own and no part of the text.", "position")
    if not word:
        # The word is left out, with the space before it.
        start -= text[:start].endswith(" ") and text[end : end + 1] in ("", " ")
    elif text[start:end].strip():
        # Byte-level tokens bring the space before them along; a line break is all of its token.
        start += len(text[start:end]) - len(text[start:end].lstrip())
    return replace(inputs, **{field: text[:start] + word.replace(MASK, str(mask)) + text[end:]})


def _place(model: AnyTaskModel, inputs: Any, tokens: Sequence[Token], position: int) -> tuple[str, str, Span]:
    """The field that the token is from, the field's text, and the token's characters in it."""
    match model:
        case QuestionAnswering():
            context = (tokens[position].start, tokens[position].end)
            if context[0] >= 0:
                return "context", inputs.context, context
            question = inputs.question.strip()
            encoded = model.tokenizer.encode(question, inputs.context)
            of_question = [
                span if part == 0 else _NOWHERE for span, part in zip(encoded.offsets, encoded.parts, strict=True)
            ]
            return "question", question, over_marks(question, of_question)[position]
        case Translation():
            if model.tokenizer.has_offsets:
                return "text", inputs.text, (tokens[position].start, tokens[position].end)
            text, spans = _spelt(tokens)
            return "text", text, spans[position]
        case TextGeneration():
            text, spans = _spans(model.tokenizer, inputs.prompt, tokens)
            return "prompt", text, spans[position] if inputs.prompt.strip() else _NOWHERE
        case FillMask():
            text, spans = _spans(model.tokenizer, with_masks(inputs.text, str(model.tokenizer.mask_token)), tokens)
            return "text", text, spans[position]
        case _:
            text, spans = _spans(model.tokenizer, inputs.text, tokens)
            return "text", text, spans[position]


def _spans(tokenizer: Tokenizer, text: str, tokens: Sequence[Token]) -> tuple[str, Sequence[Span]]:
    """The characters of each token, and the text that they count in."""
    if tokenizer.has_offsets:
        return text, over_marks(text, tokenizer.encode(text).offsets)
    return _spelt(tokens)


def _spelt(tokens: Sequence[Token]) -> tuple[str, Sequence[Span]]:
    """The text that the pieces spell, and their characters in it: published Marian tokenizers know no offsets."""
    spelt, spans = "", []
    for token in tokens:
        piece = "" if token.special else token.text if spelt else token.text.lstrip()
        spans.append((len(spelt), len(spelt) + len(piece)))
        spelt += piece
    return spelt, spans
