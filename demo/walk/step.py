"""The parts that the steps of the walk share: choices, tables, strips of vectors."""

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gradio as gr
import numpy as np
from gradio.components import Component
from numpy.typing import NDArray

from demo.plots.template import label
from demo.plots.walk import strip_image
from demo.recorded import recorded_tokens
from demo.walk.view import ChosenWord, Inside, InsideRequest, WalkChoices
from demo.web.gradio_private import component_class
from demo.widgets import Updates
from models.inside.outputs import Piece
from models.inside.parameters import shape_of
from models.outputs import Token
from models.registry import REGISTRY


def fold_out(summary: str, table: str, name: str) -> str:
    """A table in a frame of its own, which scrolls, under a line that unfolds it; `name` is read out for the frame."""
    return (
        f'<details class="as-table"><summary>{summary}</summary>'
        f'<div class="table-frame" role="region" aria-label="{name}" tabindex="0">{table}</div></details>'
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are HTML already; the first cell of a row names it."""
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    body = "".join(
        f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in rest) + "</tr>"
        for first, *rest in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def strip(vector: NDArray[np.float32], top: float) -> str:
    """A vector as a strip of colours; `top` is the number that gets the full colour. Tables have its numbers."""
    return f'<img class="vector-strip" alt="" src="{strip_image(vector, top)}">'


def named(token: Token) -> str:
    """A token's name, as it is read."""
    return f"<bdi>{html.escape(label(token))}</bdi>"


def few(vector: NDArray[np.float32], count: int) -> str:
    """The first numbers of a vector, in words of figures."""
    more = " …" if len(vector) > count else ""
    return " ".join(number(float(each), 2) for each in vector[:count]) + more


def number(value: float, digits: int) -> str:
    """A number with a true minus sign; −∞ for what is masked."""
    if np.isneginf(value):
        return "−∞"
    return f"{value:.{digits}f}".replace("-", "−")


def distance(value: float) -> str:
    """How far two computations of the same numbers are apart, as a bound that is easy to read."""
    for power in range(9, 0, -1):
        if value < 10.0**-power:
            return f"less than 0.{'0' * (power - 1)}1"
    return number(value, 2)


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


DrawInside = Callable[..., Updates]
"""Called as `draw(request, *values)` with an `InsideRequest` and the values of the step's own inputs.

It returns updates of the step's own outputs, and raises `InputError` for what the visitor can mend.
"""


@dataclass(frozen=True, eq=False)
class InsideControls:
    """The controls that all steps share, and the service that answers them.

    `layer` and `head` count from 1 on the page; `position` is a list of the text's tokens (`word_list.py`).
    """

    inside: Inside
    text: gr.Textbox
    checkpoint: gr.Dropdown
    layer: gr.Slider
    head: gr.Slider
    position: gr.Dropdown

    @property
    def inputs(self) -> list[Component]:
        """All of them, in the order in which handlers take them."""
        return [self.text, self.checkpoint, *self.chosen]

    @property
    def chosen(self) -> list[Component]:
        """The controls of a place within the text."""
        return [self.layer, self.head, self.position]

    def values(self, request: InsideRequest) -> list[Any]:
        """The values of `inputs` that ask for `request`."""
        return [request.text, request.checkpoint, request.layer + 1, request.head + 1, value_of(request)]

    def choices(self, request: InsideRequest, place: WalkChoices) -> Updates:
        """The choices that this text and model leave, each at what was asked for."""
        return {
            self.layer: gr.update(maximum=place.shape.layers, value=request.layer + 1),
            self.head: gr.update(maximum=place.shape.heads, value=request.head + 1),
            self.position: gr.update(choices=words_of(request, place.tokens.pieces), value=value_of(request)),
        }

    def corrected(self, request: InsideRequest, place: WalkChoices, values: Sequence[Any]) -> Updates:
        """Like `choices`, without the updates that the `values` of `inputs` make needless.

        Somebody quick may have chosen something else by the time that it arrives.
        """
        asked: Updates = {**dict(zip(self.inputs, values, strict=True))}
        updates = self.choices(request, place)
        for control, update in updates.items():
            if update["value"] == asked[control]:
                del update["value"]
        if "value" not in updates[self.position]:
            # A word says whose list it is of: this list is there, too.
            del updates[self.position]
        return updates

    def request(self, step: str, values: Sequence[Any]) -> InsideRequest:
        """The request that the `values` of `inputs` make, with a word that belongs to the text."""
        text, checkpoint, layer, head, position = values
        asked = InsideRequest(step, text, checkpoint, int(layer) - 1, int(head) - 1)
        chosen = chosen_of(position)
        return self.inside.follow(asked, chosen) if chosen else asked


@dataclass(frozen=True, eq=False)
class BuiltStep:
    """A step on the page: its own `inputs`, each of which draws it anew, and the `outputs` that `draw` may change."""

    draw: DrawInside
    outputs: list[Component]
    inputs: list[Component] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class WalkStep:
    """A step: `number` counts from 1, `key` names it in addresses, `text` (HTML) stands above its picture.

    `create` makes its components where it is called; the tab shows and hides them as one. `uses` names the shared
    controls that the step heeds besides text and model: `layer`, `head`, `position`.
    """

    number: int
    key: str
    title: str
    text: str
    create: Callable[[InsideControls], BuiltStep]
    uses: frozenset[str] = frozenset()


def create_choices(request: InsideRequest, step: WalkStep) -> tuple[gr.Slider, gr.Slider, gr.Dropdown]:
    """Layer, head and word as recorded, each seen in the steps that heed it."""
    tokens, shape = recorded_tokens()[0], shape_of(REGISTRY[request.checkpoint])
    with gr.Row(elem_classes="settings"):
        layer = gr.Slider(
            1, shape.layers, request.layer + 1, step=1, label="Layer", info="one round of mixing",
            visible="layer" in step.uses,
        )  # fmt: skip
        head = gr.Slider(
            1, shape.heads, request.head + 1, step=1, label="Head", info="one of several mixers in a layer",
            visible="head" in step.uses,
        )  # fmt: skip
        position = WordList(
            words_of(request, tokens.pieces), value=value_of(request), label="Word", info="a token of your text",
            filterable=False, visible="position" in step.uses,
        )  # fmt: skip
    return layer, head, position
