"""Extractive question answering: the spans of a text that answer a question (BERT, fine-tuned; Devlin et al., 2019)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from models.errors import InputError
from models.outputs import Answer, Attentions, QuestionAnsweringOutput, Token
from models.tasks.base import TaskModel, require_text
from models.tasks.calibration import Calibration
from models.text.characters import inside_words, over_marks
from models.text.tokenizer import Encoding, read_tokens
from models.text.words import grown, whole_spans

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


MAX_TOP_K = 10
MAX_QUESTION_TOKENS = 96
_WINDOW_TOKENS = 384
_OVERLAP_TOKENS = 128


@dataclass(frozen=True)
class QuestionAnsweringInput:
    """A question and the text that may answer it."""

    question: str
    context: str
    top_k: int = 3


@dataclass(frozen=True, eq=False)
class EncodedWindows:
    """`network_inputs` are padded arrays `[window, token]`; the others have one entry per window, without padding.

    `in_context` marks the tokens that an answer may be made of: those of the text that are more than a space. `begins`
    and `ends` mark the tokens with which a word begins and ends. `places` are the characters `[start, end)` of an
    answer that is one token: without spaces around it, and with all of the number, e-mail address or URL around it.
    """

    network_inputs: dict[str, NDArray[np.int64]]
    tokens: tuple[tuple[Token, ...], ...]
    in_context: tuple[NDArray[np.bool_], ...]
    begins: tuple[NDArray[np.bool_], ...]
    ends: tuple[NDArray[np.bool_], ...]
    cls_positions: tuple[int, ...]
    places: tuple[tuple[tuple[int, int], ...], ...]

    def window(self, row: int) -> dict[str, NDArray[np.int64]]:
        """The network's inputs `[1, token]` of one window, without padding."""
        real = self.network_inputs["attention_mask"][row].astype(bool)
        return {name: numbers[row : row + 1, real] for name, numbers in self.network_inputs.items()}


Logits = tuple[NDArray[np.float32], NDArray[np.float32]]
"""The start and the end logits, both `[window, token]`."""


