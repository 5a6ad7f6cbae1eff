"""What training does: one step of it, and a tiny model that learns a text."""

from dataclasses import dataclass

from models.outputs.base import Prediction, TaskOutput

MASKED, NEXT = "masked", "next"
"""The objectives: fill blanks that were made on purpose (BERT), or foresee the next token (GPT)."""

BLANKED, EXCHANGED, LEFT = "blanked", "exchanged", "left"
"""What becomes of a chosen token before the model reads it; where it foresees the next one, nothing does."""


@dataclass(frozen=True)
class LearnedPlace:
    """A place whose token the model should have found: number `position` of the tokens, which it read as `shown`.

    `fate` is what became of the token, and empty where the next one is foreseen. `loss` is the natural logarithm of the
    token's `probability`, negated; `after` is its probability after the step. `expected` is what the model found
    likeliest.
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
    """One step of training on a text: where the model was asked, how wrong it was, and what that would change.

    `loss` is the mean over the `places`, `loss_after` the same after every parameter was moved against its gradient by
    `rate` times its size. Where `shared`, the output layer uses the table of the embeddings, and the first part holds
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
    """How far a tiny model has come after `step` steps: its mean loss for a character, in nats.

    `loss` is over the characters that it learns from, `kept_out` over those that it never reads; `right` is the share
    of the former that it finds likeliest.
    """

    step: int
    loss: float
    kept_out: float
    right: float


@dataclass(frozen=True)
class Sample:
    """What a tiny model wrote after `step` steps."""

    step: int
    text: str


@dataclass(frozen=True)
class TinyModelOutput(TaskOutput):
    """A model of `parameters` numbers that learned to foresee each next character of a text.

    It learned from the first `read` characters, of which `alphabet` are the different ones of the whole text; the last
    `kept` were kept out. `copied` is how many characters in a row of the last sample stand in the text. `finished` is
    false while it learns, and where it was stopped.
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
