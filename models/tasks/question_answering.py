"""Extractive question answering: the spans of a text that answer a question (BERT, fine-tuned; Devlin et al., 2019)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from models.outputs.attention import Attentions
from models.outputs.base import Token, softmax
from models.outputs.encoders import Answer, QuestionAnsweringOutput
from models.tasks.base import Calibration, TaskModel, padded, require, require_between, require_text
from models.text.characters import inside_words, over_marks, without_spaces
from models.text.tokenizer import Encoding, read_tokens
from models.text.words import grown, whole_spans
from models.wording import Sentence

UNCALIBRATED = Calibration()
MAX_ANSWER_TOKENS = 30
MAX_TOP_K = 10
MAX_QUESTION_TOKENS = 96
_WINDOW_TOKENS = 384
_OVERLAP_TOKENS = 128
# Enough spans to find answers that do not overlap, without sorting every pair of tokens.
_RANKED_SPANS = 500
_UNREAD = np.empty(0, np.float32)
_QUESTION_TOO_LONG = Sentence("The question is {length:,} tokens long, and at most {most} leave room for the text.")
_NO_CONTEXT = Sentence("The text is empty for this model. Please type something else.")

Places = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""The first character, end (exclusive) and probability of each span, `[span]` each."""


@dataclass(frozen=True, eq=False)
class Window:
    """The start and end logits `[token]` of one window, empty before it is read; token `cls` stands for no answer.

    An answer lies in tokens of the text that are more than a space, `in_context`, and consists of whole words: `begins`
    and `ends` mark the tokens with which one may begin and end. `offsets` are the characters `[start, end)` of each
    token as part of an answer: without spaces around it, and extended over a number, e-mail address or URL around it.
    """

    start_logits: NDArray[np.float32]
    end_logits: NDArray[np.float32]
    in_context: NDArray[np.bool_]
    begins: NDArray[np.bool_]
    ends: NDArray[np.bool_]
    cls: int
    offsets: tuple[tuple[int, int], ...]
    tokens: tuple[Token, ...] = ()

    def shares(self, logits: NDArray[np.float32], temperature: float) -> tuple[float, ...]:
        """The probability by `logits` of each token to begin, or end, the answer; the `cls` token stands for none."""
        eligible = self.in_context.copy()
        eligible[self.cls] = True
        calibrated = np.where(eligible, logits / np.float32(temperature), -np.inf)
        return tuple(softmax(calibrated.astype(np.float64)).tolist())

    @property
    def span_scores(self) -> NDArray[np.float64]:
        """Start logit + end logit of each span, `[start, tokens - 1]`, -inf where no answer may stand."""
        starts = np.where(self.in_context & self.begins, self.start_logits, -np.inf).astype(np.float64)
        ends = np.where(self.in_context & self.ends, self.end_logits, -np.inf).astype(np.float64)
        past_the_end = np.full(MAX_ANSWER_TOKENS - 1, -np.inf)
        return np.asarray(
            starts[:, None] + sliding_window_view(np.concatenate([ends, past_the_end]), MAX_ANSWER_TOKENS)
        )

    @property
    def null_score(self) -> float:
        """Start logit + end logit of the `cls` token."""
        return float(self.start_logits[self.cls]) + float(self.end_logits[self.cls])

    def places(self, probabilities: NDArray[np.float64]) -> Places:
        """The likeliest spans by `probabilities` `[start, tokens - 1]`."""
        flat = probabilities.ravel()
        likeliest = np.sort(np.argpartition(flat, -min(_RANKED_SPANS, flat.size))[-_RANKED_SPANS:])
        likeliest = likeliest[flat[likeliest] > 0]
        firsts, more = np.divmod(likeliest, MAX_ANSWER_TOKENS)
        offsets = np.array(self.offsets, np.int64)
        return offsets[firsts, 0], offsets[firsts + more, 1], flat[likeliest]


@dataclass(frozen=True)
class Span:
    """Characters `start` to `end` (exclusive) of the context, and the probability of exactly this span."""

    start: int
    end: int
    probability: float


@dataclass(frozen=True, eq=False)
class Reading:
    """The probabilities of spans, `[start, tokens - 1]` per window, and of no answer; together they sum to one."""

    windows: tuple[Window, ...]
    probabilities: tuple[NDArray[np.float64], ...]
    no_answer_probability: float

    @cached_property
    def _places(self) -> list[Places]:
        return [window.places(each) for window, each in zip(self.windows, self.probabilities, strict=True)]

    def spans(self) -> Iterator[Span]:
        """Yield the likeliest answers, best first.

        Several spans of tokens may be the same characters: in overlapping windows, or if a number or an address has
        several tokens, since it is always answered whole. Their probabilities are added up.
        """
        starts, ends, shares = (np.concatenate(column) for column in zip(*self._places, strict=True))
        base = int(ends.max(initial=0)) + 1
        distinct, numbers = np.unique(starts * base + ends, return_inverse=True)
        summed = np.bincount(numbers, shares, len(distinct))
        for place in (-summed).argsort(kind="stable"):
            start, end = divmod(int(distinct[place]), base)
            yield Span(start, end, float(summed[place]))

    @property
    def best_window(self) -> int:
        """The window that adds most to the probability of the likeliest answer; the first one if there is no answer."""
        best = next(self.spans(), None)
        if best is None:
            return 0
        return int(np.argmax([
            float(shares[(starts == best.start) & (ends == best.end)].sum()) for starts, ends, shares in self._places
        ]))  # fmt: skip


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
    log_odds = calibration.answerable_scale * (together - null) + calibration.answerable_bias
    # The logistic function, in a form that cannot overflow.
    answered = float(0.5 * (1 + np.tanh(0.5 * log_odds)))
    exponentials = [np.exp((each - greatest) / calibration.temperature) for each in scores]
    total = sum(float(each.sum()) for each in exponentials)
    return Reading(windows, tuple(each * (answered / total) for each in exponentials), 1 - answered)


