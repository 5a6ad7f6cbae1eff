"""Steps 1 and 2 of the walk: the text as three vocabularies split it, and as the vectors that the first layer reads."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

import gradio as gr
import numpy as np
from numpy.typing import NDArray

from demo.events import QUICK
from demo.language import N_, _, ngettext, number
from demo.plots.walk import position_grid, vector_strips
from demo.recorded import recorded_tokens
from demo.walk.formulas import listed_formulas
from demo.walk.step import BuiltStep, WalkStep, place, plot, quiet, read_out
from demo.walk.view import Inside, InsideRequest
from demo.widgets.bars import direction
from demo.widgets.figure import drawn
from demo.widgets.tables import fold_out, framed, named, table
from models.inside.formulas import PAPERS_BASE, sinusoidal
from models.inside.outputs import EmbeddedText, Numbers, Piece, TokenizedText

_TOKENS_TEXT = N_(
    "A network reads numbers, not letters. So the text is cut into <em>tokens</em>, pieces from a fixed list (the "
    "<em>vocabulary</em>), and each piece is replaced by its place in that list, its <em>id</em>. Frequent words have "
    "a piece of their own; rare ones are spelt with several."
)
_SCHEMES = {
    "wordpiece": (
        N_("WordPiece, as in BERT"),
        N_("Capitals are dropped; <code>##</code> marks a piece that goes on with the word before it."),
    ),
    "byte-level": (
        N_("Byte-level BPE, as in GPT-2"),
        N_(
            "Pairs that often stand together were merged, again and again (<em>byte-pair encoding</em>, BPE), starting "
            "from bytes, the units that text is stored in; <code>Ġ</code> is the space before a word."
        ),
    ),
    "bpe": (
        N_("Pieces of the translation model"),
        N_(
            "BPE on two languages at once, with one list for both; <code>▁</code> is the space before a word, and a "
            "character that is not in the list is spelt in bytes, such as <code>&lt;0xE2&gt;</code>."
        ),
    ),
}
_SPECIAL = {
    "[CLS]": N_("{mark} stands in front of every text"),
    "[SEP]": N_("{mark} ends a text"),
    "[MASK]": N_("{mark} is a blank to fill"),
    "[UNK]": N_("{mark} is a word that the vocabulary cannot spell"),
    "[PAD]": N_("{mark} fills up"),
    "</s>": N_("{mark} ends a sentence"),
}
_FORMAT = N_(
    "BERT reads one row of each: the ids, the <em>segment</em> of each token (0 in the first text, 1 in the second) "
    "and the <em>attention mask</em> (1 for what is there, 0 for what only fills the row up, as beside longer texts, "
    "and is never looked at). Write <code>[SEP]</code> between two texts, and it reads them as a pair."
)


def _create_tokens(inside: Inside) -> BuiltStep:
    recorded = recorded_tokens()
    pieces = place(_("The text in tokens"), "inside-picture", "room-1", value=tokens_picture(recorded))
    padding = gr.Slider(
        0, 8, 0, step=1, label=_("Padding"),
        info=_("empty places at the end, as when a longer text is read beside this one"),
    )  # fmt: skip
    bert_input = place(_("BERT's input"), "inside-picture", "room-2", value=input_picture(recorded[0]))

    def draw(request: InsideRequest, padding: int) -> Sequence[str]:
        tokens = inside.tokens(request, int(padding))
        return tokens_picture(tokens), input_picture(tokens[0])

    return BuiltStep([pieces, bert_input], draw, [padding])


def tokens_picture(texts: Sequence[TokenizedText]) -> str:
    """HTML with a row of tokens per vocabulary: the tokens of a word share a shade, and each token's id is below it."""
    return "".join(_row(text) for text in texts)


def _row(text: TokenizedText) -> str:
    title, explained = (_(said) for said in _SCHEMES[text.scheme])
    way = direction("".join(piece.piece for piece in text.pieces if not piece.special))
    chips = "".join(
        f'<li class="piece{" mark" if piece.special else ""}" data-shade="{shade}">'
        f"<bdi>{html.escape(piece.piece)}</bdi>"
        f'<span class="piece-id"><span class="sr-only">{_("id")} </span>{piece.id}</span></li>'
        for piece, shade in zip(text.pieces, _shades(text.pieces), strict=True)
    )
    count = ngettext(
        "{count} token from a list of {size:,}", "{count} tokens from a list of {size:,}", len(text.pieces),
        size=text.size,
    )  # fmt: skip
    return (
        f'<section class="vocabulary"><h3>{title} <span class="quiet">{count}</span></h3>'
        f'<ol class="pieces" dir="{way}" aria-label="{title}">{chips}</ol>{quiet(explained)}</section>'
    )


