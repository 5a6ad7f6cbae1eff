"""Roles of heads over one text, read off their weights: the patterns of Clark et al. (2019, section 3)."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.outputs.attention import Attention, HeadRole
from models.outputs.base import Token
from models.text.words import word_rows, word_text, words_of
from models.wording import Sentence

PREVIOUS: str = Sentence("previous token")
NEXT: str = Sentence("next token")
SAME: str = Sentence("same token")
FIRST: str = Sentence("first token")
SEPARATOR: str = Sentence("separator")
PUNCTUATION: str = Sentence("punctuation")
ELSEWHERE: str = Sentence("same word elsewhere")
BROAD: str = Sentence("broad")
NONE: str = Sentence("none of these")
ROLES = (PREVIOUS, NEXT, SAME, FIRST, SEPARATOR, PUNCTUATION, ELSEWHERE, BROAD, NONE)
"""Every role that a head may be said to have."""

# A role needs half of the weight, so that no pattern without a cell in common can have more.
_MOST = 0.5
# In a short text even uniform weights give much to each pattern; of the rest, a role must win this share as well.
_BEYOND_CHANCE = 0.4
# Weights whose logits have a standard deviation below about 0.75 overlap at least this much with uniform ones.
_EVEN = 0.7
# A single query shows no pattern.
_FEWEST_QUERIES = 2
_CLS = ("[CLS]", "<cls>")


def head_roles(attention: Attention) -> tuple[HeadRole, ...]:
    """The role of every head, layer by layer, with the share of its weight that fits the pattern of the role.

    Shares are means over the tokens of the text, blanks included and marks not, for which the pattern is possible: only
    a word that is repeated can look at itself elsewhere. Of several roles that apply, a head has the one with the most
    weight over all tokens. A head with none of them is `broad` if its weight is spread nearly evenly; its share is then
    the overlap of its rows with uniform ones. The rest are `none of these`, and their share is what lies outside the
    closest pattern. Between two texts there is no previous, next or same token.
    """
    places = [divmod(number, attention.heads) for number in range(attention.layers * attention.heads)]
    # Only tokens of the text that have a choice of keys count as queries.
    of_the_text = np.array([not token.is_mark for token in attention.query_tokens], dtype=np.bool_)
    counted = of_the_text & ((~attention.masked).sum(axis=1) > 1)
    if counted.sum() < _FEWEST_QUERIES:
        return tuple(HeadRole(layer, head, NONE, 1.0) for layer, head in places)
    heads = attention.weights.reshape(len(places), *attention.masked.shape)
    even = np.where(attention.masked, 0, 1 / (~attention.masked).sum(axis=1, keepdims=True)).astype(np.float32)
    patterns = _patterns(attention, counted)
    # One matrix product for all heads and patterns, so that up to 38 million weights are read only once.
    flat = np.stack([cells.ravel() for cells in patterns.values()], axis=1).astype(np.float32)
    weight = heads.reshape(len(heads), -1) @ flat
    possible = np.array([cells.any(axis=1).sum() for cells in patterns.values()])
    share = np.minimum(weight / possible, 1.0)
    chance = (even.ravel() @ flat) / possible
    holds = (share >= _MOST) & (share - chance >= _BEYOND_CHANCE * (1 - chance))
    names, roles = list(patterns), []
    for number, weights in enumerate(heads):
        if holds[number].any():
            best = int(np.where(holds[number], weight[number], -1.0).argmax())
            role = names[best], float(share[number, best])
        else:
            evenness = float(np.minimum(weights, even)[counted].sum(axis=1).mean())
            closest = max(float(share[number].max(initial=0.0)), evenness)
            role = (BROAD, min(evenness, 1.0)) if evenness >= _EVEN else (NONE, 1 - min(closest, 1.0))
        roles.append(HeadRole(*places[number], *role))
    return tuple(roles)


def _patterns(attention: Attention, counted: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
    """The cells of each role's pattern, bool `[query, key]`, for roles that enough `counted` queries could show."""
    queries, keys = attention.query_tokens, attention.key_tokens
    shape = (len(queries), len(keys))
    # The first key that the query may look at: where sentences are read one by one, that of the query's own.
    first = np.arange(shape[1]) == (~attention.masked).argmax(axis=1)[:, None]
    first |= np.array([token.piece in _CLS for token in keys], dtype=np.bool_)
    separator = np.array([token.is_mark for token in keys], dtype=np.bool_) & ~first
    punctuation = np.array([_is_punctuation(token) for token in keys], dtype=np.bool_)
    to_others = np.ones(shape, dtype=np.bool_)
    patterns = {}
    if attention.within_one_text:
        same = np.eye(shape[0], dtype=np.bool_)
        to_others = ~same
        before, behind = np.eye(shape[0], k=-1, dtype=np.bool_), np.eye(shape[0], k=1, dtype=np.bool_)
        patterns = {PREVIOUS: before, NEXT: behind, SAME: same}
    patterns |= {
        FIRST: first & to_others,
        SEPARATOR: separator & to_others,
        PUNCTUATION: punctuation & to_others,
        ELSEWHERE: _same_words(queries, keys, attention.within_one_text),
    }
    seen = {role: cells & counted[:, None] & ~attention.masked for role, cells in patterns.items()}
    return {role: cells for role, cells in seen.items() if cells.any(axis=1).sum() >= _FEWEST_QUERIES}