def best_spans(reading: Reading, count: int) -> list[Span]:
    """The `count` likeliest spans, best first, none overlapping a better one."""
    found: list[Span] = []
    for span in reading.spans():
        if len(found) == count:
            break
        if all(span.end <= better.start or span.start >= better.end for better in found):
            found.append(span)
    return found


@dataclass(frozen=True)
class QuestionAnsweringInput:
    """A question and the text that may answer it."""

    question: str
    context: str
    top_k: int = 3


@dataclass(frozen=True, eq=False)
class EncodedWindows:
    """The padded `network_inputs` `[window, token]`, and the `windows` without padding and not read yet."""

    network_inputs: dict[str, NDArray[np.int64]]
    windows: tuple[Window, ...]

    def inputs_of(self, row: int) -> dict[str, NDArray[np.int64]]:
        """The network's inputs `[1, token]` of one window, without padding."""
        real = self.network_inputs["attention_mask"][row].astype(bool)
        return {name: numbers[row : row + 1, real] for name, numbers in self.network_inputs.items()}


Logits = tuple[NDArray[np.float32], NDArray[np.float32]]
"""The start and the end logits, both `[window, token]`."""


class QuestionAnswering(TaskModel[QuestionAnsweringInput, EncodedWindows, Logits, QuestionAnsweringOutput]):
    """A span predictor that reads a long context in overlapping windows."""

    inputs_type = QuestionAnsweringInput

    def preprocess(self, inputs: QuestionAnsweringInput) -> EncodedWindows:
        """Encode question and text in windows; raises `InputError` if one is empty or the question leaves no room."""
        question = require_text(inputs.question, "question", Sentence("The question")).strip()
        context = require_text(inputs.context, "context")
        require_between(1, inputs.top_k, MAX_TOP_K, "top_k", Sentence("The number of answers"))
        length, most = len(self.tokenizer.encode(question, special=False).ids), MAX_QUESTION_TOKENS
        require(length <= most, "question", _QUESTION_TOO_LONG, length=length, most=most)
        size, overlap = min(_WINDOW_TOKENS, self.settings.window), min(_OVERLAP_TOKENS, self.settings.window // 4)
        encodings = self.tokenizer.windows(question, context, size, overlap)
        inside, whole = inside_words(context), whole_spans(context)
        windows = tuple(self._unread(each, context, inside, whole) for each in encodings)
        require(any(each.in_context.any() for each in windows), "context", _NO_CONTEXT)
        return EncodedWindows(padded(encodings, self.tokenizer.settings), windows)

    def _unread(
        self, encoding: Encoding, context: str, inside: NDArray[np.bool_], whole: list[tuple[int, int]]
    ) -> Window:
        """A window with no logits yet; `inside` is `inside_words` and `whole` is `whole_spans` of the context."""
        spans = [span if part == 1 else (-1, -1) for span, part in zip(encoding.offsets, encoding.parts, strict=True)]
        spans = over_marks(context, spans)
        in_context = [bool(context[start:end].strip()) for start, end in spans]
        places = [
            grown(without_spaces(context, span), whole) if is_inside else span
            for span, is_inside in zip(spans, in_context, strict=True)
        ]
        # Tokens outside the text have the span (-1, -1).
        starts_and_ends = np.array(spans)
        return Window(
            _UNREAD,
            _UNREAD,
            np.array(in_context),
            ~inside[starts_and_ends[:, 0]],
            ~inside[starts_and_ends[:, 1]],
            encoding.ids.index(self.tokenizer.settings.cls_token_id or 0),
            tuple(places),
            read_tokens(self.tokenizer, encoding.ids, spans),
        )

    def forward(self, encoded: EncodedWindows) -> Logits:
        """The start and the end logits of every window."""
        starts, ends = self.engine.encode(encoded.network_inputs)
        return starts, ends

    def postprocess(
        self, inputs: QuestionAnsweringInput, encoded: EncodedWindows, raw: Logits
    ) -> QuestionAnsweringOutput:
        """The best spans over all windows, none overlapping a better one."""
        calibration = self.settings.calibration
        reading = read_windows(self.windows(encoded, raw), calibration)
        best = reading.windows[reading.best_window]
        answers = tuple(
            Answer(inputs.context[span.start : span.end], span.probability, span.start, span.end)
            for span in best_spans(reading, inputs.top_k)
        )
        return QuestionAnsweringOutput(
            self.identity,
            best.tokens,
            answers,
            reading.no_answer_probability,
            best.shares(best.start_logits, calibration.temperature),
            best.shares(best.end_logits, calibration.temperature),
            len(reading.windows),
        )

    def attend(self, inputs: QuestionAnsweringInput, written: tuple[int, ...] = ()) -> Attentions:
        """The encoder's attention over the window that holds the best answer."""
        encoded = self.preprocess(inputs)
        read = self.windows(encoded, self.forward(encoded))
        best = read_windows(read, self.settings.calibration).best_window
        return self.attend_encoder(read[best].tokens, encoded.inputs_of(best))

    def windows(self, encoded: EncodedWindows, raw: Logits) -> tuple[Window, ...]:
        """Each window with its logits, without padding."""
        mask = encoded.network_inputs["attention_mask"].astype(bool)
        return tuple(
            replace(window, start_logits=starts[real], end_logits=ends[real])
            for window, real, starts, ends in zip(encoded.windows, mask, *raw, strict=True)
        )
