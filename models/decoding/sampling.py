"""From logits to a drawn token: temperature, top-k, top-p, the loop guard, and the settings of a search."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.outputs.base import Number, softmax

Scores = NDArray[np.float32]

LEAST = 1e-45
"""The smallest positive float32: a probability below it becomes zero, whose logarithm JSON cannot hold."""


@dataclass(frozen=True)
class GenerationSettings:
    """The generation settings of a checkpoint; ids are those of its vocabulary.

    `end_ids` end a text, and an encoder-decoder begins with `start_id`. `bad_words_ids` are never written, no run of
    `no_repeat_ngram_size` tokens is written twice, and `forced_bos_id` and `forced_eos_ids` stand first and last.
    `length_penalty` and `early_stopping` are beam search's.
    """

    start_id: int | None = None
    end_ids: tuple[int, ...] = ()
    bad_words_ids: tuple[tuple[int, ...], ...] = ()
    no_repeat_ngram_size: int = 0
    forced_bos_id: int | None = None
    forced_eos_ids: tuple[int, ...] = ()
    renormalize_logits: bool = False
    length_penalty: float = 1.0
    early_stopping: bool | str = False

    def processed(self, written: Sequence[Sequence[int]], scores: Scores, max_length: int) -> Scores:
        """The `scores` `[row, vocabulary]` after each row of `written`, with minus infinity for forbidden tokens.

        A text has at most `max_length` ids.
        """
        length = len(written[0])
        if self.no_repeat_ngram_size or self.bad_words_ids:
            scores = scores.copy()
            for row, ids in zip(scores, written, strict=True):
                row[self._forbidden(ids)] = -np.inf
        forced = [self.forced_bos_id] if self.forced_bos_id is not None and length == 1 else []
        if self.forced_eos_ids and length == max_length - 1:
            forced = [*self.forced_eos_ids]
        if forced:
            scores = np.full_like(scores, -np.inf)
            scores[:, forced] = 0
        return log_softmax(scores) if self.renormalize_logits else scores

    def _forbidden(self, written: Sequence[int]) -> list[int]:
        """The ids that may not follow `written`."""
        found = barred(written, self.no_repeat_ngram_size, times=1) if self.no_repeat_ngram_size else []
        for *before, last in self.bad_words_ids:
            # An end token may be written even where it is forbidden, as in transformers.
            if not before and last in self.end_ids:
                continue
            if not before or (len(before) < len(written) and list(written[-len(before) :]) == before):
                found.append(last)
        return found


LOOP_GUARD = 4
"""The default length, in tokens, of the runs that may not be written a third time."""


def barred(written: Sequence[int], size: int, times: int = 2) -> list[int]:
    """The tokens that would complete a run of `size` tokens, one or more, that `written` already has `times` times."""
    text = list(written)
    begun = text[len(text) - size + 1 :]
    places: Sequence[int] = range(size - 1, len(text))
    if begun:
        # Comparing one token first rules out most places; comparing a whole run takes longer.
        places = [place for place in places if text[place - 1] == begun[-1] and text[place - size + 1 : place] == begun]
    followed = Counter(text[place] for place in places)
    return [token for token, count in followed.items() if count >= times]


def log_softmax(logits: NDArray[Number]) -> NDArray[Number]:
    """Return the log-softmax of `logits` over the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def best(scores: Scores, count: int) -> NDArray[np.int64]:
    """The places of the `count` greatest of `scores` `[place]`, greatest first; of equal ones, the first."""
    count = min(count, len(scores))
    # At least `count` scores reach the `count`-th greatest maximum of groups of 32, so the best are among them.
    peaks = scores[: len(scores) - len(scores) % 32].reshape(32, -1).max(axis=0)
    if len(peaks) < count:
        peaks = scores
    found = np.flatnonzero(scores >= np.partition(peaks, -count)[-count])
    return np.asarray(found[np.argsort(-scores[found], kind="stable")[:count]])


def without(scores: Scores, barred: Collection[int]) -> Scores:
    """Return `scores` `[vocabulary]` with those of `barred` tokens at minus infinity, unless nothing else is left.

    A checkpoint's settings may force an end token on a text even within a character.
    """
    if not barred:
        return scores
    left = scores.copy()
    left[list(barred)] = -np.inf
    return left if np.isfinite(left).any() else scores


def best_choices(log_scores: Sequence[Sequence[float]], count: int) -> list[tuple[int, ...]]:
    """Return the `count` best ways to choose one candidate per place, best first, as ranks in each place.

    The score of a choice is the sum of its log scores. The best choices extend the best ones for the places before.
    """
    choices: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for scores in log_scores:
        longer = [(worth - score, (*ranks, rank)) for worth, ranks in choices for rank, score in enumerate(scores)]
        choices = sorted(longer)[:count]
    return [ranks for _, ranks in choices]


class Sampling:
    """Draws tokens by their probabilities after temperature and cut-offs; the same `seed` draws the same tokens.

    Only the `top_k` likeliest are drawn, and of these the likeliest that have `top_p` of the probability together;
    `top_k=0` and `top_p=1` cut nothing off. The draws are those of transformers' `generate` after
    `torch.manual_seed(seed)`.
    """

    def __init__(self, temperature: float, top_k: int, top_p: float, seed: int) -> None:
        self._temperature = np.float32(temperature)
        self._top_k = top_k
        self._top_p = top_p
        # torch's generator on a CPU is the same Mersenne Twister, seeded in the same way.
        self._random = np.random.RandomState(seed)

    def shares(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """The probabilities `[vocabulary]` to draw by; those of tokens that are cut off are 0."""
        kept = best(logits, self._top_k or len(logits))
        shares = softmax(logits[kept] / self._temperature)
        if self._top_p < 1:
            # Summed from the least likely on; the likeliest always stays.
            cut = np.cumsum(shares[::-1])[::-1] <= 1 - self._top_p
            cut[0] = False
            shares = np.where(cut, 0, shares)
            shares /= shares.sum()
        found = np.zeros_like(logits)
        found[kept] = shares
        return found

    def draw(self, shares: NDArray[np.float32]) -> int:
        """Draw one token by its probability in `shares` `[vocabulary]`, the one that `torch.multinomial` draws.

        Each token gets a number from an exponential distribution; the one with the greatest ratio of share to number is
        drawn.
        """
        high, low = self._random.randint(0, 2**32, (len(shares), 2), dtype=np.uint32).astype(np.uint64).T
        drawn = np.flatnonzero(shares)
        chances = (((high << np.uint64(32)) | low)[drawn] & np.uint64(2**53 - 1)) / 2**53
        return int(drawn[(shares[drawn] / -np.log1p(-chances)).argmax()])
