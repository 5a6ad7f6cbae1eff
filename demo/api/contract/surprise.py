"""The answers on how well a language model predicts a text, and on whether a model may have written it."""

from typing import TypedDict

from demo.api.contract.base import Answered, TokenScore


class SurprisingToken(TypedDict):
    """A token, the model's prediction of it from the `context` tokens before it, and the likeliest tokens (`rather`).

    `rank` counts from 1, the likeliest; `bits` are −log₂ of the probability.
    """

    token: str
    probability: float
    rank: int
    bits: float
    context: int
    rather: list[TokenScore]


class TextSurprise(TypedDict):
    """The tokens that were counted, and measures over them; `log_probability` is natural, of all of them together.

    `pseudo_perplexity` is the masked model's, null for a text that is too long for it.
    """

    tokens: list[SurprisingToken]
    counted: int
    bits_per_token: float
    perplexity: float
    log_probability: float
    pseudo_perplexity: float | None


class Surprise(Answered, TextSurprise):
    """A text's surprise, and that of the `other` text.

    `start` is the token that is read before the first one and not counted; where it is empty, the first token is not
    counted. The model reads `window` tokens at once; longer texts are read in windows that overlap by half.
    """

    start: str
    window: int
    other: TextSurprise | None


class MeasuredDetector(TypedDict):
    """A detector's shares of errors on texts of `tokens` tokens, kept out of training; guessing has an accuracy of 0.5.

    `false_alarms` is the share of people's texts that were taken for a model's.
    """

    tokens: int
    false_alarms: float
    accuracy: float


class WrittenBy(Answered):
    """The probability that a text is `machine`-written, by the two models that were learned from, if half of texts are.

    It proves nothing about a person, and cannot tell about other models. `ranks` are the shares of the `counted` tokens
    with rank 1, up to 10, up to 100, up to 1,000, and beyond; `figures` say how often such an answer is wrong.
    """

    machine: float
    counted: int
    ranks: list[float]
    figures: MeasuredDetector
