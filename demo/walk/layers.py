"""Steps 5 and 6: the rest of a block, a vector's way through all of them, and the word that comes out."""

import html
from collections.abc import Iterator, Sequence
from typing import Any

import gradio as gr
import numpy as np
from gradio.components import Component

from demo.plots.reading import percent
from demo.plots.walk import cosines_figure, norms_figure, strip_top
from demo.walk.step import (
    BuiltStep,
    WalkStep,
    distance,
    few,
    number,
    numbers,
    place,
    plot,
    quiet,
    read_out,
    strip,
    track,
)
from demo.walk.turning import create_block_turn, create_patch, create_temperature
from demo.walk.view import Inside, InsideRequest, look_at_guess, look_at_source
from demo.widgets.figure import drawn
from demo.widgets.tables import fold_out, framed, named, table
from models.inside.outputs import BlockNumbers, Guess, Lens, Look, Stage, Station

_BLOCK_TEXT = (
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
    Station.GATED: ("gated", "each number times one of the other half"),
    Station.NARROWED: ("narrowed", "feed-forward, second half"),
    Station.FEED_FORWARD_ADDED: ("+ what came before it", "the residual again"),
    Station.OUTPUT_NORMED: ("layer norm", "mean 0, spread 1"),
}
_GATED = {"SiLU": "SwiGLU", "GELU": "GeGLU"}
_ADDED = {Station.INPUT, Station.ATTENTION_ADDED, Station.CROSS_ADDED, Station.FEED_FORWARD_ADDED}
_NORMS = {Station.ATTENTION_NORMED, Station.CROSS_NORMED, Station.OUTPUT_NORMED}
_SHOWN_NUMBERS = 4


def _create_block(inside: Inside) -> BuiltStep:
    outputs: list[Component] = [
        place("The block", "inside-finding"),
        place("The way through the block", "inside-picture", "room-1"),
        place("The numbers", "inside-numbers"),
    ]
    turn = create_block_turn(inside)
    outputs.append(place("Through the layers", "inside-finding"))
    with gr.Row():
        outputs += [plot("Lengths", min_width=280), plot("Cosines", min_width=280)]
    outputs.append(place("Lengths and cosines", "inside-numbers"))

    def draw(request: InsideRequest) -> Sequence[Any]:
        seen = look_at_source(inside, request)
        return (
            _block_said(seen),
            _block_picture(seen.block),
            _block_table(seen.block),
            _path_said(seen),
            drawn(norms_figure(seen)),
            drawn(cosines_figure(seen)),
            _path_table(seen),
        )

    return BuiltStep(outputs, draw, turns=[turn])


def _block_said(seen: Look) -> str:
    block = seen.block
    where = (
        f"Here {_norm_of(block)} stands in front of each part, as in GPT-2."
        if block.norm_first
        else "Here layer norm stands after each part, as in the first Transformer and in BERT."
    )
    if not block.centred:
        where += " RMS norm stretches the numbers to a mean square of 1 and shifts none (Zhang and Sennrich, 2019)."
    if block.is_gated:
        where += (
            " The feed-forward part widens twice: the numbers of one half are bent, and each is multiplied by one of "
            f"the other half, the <em>gate</em> ({_GATED.get(block.activation, 'GLU')}, Shazeer, 2020)."
        )
    return read_out(
        f"Layer {seen.layer + 1} of {seen.layers}: {block.heads} heads × {block.head_width} = {block.width} numbers "
        f"for “{named(seen.tokens[seen.position])}”, widened to {block.inner_width:,} and narrowed again."
    ) + quiet(
        f"{where} Checked against the model for every token: what leaves the block here differs from its own by "
        f"{distance(block.deviation)}."
    )


def _norm_of(block: BlockNumbers) -> str:
    return "layer norm" if block.centred else "RMS norm"


def _title(block: BlockNumbers, name: str) -> tuple[str, str]:
    """The name of a station and what happens there."""
    return ("RMS norm", "mean square 1") if name in _NORMS and not block.centred else _TITLES[name]


def _block_picture(block: BlockNumbers) -> str:
    """The stations from top to bottom, the size of what passes on each arrow, and the ways past the two parts."""
    shown = ""
    for part in _parts(block):
        passes = part[-1].name in (Station.ATTENTION_ADDED, Station.FEED_FORWARD_ADDED)
        side = '<span class="way-line"></span><span class="way-past">passes by</span>' if passes else ""
        boxes = "".join(_station(block, stage) for stage in part)
        shown += f'<div class="block-part{" with-way-past" if passes else ""}">{side}<ol>{boxes}</ol></div>'
    end = f'<p class="block-out">↓ {block.width} numbers, to the layer above</p>'
    return f'<div class="block-diagram">{shown}{end}</div>'


