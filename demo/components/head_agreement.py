"""Which heads look at the same word: for the chosen word, the heads in groups, drawn small, each opening its head."""

import html
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from demo.plots.reading import named, percent
from demo.plots.sheet import data_uri, strip
from demo.plots.shown import is_resting_place
from models.explain.head_roles import HeadGroup, head_groups
from models.outputs import Attention, Token
from models.text.words import word_rows, word_text

_HELP = (
    "Mostly: the word gets the greatest share of the head’s weight, and at least a third of it. Numbers are "
    "layer.head. Each strip is the text from its first word to its last; darker is more weight."
)


def head_agreement(attention: Attention, word: tuple[int, ...]) -> str:
    """The heads of `attention` by what the query `word` (places of its tokens) looks at in them, as HTML."""
    _, rows = word_rows(attention, word)
    groups = head_groups(attention, word)
    count = attention.layers * attention.heads
    # What idle heads rest on, and what looks at no word in particular, says the least and has the most heads.
    telling = [group for group in groups if group.word and not _rests(attention.key_tokens, group)]
    others = [group for group in groups if group not in telling]
    drawn = [
        "".join(
            f"<section><h4>{_finding(attention, group, count)}</h4>"
            f'<div class="head-chips">{_chips(group, rows)}</div></section>'
            for group in some
        )
        for some in (telling, others)
    ]
    rest = f"<details><summary>The other {_heads(others)}</summary>{drawn[1]}</details>" if others else ""
    return (
        f'<div class="agreement"><h3>Heads that look at the same word from “{_name(attention.query_tokens, word)}”</h3>'
        f'{drawn[0]}{rest}<p class="quiet">{_HELP}</p></div>'
    )


def _finding(attention: Attention, group: HeadGroup, count: int) -> str:
    look = "looks" if len(group.heads) == 1 else "look"
    if not group.word:
        return f"{len(group.heads)} of {count} heads {look} mostly at no single word"
    return f"{len(group.heads)} of {count} heads {look} mostly at “{_name(attention.key_tokens, group.word)}”"


def _chips(group: HeadGroup, rows: NDArray[np.float32]) -> str:
    return "".join(
        f'<button type="button" data-layer="{layer}" data-head="{head}" '
        f'aria-label="Layer {layer + 1}, head {head + 1}: {percent(share)}" title="{percent(share)}">'
        f'{layer + 1}.{head + 1}<img alt="" src="{data_uri(strip(rows[layer, head]))}"></button>'
        for layer, head, share in group.heads
    )


def _heads(groups: Sequence[HeadGroup]) -> str:
    number = sum(len(group.heads) for group in groups)
    return f"{number} heads" if number != 1 else "head"


def _rests(keys: Sequence[Token], group: HeadGroup) -> bool:
    return all(is_resting_place(keys[place]) for place in group.word)


def _name(tokens: Sequence[Token], word: Sequence[int]) -> str:
    text = word_text(tokens, word) if len(word) > 1 else named(tokens[word[0]])
    return f"<bdi>{html.escape(text)}</bdi>"