def _shades(pieces: Iterable[Piece]) -> list[int]:
    """The shade of each piece, 0 and 1 in turn by word; a piece joins the last one's word if it starts at its end."""
    shades, end, shade = [], -1, 1
    for piece in pieces:
        begins = piece.special or piece.start != end or piece.piece[0] in "Ġ▁"
        shade = 1 - shade if begins else shade
        end = piece.end if not piece.special else -1
        shades.append(shade)
    return shades


def input_picture(text: TokenizedText) -> str:
    """HTML of BERT's input for a text or a pair: a column per token, and a fold-out table with a row per token."""
    columns = [(html.escape(each.piece), each.id, each.segment, int(each.attended)) for each in text.pieces]
    names = (_("token"), _("id"), _("segment"), _("attention mask"))
    classes = [f"segment-{each.segment}" if each.attended else "padding" for each in text.pieces]
    body = "".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(f'<td class="{kind}">{cell}</td>' for kind, cell in zip(classes, cells, strict=True))
        + "</tr>"
        for name, cells in zip(names, zip(*columns, strict=True), strict=True)
    )
    caption = _("One column for each token")
    picture = f'<table><caption class="sr-only">{caption}</caption><tbody>{body}</tbody></table>'
    specials = dict.fromkeys(each.piece for each in text.pieces if each.piece in _SPECIAL)
    said = "; ".join(_(_SPECIAL[piece], mark=f"<code>{html.escape(piece)}</code>") for piece in specials)
    rows = [
        (
            str(place),
            f"<bdi>{piece}</bdi>",
            *map(str, numbers),
            _("none") if each.start == each.end else _("{first} to {last}", first=each.start, last=each.end - 1),
        )
        for place, (each, (piece, *numbers)) in enumerate(zip(text.pieces, columns, strict=True))
    ]
    as_table = table((_("place"), *names, _("characters of the text")), rows)
    return (
        f"<h3>{_('What BERT is given')}</h3>{quiet(_(_FORMAT))}{framed(picture, _('BERT’s input'), 'input-format')}"
        + quiet(f"{said}.")
        + fold_out(_("The numbers as a table"), as_table, _("BERT’s input, one row for each token"))
    )


_VECTORS_TEXT = N_(
    "Each id picks a row of numbers from a table that was learned, the token’s <em>embedding</em>. A row for its place "
    "in the text is added (and in BERT one for its segment), number by number: from here on a token is a "
    "<em>vector</em>, a row of numbers of fixed length."
)
_NAMES = {"token": N_("token"), "segment": N_("segment"), "position": N_("position")}
_NORMED = N_("normed")
_SHOWN_NUMBERS = 8


def _create_vectors(inside: Inside) -> BuiltStep:
    said = place(_("What is added"), "inside-finding", "room-1")
    strips = plot(_("What is added"), "room-1")
    numbers = place(_("The numbers"), "inside-numbers")
    _create_positions()
    own_said, own = place(_("The model's positions")), plot(_("The model's positions"))
    own_numbers = place(_("The model's positions as numbers"))

    def draw(request: InsideRequest) -> Sequence[Any]:
        seen = inside.embeddings(request)
        return (
            _embeddings_said(seen, request.position),
            drawn(vector_strips(_strips(seen, request.position), own_scale=_(_NORMED))),
            _embeddings_table(seen, request.position),
            _own_positions_said(seen),
            drawn(position_grid(seen.positions)),
            _positions_table(seen.positions, _("The model’s own positions")),
        )

    return BuiltStep([said, strips, numbers, own_said, own, own_numbers], draw)


def _embeddings_said(seen: EmbeddedText, position: int) -> str:
    said = _(
        "“{token}” becomes {count} numbers: {parts}.",
        token=named(seen.tokens[position]),
        count=seen.summed.shape[1],
        parts=" + ".join(_(_NAMES[name]) for name in seen.parts),
    )
    explained = [_("Orange is below zero, blue above.")]
    if seen.normed is not None:
        explained.append(
            _(
                "The model then <em>norms</em> each vector: shifts and stretches its numbers to mean 0 and spread 1, "
                "then scales each by what it has learned, and in BERT shifts it (layer norm); that strip has a scale "
                "of its own."
            )
        )
    if seen.difference:
        checked = _(
            "Checked for every token: what is added here and what the model’s first layer reads differ by "
            "{difference:.1g} at most.",
            difference=seen.difference,
        )
    else:
        checked = _(
            "Checked for every token: what is added here and what the model’s first layer reads are the same to the "
            "last digit."
        )
    return read_out(said) + quiet(" ".join([*explained, checked]))


def _embeddings_table(seen: EmbeddedText, position: int) -> str:
    rows = [
        (name, number(float(np.linalg.norm(vector)), ".3f"), *(number(each, ".4f") for each in vector[:_SHOWN_NUMBERS]))
        for name, vector in _strips(seen, position).items()
    ]
    summary = _("The length of each vector and its first {count} numbers, as a table", count=_SHOWN_NUMBERS)
    name = _("The length of each vector and its first {count} numbers", count=_SHOWN_NUMBERS)
    return fold_out(summary, table(["", _("length"), *map(str, range(_SHOWN_NUMBERS))], rows), name)


