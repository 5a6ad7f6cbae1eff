"""The controls of the attention reader: which attention, layer and head, and what of the text to show."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from demo.language import N_, _
from demo.plots.view import AttentionView
from demo.reader.link import ReaderSettings
from demo.widgets import Updates

KINDS = {
    "encoder": N_("Within the text it reads (encoder)"),
    "decoder": N_("Within the text it writes (decoder)"),
    "cross": N_("From each written word to the text (cross-attention)"),
}
"""The names of the kinds of attention on a saved page, which has no controls to explain them."""

_NAMES = {"encoder": N_("Encoder"), "decoder": N_("Decoder"), "cross": N_("Cross-attention")}
_PARTS = [
    (N_("all"), ""),
    (N_("within A"), "a"),
    (N_("within B"), "b"),
    (N_("from A to B"), "a-b"),
    (N_("from B to A"), "b-a"),
]
_WAYS = {"head": N_("One head"), "mean": N_("Mean"), "maximum": N_("Maximum"), "rollout": N_("Rollout")}


@dataclass(frozen=True, eq=False)
class ReaderControls:
    """The controls for the kind of attention, the way of reading heads, layer and head, and two switches for the text.

    For a pair of sentences, `part` chooses whose tokens are the queries and whose the keys.
    """

    kind: gr.Radio
    how: gr.Radio
    layer: gr.Slider
    head: gr.Slider
    words: gr.Checkbox
    damped: gr.Checkbox
    part: gr.Radio | None = None

    @property
    def place(self) -> list[Component]:
        """The controls that choose the weights: kind, way of reading heads, layer and head."""
        return [self.kind, self.how, self.layer, self.head]

    @property
    def inputs(self) -> list[Component]:
        """All controls, in the order of their fields here."""
        return [*self.place, self.words, self.damped, *([self.part] if self.part else [])]

    def show(self, view: AttentionView) -> Updates:
        """The updates that set the controls to `view`; sliders count from 1."""
        return {control: gr.update(**settings) for control, settings in zip(self.place, _settings(view), strict=True)}

    def turn_to(self, place: ReaderSettings, kinds: Sequence[str]) -> Updates:
        """The updates that set the controls to `place` before a run's layers and heads are known; `show` follows."""
        return {
            self.kind: gr.update(value=place.kind) if place.kind in kinds else gr.skip(),
            self.how: gr.update(choices=[(_(name), way) for way, name in _WAYS.items()], value=place.how),
            self.layer: gr.update(minimum=0, maximum=max(1, place.layer), value=place.layer),
            self.head: gr.update(maximum=max(2, place.head), value=max(1, place.head)),
            self.words: place.words,
            self.damped: not place.specials,
            **({self.part: place.part} if self.part else {}),
        }


def create_controls(view: AttentionView, *, of_pair: bool) -> ReaderControls:
    """Create the controls, set to `view`, for the reader to render; `of_pair` adds the one for two sentences."""
    kind, how, layer, head = _settings(view)
    parts = [(_(name), part) for name, part in _PARTS]
    number: dict[str, Any] = {"step": 1, "buttons": [], "elem_classes": "reader-number", "min_width": 120}
    return ReaderControls(
        gr.Radio(**kind, label=_("Which attention"), container=False, elem_classes="reader-kind", render=False),
        gr.Radio(**how, label=_("How to read many heads"), container=False, elem_classes="reader-how", render=False),
        gr.Slider(**layer, **number, render=False),
        gr.Slider(**head, **number, label=_("Head"), render=False),
        gr.Checkbox(
            True,
            label=_("Whole words"),
            info=_("What a word gives is the mean of its pieces, what it gets their sum"),
            render=False,
        ),
        gr.Checkbox(
            False,
            label=_("Damp marks and full stops"),
            info=_("[CLS], [SEP] and “.” keep no colour; the sentence says how much went to them"),
            render=False,
        ),
        gr.Radio(parts, value="", label=_("Which part of the pair"), elem_classes="reader-how", render=False)
        if of_pair
        else None,
    )


def _settings(view: AttentionView) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The settings of kind, way, layer and head; layer 0 (all layers) is offered unless a single head is shown."""
    one = view.how == "head"
    ways = [(_(name), way) for way, name in _WAYS.items() if way != "rollout" or view.kind != "cross"]
    kinds = [(_(_NAMES.get(kind, kind)), kind) for kind in view.kinds]
    least = 1 if one else 0
    label = _("Layer") if one else _("Up to layer (0: last)") if view.how == "rollout" else _("Layer (0: all)")
    return (
        {"choices": kinds, "value": view.kind, "visible": len(kinds) > 1},
        {"choices": ways, "value": view.how},
        {"minimum": least, "maximum": view.layers, "value": max(view.layer + 1, least), "label": label},
        {"minimum": 1, "maximum": view.heads, "value": max(view.head + 1, 1), "visible": one},
    )
