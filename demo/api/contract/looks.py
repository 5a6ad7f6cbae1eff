"""The answers of the endpoints that look into a run, its attention, heads and tokens, and inside a model."""

from typing import Any, TypedDict

from demo.api.contract.base import Answered, CheckpointUsed


class OfKind(Answered):
    """The kind of attention that the answer is about, and all kinds that the run has."""

    kind: str
    kinds: list[str]


class AttentionRows(OfKind):
    """`weights[query][key]` of one layer and head or of many; but for the maximum, every row sums to one."""

    query_tokens: list[str]
    key_tokens: list[str]
    weights: list[list[float]]
    layers: int
    heads: int


class Sheet(OfKind):
    """All heads as one PNG in a data URI, layers as rows and heads as columns, and where each is, in pixels.

    The thumbnail of a layer and head, counted from 0, begins at `gap + head * (cell_width + gap)` from the left and
    `gap + layer * (cell_height + gap)` from the top.
    """

    image: str
    layers: int
    heads: int
    width: int
    height: int
    cell_width: int
    cell_height: int
    gap: int


class RoleOfHead(TypedDict):
    """The role of a head and the share of its weight that speaks for it; layer and head are counted from 0."""

    layer: int
    head: int
    role: str
    share: float


class HeadRoles(OfKind):
    """The role of every head, layer by layer."""

    roles: list[RoleOfHead]


class Attributed(Answered):
    """One signed score for each token; their sum is `value` less `baseline_value`, logits of `target`, plus `delta`.

    `agreement` is the rank correlation of the scores' sizes with the mean attention that the tokens receive, null where
    there are too few tokens.
    """

    target: str
    tokens: list[str]
    scores: list[float]
    method: str
    steps: int
    baseline: str
    delta: float
    value: float
    baseline_value: float
    agreement: float | None


class Comparison(Answered):
    """The answer before and after, each as its task's endpoint gives it, and whether they say different things."""

    before: dict[str, Any]
    after: dict[str, Any]
    changed: bool


class GuessedToken(TypedDict):
    """A guess, the logit that the model gives it, and its probability, the softmax of that."""

    token: str
    probability: float
    logit: float


class GuessesOfLayer(TypedDict):
    """The likeliest guesses if the model stopped after `layer` layers, best first; 0 is before the first one."""

    layer: int
    guesses: list[GuessedToken]


class InsideNumbers(TypedDict):
    """One head over one text, for the token at `position`: its query against every key, and the output.

    `scores` are query times key, `scaled` the same divided by `divisor` (√d_k), `weights` their softmax over the tokens
    that are not `masked`, `output` the sum of the `values` by these weights. `guesses_by_layer` is empty where the
    model guesses nothing; `guesses_about` says what is guessed.
    """

    checkpoint: CheckpointUsed
    duration_ms: float
    kind: str
    kinds: list[str]
    layers: int
    heads: int
    layer: int
    head: int
    position: int
    tokens: list[str]
    segments: list[int]
    query: list[float]
    keys: list[list[float]]
    values: list[list[float]]
    scores: list[float]
    divisor: float
    scaled: list[float]
    masked: list[bool]
    weights: list[float]
    output: list[float]
    guesses_about: str
    guesses_by_layer: list[GuessesOfLayer]