def _strips(seen: EmbeddedText, position: int) -> dict[str, Numbers]:
    strips = {
        _(_NAMES[name]) if name == "token" else f"+ {_(_NAMES[name])}": vectors[position]
        for name, vectors in seen.parts.items()
    }
    strips[_("= sum")] = seen.summed[position]
    return strips if seen.normed is None else strips | {_(_NORMED): seen.normed[position]}


_LENGTH, _DIMENSION = 50, 64
_ROBOT = ("I", "am", "a", "robot")
_MOST_ROWS, _MOST_COLUMNS = 16, 8
_POSITIONS = N_(
    "The first Transformer computed a row for each place, from waves of many lengths: fast ones on the left, slow ones "
    "on the right (<em>positional encoding</em>). Two numbers share a wave, its sine and its cosine:"
)


def _create_positions() -> None:
    """Create the formula of positional encoding, three sliders and the picture, which needs no model."""
    title = _("Where a token stands: computed or learned")
    gr.HTML(f"<h3>{title}</h3>{quiet(_(_POSITIONS))}{listed_formulas('positions')}", label=_("Positions"))
    with gr.Row(elem_classes="settings"):
        sliders = [
            gr.Slider(2, 128, _LENGTH, step=1, label=_("Length"), info=_("how many positions")),
            gr.Slider(2, 256, _DIMENSION, step=2, label=_("Dimension d"), info=_("how many numbers a row has")),
            gr.Slider(2, PAPERS_BASE, PAPERS_BASE, step=1, label=_("Base n"), info=_("how slow the slowest wave is")),
        ]
    examples = gr.Examples(
        [[len(_ROBOT), 4, 100], [_LENGTH, _DIMENSION, PAPERS_BASE]],
        sliders,
        example_labels=[_("“I am a robot”, d = 4, n = 100"), _("the paper’s base, n = {base:,}", base=PAPERS_BASE)],
        label=_("Examples"),
        api_visibility="private",
    )

    def draw(length: float, dimension: float, base: float) -> Sequence[Any]:
        encoding = sinusoidal(int(length), int(dimension), base)
        words = _ROBOT if length == len(_ROBOT) else ()
        as_table = _positions_table(encoding, _("Positional encoding"), words, digits=8)
        return drawn(position_grid(encoding, words)), as_table

    figure, numbers = draw(_LENGTH, _DIMENSION, PAPERS_BASE)
    outputs = [plot(_("Positional encoding"), value=figure), place(_("Positional encoding as numbers"), value=numbers)]
    gr.on([each.input for each in sliders], draw, sliders, outputs, trigger_mode="always_last", **QUICK)
    examples.load_input_event.then(draw, sliders, outputs, **QUICK)


def _own_positions_said(seen: EmbeddedText) -> str:
    name = html.escape(seen.checkpoint.name)
    if seen.rotary_base is not None:
        said = _(
            "{model} adds nothing for the place. In every layer it <em>turns</em> queries and keys by their places "
            "instead (step 3), by angles from the same formula with base {base:,.0f}: on the left their cosines, on "
            "the right their sines.",
            model=name,
            base=seen.rotary_base,
        )
    elif seen.learned:
        said = _(
            "{model} has learned a row for each place instead, like BERT and GPT-2: nobody told it waves, and places "
            "that are near each other mostly came out alike.",
            model=name,
        )
    else:
        said = _(
            "{model} computes its rows by the formula above, with base {base:,}; its table has all sines in the left "
            "half and all cosines in the right one.",
            model=name,
            base=PAPERS_BASE,
        )
    title = _("The model’s own positions, {count} of them", count=len(seen.positions))
    return f"<h3>{title}</h3>{quiet(said)}"


def _positions_table(
    positions: NDArray[np.float64] | Numbers, name: str, words: Sequence[str] = (), digits: int = 4
) -> str:
    """A fold-out table of the first rows and columns of `positions` `[position, component]`, rows named by `words`."""
    count, width = min(len(positions), _MOST_ROWS), min(positions.shape[1], _MOST_COLUMNS)
    rows = [
        (f"{place} {words[place] if words else ''}".strip(), *(number(each, f".{digits}f") for each in row[:width]))
        for place, row in enumerate(positions[:count])
    ]
    if positions.shape == (count, width):
        summary = _("The numbers as a table")
    else:
        summary = _(
            "The numbers as a table: the first {count} positions, {width} numbers of each", count=count, width=width
        )
    return fold_out(summary, table([_("position"), *map(str, range(width))], rows), name)


TOKENS = WalkStep(1, "tokens", N_("Text becomes tokens"), _TOKENS_TEXT, _create_tokens, Inside.tokens)
VECTORS = WalkStep(
    2, "vectors", N_("Tokens become vectors"), _VECTORS_TEXT, _create_vectors, Inside.embeddings, ("position",)
)
