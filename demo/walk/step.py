"""What a step of the walk is, and the parts that steps share: places on the page, strips, numbers in words."""

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
    """Something to turn in a step, called `name` in its numbers: its `inputs` draw its `outputs` and nothing else anew.

    `numbers(request, *values of inputs)` returns a typed result or raises `InputError`, and `draw(request, *values of
    inputs)` the values of `outputs`. `tried` is the event that an example was put into the inputs, where there are any.
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

    Each of the step's own `inputs` draws it anew, those of its `turns` a part of it.
    """

    outputs: list[Component]
    draw: Callable[..., Sequence[Any]]
    inputs: list[Component] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)

    @property
    def parts(self) -> list["BuiltStep | Turn"]:
        """What is drawn by itself: the step and what is turned in it."""
        return [self, *self.turns]


@dataclass(frozen=True, eq=False)
class WalkStep:
    """A step: `number` counts from 1, `key` names it in addresses, `text` (HTML) stands above its picture.

    `create` makes its components where it is called; `numbers` finds the typed result that it is drawn from. `uses`
    names the controls that it heeds besides text and model: `layer`, `head`, `position`.
    """

    number: int
    key: str
    title: str
    text: str
    create: Callable[[Inside], BuiltStep]
    numbers: Callable[[Inside, InsideRequest], Any]
    uses: tuple[str, ...] = ()


def place(name: str, *classes: str, value: str = "") -> gr.HTML:
    """A place for HTML; a table in it that was unfolded stays so when it is drawn anew."""
    return gr.HTML(value, js_on_load=KEEP_OPEN, elem_classes=list(classes), label=name)


def plot(name: str, *classes: str, **more: Any) -> gr.Plot:
    """A place for a figure."""
    return figure_place(more.pop("value", None), name, "inside-plot", *classes, **more)


def read_out(sentence: str) -> str:
    """The sentence that says what a picture shows; screen readers speak it when it changes."""
    return f'<p class="read-out" aria-live="polite">{sentence}</p>'


def quiet(text: str) -> str:
    """A paragraph in small print."""
    return f'<p class="quiet">{text}</p>'


def strip(vector: Numbers, top: float) -> str:
    """A vector as a strip of colours; `top` is the number that gets the full colour. Tables have its numbers."""
    return f'<img class="vector-strip" alt="" src="{strip_image(vector, top)}">'


def track(share: float) -> str:
    """A bar of this share of its track."""
    return f'<span class="bar-track"><span style="width:{100 * share:.1f}%"></span></span>'


def number(value: float, digits: int) -> str:
    """A number with a true minus sign; −∞ for what is masked."""
    return "−∞" if np.isneginf(value) else language.number(value, f".{digits}f").replace("-", "−")


def numbers(vector: Iterable[float], digits: int) -> list[str]:
    """The numbers of a vector, each in words of figures."""
    return [number(each, digits) for each in vector]


def few(vector: Numbers, count: int) -> str:
    """The first numbers of a vector in one line."""
    return " ".join(numbers(vector[:count], 2)) + (" …" if len(vector) > count else "")


def distance(value: float) -> str:
    """How far two computations of the same numbers are apart, as a bound that is easy to read."""
    for power in range(9, 0, -1):
        if value < 10.0**-power:
            return _("less than {bound}", bound=number(10.0**-power, power))
    return number(value, 2)
