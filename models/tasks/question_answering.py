"""Extractive question answering: where in a text the answer stands (BERT on SQuAD, Devlin et al., 2019, 4.2-4.3)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.errors import InputError
from models.outputs import Answer, Attentions, QuestionAnsweringOutput, Token
from models.tasks.base import TaskModel, require_text
from models.tasks.spans import Reading, Window, best_spans, read_windows
from models.text.characters import inside_words, over_marks
from models.text.tokenizer import Encoding
from models.text.tokens import read_tokens
from models.text.whole_spans import grown, whole_spans

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
