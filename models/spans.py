"""From start and end logits to answer spans, over one window or several (SQuAD 2.0; Devlin et al., 2019, 4.3)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_ANSWER_TOKENS = 30


@dataclass(frozen=True, eq=False)
class Window:
    """The logits of one window, `[token]` each; `in_context` says where an answer may stand, `cls` where none is said.

    `offsets` are the tokens' characters in the context.
    """

    start_logits: NDArray[np.float32]
    end_logits: NDArray[np.float32]
    in_context: NDArray[np.bool_]
    cls: int
    offsets: tuple[tuple[int, int], ...]

    @property
    def start_probabilities(self) -> NDArray[np.float64]:
        """How likely each token begins the answer; the `cls` token stands for no answer."""
        return _softmax(np.where(self._eligible, self.start_logits, -np.inf))

    @property
    def end_probabilities(self) -> NDArray[np.float64]:
        """How likely each token ends the answer."""
        return _softmax(np.where(self._eligible, self.end_logits, -np.inf))

    @property
    def span_scores(self) -> NDArray[np.float64]:
        """`[start, tokens - 1]`: start logit + end logit of spans up to the longest, -inf where no answer may stand."""
        starts = np.where(self.in_context, self.start_logits, -np.inf).astype(np.float64)
        ends = np.where(self.in_context, self.end_logits, -np.inf).astype(np.float64)
        past_the_end = np.full(MAX_ANSWER_TOKENS - 1, -np.inf)
        following = np.lib.stride_tricks.sliding_window_view(np.concatenate([ends, past_the_end]), MAX_ANSWER_TOKENS)
        return np.asarray(starts[:, None] + following)

    @property
    def null_score(self) -> float:
        """Start logit + end logit of the `cls` token."""
        return float(self.start_logits[self.cls]) + float(self.end_logits[self.cls])

    @property
    def _eligible(self) -> NDArray[np.bool_]:
        eligible = self.in_context.copy()
        eligible[self.cls] = True
        return eligible


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


def read_windows(windows: tuple[Window, ...]) -> Reading:
    """One distribution over all spans of all windows and over no answer.

    The text gives no answer only if no window does, so the null score is the smallest of all windows.
    """
    scores = [window.span_scores for window in windows]
    null = min(window.null_score for window in windows)
    greatest = max(null, *(each.max() for each in scores))
    exponentials = [np.exp(each - greatest) for each in scores]
    null_exponential = float(np.exp(null - greatest))
    total = null_exponential + sum(float(each.sum()) for each in exponentials)
    return Reading(windows, tuple(each / total for each in exponentials), null_exponential / total)


def best_spans(reading: Reading, count: int) -> list[Span]:
    """The `count` likeliest spans, best first, none overlapping a better one."""
    likeliest = [_likeliest(probabilities, 50 * count) for probabilities in reading.probabilities]
    ranked = sorted(
        (-probability, number, place)
        for number, (places, probabilities) in enumerate(likeliest)
        for place, probability in zip(places, probabilities, strict=True)
    )
    found: list[Span] = []
    for negative, number, place in ranked:
        if len(found) == count or not negative:
            break
        offsets, (start, more) = reading.windows[number].offsets, divmod(place, MAX_ANSWER_TOKENS)
        span = Span(offsets[start][0], offsets[start + more][1], -negative)
        if all(span.end <= better.start or span.start >= better.end for better in found):
            found.append(span)
    return found


def _likeliest(probabilities: NDArray[np.float64], most: int) -> tuple[list[int], list[float]]:
    """The places in the flattened `probabilities` of the `most` greatest, in no order, and what stands there.

    Enough of them hold the spans that do not overlap, without sorting every pair of tokens.
    """
    flat = probabilities.ravel()
    places = np.argpartition(flat, -min(most, flat.size))[-most:]
    return places.tolist(), flat[places].tolist()


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    exponentials = np.exp(logits.astype(np.float64) - logits.max())
    return np.asarray(exponentials / exponentials.sum())
