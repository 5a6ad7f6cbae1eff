"""What a step of the tab Inside is: a title, a short text, and components that it draws itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gradio as gr
from gradio.components import Component

from demo.components import Updates
from demo.components.inside.word_list import chosen_of, value_of, words_of
from demo.inside import Inside, Place
from demo.inside_request import InsideRequest

DrawInside = Callable[..., Updates]
"""Called as `draw(request, *values)` with an `InsideRequest` and the values of the step's own inputs.

It returns updates of the step's own outputs, and raises `InputError` for what the visitor can mend.
"""


@dataclass(frozen=True, eq=False)
class InsideControls:
    """What all steps share: the service behind them, and the components that say what is looked at.

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
        """What is chosen within a text."""
        return [self.layer, self.head, self.position]

    def values(self, request: InsideRequest) -> list[Any]:
        """What `inputs` hold where they ask for `request`."""
        return [request.text, request.checkpoint, request.layer + 1, request.head + 1, value_of(request)]

    def choices(self, request: InsideRequest, place: Place) -> Updates:
        """The choices that this text and model leave, each at what was asked for."""
        return {
            self.layer: gr.update(maximum=place.shape.layers, value=request.layer + 1),
            self.head: gr.update(maximum=place.shape.heads, value=request.head + 1),
            self.position: gr.update(choices=words_of(request, place.tokens.pieces), value=value_of(request)),
        }

    def corrected(self, request: InsideRequest, place: Place, values: Sequence[Any]) -> Updates:
        """The same, where `inputs` have these `values`: what is there already is not sent.

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
        """What `inputs` ask for by their `values`, with a word that belongs to the text."""
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
class Step:
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
