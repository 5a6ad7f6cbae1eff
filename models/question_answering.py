"""Extractive question answering: where in a text the answer stands (BERT on SQuAD, Devlin et al., 2019, 4.2-4.3)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from models.base import TaskModel, require_text
from models.capture import capture_encoder
from models.errors import InputError
from models.outputs import Answer, Attentions, QuestionAnsweringOutput, Token
from models.spans import Span, Window, best_spans, read_windows
from models.tokens import read_tokens

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
    """`network_inputs` are padded tensors `[window, token]`; `tokens` and `in_context` have one entry per window."""

    network_inputs: dict[str, Tensor]
    tokens: tuple[tuple[Token, ...], ...]
    in_context: tuple[NDArray[np.bool_], ...]
    cls_positions: tuple[int, ...]


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
        length = len(self.tokenizer(question, add_special_tokens=False)["input_ids"])
        if length > MAX_QUESTION_TOKENS:
            raise InputError(
                f"The question is {length:,} tokens long, and at most {MAX_QUESTION_TOKENS} leave room for the text.",
                "question",
            )
        encoded = self.tokenizer(
            question,
            context,
            truncation="only_second",
            max_length=min(_WINDOW_TOKENS, self.window),
            stride=min(_OVERLAP_TOKENS, self.window // 4),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding=True,
            return_tensors="pt",
        )
        offsets = encoded.pop("offset_mapping").tolist()
        encoded.pop("overflow_to_sample_mapping", None)
        network_inputs = {name: tensor.to(self.network.device) for name, tensor in encoded.items()}
        ids = network_inputs["input_ids"].tolist()
        real = network_inputs["attention_mask"].bool().tolist()
        tokens, in_context, cls_positions = [], [], []
        for row in range(len(ids)):
            kept = [position for position, is_real in enumerate(real[row]) if is_real]
            side = encoded.sequence_ids(row)
            tokens.append(
                read_tokens(
                    self.tokenizer,
                    [ids[row][position] for position in kept],
                    [tuple(offsets[row][position]) if side[position] == 1 else (-1, -1) for position in kept],
                )
            )
            in_context.append(np.array([side[position] == 1 for position in range(len(ids[row]))]))
            cls_positions.append(ids[row].index(self.tokenizer.cls_token_id))
        return EncodedWindows(network_inputs, tuple(tokens), tuple(in_context), tuple(cls_positions))

    def forward(self, encoded: EncodedWindows) -> Logits:
        """The start and the end logits of every window."""
        output = self.run(**encoded.network_inputs)
        return output.start_logits.float().cpu().numpy(), output.end_logits.float().cpu().numpy()

    def postprocess(
        self, inputs: QuestionAnsweringInput, encoded: EncodedWindows, raw: Logits
    ) -> QuestionAnsweringOutput:
        """The best spans over all windows, none overlapping a better one."""
        windows = self._windows(encoded, raw)
        reading = read_windows(windows)
        best = reading.best_window
        answers = tuple(answer_of(inputs.context, span) for span in best_spans(reading, inputs.top_k))
        return QuestionAnsweringOutput(
            self.identity,
            encoded.tokens[best],
            answers,
            reading.no_answer_probability,
            tuple(windows[best].start_probabilities.tolist()),
            tuple(windows[best].end_probabilities.tolist()),
            len(windows),
        )

    def attend(self, inputs: QuestionAnsweringInput, written: tuple[int, ...] = ()) -> Attentions:
        """The encoder's attention over the window that holds the best answer."""
        encoded = self.preprocess(inputs)
        with self.eager_attention():
            best = read_windows(self._windows(encoded, self.forward(encoded))).best_window
            # Without the padding, which stands in front of XLNet's texts.
            real = encoded.network_inputs["attention_mask"][best].bool()
            one = {name: tensor[best : best + 1, real] for name, tensor in encoded.network_inputs.items()}
            return capture_encoder(self.network, one, encoded.tokens[best])

    def _windows(self, encoded: EncodedWindows, raw: Logits) -> tuple[Window, ...]:
        """Each window's logits, padding left out, with the places an answer may stand at."""
        starts, ends = raw
        windows = []
        mask = encoded.network_inputs["attention_mask"].bool().cpu().numpy()
        for row in range(len(encoded.tokens)):
            real = mask[row]
            cls = int(real[: encoded.cls_positions[row]].sum())
            windows.append(
                Window(
                    starts[row][real],
                    ends[row][real],
                    encoded.in_context[row][real],
                    cls,
                    tuple((token.start, token.end) for token in encoded.tokens[row]),
                )
            )
        return tuple(windows)


def answer_of(context: str, span: Span) -> Answer:
    """The span's text, without the spaces around it."""
    text = context[span.start : span.end]
    start = span.start + len(text) - len(text.lstrip())
    return Answer(text.strip(), span.probability, start, start + len(text.strip()))
