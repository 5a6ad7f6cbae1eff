"""A part of step 4: what a decoder that reads in windows can know of, and what a short window costs."""

import json
from typing import NamedTuple

import gradio as gr

from demo.events import QUICK, for_visitors
from demo.walk.step import quiet, read_out
from demo.widgets.glossary import with_terms
from demo.widgets.tables import framed, table
from models.inside.formulas import reach
from models.registry import BUNDLED, REGISTRY

_MEASURED = BUNDLED.parent / "perplexity_by_window.json"
"""Made by `training/perplexity_by_window.py`."""

_TEXT = (
    "A text may be longer than what a <em>decoder</em> reads at once. Then it reads window by window, and in each the "
    "first token knows of nothing before it. Transformer-XL (Dai et al., 2019) keeps what its layers worked out for "
    "the window before, a <em>cached segment</em>, and lets tokens look there as well. The layer below had looked one "
    "window further back still, so every layer adds a window to what can reach a token."
)
_ROWS = (
    "Each column is a token, each row a layer. On top stands the token that you chose; coloured below are the places "
    "that it is worked out from, layer by layer, down to the tokens themselves: dark in its own window, "
    "light in those before. Lines stand between windows."
)
_TOKENS = 56
"""The tokens of the drawn text: with the longest window and the most layers, the last one reaches back to the first."""
_LONGEST_WINDOW, _MOST_LAYERS = 8, 6


class _Choice(NamedTuple):
    """The choices of the sliders; `token` counts from 1."""

    window: int = 4
    layers: int = 6
    token: int = 43


def create_memory() -> None:
    """The picture with its sliders, which is drawn without a model, and the table."""
    gr.HTML(f"<h3>Memory beyond the window</h3><p>{with_terms(_TEXT)}</p>", label="Memory beyond the window")
    first = _Choice()
    with gr.Row(elem_classes="settings"):
        sliders = [
            gr.Slider(2, _LONGEST_WINDOW, first.window, step=1, label="Window", info="tokens that are read at once, n"),
            gr.Slider(1, _MOST_LAYERS, first.layers, step=1, label="Layers", info="how many the model has, L"),
            gr.Slider(1, _TOKENS, first.token, step=1, label="Token", info="counted from the beginning of the text"),
        ]
    shown = gr.HTML(memory_picture(*first), elem_classes=["inside-picture", "room-2"], label="What reaches the token")
    gr.HTML(_costs(), label="What a short window costs")
    drawing = (for_visitors(memory_picture), sliders, shown)
    gr.on([slider.input for slider in sliders], *drawing, trigger_mode="always_last", **QUICK)


def memory_picture(window: int, layers: int, token: int) -> str:
    """What can reach `token`, which counts from 1, without cached segments and with them, and in words."""
    window, layers, place = int(window), int(layers), int(token) - 1
    start = place - place % window
    further = min(start, window * layers)
    rest = "." if further == window * layers else f", of which the text has {further}."
    said = (
        f"In windows of {window}, token {place + 1} can know of the {_tokens(place - start)} before it in its window, "
        f"and of nothing older. With cached segments, {layers} {'layer' if layers == 1 else 'layers'} × {window} "
        f"tokens = {window * layers} more come within reach{rest}"
    )
    pictures = "".join(
        f'<h4>{name}</h4><ol class="reach" style="--tokens:{_TOKENS};--window:{window}" aria-hidden="true">'
        f"{_rows(reach(window, layers, place, cached=cached), place, start)}</ol>"
        for name, cached in (("Without cached segments", False), ("With cached segments", True))
    )
    return read_out(said) + pictures + quiet(_ROWS)


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count} tokens"


def _rows(first: tuple[int, ...], place: int, start: int) -> str:
    """A row for each layer, the last one on top: from where on tokens count, and from where in the same window."""
    names = ["the tokens", *(f"layer {layer}" for layer in range(1, len(first)))]
    return "".join(
        f'<li><span>{name}</span><i style="--from:{each};--own:{max(start, each)};--to:{place + 1}"></i></li>'
        for name, each in zip(reversed(names), first, strict=True)
    )


def _costs() -> str:
    """The perplexity that was measured, by the length of the window."""
    measured = json.loads(_MEASURED.read_text(encoding="utf-8"))
    texts, title = measured["texts"], REGISTRY[measured["checkpoint"]].title
    said = (
        f"{title} keeps no segment. So much does a short window cost it, on {' and '.join(texts)} that it was not "
        "trained on, read window by window; the smaller the <em>perplexity</em>, the better it foresees the text."
    )
    rows = [
        (f"{row['window']} tokens", *(f"{each['rows'][place]['perplexity']:.1f}" for each in texts.values()))
        for place, row in enumerate(next(iter(texts.values()))["rows"])
    ]
    counts = " and ".join(f"{each['tokens']:,}" for each in texts.values())
    name = "Perplexity by the length of the window"
    shown = framed(table(("window", *texts), rows), name)
    note = quiet(
        f"Perplexity of a token, over {counts} tokens. Measured by <code>training/perplexity_by_window.py</code>."
    )
    return f"<h3>What a short window costs</h3><p>{with_terms(said)}</p>{shown}{note}"
