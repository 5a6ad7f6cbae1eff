"""The list of a text's tokens to choose among. Each value says which text and model the token belongs to.

An event may carry a value from before the list was made anew, for another model or another text; by a bare place it
would mean another word.
"""

from collections.abc import Sequence
from dataclasses import replace

import gradio as gr

from demo.inside import ChosenWord
from demo.inside_request import InsideRequest
from demo.web.gradio_private import component_class
from models.inside.outputs import Piece


def _any_value(_: gr.Dropdown, payload: object) -> object:
    return payload


WordList = component_class(gr.Dropdown, "WordList", preprocess=_any_value)
"""A list that takes a value which it no longer offers; what it means is for `chosen_of` to say."""


def words_of(request: InsideRequest, pieces: Sequence[Piece]) -> list[tuple[str, str]]:
    """The tokens of the text of `request`, counted from 1, each with its value."""
    return [
        (f"{place + 1}: {piece.piece.strip('Ġ▁') or '␣'}", _value(replace(ChosenWord.of(request), position=place)))
        for place, piece in enumerate(pieces)
    ]


def value_of(request: InsideRequest) -> str:
    """The value of the token that `request` follows."""
    return _value(ChosenWord.of(request))


def chosen_of(value: object) -> ChosenWord | None:
    """The token that a value stands for; none for no value and for what is none of ours."""
    checkpoint, mark, position = (str(value).split(" ") + [""] * 2)[:3]
    digits = position.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 6):
        return None
    return ChosenWord(checkpoint, mark, int(position))


def _value(word: ChosenWord) -> str:
    return f"{word.checkpoint} {word.mark} {word.position}"
