"""Sentiment: a sentence encoder with a classification head (BERT fine-tuned, Devlin et al., 2019, section 4.1)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from models.outputs import Attentions, Prediction, SentimentOutput, Token
from models.tasks.arrays import batch_of_one
from models.tasks.base import TaskModel, require_text, require_tokens
from models.tasks.calibration import calibration_of
from models.text.characters import over_marks
from models.text.tokens import read_tokens


@dataclass(frozen=True)
class TextClassificationInput:
    """A text to classify."""

    text: str


@dataclass(frozen=True)
class EncodedText:
    """`ids` is `[1, token]`."""

    ids: Tensor
    tokens: tuple[Token, ...]


Logits = NDArray[np.float32]
"""One number for each label, `[label]`."""


class TextClassification(TaskModel[TextClassificationInput, EncodedText, Logits, SentimentOutput]):
    """A sequence classifier with the probability of each label."""

    inputs_type = TextClassificationInput

    def preprocess(self, inputs: TextClassificationInput) -> EncodedText:
        """Raises `InputError` for empty text and for one longer than the window."""
        text = require_text(inputs.text, "text", "The text")
        encoded = self.tokenizer(text, return_offsets_mapping=True)
        ids = list(encoded["input_ids"])
        self.require_window(len(ids), "text")
        offsets = over_marks(text, encoded["offset_mapping"])
        tokens = read_tokens(self.tokenizer, ids, offsets)
        require_tokens(tokens, "text", "The text")
        return EncodedText(batch_of_one(ids, self.device), tokens)

    def forward(self, encoded: EncodedText) -> Logits:
        """The logits `[label]`."""
        (rows,) = self.encode(input_ids=encoded.ids)
        logits: Logits = rows[0]
        return logits

    def postprocess(self, inputs: TextClassificationInput, encoded: EncodedText, raw: Logits) -> SentimentOutput:
        """Softmax over the calibrated logits; the labels' names come from the checkpoint, in lower case."""
        shares = np.exp((raw - raw.max()) / np.float32(calibration_of(self.config).temperature))
        names = dict(enumerate((self.config.id2label or {}).values()))
        scores = tuple(
            Prediction(str(names[index]).lower(), score) for index, score in enumerate((shares / shares.sum()).tolist())
        )
        return SentimentOutput(self.identity, encoded.tokens, max(scores, key=lambda each: each.score).text, scores)

    def attend(self, inputs: TextClassificationInput, written: tuple[int, ...] = ()) -> Attentions:
        """The encoder's attention over the text."""
        encoded = self.preprocess(inputs)
        return self.attention_over(encoded.tokens, input_ids=encoded.ids)