class QuestionAnswering(TaskModel[QuestionAnsweringInput, EncodedWindows, Logits, QuestionAnsweringOutput]):
    """A span predictor that reads a long context in overlapping windows."""

    inputs_type = QuestionAnsweringInput

    def preprocess(self, inputs: QuestionAnsweringInput) -> EncodedWindows:
        """Raises `InputError` for an empty question or text, and for a question that leaves no room for the text."""
        question = require_text(inputs.question, "question", "The question").strip()
        context = require_text(inputs.context, "context", "The text")
        if not 1 <= inputs.top_k <= MAX_TOP_K:
            raise InputError(f"The number of answers must be from 1 to {MAX_TOP_K}.", "top_k")
        self._require_room(question)
        windows = self.tokenizer.windows(
            question, context, min(_WINDOW_TOKENS, self.window), min(_OVERLAP_TOKENS, self.window // 4)
        )
        inside, whole, cls_id = inside_words(context), whole_spans(context), self.tokenizer.cls_token_id or 0
        tokens, in_context, begins, ends, cls_positions, places = [], [], [], [], [], []
        for each in windows:
            spans = [span if part == 1 else (-1, -1) for span, part in zip(each.offsets, each.parts, strict=True)]
            spans = over_marks(context, spans)
            tokens.append(read_tokens(self.tokenizer, each.ids, spans))
            in_context.append(np.array([bool(context[start:end].strip()) for start, end in spans]))
            # What is no part of the text stands at -1, which is behind its end.
            starts_and_ends = np.array(spans)
            begins.append(~inside[starts_and_ends[:, 0]])
            ends.append(~inside[starts_and_ends[:, 1]])
            cls_positions.append(each.ids.index(cls_id))
            places.append(
                tuple(
                    grown(_without_spaces(context, span), whole) if is_inside else span
                    for span, is_inside in zip(spans, in_context[-1], strict=True)
                )
            )
        if not any(each.any() for each in in_context):
            raise InputError("The text is empty for this model. Please type something else.", "context")
        by_window = (tuple(each) for each in (in_context, begins, ends, cls_positions, places))
        return EncodedWindows(self._padded(windows), tuple(tokens), *by_window)

    def forward(self, encoded: EncodedWindows) -> Logits:
        """The start and the end logits of every window."""
        starts, ends = self.engine.encode(encoded.network_inputs)
        return starts, ends

    def postprocess(
        self, inputs: QuestionAnsweringInput, encoded: EncodedWindows, raw: Logits
    ) -> QuestionAnsweringOutput:
        """The best spans over all windows, none overlapping a better one."""
        reading = self._reading(encoded, raw)
        best, temperature = reading.best_window, self.settings.calibration.temperature
        answers = tuple(
            Answer(inputs.context[span.start : span.end], span.probability, span.start, span.end)
            for span in best_spans(reading, inputs.top_k)
        )
        return QuestionAnsweringOutput(
            self.identity,
            encoded.tokens[best],
            answers,
            reading.no_answer_probability,
            tuple(reading.windows[best].start_probabilities(temperature).tolist()),
            tuple(reading.windows[best].end_probabilities(temperature).tolist()),
            len(reading.windows),
        )

    def attend(self, inputs: QuestionAnsweringInput, written: tuple[int, ...] = ()) -> Attentions:
        """The encoder's attention over the window that holds the best answer."""
        encoded = self.preprocess(inputs)
        best = self._reading(encoded, self.forward(encoded)).best_window
        return self.attention_over(encoded.tokens[best], **encoded.window(best))

    def windows(self, encoded: EncodedWindows, raw: Logits) -> tuple[Window, ...]:
        """Each window's logits, without padding, with the places an answer may stand at."""
        mask = encoded.network_inputs["attention_mask"].astype(bool)
        windows = []
        for row in range(len(encoded.tokens)):
            starts, ends = (logits[row][mask[row]] for logits in raw)
            allowed = (encoded.in_context[row], encoded.begins[row], encoded.ends[row])
            windows.append(Window(starts, ends, *allowed, encoded.cls_positions[row], encoded.places[row]))
        return tuple(windows)

    def _padded(self, windows: list[Encoding]) -> dict[str, NDArray[np.int64]]:
        """The network's inputs, each as long as the longest window."""
        settings, length = self.tokenizer.settings, max(len(each.ids) for each in windows)

        def padded(rows: list[list[int]], filling: int) -> NDArray[np.int64]:
            found = np.full((len(rows), length), filling, np.int64)
            for place, row in enumerate(rows):
                found[place, length - len(row) if settings.pads_left else 0 :][: len(row)] = row
            return found

        inputs = {
            "input_ids": padded([each.ids for each in windows], settings.pad_token_id or 0),
            "attention_mask": padded([[1] * len(each.ids) for each in windows], 0),
        }
        if settings.has_types:
            inputs["token_type_ids"] = padded([each.types for each in windows], settings.pad_type_id)
        return inputs

    def _reading(self, encoded: EncodedWindows, raw: Logits) -> Reading:
        """All windows together, with this checkpoint's calibration."""
        return read_windows(self.windows(encoded, raw), self.settings.calibration)

    def _require_room(self, question: str) -> None:
        """Refuse a question that leaves no room for the text."""
        # No tokenizer here makes more tokens than there are bytes and a space in front.
        if len(question.encode(errors="surrogatepass")) < MAX_QUESTION_TOKENS:
            return
        length = len(self.tokenizer.encode(question, special=False).ids)
        if length > MAX_QUESTION_TOKENS:
            raise InputError(
                f"The question is {length:,} tokens long, and at most {MAX_QUESTION_TOKENS} leave room for the text.",
                "question",
            )


def _without_spaces(context: str, span: tuple[int, int]) -> tuple[int, int]:
    """`span` without the spaces at its ends; it holds more than spaces."""
    text = context[slice(*span)]
    start = span[0] + len(text) - len(text.lstrip())
    return start, start + len(text.strip())
