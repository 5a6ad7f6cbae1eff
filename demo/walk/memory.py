"""A part of step 4: how far back a decoder that reads in windows can reach, and how short windows raise perplexity."""

import json
from typing import NamedTuple

import gradio as gr

from demo.events import QUICK, for_visitors
from demo.language import N_, _, ngettext, number
from demo.walk.step import quiet, read_out
from demo.widgets.glossary import with_terms
from demo.widgets.tables import framed, table
from models.inside.formulas import reach
from models.registry import BUNDLED, REGISTRY

_MEASURED = BUNDLED.parent / "perplexity_by_window.json"
"""Perplexity by window length, measured by `training/perplexity_by_window.py`."""

_READ = (N_("children’s books"), N_("film reviews"))
"""The keys of the measured texts in that file."""

_TEXT = N_(
    "A text may be longer than what a <em>decoder</em> reads at once. Then it reads window by window, and in each the "
    "first token knows of nothing before it. Transformer-XL (Dai et al., 2019) keeps what its layers worked out for "
    "the window before, a <em>cached segment</em>, and lets tokens look there as well. The layer below had looked one "
    "window further back still, so every layer adds a window to what can reach a token."
)
_ROWS = N_(
    "Each column is a token, each row a layer. On top stands the token that you chose; coloured below are the places "
    "that it is worked out from, layer by layer, down to the tokens themselves: dark in its own window, "
    "light in those before. Lines stand between windows."
)
_TOKENS = 56
"""The length of the drawn text: with the longest window and the most layers, its last token just reaches its first."""
_LONGEST_WINDOW, _MOST_LAYERS = 8, 6


class _Choice(NamedTuple):
    """The initial values of the sliders; `token` counts from 1."""

    window: int = 4
    layers: int = 6
    token: int = 43


def create_memory() -> None:
    """Create the picture with its sliders, which is drawn without a model, and the table of perplexities."""
    title = _("Memory beyond the window")
    gr.HTML(f"<h3>{title}</h3><p>{with_terms(_(_TEXT))}</p>", label=title)
    first = _Choice()
    with gr.Row(elem_classes="settings"):
        sliders = [
            gr.Slider(
                2, _LONGEST_WINDOW, first.window, step=1, label=_("Window"), info=_("tokens that are read at once, n")
            ),
            gr.Slider(1, _MOST_LAYERS, first.layers, step=1, label=_("Layers"), info=_("how many the model has, L")),
            gr.Slider(
                1, _TOKENS, first.token, step=1, label=_("Token"), info=_("counted from the beginning of the text")
            ),
        ]
    shown = gr.HTML(
        memory_picture(*first), elem_classes=["inside-picture", "room-2"], label=_("What reaches the token")
    )
    gr.HTML(_costs(), label=_("What a short window costs"))
    drawing = (for_visitors(memory_picture), sliders, shown)
    gr.on([slider.input for slider in sliders], *drawing, trigger_mode="always_last", **QUICK)


def memory_picture(window: int, layers: int, token: int) -> str:
    """HTML of what can reach `token`, counted from 1, without and with cached segments, drawn and in words."""
    window, layers, place = int(window), int(layers), int(token) - 1
    start = place - place % window
    more = window * layers
    further = min(start, more)
    alone = ngettext(
        "In windows of {window}, token {token} can know of the {count} token before it in its window, and of nothing "
        "older.",
        "In windows of {window}, token {token} can know of the {count} tokens before it in its window, and of nothing "
        "older.",
        place - start,
        window=window,
        token=place + 1,
    )
    if further == more:
        with_cached = ngettext(
            "With cached segments, {count} layer × {window} tokens = {more} more come within reach.",
            "With cached segments, {count} layers × {window} tokens = {more} more come within reach.",
            layers,
            window=window,
            more=more,
        )
    else:
        with_cached = ngettext(
            "With cached segments, {count} layer × {window} tokens = {more} more come within reach, of which the text "
            "has {further}.",
            "With cached segments, {count} layers × {window} tokens = {more} more come within reach, of which the text "
            "has {further}.",
            layers,
            window=window,
            more=more,
            further=further,
        )
    pictures = "".join(
        f'<h4>{name}</h4><ol class="reach" style="--tokens:{_TOKENS};--window:{window}" aria-hidden="true">'
        f"{_rows(reach(window, layers, place, cached=cached), place, start)}</ol>"
        for name, cached in ((_("Without cached segments"), False), (_("With cached segments"), True))
    )
    return read_out(f"{alone} {with_cached}") + pictures + quiet(_(_ROWS))


def _rows(first: tuple[int, ...], place: int, start: int) -> str:
    """List items, the last layer on top: a bar from the layer's `first` position to `place`, darker from `start` on."""
    names = [_("the tokens"), *(_("layer {layer}", layer=layer) for layer in range(1, len(first)))]
    return "".join(
        f'<li><span>{name}</span><i style="--from:{each};--own:{max(start, each)};--to:{place + 1}"></i></li>'
        for name, each in zip(reversed(names), first, strict=True)
    )


def _costs() -> str:
    """HTML with the measured perplexity of two texts by window length."""
    measured = json.loads(_MEASURED.read_text(encoding="utf-8"))
    books, reviews = texts = [measured["texts"][name] for name in _READ]
    names = [_(name) for name in _READ]
    said = _(
        "{model} keeps no segment. So much does a short window cost it, on {books} and {reviews} that it was not "
        "trained on, read window by window; the smaller the <em>perplexity</em>, the better it foresees the text.",
        model=REGISTRY[measured["checkpoint"]].title,
        books=names[0],
        reviews=names[1],
    )
    rows = [
        (
            _("{window} tokens", window=row["window"]),
            *(number(each["rows"][place]["perplexity"], ".1f") for each in texts),
        )
        for place, row in enumerate(books["rows"])
    ]
    shown = framed(table((_("window"), *names), rows), _("Perplexity by the length of the window"))
    note = _(
        "Perplexity of a token, over {books:,} and {reviews:,} tokens. Measured by {script}.",
        books=books["tokens"],
        reviews=reviews["tokens"],
        script="<code>training/perplexity_by_window.py</code>",
    )
    return f"<h3>{_('What a short window costs')}</h3><p>{with_terms(said)}</p>{shown}{quiet(note)}"
