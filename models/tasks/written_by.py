"""Detection of machine-written text: a logistic regression on how well the bundled model predicts a text.

People use words that a language model ranks low more often than models do (Gehrmann et al., 2019; GLTR), and the model
that wrote a text is best at recognising it (Zellers et al., 2019; Grover). The few coefficients are learned by
`training/written_by.py`, which also measures how often they are wrong.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from models.outputs.attention import Attentions
from models.outputs.surprise import TokenSurprise, WrittenByFigures, WrittenByOutput
from models.registry import BUNDLED
from models.tasks.base import TaskModel, require
from models.tasks.surprise import ReadText, attend_to, foreseen, read
from models.wording import Sentence

FILE = BUNDLED.parent / "written_by.json"
RANKS = (1, 10, 100, 1000)
"""Bounds of the bins of ranks; the last bin holds what is beyond."""

BITS = (1.0, 2.0, 4.0, 8.0, 12.0)
"""Bounds of the bins of surprise in bits."""

LEAST_TOKENS = 20
"""The fewest tokens of a text; fewer say too little."""

_TOO_SHORT = Sentence(
    "That is {count} tokens, and fewer than {fewest} say too little about who wrote them. Please give more of the text."
)


@dataclass(frozen=True)
class WrittenByInput:
    """A text written by a person or a model."""

    text: str


class WrittenBy(TaskModel[WrittenByInput, ReadText, tuple[TokenSurprise, ...], WrittenByOutput]):
    """The completion model as a detector of texts that it may have written itself."""

    inputs_type = WrittenByInput

    def preprocess(self, inputs: WrittenByInput) -> ReadText:
        """Tokenize the text; raises `InputError` if it is empty or has fewer than `LEAST_TOKENS` tokens."""
        encoded = read(self, inputs.text)
        count = len(encoded.tokens) - 1
        require(count >= LEAST_TOKENS, "text", _TOO_SHORT, count=count, fewest=LEAST_TOKENS)
        return encoded

    def forward(self, encoded: ReadText) -> tuple[TokenSurprise, ...]:
        """The model's surprise at each token."""
        return foreseen(self, encoded.tokens)

    def postprocess(self, inputs: WrittenByInput, encoded: ReadText, raw: tuple[TokenSurprise, ...]) -> WrittenByOutput:
        """The probability by the regression, and the figures for the greatest measured length that the text reaches."""
        detector, ranks = load(), [each.rank for each in raw]
        shares = features(ranks, [each.bits for each in raw])
        logit = float(shares @ detector["coefficients"]) + detector["intercept"]
        reached = [each for each in detector["figures"] if each["tokens"] <= len(raw)]
        figures = (reached or detector["figures"])[-1 if reached else 0]
        return WrittenByOutput(
            self.identity,
            encoded.tokens,
            float(1 / (1 + np.exp(-logit))),
            len(raw),
            tuple(shares[: len(RANKS) + 1].tolist()),
            WrittenByFigures(figures["tokens"], figures["false_alarms"], figures["accuracy"]),
        )

    def attend(self, inputs: WrittenByInput, written: tuple[int, ...] = ()) -> Attentions:
        """The masked self-attention over the first window of the text."""
        return attend_to(self, self.preprocess(inputs))


def features(ranks: Sequence[int], bits: Sequence[float]) -> np.ndarray:
    """The share of tokens in each bin of ranks, then in each bin of bits."""
    rows = ((ranks, RANKS), (bits, BITS))
    counts = [np.bincount(np.searchsorted(bounds, values), minlength=len(bounds) + 1) for values, bounds in rows]
    return np.concatenate(counts) / len(ranks)


@cache
def load() -> dict[str, Any]:
    """The coefficients and the figures in `FILE`."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found
