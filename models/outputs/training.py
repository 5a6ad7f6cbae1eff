"""Answers on training: one step of it, and a tiny model that learns a text."""

from dataclasses import dataclass

from models.outputs.base import Prediction, TaskOutput

MASKED, NEXT = "masked", "next"
"""The objectives: predict masked tokens (BERT), or the next token (GPT)."""

BLANKED, EXCHANGED, LEFT = "blanked", "exchanged", "left"
"""The fates of a token chosen for `MASKED`: masked, exchanged for another token, or left as it is."""


@dataclass(frozen=True)
class LearnedPlace:
    """A token that the model should predict, number `position` of the text.

    `shown` is the token that the model read at the place of the prediction. `fate` is what was done to the token before
    the model read it, empty for `NEXT`. `loss` is the negative natural logarithm of the token's `probability`; `after`
    is its probability after the step. `expected` is the token that the model found likeliest.
    """

    position: int
    fate: str
    shown: str
    loss: float
    probability: float
    after: float
    expected: Prediction


@dataclass(frozen=True)
class PartGradient:
    """The Euclidean length (L2 norm) of the loss's gradient over all `parameters` of one part of a network."""

    part: str
    norm: float
    parameters: int


@dataclass(frozen=True)
class TrainingStepOutput(TaskOutput):
    """One step of training on a text: the predicted tokens, the loss before and after the step, and the gradients.

    `loss` is the mean over the `places`; the step subtracts `rate` times its gradient from every parameter, and
    `loss_after` is the mean after it. If `shared`, the output layer uses the embedding table, and the first part holds
    the gradients of both.
    """

    objective: str
    places: tuple[LearnedPlace, ...]
    loss: float
    loss_after: float
    rate: float
    gradients: tuple[PartGradient, ...]
    shared: bool


@dataclass(frozen=True)
class Learned:
    """A tiny model's mean loss per character after `step` steps, in nats.

    `loss` is over the characters that it learns from, `kept_out` over those kept out of training; `right` is the share
    of the former at which it finds the right character likeliest.
    """

    step: int
    loss: float
    kept_out: float
    right: float


@dataclass(frozen=True)
class Sample:
    """A text that a tiny model wrote after `step` steps."""

    step: int
    text: str


@dataclass(frozen=True)
class TinyModelOutput(TaskOutput):
    """A model with `parameters` parameters that learned to predict each next character of a text.

    It learned from the first `read` characters; the last `kept` were kept out. `alphabet` are the distinct characters
    of the whole text. `copied` is the length of the longest run of characters in the last sample that stands in the
    text. `finished` is false while the model learns, and if it was stopped.
    """

    parameters: int
    alphabet: str
    read: int
    kept: int
    steps: int
    course: tuple[Learned, ...]
    samples: tuple[Sample, ...]
    copied: int
    finished: bool
