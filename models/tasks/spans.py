"""From start and end logits to answer spans, over one window or several (SQuAD 2.0; Devlin et al., 2019, 4.3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from models.tasks.calibration import Calibration

UNCALIBRATED = Calibration()
MAX_ANSWER_TOKENS = 30
_RANKED_SPANS = 500


@dataclass(frozen=True, eq=False)
class Window:
    """The logits of one window, `[token]` each; `cls` is where it is said that nothing answers.

    An answer stands where `in_context` says so, and in whole words: `begins` and `ends` mark the tokens with which one
    may begin and end. `offsets` are the characters in the context of the answers that each token is, taken alone.
    """

    start_logits: NDArray[np.float32]
    end_logits: NDArray[np.float32]
    in_context: NDArray[np.bool_]
    begins: NDArray[np.bool_]
    ends: NDArray[np.bool_]
    cls: int
    offsets: tuple[tuple[int, int], ...]

    def start_probabilities(self, temperature: float = 1.0) -> NDArray[np.float64]:
        """How likely each token begins the answer; the `cls` token stands for no answer."""
        return self._shares(self.start_logits, temperature)

    def end_probabilities(self, temperature: float = 1.0) -> NDArray[np.float64]:
        """How likely each token ends the answer."""
        return self._shares(self.end_logits, temperature)

    @property
    def span_scores(self) -> NDArray[np.float64]:
        """`[start, tokens - 1]`: start logit + end logit of spans up to the longest, -inf where no answer may stand."""
        starts = np.where(self.in_context & self.begins, self.start_logits, -np.inf).astype(np.float64)
        ends = np.where(self.in_context & self.ends, self.end_logits, -np.inf).astype(np.float64)
        past_the_end = np.full(MAX_ANSWER_TOKENS - 1, -np.inf)
        return np.asarray(starts[:, None] + np.concatenate([ends, past_the_end])[_following(len(ends))])

    @property
    def null_score(self) -> float:
        """Start logit + end logit of the `cls` token."""
        return float(self.start_logits[self.cls]) + float(self.end_logits[self.cls])

    def _shares(self, logits: NDArray[np.float32], temperature: float) -> NDArray[np.float64]:
        eligible = self.in_context.copy()
        eligible[self.cls] = True
        return _softmax(np.where(eligible, logits / np.float32(temperature), -np.inf))


@dataclass(frozen=True)
class Span:
    """Characters `start` to `end` (exclusive) of the context and the probability of this very place."""

    start: int
    end: int
    probability: float


@dataclass(frozen=True, eq=False)
class Reading:
    """Span probabilities `[start, tokens - 1]` for each window, and that of no answer; together they sum to one."""

    windows: tuple[Window, ...]
    probabilities: tuple[NDArray[np.float64], ...]
    no_answer_probability: float

    def spans(self) -> Iterator[Span]:
        """The likeliest places that may answer, best first."""
        starts, ends, shares = self._ranked
        for start, end, probability in zip(starts, ends, shares, strict=True):
            yield Span(int(start), int(end), float(probability))

    @cached_property
    def _ranked(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Their first characters, ends (exclusive) and probabilities, best first.

        One place may be several spans of tokens: in overlapping windows, or where a number or an address is made of
        several tokens and always answered whole. Their probabilities are added up.
        """
        parts = [_places(*each) for each in zip(self.windows, self.probabilities, strict=True)]
        starts, ends, shares = (np.concatenate(column) for column in zip(*parts, strict=True))
        base = int(ends.max(initial=0)) + 1
        distinct, numbers = np.unique(starts * base + ends, return_inverse=True)
        summed = np.bincount(numbers, shares, len(distinct)).astype(np.float64)
        best_first = (-summed).argsort(kind="stable")
        return (*np.divmod(distinct[best_first], base), summed[best_first])

    @property
    def best_window(self) -> int:
        """The window that adds most to the probability of the likeliest place; the first one where no place answers."""
        best = next(self.spans(), None)
        if best is None:
            return 0
        shares = []
        for window, probabilities in zip(self.windows, self.probabilities, strict=True):
            starts, ends, each = _places(window, probabilities)
            shares.append(float(each[(starts == best.start) & (ends == best.end)].sum()))
        return int(np.argmax(shares))


def read_windows(windows: tuple[Window, ...], calibration: Calibration = UNCALIBRATED) -> Reading:
    """One distribution over all spans of all windows and over no answer.

    The text gives no answer only if no window does, so the null score is the smallest of all windows.
    """
    scores = [window.span_scores for window in windows]
    greatest = max(float(each.max()) for each in scores)
    if greatest == -np.inf:
        return Reading(windows, tuple(np.zeros_like(each) for each in scores), 1.0)
    null = min(window.null_score for window in windows)
    together = greatest + float(np.log(sum(float(np.exp(each - greatest).sum()) for each in scores)))
    answered = answerable(together - null, calibration)
    exponentials = [np.exp((each - greatest) / calibration.temperature) for each in scores]
    total = sum(float(each.sum()) for each in exponentials)
    return Reading(windows, tuple(each * (answered / total) for each in exponentials), 1 - answered)


def answerable(log_odds: float, calibration: Calibration) -> float:
    """The probability that the text answers; `log_odds` are all spans' together against no answer's, uncalibrated."""
    calibrated = calibration.answerable_scale * log_odds + calibration.answerable_bias
    # The logistic function, in a form that cannot overflow.
    return float(0.5 * (1 + np.tanh(0.5 * calibrated)))


def best_spans(reading: Reading, count: int) -> list[Span]:
    """The `count` likeliest spans, best first, none overlapping a better one."""
    found: list[Span] = []
    for span in reading.spans():
        if len(found) == count:
            break
        if all(span.end <= better.start or span.start >= better.end for better in found):
            found.append(span)
    return found


def _places(
    window: Window, probabilities: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """First character, end (exclusive) and probability, `[span]` each, of the likeliest spans of a window.

    Enough of them hold the answers that do not overlap, without sorting every pair of tokens.
    """
    flat = probabilities.ravel()
    likeliest = np.sort(np.argpartition(flat, -min(_RANKED_SPANS, flat.size))[-_RANKED_SPANS:])
    likeliest = likeliest[flat[likeliest] > 0]
    firsts, more = np.divmod(likeliest, MAX_ANSWER_TOKENS)
    offsets = np.array(window.offsets, np.int64)
    return offsets[firsts, 0], offsets[firsts + more, 1], flat[likeliest]


@lru_cache(512)
def _following(tokens: int) -> NDArray[np.int64]:
    """For each of so many tokens the places of those that an answer may end with, if it begins there."""
    return np.arange(tokens)[:, None] + np.arange(MAX_ANSWER_TOKENS)


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    exponentials = np.exp(logits.astype(np.float64) - logits.max())
    return np.asarray(exponentials / exponentials.sum())
