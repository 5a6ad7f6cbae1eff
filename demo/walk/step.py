"""The dataclasses of a step of the walk, and what steps share: components, vector strips and formatted numbers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gradio as gr
import numpy as np
from gradio.components import Component

from demo import language
from demo.language import _
from demo.plots.walk import strip_image
from demo.walk.view import Inside, InsideRequest
from demo.widgets.figure import figure_place
from demo.widgets.tables import KEEP_OPEN
from models.inside.outputs import Numbers


@dataclass(frozen=True, eq=False)
class Turn:
    """A control in a step, called `name` in the step's JSON: its `inputs` redraw its `outputs` and nothing else.

    `numbers(request, *values of inputs)` returns a typed result or raises `InputError`; `draw` takes the same arguments
    and returns the values of `outputs`. `tried` is the event of choosing an example for the inputs, if any.
    """

    name: str
    inputs: list[Component]
    outputs: list[Component]
    numbers: Callable[..., Any]
    draw: Callable[..., Sequence[Any]]
    tried: Any = None


@dataclass(frozen=True, eq=False)
class BuiltStep:
    """A step on the page; `draw(request, *values of inputs)` returns the values of `outputs` or raises `InputError`.

    Any of `inputs` redraws the step; the inputs of one of `turns` redraw only its outputs.
    """

    outputs: list[Component]
    draw: Callable[..., Sequence[Any]]
    inputs: list[Component] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)

    @property
    def parts(self) -> list["BuiltStep | Turn"]:
        """The parts that are redrawn independently: the step and each of its `turns`."""
        return [self, *self.turns]


@dataclass(frozen=True, eq=False)
class WalkStep:
    """A step of the walk: `number` counts from 1, `key` names it in addresses, `text` (HTML) stands above its picture.

    `create` makes its components in the current Blocks context; `numbers` computes the typed result that it shows.
    `uses` names the controls that it depends on besides text and model: `layer`, `head`, `position`.
    """

    number: int
    key: str
    title: str
    text: str
    create: Callable[[Inside], BuiltStep]
    numbers: Callable[[Inside, InsideRequest], Any]
    uses: tuple[str, ...] = ()


def place(name: str, *classes: str, value: str = "") -> gr.HTML:
    """An HTML component called `name`; a table unfolded in it stays unfolded when it is redrawn."""
    return gr.HTML(value, js_on_load=KEEP_OPEN, elem_classes=list(classes), label=name)


def plot(name: str, *classes: str, **more: Any) -> gr.Plot:
    """A plot component called `name`."""
    return figure_place(more.pop("value", None), name, "inside-plot", *classes, **more)


def read_out(sentence: str) -> str:
    """A paragraph that says what a picture shows; screen readers announce it when it changes."""
    return f'<p class="read-out" aria-live="polite">{sentence}</p>'


def quiet(text: str) -> str:
    """A paragraph in small print."""
    return f'<p class="quiet">{text}</p>'


def strip(vector: Numbers, top: float) -> str:
    """A vector as an image of stripes, in full colour from ±`top` on; without alt text, as tables have its numbers."""
    return f'<img class="vector-strip" alt="" src="{strip_image(vector, top)}">'


def track(share: float) -> str:
    """A bar that fills `share` of its track."""
    return f'<span class="bar-track"><span style="width:{100 * share:.1f}%"></span></span>'


def number(value: float, digits: int) -> str:
    """`value` with `digits` decimals and a true minus sign; −∞ for minus infinity, the score of a masked key."""
    return "−∞" if np.isneginf(value) else language.number(value, f".{digits}f").replace("-", "−")


def numbers(vector: Iterable[float], digits: int) -> list[str]:
    """Each number of `vector` as `number` writes it."""
    return [number(each, digits) for each in vector]


def few(vector: Numbers, count: int) -> str:
    """The first `count` numbers of a vector in one line, with two decimals."""
    return " ".join(numbers(vector[:count], 2)) + (" …" if len(vector) > count else "")


def distance(value: float) -> str:
    """The difference between two computations of the same numbers: “less than” a power of ten or, from 0.1, itself."""
    for power in range(9, 0, -1):
        if value < 10.0**-power:
            return _("less than {bound}", bound=number(10.0**-power, power))
    return number(value, 2)
