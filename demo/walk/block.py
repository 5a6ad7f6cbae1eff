"""Step 5: the heads brought together, the rest of the block, and a vector's way through the layers."""

from collections.abc import Iterator

import gradio as gr
import numpy as np

from demo.plots.walk import cosines_figure, norms_figure, strip_top
from demo.reader.table import KEEP_OPEN
from demo.walk.step import BuiltStep, InsideControls, WalkStep, distance, few, fold_out, named, number, strip, table
from demo.walk.view import InsideRequest, look_at_source
from demo.widgets import Updates
from demo.widgets.figure import drawn
from models.inside.outputs import BlockNumbers, Look, Station

_TEXT = (
    "What all heads of a layer hand on is put side by side (<em>concatenated</em>) and multiplied by one more learned "
    "table, which mixes them into a vector of the old length. It is added to what came in: the <em>residual</em>, a "
    "way past each part, so that a layer changes a vector and does not replace it. <em>Layer norm</em> shifts and "
    "stretches the numbers to mean 0 and spread 1. The <em>feed-forward</em> part then works on each token by itself: "
    "widen, bend by a curve, narrow. One layer, or <em>block</em>, is both parts; a model is a stack of blocks."
)
_TITLES: dict[str, tuple[str, str]] = {
    Station.INPUT: ("comes in", "from the layer below"),
    Station.CONCATENATED: ("heads side by side", "concatenated"),
    Station.PROJECTED: ("projected", "× one learned table for all heads"),
    Station.ATTENTION_ADDED: ("+ what came in", "the residual"),
    Station.ATTENTION_NORMED: ("layer norm", "mean 0, spread 1"),
    Station.CROSS_ADDED: ("+ what the source adds", "the decoder’s look at the other text"),
    Station.CROSS_NORMED: ("layer norm", "once more"),
    Station.WIDENED: ("widened", "feed-forward, first half"),
    Station.ACTIVATED: ("bent", "each number by a curve"),
    Station.NARROWED: ("narrowed", "feed-forward, second half"),
    Station.FEED_FORWARD_ADDED: ("+ what came before it", "the residual again"),
    Station.OUTPUT_NORMED: ("layer norm", "mean 0, spread 1"),
}
_ADDED = {Station.INPUT, Station.ATTENTION_ADDED, Station.CROSS_ADDED, Station.FEED_FORWARD_ADDED}
_NORMS = {Station.ATTENTION_NORMED, Station.CROSS_NORMED, Station.OUTPUT_NORMED}
_SHOWN_NUMBERS = 4


def _create(controls: InsideControls) -> BuiltStep:
    finding = gr.HTML("", elem_classes="inside-finding", label="The block")
    picture = gr.HTML("", elem_classes=["inside-picture", "room-1"], label="The way through the block")
    numbers = gr.HTML("", js_on_load=KEEP_OPEN, elem_classes="inside-numbers", label="The numbers")
    moved = gr.HTML("", elem_classes="inside-finding", label="Through the layers")
    with gr.Row():
        norms = gr.Plot(label="Lengths", show_label=False, container=False, elem_classes="inside-plot", min_width=280)
        cosines = gr.Plot(label="Cosines", show_label=False, container=False, elem_classes="inside-plot", min_width=280)
    path = gr.HTML("", js_on_load=KEEP_OPEN, elem_classes="inside-numbers", label="Lengths and cosines")

    def draw(request: InsideRequest) -> Updates:
        seen = look_at_source(controls.inside, request)
        return {
            finding: block_said(seen),
            picture: block_picture(seen),
            numbers: block_table(seen),
            moved: path_said(seen),
            norms: drawn(norms_figure(seen)),
            cosines: drawn(cosines_figure(seen)),
            path: path_table(seen),
        }

    return BuiltStep(draw, [finding, picture, numbers, moved, norms, cosines, path])


def block_said(seen: Look) -> str:
    """The block in one sentence, where its norms stand, and how near it is to the model's own."""
    block = seen.block
    where = (
        "Here layer norm stands in front of each part, as in GPT-2."
        if block.norm_first
        else "Here layer norm stands behind each part, as in the first Transformer and in BERT."
    )
    return (
        f'<p class="read-out" aria-live="polite">Layer {seen.layer + 1} of {seen.layers}: {block.heads} heads × '
        f"{block.head_width} = {block.width} numbers for “{named(seen.tokens[seen.position])}”, widened to "
        f"{block.inner_width:,} and narrowed again.</p>"
        f'<p class="quiet">{where} Checked against the model for every token: what leaves the block here differs from '
        f"its own by {distance(block.deviation)}.</p>"
    )


