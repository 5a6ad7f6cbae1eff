"""Steps 5 and 6 of the walk: the rest of a block, a vector's way through all blocks, and the model's guess."""

import html
from collections.abc import Iterator, Sequence
from typing import Any

import gradio as gr
import numpy as np
from gradio.components import Component

from demo import language
from demo.language import N_, _, ngettext
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
from demo.walk.view import Inside, InsideRequest
from demo.widgets.figure import drawn
from demo.widgets.tables import fold_out, framed, named, table
from models.inside.outputs import BlockNumbers, Guess, Lens, Look, Stage, Station

_BLOCK_TEXT = N_(
    "What all heads of a layer hand on is put side by side (<em>concatenated</em>) and multiplied by one more learned "
    "table, which mixes them into a vector of the old length. It is added to what came in: the <em>residual</em>, a "
    "way past each part, so that a layer changes a vector and does not replace it. <em>Layer norm</em> shifts and "
    "stretches the numbers to mean 0 and spread 1. The <em>feed-forward</em> part then works on each token by itself: "
    "widen, bend by a curve, narrow. One layer, or <em>block</em>, is both parts; a model is a stack of blocks."
)
_TITLES: dict[str, tuple[str, str]] = {
    Station.INPUT: (N_("comes in"), N_("from the layer below")),
    Station.CONCATENATED: (N_("heads side by side"), N_("concatenated")),
    Station.PROJECTED: (N_("projected"), N_("× one learned table for all heads")),
    Station.ATTENTION_ADDED: (N_("+ what came in"), N_("the residual")),
    Station.ATTENTION_NORMED: (N_("layer norm"), N_("mean 0, spread 1")),
    Station.CROSS_ADDED: (N_("+ what the source adds"), N_("the decoder’s look at the other text")),
    Station.CROSS_NORMED: (N_("layer norm"), N_("once more")),
    Station.WIDENED: (N_("widened"), N_("feed-forward, first half")),
    Station.ACTIVATED: (N_("bent"), N_("each number by a curve, {curve}")),
    Station.GATED: (N_("gated"), N_("each number times one of the other half")),
    Station.NARROWED: (N_("narrowed"), N_("feed-forward, second half")),
    Station.FEED_FORWARD_ADDED: (N_("+ what came before it"), N_("the residual again")),
    Station.OUTPUT_NORMED: (N_("layer norm"), N_("mean 0, spread 1")),
}
_GATED = {"SiLU": "SwiGLU", "GELU": "GeGLU"}
_ADDED = {Station.INPUT, Station.ATTENTION_ADDED, Station.CROSS_ADDED, Station.FEED_FORWARD_ADDED}
_NORMS = {Station.ATTENTION_NORMED, Station.CROSS_NORMED, Station.OUTPUT_NORMED}
_SHOWN_NUMBERS = 4


def _create_block(inside: Inside) -> BuiltStep:
    outputs: list[Component] = [
        place(_("The block"), "inside-finding"),
        place(_("The way through the block"), "inside-picture", "room-1"),
        place(_("The numbers"), "inside-numbers"),
    ]
    turn = create_block_turn(inside)
    outputs.append(place(_("Through the layers"), "inside-finding"))
    with gr.Row():
        outputs += [plot(_("Lengths"), min_width=280), plot(_("Cosines"), min_width=280)]
    outputs.append(place(_("Lengths and cosines"), "inside-numbers"))

    def draw(request: InsideRequest) -> Sequence[Any]:
        seen = inside.look_at_source(request)
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
    if not block.norm_first:
        explained = [_("Here layer norm stands after each part, as in the first Transformer and in BERT.")]
    elif block.centred:
        explained = [_("Here layer norm stands in front of each part, as in GPT-2.")]
    else:
        explained = [_("Here RMS norm stands in front of each part, as in GPT-2.")]
    if not block.centred:
        explained.append(
            _("RMS norm stretches the numbers to a mean square of 1 and shifts none (Zhang and Sennrich, 2019).")
        )
    if block.is_gated:
        explained.append(
            _(
                "The feed-forward part widens twice: the numbers of one half are bent, and each is multiplied by one "
                "of the other half, the <em>gate</em> ({unit}, Shazeer, 2020).",
                unit=_GATED.get(block.activation, "GLU"),
            )
        )
    checked = _(
        "Checked against the model for every token: what leaves the block here differs from its own by {distance}.",
        distance=distance(block.deviation),
    )
    said = ngettext(
        "Layer {layer} of {layers}: {count} head × {head_width} = {width} numbers for “{token}”, widened to "
        "{inner_width:,} and narrowed again.",
        "Layer {layer} of {layers}: {count} heads × {head_width} = {width} numbers for “{token}”, widened to "
        "{inner_width:,} and narrowed again.",
        block.heads,
        layer=seen.layer + 1,
        layers=seen.layers,
        head_width=block.head_width,
        width=block.width,
        token=named(seen.tokens[seen.position]),
        inner_width=block.inner_width,
    )
    return read_out(said) + quiet(" ".join([*explained, checked]))


