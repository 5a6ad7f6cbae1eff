"""What a second look at an answer finds: what heads do, what tokens did, and what was switched off. Free of torch."""

from dataclasses import dataclass

from models.outputs import MEAN, Token


@dataclass(frozen=True)
class HeadRole:
    """What one head does over one text: a name of `models.head_roles.ROLES`, and the share of weight behind it."""

    layer: int
    head: int
    role: str
    share: float


@dataclass(frozen=True)
class Attribution:
    """What each token did for one decision of the model, by a method such as integrated gradients.

    `scores` has a signed number for each of `tokens`, in units of the logit: together they are `value`, the logit of
    `target` over the text, less `baseline_value`, that over a text of blanks. `delta` is by how much they miss it.
    `baseline` is the token that stood for each blank, empty for embeddings of zero.
    """

    tokens: tuple[Token, ...]
    scores: tuple[float, ...]
    target: str
    method: str
    delta: float
    value: float
    baseline_value: float
    baseline: str
    steps: int


@dataclass(frozen=True)
class SwitchedOff:
    """A head whose output is taken as zero, counted from 0 in the attention of `kind`; `MEAN`: all of the layer's."""

    kind: str
    layer: int
    head: int = MEAN