def block_picture(seen: Look) -> str:
    """The stations from top to bottom, the size of what passes on each arrow, and the ways past the two parts."""
    block = seen.block
    parts = "".join(_part(block, names) for names in _parts(block))
    return (
        f'<div class="block-diagram">{parts}<p class="block-out">↓ {block.width} numbers, to the layer above</p></div>'
    )


def block_table(seen: Look) -> str:
    """Every station with the size, length, mean, spread and first numbers of the vector there."""
    rows = [
        (
            f"{_TITLES[stage.name][0]}",
            f"{len(stage.vector):,}",
            number(float(np.linalg.norm(stage.vector)), 3),
            number(float(stage.vector.mean()), 3),
            number(float(stage.vector.std()), 3),
            few(stage.vector, _SHOWN_NUMBERS),
        )
        for stage in seen.block.stages
    ]
    heads = ("station", "numbers", "length", "mean", "spread", f"the first {_SHOWN_NUMBERS}")
    return fold_out("The stations as a table", table(heads, rows), "Stations of the block")


def path_said(seen: Look) -> str:
    """How far the token's vector has turned from its input by the last layer."""
    cosine = float(seen.path.cosines[-1, seen.position])
    lengths = seen.path.norms[:, seen.position]
    return (
        "<h3>Through all layers</h3>"
        f"<p>“{named(seen.tokens[seen.position])}” comes in with length {number(float(lengths[0]), 1)} and leaves the "
        f"last layer with {number(float(lengths[-1]), 1)}; its <em>cosine</em> to its input is {number(cosine, 2)} "
        "(1: it points the same way, 0: at a right angle). Thin lines are the other tokens.</p>"
    )


def path_table(seen: Look) -> str:
    """The length and cosine of the followed token's vector after every layer, beside the mean of all tokens."""
    norms, cosines, place = seen.path.norms, seen.path.cosines, seen.position
    rows = [
        (
            "input" if layer == 0 else f"layer {layer}",
            number(float(norms[layer, place]), 3),
            number(float(cosines[layer, place]), 3),
            number(float(norms[layer].mean()), 3),
            number(float(cosines[layer].mean()), 3),
        )
        for layer in range(len(norms))
    ]
    heads = ("after", "length", "cosine to input", "mean length of all tokens", "mean cosine of all tokens")
    return fold_out("Lengths and cosines as a table", table(heads, rows), "Lengths and cosines after every layer")


def _parts(block: BlockNumbers) -> Iterator[list[str]]:
    """The stations in groups: each part of the block up to where what passed by is added, and what stands between."""
    ends = _ADDED if block.norm_first else _ADDED | _NORMS
    group: list[str] = []
    for stage in block.stages:
        group.append(stage.name)
        if stage.name in ends:
            yield group
            group = []


def _part(block: BlockNumbers, names: list[str]) -> str:
    boxes = "".join(_station(block, name) for name in names)
    passes = names[-1] in (Station.ATTENTION_ADDED, Station.FEED_FORWARD_ADDED)
    side = '<span class="way-line"></span><span class="way-past">passes by</span>' if passes else ""
    return f'<div class="block-part{" with-way-past" if passes else ""}">{side}<ol>{boxes}</ol></div>'


def _station(block: BlockNumbers, name: str) -> str:
    vector = next(stage.vector for stage in block.stages if stage.name == name)
    title, explained = _TITLES[name]
    size = f"{len(vector):,}"
    if name == Station.CONCATENATED:
        size = f"{block.heads} × {block.head_width} = {size}"
        strips = "".join(strip(each, strip_top(vector)) for each in np.split(vector, block.heads))
        shown = f'<span class="head-strips">{strips}</span>'
    else:
        shown = strip(vector, strip_top(vector))
    if name == Station.ACTIVATED:
        explained = f"each number by a curve, {block.activation}"
    arrow = (
        ""
        if name == Station.INPUT
        else f'<span class="arrow"><span aria-hidden="true">↓</span> {_in(block, name)}</span>'
    )
    return (
        f'<li>{arrow}<span class="station"><span class="station-name"><b>{title}</b> '
        f'<span class="quiet">{explained}</span></span><span class="station-size">{size} numbers</span>{shown}</span>'
        "</li>"
    )


def _in(block: BlockNumbers, name: str) -> str:
    """The sizes on the arrow into a station: of the vector, and of the table that it meets there."""
    width, inner = f"{block.width:,}", f"{block.inner_width:,}"
    sizes: dict[str, str] = {
        Station.CONCATENATED: f"{width} → {block.heads} heads of {block.head_width}",
        Station.PROJECTED: f"{width} × {width}",
        Station.WIDENED: f"{width} × {inner}",
        Station.ACTIVATED: inner,
        Station.NARROWED: f"{inner} × {width}",
    }
    return sizes.get(name, width)


BLOCK = WalkStep(5, "block", "Many heads, and the rest", _TEXT, _create, uses=frozenset({"layer", "position"}))
