"""Answers on how well a language model predicts a text, and on whether a model wrote it."""

import math
from dataclasses import dataclass

from models.outputs.base import LoadedCheckpoint, Prediction, TaskOutput, Token


@dataclass(frozen=True)
class TokenSurprise:
    """A causal model's prediction of one token of a text from the `context` tokens before it that it had read.

    `rank` counts from 1, the likeliest; `bits` are −log₂ of the `probability`. `rather` are the tokens that the model
    found likeliest there.
    """

    token: Token
    probability: float
    rank: int
    bits: float
    context: int
    rather: tuple[Prediction, ...]


@dataclass(frozen=True)
class PseudoPerplexity:
    """The pseudo-perplexity of a text: a masked model predicts each of its `tokens` with only that one masked.

    It is no perplexity of a text: each token is predicted from both sides (Salazar et al., 2020).
    """

    value: float
    tokens: int


@dataclass(frozen=True)
class MeasuredText:
    """The counted tokens of a text and its pseudo-perplexity, None if the text is too long for that, or empty."""

    tokens: tuple[TokenSurprise, ...]
    pseudo_perplexity: PseudoPerplexity | None

    @property
    def bits(self) -> float:
        """The surprise of the whole text, in bits."""
        return math.fsum(each.bits for each in self.tokens)

    @property
    def bits_per_token(self) -> float:
        """The cross-entropy: the mean surprise of a token, in bits."""
        return self.bits / len(self.tokens)

    @property
    def perplexity(self) -> float:
        """Two to the power of the bits per token."""
        return float(2**self.bits_per_token)

    @property
    def log_probability(self) -> float:
        """The natural logarithm of the probability of all counted tokens together."""
        return -self.bits * math.log(2)


@dataclass(frozen=True)
class SurpriseOutput(TaskOutput):
    """The surprise of a language model at a `text`, and at an `other` one if it was given.

    `start` spells the start token, which stands in front and is not counted; it is empty if the model has none, and
    then the first token of the text is not counted. A text of more than `window` tokens is read in windows that overlap
    by half. `masked` computed the pseudo-perplexities.
    """

    text: MeasuredText
    other: MeasuredText | None
    start: str
    window: int
    masked: LoadedCheckpoint


@dataclass(frozen=True)
class WrittenByFigures:
    """The performance of the detector on texts of `tokens` tokens that it was not trained on, as shares of one.

    `false_alarms` is the share of people's texts that were called machine-written; `accuracy` weighs texts of people
    and of models equally, so that guessing gets a half.
    """

    tokens: int
    false_alarms: float
    accuracy: float


@dataclass(frozen=True)
class WrittenByOutput(TaskOutput):
    """The detector's answer: `machine` is the probability that a model rather than a person wrote the text.

    It assumes that one text in two is a model's, and rests on `counted` tokens; `ranks` are the shares of these tokens
    in the bins of `models.tasks.written_by.RANKS`. The `figures` are those of the greatest measured length that the
    text reaches, or of the least one for a shorter text.
    """

    machine: float
    counted: int
    ranks: tuple[float, ...]
    figures: WrittenByFigures
