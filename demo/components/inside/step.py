"""What a step of the tab Inside is: a title, a short text, and components that it draws itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import gradio as gr
from gradio.components import Component

from demo.components import Updates
from demo.inside import Inside

DrawInside = Callable[..., Updates]
"""Called as `draw(request, *values)` with an `InsideRequest` and the values of the step's own inputs.

It returns updates of the step's own outputs, and raises `InputError` for what the visitor can mend.
"""


@dataclass(frozen=True, eq=False)
class InsideControls:
    """What all steps share: the service behind them, and the components that say what is looked at.

    `layer` and `head` count from 1 on the page; `position` is the place of a token from 0.
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
        return [self.text, self.checkpoint, self.layer, self.head, self.position]


@dataclass(frozen=True, eq=False)
class BuiltStep:
    """A step on the page: its own `inputs`, each of which draws it anew, and the `outputs` that `draw` may change.

    `notices` has a place for a sentence beside each field of the step's own that may need one.
    """

    draw: DrawInside
    outputs: list[Component]
    inputs: list[Component] = field(default_factory=list)
    notices: Mapping[str, gr.HTML] = field(default_factory=dict)


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
