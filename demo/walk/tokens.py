"""Step 1: the text in the pieces of three vocabularies, and as BERT's input holds it."""

import html
from collections.abc import Iterable, Sequence

import gradio as gr

from demo.reader.table import KEEP_OPEN
from demo.recorded import recorded_tokens
from demo.walk.step import BuiltStep, InsideControls, WalkStep, fold_out, table
from demo.walk.view import InsideRequest
from demo.widgets import Updates
from demo.widgets.bars import direction
from models.inside.outputs import Piece, TokenizedText

_KEY = "tokens"
_TEXT = (
    "A network reads numbers, not letters. So the text is cut into <em>tokens</em>, pieces from a fixed list (the "
    "<em>vocabulary</em>), and each piece is replaced by its place in that list, its <em>id</em>. Frequent words have "
    "a piece of their own; rare ones are spelt with several."
)
_SCHEMES = {
    "wordpiece": (
        "WordPiece, as in BERT",
        "Capitals are dropped; <code>##</code> marks a piece that goes on with the word before it.",
    ),
    "byte-level": (
        "Byte-level BPE, as in GPT-2",
        "Pairs that often stand together were merged, again and again (<em>byte-pair encoding</em>, BPE), starting "
        "from bytes, the units that text is stored in; <code>Ġ</code> is the space before a word.",
    ),
    "bpe": (
        "Pieces of the translation model",
        "BPE on two languages at once, with one list for both; <code>▁</code> is the space before a word, and a "
        "character that is not in the list is spelt in bytes, such as <code>&lt;0xE2&gt;</code>.",
    ),
}
_SPECIAL = {
    "[CLS]": "stands in front of every text",
    "[SEP]": "ends a text",
    "[MASK]": "is a blank to fill",
    "[UNK]": "is a word that the vocabulary cannot spell",
    "[PAD]": "fills up",
    "</s>": "ends a sentence",
}
_FORMAT = (
    "BERT reads one row of each: the ids, the <em>segment</em> of each token (0 in the first text, 1 in the second) "
    "and the <em>attention mask</em> (1 for what is there, 0 for what only fills the row up, as beside longer texts, "
    "and is never looked at). Write <code>[SEP]</code> between two texts, and it reads them as a pair."
)


def _create(controls: InsideControls) -> BuiltStep:
    tokens = recorded_tokens()
    picture = gr.HTML(tokens_picture(tokens), elem_classes=["inside-picture", "room-1"], label="The text in tokens")
    padding = gr.Slider(
        0, 8, 0, step=1, label="Padding", info="empty places at the end, as when a longer text is read beside this one"
    )
    input_format = gr.HTML(
        input_picture(tokens[0]), js_on_load=KEEP_OPEN, elem_classes=["inside-picture", "room-2"], label="BERT's input"
    )

    def draw(request: InsideRequest, padding: int) -> Updates:
        tokens = controls.inside.tokens(request, int(padding))
        return {picture: tokens_picture(tokens), input_format: input_picture(tokens[0])}

    return BuiltStep(draw, [picture, input_format], [padding])


def tokens_picture(texts: Sequence[TokenizedText]) -> str:
    """One row of pieces for each vocabulary, the pieces of a word in one shade, with its id below each."""
    return "".join(_row(text) for text in texts)


def input_picture(text: TokenizedText) -> str:
    """The input of BERT for a text or a pair as a picture, and the numbers of every piece as a table."""
    pieces = text.pieces
    rows = (
        ("token", [_name(each) for each in pieces]),
        ("id", [str(each.id) for each in pieces]),
        ("segment", [str(each.segment) for each in pieces]),
        ("attention mask", [str(int(each.attended)) for each in pieces]),
    )
    body = "".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(f"<td{_format_class(piece)}>{cell}</td>" for piece, cell in zip(pieces, cells, strict=True))
        + "</tr>"
        for name, cells in rows
    )
    specials = dict.fromkeys(each.piece for each in pieces if each.piece in _SPECIAL)
    said = "; ".join(f"<code>{html.escape(piece)}</code> {_SPECIAL[piece]}" for piece in specials)
    return (
        f'<h3>What BERT is given</h3><p class="quiet">{_FORMAT}</p>'
        '<div class="table-frame input-format" role="region" aria-label="BERT’s input" tabindex="0">'
        f'<table><caption class="sr-only">One column for each token</caption><tbody>{body}</tbody></table></div>'
        f'<p class="quiet">{said}.</p>{_numbers(pieces)}'
    )


def _row(text: TokenizedText) -> str:
    title, explained = _SCHEMES[text.scheme]
    count = len(text.pieces)
    shades = _shades(text.pieces)
    way = direction("".join(piece.piece for piece in text.pieces if not piece.special))
    chips = "".join(
        f'<li class="piece{" mark" if piece.special else ""}" data-shade="{shade}"><bdi>{_name(piece)}</bdi>'
        f'<span class="piece-id"><span class="sr-only">id </span>{piece.id}</span></li>'
        for piece, shade in zip(text.pieces, shades, strict=True)
    )
    return (
        f'<section class="vocabulary"><h3>{title} <span class="quiet">{count} tokens from a list of {text.size:,}'
        f"</span></h3>"
        f'<ol class="pieces" dir="{way}" aria-label="{title}">{chips}</ol><p class="quiet">{explained}</p></section>'
    )


def _shades(pieces: Iterable[Piece]) -> list[int]:
    """0 or 1 for each piece, in turns from word to word; a word goes on where a piece begins at the last one's end."""
    shades, end, shade = [], -1, 1
    for piece in pieces:
        begins = piece.special or piece.start != end or piece.piece[0] in "Ġ▁"
        shade = 1 - shade if begins else shade
        end = piece.end if not piece.special else -1
        shades.append(shade)
    return shades


def _numbers(pieces: Sequence[Piece]) -> str:
    heads = ("place", "token", "id", "segment", "attention mask", "characters of the text")
    rows = [
        (
            str(place),
            f"<bdi>{_name(each)}</bdi>",
            str(each.id),
            str(each.segment),
            str(int(each.attended)),
            "none" if each.start == each.end else f"{each.start} to {each.end - 1}",
        )
        for place, each in enumerate(pieces)
    ]
    return fold_out("The numbers as a table", table(heads, rows), "BERT’s input, one row for each token")


def _format_class(piece: Piece) -> str:
    if not piece.attended:
        return ' class="padding"'
    return f' class="segment-{piece.segment}"'


def _name(piece: Piece) -> str:
    return html.escape(piece.piece)


TOKENS = WalkStep(1, _KEY, "Text becomes tokens", _TEXT, _create)
