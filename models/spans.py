"""From start and end logits to answer spans, over one window or several (SQuAD 2.0; Devlin et al., 2019, 4.3)."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from models.calibration import Calibration

UNCALIBRATED = Calibration()
MAX_ANSWER_TOKENS = 30


@dataclass(frozen=True, eq=False)
class Window:
    """The logits of one window, `[token]` each; `cls` is where it is said that nothing answers.

    An answer stands where `in_context` says so, and in whole words: `begins` and `ends` mark the tokens with which one
    may begin and end. `offsets` are the tokens' characters in the context.
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
    """Characters `start` to `end` (exclusive) of the context and the probability of this very span."""

    start: int
    end: int
    probability: float


@dataclass(frozen=True, eq=False)
class Reading:
    """Span probabilities `[start, tokens - 1]` for each window, and that of no answer; together they sum to one."""

    windows: tuple[Window, ...]
    probabilities: tuple[NDArray[np.float64], ...]
    no_answer_probability: float

    @property
    def best_window(self) -> int:
        """The window that holds the likeliest span."""
        return int(np.argmax([probabilities.max() for probabilities in self.probabilities]))


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
    likeliest = [_likeliest(probabilities, 50 * count) for probabilities in reading.probabilities]
    numbers = [number for number, places in enumerate(likeliest) for _ in range(len(places))]
    places = np.concatenate(likeliest)
    probabilities = np.concatenate(
        [each.ravel()[some] for each, some in zip(reading.probabilities, likeliest, strict=True)]
    )
    found: list[Span] = []
    for rank in (-probabilities).argsort(kind="stable").tolist():
        probability = float(probabilities[rank])
        if len(found) == count or not probability:
            break
        offsets, (start, more) = reading.windows[numbers[rank]].offsets, divmod(int(places[rank]), MAX_ANSWER_TOKENS)
        span = Span(offsets[start][0], offsets[start + more][1], probability)
        if all(span.end <= better.start or span.start >= better.end for better in found):
            found.append(span)
    return found


def _likeliest(probabilities: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """The places in the flattened `probabilities` of the `most` greatest, the first place first.

    Enough of them hold the spans that do not overlap, without sorting every pair of tokens.
    """
    flat = probabilities.ravel()
    return np.sort(np.argpartition(flat, -min(most, flat.size))[-most:])


@lru_cache(512)
def _following(tokens: int) -> NDArray[np.int64]:
    """For each of so many tokens the places of those that an answer may end with, if it begins there."""
    return np.arange(tokens)[:, None] + np.arange(MAX_ANSWER_TOKENS)


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    exponentials = np.exp(logits.astype(np.float64) - logits.max())
    return np.asarray(exponentials / exponentials.sum())
