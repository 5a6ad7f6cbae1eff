"""Sentiment: a sentence encoder with a classification head (BERT fine-tuned, Devlin et al., 2019, section 4.1)."""

from dataclasses import dataclass

import numpy as np

from models.engine import Ids, Logits
from models.outputs.attention import Attentions
from models.outputs.base import Prediction, Token, softmax
from models.outputs.encoders import SentimentOutput
from models.tasks.base import TaskModel, batch_of_one


@dataclass(frozen=True)
class TextClassificationInput:
    """A text to classify."""

    text: str


@dataclass(frozen=True)
class EncodedText:
    """A tokenized text; `ids` is `[1, token]`."""

    ids: Ids
    tokens: tuple[Token, ...]


class TextClassification(TaskModel[TextClassificationInput, EncodedText, Logits, SentimentOutput]):
    """A sequence classifier with the probability of each label."""

    inputs_type = TextClassificationInput

    def preprocess(self, inputs: TextClassificationInput) -> EncodedText:
        """Tokenize the text; raises `InputError` if it is empty or longer than the window."""
        encoded, tokens = self.read_text(inputs.text)
        self.require_window(len(encoded.ids), "text")
        return EncodedText(batch_of_one(encoded.ids), tokens)

    def forward(self, encoded: EncodedText) -> Logits:
        """The logits `[label]`."""
        (rows,) = self.engine.encode({"input_ids": encoded.ids})
        return np.asarray(rows[0])

    def postprocess(self, inputs: TextClassificationInput, encoded: EncodedText, raw: Logits) -> SentimentOutput:
        """Softmax over the calibrated logits; the labels are the checkpoint's, in lower case."""
        shares = softmax(raw / np.float32(self.settings.calibration.temperature)).tolist()
        scores = tuple(map(Prediction, self.settings.labels, shares))
        return SentimentOutput(self.identity, encoded.tokens, max(scores, key=lambda each: each.score).text, scores)

    def attend(self, inputs: TextClassificationInput, written: tuple[int, ...] = ()) -> Attentions:
        """The encoder's attention over the text."""
        encoded = self.preprocess(inputs)
        return self.attend_encoder(encoded.tokens, {"input_ids": encoded.ids})
