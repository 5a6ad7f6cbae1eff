"""How well a language model foresees a text, and whether it reads like a model's."""

import math
from dataclasses import dataclass

from models.outputs.base import LoadedCheckpoint, Prediction, TaskOutput, Token


@dataclass(frozen=True)
class TokenSurprise:
    """How a causal model foresaw a token of a text, after the `context` tokens before it that it had read.

    `rank` counts from 1, the likeliest; `bits` are −log₂ of the `probability`. `rather` are the
    tokens that it found likeliest there.
    """

    token: Token
    probability: float
    rank: int
    bits: float
    context: int
    rather: tuple[Prediction, ...]


@dataclass(frozen=True)
class PseudoPerplexity:
    """The perplexity of a masked model that is asked for each of its `tokens` with that one masked.

    It is no perplexity of a text: each token is foreseen from both sides (Salazar et al., 2020).
    """

    value: float
    tokens: int


@dataclass(frozen=True)
class MeasuredText:
    """The tokens of a text that were counted, and its pseudo-perplexity; none where the text is too long for that."""

    tokens: tuple[TokenSurprise, ...]
    pseudo_perplexity: PseudoPerplexity | None

    @property
    def bits(self) -> float:
        """The surprise of the whole text."""
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
    """A `text` as a language model foresees it, and another beside it where one was given.

    `start` spells the start token, which stands in front and is not counted; where the model has none it is empty, and
    the first token of the text is not counted. A text of more than `window` tokens is read in windows that overlap by
    half. `masked` computed the pseudo-perplexities.
    """

    text: MeasuredText
    other: MeasuredText | None
    start: str
    window: int
    masked: LoadedCheckpoint


@dataclass(frozen=True)
class WrittenByFigures:
    """How a detector did on texts of `tokens` tokens that it was not trained on, as shares of one.

    `false_alarms` are people's texts that were called machine-written; `accuracy` counts as many texts of people as of
    models, so that guessing gets a half.
    """

    tokens: int
    false_alarms: float
    accuracy: float


@dataclass(frozen=True)
class WrittenByOutput(TaskOutput):
    """How much a text reads like a model's rather than a person's.

    `machine` is the probability where one text in two is a model's, from `counted` tokens; `ranks` are the shares of
    them in the bins of `models.tasks.written_by.RANKS`. The `figures` are for the greatest length that was measured
    and that the text reaches.
    """

    machine: float
    counted: int
    ranks: tuple[float, ...]
    figures: WrittenByFigures