def _title(block: BlockNumbers, name: str) -> tuple[str, str]:
    """The name of a station and what happens there."""
    if name in _NORMS and not block.centred:
        return _("RMS norm"), _("mean square 1")
    title, explained = _TITLES[name]
    return _(title), _(explained, curve=block.activation)


def _block_picture(block: BlockNumbers) -> str:
    """HTML diagram of the block: its stations from top to bottom, sizes on the arrows, and residual connections."""
    shown = ""
    for part in _parts(block):
        passes = part[-1].name in (Station.ATTENTION_ADDED, Station.FEED_FORWARD_ADDED)
        side = '<span class="way-line"></span><span class="way-past">' + _("passes by") + "</span>" if passes else ""
        boxes = "".join(_station(block, stage) for stage in part)
        shown += f'<div class="block-part{" with-way-past" if passes else ""}">{side}<ol>{boxes}</ol></div>'
    end = f'<p class="block-out">{_("↓ {width} numbers, to the layer above", width=block.width)}</p>'
    return f'<div class="block-diagram">{shown}{end}</div>'


def _parts(block: BlockNumbers) -> Iterator[list[Stage]]:
    """The stations in groups that end at the input, at residual additions and, in post-norm blocks, at norms."""
    ends = _ADDED if block.norm_first else _ADDED | _NORMS
    group: list[Stage] = []
    for stage in block.stages:
        group.append(stage)
        if stage.name in ends:
            yield group
            group = []


def _station(block: BlockNumbers, stage: Stage) -> str:
    width, inner, size = (language.number(each) for each in (block.width, block.inner_width, len(stage.vector)))
    # The text on the arrow into a station: the size of the matrix that multiplies the vector, or of the vector.
    into: dict[str, str] = {
        Station.CONCATENATED: ngettext(
            "{width} → {count} head of {head_width}", "{width} → {count} heads of {head_width}", block.heads,
            width=width, head_width=block.head_width,
        ),
        Station.PROJECTED: f"{width} × {width}",
        Station.WIDENED: f"{width} × {inner}",
        Station.ACTIVATED: inner,
        Station.GATED: _("{inner} and {inner}", inner=inner),
        Station.NARROWED: f"{inner} × {width}",
    }  # fmt: skip
    title, explained = _title(block, stage.name)
    top = strip_top(stage.vector)
    shown = strip(stage.vector, top)
    if stage.name == Station.CONCATENATED:
        size = f"{block.heads} × {block.head_width} = {size}"
        strips = "".join(strip(each, top) for each in np.split(stage.vector, block.heads))
        shown = f'<span class="head-strips">{strips}</span>'
    arrow = "" if stage.name == Station.INPUT else _arrow(into.get(stage.name, width))
    return f"<li>{arrow}{_box(title, explained, _('{size} numbers', size=size), shown)}</li>"


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
        name, size = _title(block, stage.name)[0], language.number(len(vector))
        rows.append((name, size, *measures, few(vector, _SHOWN_NUMBERS)))
    first = _("the first {count}", count=_SHOWN_NUMBERS)
    heads = (_("station"), _("numbers"), _("length"), _("mean"), _("spread"), first)
    return fold_out(_("The stations as a table"), table(heads, rows), _("Stations of the block"))


def _path_said(seen: Look) -> str:
    lengths, cosines = seen.path.norms[:, seen.position], seen.path.cosines[:, seen.position]
    said = _(
        "“{token}” comes in with length {first} and leaves the last layer with {last}; its <em>cosine</em> to its "
        "input is {cosine} (1: it points the same way, 0: at a right angle). Thin lines are the other tokens.",
        token=named(seen.tokens[seen.position]),
        first=number(lengths[0], 1),
        last=number(lengths[-1], 1),
        cosine=number(cosines[-1], 2),
    )
    return f"<h3>{_('Through all layers')}</h3><p>{said}</p>"


def _path_table(seen: Look) -> str:
    rows = []
    for layer, (norms, cosines) in enumerate(zip(seen.path.norms, seen.path.cosines, strict=True)):
        own = norms[seen.position], cosines[seen.position]
        rows.append((_place(layer), *numbers((*own, norms.mean(), cosines.mean()), 3)))
    heads = (
        _("after"),
        _("length"),
        _("cosine to input"),
        _("mean length of all tokens"),
        _("mean cosine of all tokens"),
    )
    name = _("Lengths and cosines after every layer")
    return fold_out(_("Lengths and cosines as a table"), table(heads, rows), name)


def _place(layer: int) -> str:
    """The name of the place that a vector leaves: the input (0) or a layer."""
    return _("layer {layer}", layer=layer) if layer else _("input")


_GUESS_TEXT = N_(
    "At the end the vector is multiplied by one last learned table (<em>linear</em>), which has a column for each "
    "choice: every word of the vocabulary gets a score, its <em>logit</em>, and softmax turns these into "
    "probabilities. The same last step can be asked what it makes of the vector after each earlier layer, as if the "
    "model stopped there: the <em>logit lens</em>. Early guesses are often only what stands there already, or what is "
    "frequent."
)
_ABOUT = {
    "word here": N_("Which word stands at “{token}”?"),
    "label here": N_("Which label has “{token}”? O is no name; a name begins with B and goes on with I."),
    "next word": N_("Which word comes after “{token}”?"),
    "label": N_("Which label fits the text? A classifier reads it off its first token."),
    "label of the pair": N_("Does the second text follow from the first?"),
    "first token of the answer": N_("Where in the second text does the answer begin? At [CLS] it would say: nowhere."),
}
_FIRST_WORD = N_("With which word does the translation begin?")
_SHADES = 7


