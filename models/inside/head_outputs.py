"""What one walk through a layer gives back: a head's numbers, the block around it, and the guess after every layer."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.outputs import LoadedCheckpoint, Token

Numbers = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class HeadNumbers:
    """Scaled dot-product attention of one head over one text (Vaswani et al., 2017, section 3.2.1), every step of it.

    `queries`, `keys`, `values` and `outputs` are `[token, d_k]`; `scores` (query times key), `scaled` (divided by
    `divisor`, √d_k), `masked` (true where the model may not look) and `weights` are `[query, key]`. `deviation` is the
    greatest distance of the weights and outputs, worked out here, from the model's own.
    """

    queries: Numbers
    keys: Numbers
    values: Numbers
    scores: Numbers
    divisor: float
    scaled: Numbers
    masked: NDArray[np.bool_]
    weights: Numbers
    outputs: Numbers
    deviation: float

    @property
    def width(self) -> int:
        """d_k, the number of components of a query."""
        return int(self.queries.shape[1])


@dataclass(frozen=True, eq=False)
class Stage:
    """One station of a token's way through a block: its name and the token's vector there, `[component]`."""

    name: str
    vector: Numbers


@dataclass(frozen=True, eq=False)
class BlockNumbers:
    """The way of one token through one layer, station by station, from the layer's input to its output.

    `norm_first` says that layer norm stands in front of each part (GPT-2) and not behind it (BERT); `width` is the
    size of a token's vector, `inner_width` that inside the feed-forward part. `deviation` is the greatest distance of
    the last station, worked out here for every token, from the model's own.
    """

    stages: tuple[Stage, ...]
    norm_first: bool
    heads: int
    head_width: int
    width: int
    inner_width: int
    activation: str
    deviation: float


@dataclass(frozen=True, eq=False)
class VectorPath:
    """How the tokens' vectors move through the layers: row 0 is the input, row n what comes out of layer n.

    `norms` (lengths) and `cosines` (to the token's own input, from -1 to 1) are `[layer + 1, token]`.
    """

    norms: Numbers
    cosines: Numbers


@dataclass(frozen=True)
class Guess:
    """A choice, the number that the last linear map gives it (its logit), and the share that softmax makes of that."""

    text: str
    probability: float
    logit: float


@dataclass(frozen=True)
class LayerGuesses:
    """The likeliest choices if the model stopped after `layer` layers, best first; 0 is before the first one."""

    layer: int
    guesses: tuple[Guess, ...]


@dataclass(frozen=True, eq=False)
class Lens:
    """The model's guess after every layer (the "logit lens"), read at `position` by the model's own last step.

    `about` says what is guessed: `word here`, `next word`, `label` or `first token of the answer`. `choices` is how
    many there are, and `vector` what the last of them is read off, the last layer's output `[component]`.
    """

    about: str
    position: int
    choices: int
    vector: Numbers
    layers: tuple[LayerGuesses, ...]


@dataclass(frozen=True, eq=False)
class Look:
    """A look into a model that reads a text: one head, the block around it, the vectors' path and the guesses.

    `kind` is the attention looked at, `kinds` all that the model has, the first one being looked at unless asked.
    `layer`, `head` and `position`, the token that is followed, count from 0. `lens` is `None` where nothing is guessed.
    """

    checkpoint: LoadedCheckpoint
    tokens: tuple[Token, ...]
    segments: tuple[int, ...]
    kind: str
    kinds: tuple[str, ...]
    layers: int
    heads: int
    layer: int
    head: int
    position: int
    numbers: HeadNumbers
    block: BlockNumbers
    path: VectorPath
    lens: Lens | None
