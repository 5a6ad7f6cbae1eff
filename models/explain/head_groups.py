"""Which heads look at the same word: for one query, the heads grouped by the word that they look at most."""

from dataclasses import dataclass

from models.outputs import Attention
from models.text.words import word_rows

MOSTLY = 1 / 3
"""A head looks mostly at a word that gets more of its weight than any other, and at least this much."""


@dataclass(frozen=True)
class HeadGroup:
    """Heads that look mostly at the word at the places `word` of the keys, as `(layer, head, share)` from 0.

    An empty `word` stands for heads that look mostly at none.
    """

    word: tuple[int, ...]
    heads: tuple[tuple[int, int, float], ...]


def head_groups(attention: Attention, word: tuple[int, ...]) -> tuple[HeadGroup, ...]:
    """The heads by what the query `word` (places of its tokens) looks at in them, the largest group first.

    Heads without a word that they mostly look at come last.
    """
    keys, rows = word_rows(attention, word)
    groups: dict[tuple[int, ...], list[tuple[int, int, float]]] = {}
    for layer, heads in enumerate(rows):
        for head, shares in enumerate(heads):
            best = int(shares.argmax())
            share = float(shares[best])
            groups.setdefault(keys[best] if share >= MOSTLY else (), []).append((layer, head, share))
    ordered = sorted(groups.items(), key=lambda each: (not each[0], -len(each[1]), each[0]))
    return tuple(HeadGroup(places, tuple(heads)) for places, heads in ordered)