def _create_guess(inside: Inside) -> BuiltStep:
    outputs: list[Component] = [
        place(_("The guess"), "inside-finding", "room-1"),
        place(_("From the vector to the word"), "inside-picture", "room-2"),
    ]
    turn = create_temperature(inside)
    outputs += [
        place(_("The guess after every layer"), "inside-picture", "room-1"),
        place(_("The numbers"), "inside-numbers"),
    ]
    patch = create_patch(inside)

    def draw(request: InsideRequest) -> Sequence[str]:
        seen = inside.look_at_guess(request)
        assert seen.lens is not None  # noqa: S101
        return (
            lens_said(seen, seen.lens),
            _last_step_picture(seen, seen.lens),
            lens_picture(seen.lens),
            _lens_table(seen.lens),
        )

    return BuiltStep(outputs, draw, turns=[turn, patch])


def lens_said(seen: Look, lens: Lens) -> str:
    """A sentence with the question, the model's answer, and the layer after which that answer leads for good."""
    best = [each.guesses[0] for each in lens.layers]
    final, last = best[-1], len(best) - 1
    since = 1 + max((layer for layer, guess in enumerate(best) if guess.text != final.text), default=-1)
    asked = _FIRST_WORD if len(seen.kinds) > 1 else _ABOUT[lens.about]
    question = _(asked, token=named(seen.tokens[lens.position]))
    answer = _("“{word}”, with {share} of the probability.", word=_shown(final), share=percent(final.probability))
    if not since:
        when = _("It leads from the input on.")
    elif since == last:
        when = _("Only the last layer brings it to the front.")
    else:
        when = _("It leads after layer {layer}, and stays in front.", layer=since)
    return read_out(f"{question} {answer} {when}")


def _last_step_picture(seen: Look, lens: Lens) -> str:
    width = len(lens.vector)
    bars = "".join(
        f'<li><span class="bar-name">{_shown(guess)}</span>{track(guess.probability)}'
        f'<span class="bar-number">{percent(guess.probability)}</span></li>'
        for guess in lens.layers[-1].guesses
    )
    vector = _box(
        _("last vector"),
        _("of “{token}”", token=named(seen.tokens[lens.position])),
        _("{size} numbers", size=str(width)),
        strip(lens.vector, strip_top(lens.vector)),
    )
    arrow = _arrow(_("linear: {width} × {choices:,}, softmax", width=width, choices=lens.choices))
    choices = _("{choices:,} choices", choices=lens.choices)
    probabilities = _box(_("probabilities"), "", choices, f'<ul class="bars">{bars}</ul>')
    return (
        f'<div class="block-diagram"><div class="block-part"><ol><li>{vector}</li><li>{arrow}{probabilities}</li>'
        "</ol></div></div>"
    )


def lens_picture(lens: Lens) -> str:
    """HTML table with a row per layer, the last on top; the likeliest guesses are coloured by probability."""
    most = max(len(each.guesses) for each in lens.layers)
    final = lens.layers[-1].guesses[0].text
    heads = (_("after layer"), _("likeliest"), _("second"), _("third"), _("fourth"), _("fifth"))[: most + 1]
    rows = [
        (str(each.layer or _("input")), *(_cell(guess, final) for guess in each.guesses))
        for each in reversed(lens.layers)
    ]
    said = _("The stronger the colour, the more probable; the final guess is framed wherever it stands.")
    title = _("The guess after every layer")
    return f"<h3>{title}</h3>{framed(table(heads, rows), title, 'lens')}{quiet(said)}"


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
        cells = [
            _(
                "{word}: {logit} → {probability}",
                word=_shown(guess),
                logit=number(guess.logit, 2),
                probability=number(guess.probability, 4),
            )
            for guess in each.guesses
        ]
        rows.append((_place(each.layer), *cells, *[""] * (most - len(cells))))
    heads = [_("after"), *(_("{place}: logit → probability", place=place) for place in range(1, most + 1))]
    said = _("last vector: {few} ({count} numbers)", few=few(lens.vector, 8), count=len(lens.vector))
    shown = f"<p>{said}</p>{table(heads, rows)}"
    return fold_out(_("The logits as a table"), shown, _("Logits and probabilities after every layer"))


def _shown(guess: Guess) -> str:
    return f"<bdi>{html.escape(guess.text.strip() or '␣')}</bdi>"


BLOCK = WalkStep(
    5,
    "block",
    N_("Many heads, and the rest"),
    _BLOCK_TEXT,
    _create_block,
    Inside.look_at_source,
    ("layer", "head", "position"),
)
GUESS = WalkStep(6, "guess", N_("Out again"), _GUESS_TEXT, _create_guess, Inside.look_at_guess, ("position",))