def _parts(block: BlockNumbers) -> Iterator[list[Stage]]:
    """The stations in groups: each part of the block up to where what passed by is added, and what stands between."""
    ends = _ADDED if block.norm_first else _ADDED | _NORMS
    group: list[Stage] = []
    for stage in block.stages:
        group.append(stage)
        if stage.name in ends:
            yield group
            group = []


def _station(block: BlockNumbers, stage: Stage) -> str:
    width, inner, size = f"{block.width:,}", f"{block.inner_width:,}", f"{len(stage.vector):,}"
    # The sizes on the arrow into the station: of the vector, and of the table that it meets there.
    into: dict[str, str] = {
        Station.CONCATENATED: f"{width} → {block.heads} heads of {block.head_width}",
        Station.PROJECTED: f"{width} × {width}",
        Station.WIDENED: f"{width} × {inner}",
        Station.ACTIVATED: inner,
        Station.GATED: f"{inner} and {inner}",
        Station.NARROWED: f"{inner} × {width}",
    }
    title, explained = _title(block, stage.name)
    top = strip_top(stage.vector)
    shown = strip(stage.vector, top)
    if stage.name == Station.CONCATENATED:
        size = f"{block.heads} × {block.head_width} = {size}"
        strips = "".join(strip(each, top) for each in np.split(stage.vector, block.heads))
        shown = f'<span class="head-strips">{strips}</span>'
    if stage.name == Station.ACTIVATED:
        explained += f", {block.activation}"
    arrow = "" if stage.name == Station.INPUT else _arrow(into.get(stage.name, width))
    return f"<li>{arrow}{_box(title, explained, f'{size} numbers', shown)}</li>"


def _arrow(said: str) -> str:
    return f'<span class="arrow"><span aria-hidden="true">↓</span> {said}</span>'


def _box(title: str, explained: str, size: str, shown: str) -> str:
    explained = f' <span class="quiet">{explained}</span>' if explained else ""
    return (
        f'<span class="station"><span class="station-name"><b>{title}</b>{explained}</span>'
        f'<span class="station-size">{size}</span>{shown}</span>'
    )


def _block_table(block: BlockNumbers) -> str:
    rows = []
    for stage in block.stages:
        vector = stage.vector
        measures = numbers((float(np.linalg.norm(vector)), vector.mean(), vector.std()), 3)
        rows.append((_title(block, stage.name)[0], f"{len(vector):,}", *measures, few(vector, _SHOWN_NUMBERS)))
    heads = ("station", "numbers", "length", "mean", "spread", f"the first {_SHOWN_NUMBERS}")
    return fold_out("The stations as a table", table(heads, rows), "Stations of the block")


def _path_said(seen: Look) -> str:
    lengths, cosines = seen.path.norms[:, seen.position], seen.path.cosines[:, seen.position]
    return (
        "<h3>Through all layers</h3>"
        f"<p>“{named(seen.tokens[seen.position])}” comes in with length {number(lengths[0], 1)} and leaves the last "
        f"layer with {number(lengths[-1], 1)}; its <em>cosine</em> to its input is {number(cosines[-1], 2)} "
        "(1: it points the same way, 0: at a right angle). Thin lines are the other tokens.</p>"
    )


def _path_table(seen: Look) -> str:
    rows = []
    for layer, (norms, cosines) in enumerate(zip(seen.path.norms, seen.path.cosines, strict=True)):
        own = norms[seen.position], cosines[seen.position]
        rows.append((f"layer {layer}" if layer else "input", *numbers((*own, norms.mean(), cosines.mean()), 3)))
    heads = ("after", "length", "cosine to input", "mean length of all tokens", "mean cosine of all tokens")
    return fold_out("Lengths and cosines as a table", table(heads, rows), "Lengths and cosines after every layer")


_GUESS_TEXT = (
    "At the end the vector is multiplied by one last learned table (<em>linear</em>), which has a column for each "
    "choice: every word of the vocabulary gets a score, its <em>logit</em>, and softmax turns these into "
    "probabilities. The same last step can be asked what it makes of the vector after each earlier layer, as if the "
    "model stopped there: the <em>logit lens</em>. Early guesses are often only what stands there already, or what is "
    "frequent."
)
_ABOUT = {
    "word here": "Which word stands at “{token}”?",
    "label here": "Which label has “{token}”? O is no name; a name begins with B and goes on with I.",
    "next word": "Which word comes after “{token}”?",
    "label": "Which label fits the text? A classifier reads it off its first token.",
    "label of the pair": "Does the second text follow from the first?",
    "first token of the answer": "Where in the second text does the answer begin? At [CLS] it would say: nowhere.",
}
_FIRST_WORD = "With which word does the translation begin?"
_SHADES = 7


