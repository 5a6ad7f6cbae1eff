"""The answers on training: one step of it, and a tiny model that learns a text."""

from typing import TypedDict

from demo.api.contract.base import Answered, TokenScore


class LearnedToken(TypedDict):
    """A token that the model should have predicted, at `position` of the tokens, where it read `shown`.

    `fate` is `blanked`, `exchanged` or `left`, and empty where the next token is predicted. `loss` is −ln of the
    token's `probability`, `after` its probability after the step, `expected` the token that the model found likeliest.
    """

    position: int
    token: str
    fate: str
    shown: str
    loss: float
    probability: float
    after: float
    expected: TokenScore


class PartOfNetwork(TypedDict):
    """The Euclidean length (L2 norm) of the loss's gradient over the parameters of one part of the network."""

    part: str
    norm: float
    parameters: int


class TrainingStep(Answered):
    """One step of training: `loss` is the mean over the `places`, in nats, `loss_after` the same after the step.

    The step moves each parameter against its gradient by `rate` times that, and is not kept. Where `shared`, the output
    layer uses the table of the embeddings, whose gradient is the sum of both uses.
    """

    objective: str
    tokens: list[str]
    places: list[LearnedToken]
    loss: float
    loss_after: float
    rate: float
    gradients: list[PartOfNetwork]
    shared: bool


class LearnedSoFar(TypedDict):
    """The mean loss of a character, in nats, after `step` steps: of those learned from, and of those `kept_out`.

    `right` is the share of the former that the model finds likeliest.
    """

    step: int
    loss: float
    kept_out: float
    right: float


class WrittenSample(TypedDict):
    """The text that the model wrote after `step` steps."""

    step: int
    text: str


class TinyModel(Answered):
    """A tiny model's `course` and its `samples`; it learned from `read` characters and never read the last `kept`.

    `alphabet` are the different characters, `copied` is how many in a row of the last sample stand in the text.
    """

    parameters: int
    alphabet: str
    read: int
    kept: int
    steps: int
    course: list[LearnedSoFar]
    samples: list[WrittenSample]
    copied: int
    finished: bool
