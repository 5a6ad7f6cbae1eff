"""A visitor's text before any model reads it: one text or a pair, and which token is followed."""

from collections.abc import Sequence

from models.inside.outputs import Piece
from models.outputs import Token
from models.registry import Task

FROM_THE_MODEL = -1
"""The position that stands for the place where the model makes its guess."""


def texts_of(text: str) -> list[str]:
    """Return one text, or two of a pair written as in BERT's paper: "[CLS] one [SEP] another [SEP]".

    The list is empty where `text` holds nothing but such marks.
    """
    inner = text.strip().removeprefix("[CLS]").removesuffix("[SEP]")
    parts = [part.strip() for part in inner.split("[SEP]", maxsplit=1)]
    return [part for part in parts if part]


def place_to_follow(task: Task, tokens: Sequence[Piece | Token], mask: str = "[MASK]") -> int:
    """The place, from 0, that a model of `task` guesses at, in the text that it reads.

    That is the first blank, written `mask`; the start token where a label or an answer is read off; and the last token
    of a writer. Where there is nothing to guess at, it is the last word.
    """
    if task in (Task.SENTIMENT, Task.QUESTION_ANSWERING):
        return 0
    if task is Task.COMPLETION:
        return len(tokens) - 1
    blanks = [place for place, token in enumerate(tokens) if token.piece == mask and task is Task.FILL_MASK]
    plain = [place for place, token in enumerate(tokens) if not token.special]
    words = [place for place in plain if any(character.isalnum() for character in tokens[place].piece)]
    return blanks[0] if blanks else (words or plain or [0])[-1]