def _same_words(queries: Sequence[Token], keys: Sequence[Token], one_text: bool) -> NDArray[np.bool_]:
    """Where query and key are pieces of two different words that are spelt the same, capitals apart, `[query, key]`."""
    numbers: dict[str, int] = {}

    def numbered(tokens: Sequence[Token]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each token a number for its word's spelling, 0 where it has no letters, and the index of the word."""
        reads, places = np.zeros(len(tokens), dtype=np.int64), np.zeros(len(tokens), dtype=np.int64)
        for place, word in enumerate(words_of(tokens)):
            text = word_text(tokens, word).casefold()
            letters = any(map(str.isalnum, text)) and not tokens[word[0]].special
            reads[list(word)] = numbers.setdefault(text, len(numbers) + 1) if letters else 0
            places[list(word)] = place
        return reads, places

    (of_query, query_places), (of_key, key_places) = numbered(queries), numbered(keys)
    same = (of_query[:, None] == of_key[None, :]) & (of_query > 0)[:, None]
    return np.asarray(same & (query_places[:, None] != key_places[None, :]) if one_text else same)


def _is_punctuation(token: Token) -> bool:
    """Whether a token of the text consists of punctuation marks and ASCII symbols alone."""
    text = token.text.strip().removeprefix("##")
    return not token.special and bool(text) and all(
        unicodedata.category(character)[0] == "P" or (character.isascii() and not character.isalnum())
        for character in text
    )  # fmt: skip


MOSTLY = 1 / 3
"""A head looks mostly at a word that gets more of its weight than any other, and at least this much."""


@dataclass(frozen=True)
class HeadGroup:
    """The heads, as `(layer, head, share)` from 0, that look mostly at one word: the keys at the indices `word`.

    An empty `word` stands for heads that look mostly at none.
    """

    word: tuple[int, ...]
    heads: tuple[tuple[int, int, float], ...]


def head_groups(attention: Attention, word: tuple[int, ...]) -> tuple[HeadGroup, ...]:
    """Group the heads by the word that the query `word` (indices of its tokens) mostly looks at, largest group first.

    Heads that look mostly at no word come last.
    """
    keys, rows = word_rows(attention, word)
    groups: dict[tuple[int, ...], list[tuple[int, int, float]]] = {}
    for layer, head in np.ndindex(rows.shape[:2]):
        best, share = int(rows[layer, head].argmax()), float(rows[layer, head].max())
        groups.setdefault(keys[best] if share >= MOSTLY else (), []).append((layer, head, share))
    ordered = sorted(groups.items(), key=lambda each: (not each[0], -len(each[1]), each[0]))
    return tuple(HeadGroup(places, tuple(heads)) for places, heads in ordered)