def _create_guess(inside: Inside) -> BuiltStep:
    outputs: list[Component] = [
        place("The guess", "inside-finding", "room-1"),
        place("From the vector to the word", "inside-picture", "room-2"),
    ]
    turn = create_temperature(inside)
    outputs += [
        place("The guess after every layer", "inside-picture", "room-1"),
        place("The numbers", "inside-numbers"),
    ]
    patch = create_patch(inside)

    def draw(request: InsideRequest) -> Sequence[str]:
        seen = look_at_guess(inside, request)
        assert seen.lens is not None  # noqa: S101
        return (
            lens_said(seen, seen.lens),
            _last_step_picture(seen, seen.lens),
            lens_picture(seen.lens),
            _lens_table(seen.lens),
        )

    return BuiltStep(outputs, draw, turns=[turn, patch])


def lens_said(seen: Look, lens: Lens) -> str:
    """The question, the model's answer, and the layer after which that answer leads for good, as a sentence."""
    best = [each.guesses[0] for each in lens.layers]
    final, last = best[-1], len(best) - 1
    since = 1 + max((layer for layer, guess in enumerate(best) if guess.text != final.text), default=-1)
    asked = _FIRST_WORD if len(seen.kinds) > 1 else _ABOUT[lens.about].format(token=named(seen.tokens[lens.position]))
    if not since:
        when = "It leads from the input on."
    elif since == last:
        when = "Only the last layer brings it to the front."
    else:
        when = f"It leads after layer {since}, and stays in front."
    return read_out(f"{asked} “{_shown(final)}”, with {percent(final.probability)} of the probability. {when}")


def _last_step_picture(seen: Look, lens: Lens) -> str:
    width = len(lens.vector)
    bars = "".join(
        f'<li><span class="bar-name">{_shown(guess)}</span>{track(guess.probability)}'
        f'<span class="bar-number">{percent(guess.probability)}</span></li>'
        for guess in lens.layers[-1].guesses
    )
    vector = _box(
        "last vector",
        f"of “{named(seen.tokens[lens.position])}”",
        f"{width} numbers",
        strip(lens.vector, strip_top(lens.vector)),
    )
    arrow = _arrow(f"linear: {width} × {lens.choices:,}, softmax")
    probabilities = _box("probabilities", "", f"{lens.choices:,} choices", f'<ul class="bars">{bars}</ul>')
    return (
        f'<div class="block-diagram"><div class="block-part"><ol><li>{vector}</li><li>{arrow}{probabilities}</li>'
        "</ol></div></div>"
    )


def lens_picture(lens: Lens) -> str:
    """A row for each layer, the last one on top, with the likeliest guesses coloured by their probability."""
    most = max(len(each.guesses) for each in lens.layers)
    final = lens.layers[-1].guesses[0].text
    heads = ("after layer", "likeliest", "second", "third", "fourth", "fifth")[: most + 1]
    rows = [
        (str(each.layer or "input"), *(_cell(guess, final) for guess in each.guesses)) for each in reversed(lens.layers)
    ]
    picture = table(heads, rows)
    said = "The stronger the colour, the more probable; the final guess is framed wherever it stands."
    return f"<h3>The guess after every layer</h3>{framed(picture, 'The guess after every layer', 'lens')}{quiet(said)}"


def _cell(guess: Guess, final: str) -> str:
    shade = min(_SHADES, round(guess.probability * _SHADES + 0.4))
    mark = " final-guess" if guess.text == final else ""
    return (
        f'<td class="lens-cell{mark}" data-step="{shade}"><span>{_shown(guess)}</span> '
        f'<span class="lens-share">{percent(guess.probability)}</span></td>'
    )


def _lens_table(lens: Lens) -> str:
    most = max(len(each.guesses) for each in lens.layers)
    rows = []
    for each in lens.layers:
        cells = [f"{_shown(it)}: {number(it.logit, 2)} → {number(it.probability, 4)}" for it in each.guesses]
        rows.append((f"layer {each.layer}" if each.layer else "input", *cells, *[""] * (most - len(cells))))
    heads = ["after", *(f"{place}: logit → probability" for place in range(1, most + 1))]
    said = f"<p>last vector: {few(lens.vector, 8)} ({len(lens.vector)} numbers)</p>"
    return fold_out("The logits as a table", said + table(heads, rows), "Logits and probabilities after every layer")


def _shown(guess: Guess) -> str:
    return f"<bdi>{html.escape(guess.text.strip() or '␣')}</bdi>"


BLOCK = WalkStep(
    5, "block", "Many heads, and the rest", _BLOCK_TEXT, _create_block, look_at_source, ("layer", "head", "position")
)
GUESS = WalkStep(6, "guess", "Out again", _GUESS_TEXT, _create_guess, look_at_guess, ("position",))
