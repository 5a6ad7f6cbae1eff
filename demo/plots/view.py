"""The part of a run's attention that is drawn: one matrix, the tokens of both axes, and which of them are shown."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from demo.language import _
from demo.plots.template import label
from models.explain.aggregation import reduce
from models.explain.opening import Opening
from models.outputs.attention import MEAN, Attentions
from models.outputs.base import Token
from models.text.words import merge_words, word_text, words_of
from models.wording import Sentence


@dataclass(frozen=True, eq=False)
class AttentionView:
    """The weights `[query, key]` of one kind of attention, and what else could be chosen.

    `how` is one of `models.explain.aggregation.WAYS`; `layer` and `head` count from 0, and `MEAN` stands for all.
    `masked` is bool `[query, key]`; `kinds` are all that the run has, `layers` and `heads` the numbers of this kind.
    `token` is the position of the query to begin with, and `key` that of the token it looks at in the head that
    `models.explain.opening` chose, -1 where not known; `telling` says whether this view is of that head. `left_out`
    names what `NOT_SHOWN` stands for. Of a pair of sentences, `part` is what is shown (see `PARTS`), and `crossing` the
    shares of what words give that go to words of the other sentence, of their own, and to marks.
    """

    kind: str
    layer: int
    head: int
    weights: NDArray[np.float32]
    masked: NDArray[np.bool_]
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    kinds: tuple[str, ...]
    layers: int
    heads: int
    how: str = "mean"
    token: int = -1
    key: int = -1
    telling: bool = False
    left_out: str = ""
    part: str = ""
    crossing: tuple[float, float, float] | None = None

    @property
    def two_texts(self) -> bool:
        """Whether the queries are tokens of another text than the keys."""
        return self.kind == "cross" or len(set(PARTS.get(self.part, ()))) == 2

    @property
    def of_one_head(self) -> bool:
        """Whether the weights are those of a single head."""
        return self.how == "head" and self.layer != MEAN and self.head != MEAN


def view_of(
    attentions: Attentions,
    kind: str = "",
    layer: int = MEAN,
    head: int = MEAN,
    how: str = "head",
    opened: Opening | None = None,
) -> AttentionView:
    """The view of a kind, layer and head of `attentions`; one that the run lacks becomes the first kind or the mean.

    Rollout of attention between two texts does not exist, and becomes the mean. `opened` says which token to begin
    with.
    """
    kind = kind if kind in attentions else next(iter(attentions))
    attention = attentions[kind]
    layer = layer if MEAN <= layer < attention.layers else MEAN
    head = head if how == "head" and MEAN <= head < attention.heads else MEAN
    if (how == "rollout" and not attention.within_one_text) or (how == "head" and layer == head == MEAN):
        how = "mean"
    return AttentionView(
        kind,
        layer,
        head,
        reduce(attention, how, layer, head),
        attention.masked,
        attention.query_tokens,
        attention.key_tokens,
        tuple(attentions),
        attention.layers,
        attention.heads,
        how,
        opened.query if opened else -1,
        opened.key if opened else -1,
        opened is not None and how == "head" and (layer, head) == (opened.layer, opened.head),
    )


MOST_SHOWN = 512
"""The most tokens of a text that a picture shows."""
NOT_SHOWN = Token(Sentence("not shown"), "not shown", -1, special=True)
"""The key column that holds the weight of tokens that are not in the picture."""
_FULL_STOPS = frozenset(".。．।۔")


PARTS: dict[str, tuple[int, ...]] = {"": (), "a": (0, 0), "b": (1, 1), "a-b": (0, 1), "b-a": (1, 0)}
"""The parts of a pair's attention: the sentences, 0 or 1, of the queries and of the keys; empty for all of it."""


def shown(
    view: AttentionView, words: bool = True, specials: bool = True, not_yet: int = 0, part: str | None = None
) -> AttentionView:
    """`view` as the visitor chose to see it: pieces merged into `words`, with or without the `specials`.

    Specials are the keys where idle heads rest: marks such as [CLS] and [SEP], and full stops; if hidden, their weight
    stands in the column `NOT_SHOWN`. The last `not_yet` queries, which the model had not written yet, are dropped; at
    most `MOST_SHOWN` queries and keys stay. `part` is one of `PARTS` where the text is a pair of sentences.
    """
    view = so_far(view, not_yet)
    if words:
        view = in_words(view)
    key_tokens, left_out = view.key_tokens, ""
    seen = np.arange(len(key_tokens)) < MOST_SHOWN
    if part is not None:
        sentences = sentences_of(key_tokens)
        crossing = None if view.how == "maximum" else _crossing(view, sentences)
        view = replace(view, crossing=crossing, part=part)
        if PARTS[part]:
            of_queries, of_keys = PARTS[part]
            seen &= sentences == of_keys
            view = _from(view, sentences == of_queries)
    weights, masked = view.weights[:MOST_SHOWN], view.masked[:MOST_SHOWN]
    rests = np.array([is_resting_place(token) for token in key_tokens])
    if not specials and (seen & ~rests).any():
        seen &= ~rests
    if not seen.all():
        hidden = weights[:, ~seen]
        # Maxima over heads do not add up to anything.
        rest = hidden.max(axis=1) if view.how == "maximum" else hidden.sum(axis=1)
        weights = np.column_stack([weights[:, seen], rest]).astype(np.float32)
        masked = np.column_stack([masked[:, seen], np.zeros(len(masked), dtype=np.bool_)])
        gone = list(itertools.compress(key_tokens, ~seen))
        key_tokens = (*itertools.compress(key_tokens, seen), NOT_SHOWN)
        others = "" if all(map(is_resting_place, gone)) else _("what is not shown")
        left_out = _listed([resting_places(gone), others])
    return replace(
        view,
        weights=weights,
        masked=masked,
        query_tokens=view.query_tokens[:MOST_SHOWN],
        key_tokens=key_tokens,
        token=view.token if view.token < MOST_SHOWN else -1,
        left_out=left_out,
    )


def sentences_of(tokens: Sequence[Token]) -> NDArray[np.int64]:
    """The sentence, 0 or 1, of each token of `[CLS] A [SEP] B [SEP]`; the first [SEP] belongs to the first."""
    first = next((place for place, token in enumerate(tokens) if place and token.is_mark), len(tokens))
    return (np.arange(len(tokens)) > first).astype(np.int64)


def _from(view: AttentionView, chosen: NDArray[np.bool_]) -> AttentionView:
    """`view` with only the `chosen` queries."""
    before = int(chosen[: view.token].sum()) if view.token >= 0 and chosen[view.token] else -1
    queries = tuple(itertools.compress(view.query_tokens, chosen))
    return replace(view, weights=view.weights[chosen], masked=view.masked[chosen], query_tokens=queries, token=before)


def _crossing(view: AttentionView, sentences: NDArray[np.int64]) -> tuple[float, float, float]:
    """The shares of the words' weight that go to words of the other sentence, of the same one, and to marks."""
    words = np.array([not token.is_mark for token in view.key_tokens])
    given, other = view.weights[words], sentences[words, None] != sentences
    crosses, stays = (float(given[where & words].sum()) for where in (other, ~other))
    rests = float(given[:, ~words].sum())
    total = crosses + stays + rests or 1.0
    return crosses / total, stays / total, rests / total


def is_resting_place(token: Token) -> bool:
    """Whether heads that find nothing to add often rest on `token`: marks of the model's own, and full stops."""
    return token.is_mark or token.text.strip() in _FULL_STOPS


def own_keys(view: AttentionView) -> list[int | None]:
    """The position of each query's own token among the keys; `None` if it is left out, or in another text."""
    if view.two_texts:
        return [None] * len(view.query_tokens)
    rest_is_gone = view.key_tokens[-1] is NOT_SHOWN and not any(map(is_resting_place, view.key_tokens[:-1]))
    places = itertools.count()
    return [None if rest_is_gone and is_resting_place(token) else next(places) for token in view.query_tokens]


def resting_places(tokens: Sequence[Token]) -> str:
    """The names of the `tokens` where heads rest, as part of a sentence: `[CLS], [SEP] and “.”`; may be empty."""
    resting = [token for token in tokens if is_resting_place(token)]
    named = [label(token) if token.special else _("“{token}”", token=label(token)) for token in resting]
    return _listed(list(dict.fromkeys(named)))


def _listed(names: Sequence[str]) -> str:
    names = [each for each in names if each]
    if len(names) < 2:
        return "".join(names)
    return _("{others} and {last}", others=", ".join(names[:-1]), last=names[-1])


def so_far(view: AttentionView, not_yet: int) -> AttentionView:
    """`view` before the last `not_yet` tokens were written; a text that the model only reads stays whole."""
    if not_yet <= 0 or view.kind == "encoder":
        return view
    queries = max(1, len(view.query_tokens) - not_yet)
    keys = len(view.key_tokens) if view.two_texts else queries
    return replace(
        view,
        weights=view.weights[:queries, :keys],
        masked=view.masked[:queries, :keys],
        query_tokens=view.query_tokens[:queries],
        key_tokens=view.key_tokens[:keys],
        # Stepping through a written text begins at the token that was written last.
        token=queries - 1,
        telling=False,
    )


def in_words(view: AttentionView) -> AttentionView:
    """`view` over words: the weight a word gives is the mean over its pieces, the weight it gets is their sum.

    Maxima cannot be added: there a word gives and gets what its strongest piece does.
    """
    queries, keys = words_of(view.query_tokens), words_of(view.key_tokens)

    def merged(ufunc: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        of_keys = ufunc.reduceat(values, [word[0] for word in keys], axis=1)
        return np.asarray(ufunc.reduceat(of_keys, [word[0] for word in queries], axis=0))

    maximum = view.how == "maximum"
    return replace(
        view,
        weights=merged(np.maximum, view.weights) if maximum else merge_words(view.weights, queries, keys),
        masked=merged(np.logical_and, view.masked),
        query_tokens=tuple(_word(view.query_tokens, word) for word in queries),
        key_tokens=tuple(_word(view.key_tokens, word) for word in keys),
        token=next((number for number, word in enumerate(queries) if view.token in word), -1),
    )


def _word(tokens: tuple[Token, ...], word: tuple[int, ...]) -> Token:
    if len(word) == 1:
        return tokens[word[0]]
    first, last = tokens[word[0]], tokens[word[-1]]
    pieces = "".join(tokens[place].piece for place in word)
    return Token(word_text(tokens, word), pieces, first.id, False, first.start, last.end)
