"""The typed results of the walk's steps: frozen, and free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from models.outputs import GeneratedToken, LoadedCheckpoint, Token

Numbers = NDArray[np.float32]


@dataclass(frozen=True)
class Shape:
    """How large a checkpoint's stack is: the blocks that read the text, the heads in each, and a vector's width."""

    layers: int
    heads: int
    width: int


@dataclass(frozen=True)
class Piece:
    """A token as a model's input holds it: the vocabulary's own spelling, its id and its segment.

    `attended` is false for padding, which no token looks at; `special` is true for marks that stand for no text.
    `start` and `end` are characters of the text it came from, both 0 where it stands for none.
    """

    piece: str
    id: int
    segment: int
    attended: bool
    special: bool
    start: int
    end: int


@dataclass(frozen=True)
class TokenizedText:
    """A text, or a pair of texts, as one vocabulary spells it; `checkpoint` is whose, `size` how many pieces it has.

    `scheme` is `wordpiece`, `byte-level` or `bpe` (pairs that fall back on bytes).
    """

    checkpoint: str
    scheme: str
    size: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, eq=False)
class EmbeddedText:
    """How tokens become the vectors that the first layer reads; vectors are float32 `[token, width]`.

    `parts` are what is added, by name (`token`, `segment`, `position`), and `summed` is their sum. Where the model
    norms that, `normed` is what comes of it. `difference` is the greatest one, in any number, between this and the
    model's own input to its first layer. `positions` `[position, width]` are the model's first places, `learned` or
    computed by a formula.
    """

    checkpoint: LoadedCheckpoint
    tokens: tuple[Token, ...]
    parts: Mapping[str, NDArray[np.float32]]
    summed: NDArray[np.float32]
    normed: NDArray[np.float32] | None
    difference: float
    positions: NDArray[np.float32]
    learned: bool


@dataclass(frozen=True, eq=False)
class TranslationSteps:
    """A translation as its decoder writes it, the likeliest token each time.

    `cross` is float32 `[layer, head, written token, source token]`: where the decoder looks when it writes each token.
    """

    checkpoint: LoadedCheckpoint
    source: tuple[Token, ...]
    generated: tuple[GeneratedToken, ...]
    cross: NDArray[np.float32]


@dataclass(frozen=True)
class ParameterPart:
    """One part of a model: how many numbers were `learned` there, and the sum of products that says so, in words.

    `recomputed` comes from the sizes in the configuration, `held` from the network's own tensors; a tensor that two
    parts share is counted in the first. `held` is `None` for a model that is known by its published sizes alone.
    """

    name: str
    formula: str
    recomputed: int
    held: int | None = None


@dataclass(frozen=True)
class ParameterCount:
    """The parts of a model and what they add up to; `total` is counted from the network's tensors."""

    checkpoint: LoadedCheckpoint
    parts: tuple[ParameterPart, ...]
    total: int
    width: int


@dataclass(frozen=True)
class PublishedSize:
    """A model of a paper: its sizes, its parameters counted from them, and the millions that the paper states."""

    name: str
    layers: int
    width: int
    parameters: int
    stated_millions: int
    counted: str


@dataclass(frozen=True)
class LayerCost:
    """The cost of a layer of one kind for n tokens of width d (Vaswani et al., 2017, table 1), without constants.

    `sequential` is how many operations must wait for one another, `path` how many steps lie between the two tokens
    that are furthest apart.
    """

    name: str
    formula: str
    operations: int
    sequential: int
    path: int


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


class Station(StrEnum):
    """The stations of a token's way through a block, by the names that they have in `BlockNumbers.stages`."""

    INPUT = "input"
    CONCATENATED = "heads, concatenated"
    PROJECTED = "projected"
    ATTENTION_ADDED = "input added"
    ATTENTION_NORMED = "attention normed"
    CROSS_ADDED = "look at the source added"
    CROSS_NORMED = "source normed"
    WIDENED = "widened"
    ACTIVATED = "activated"
    NARROWED = "narrowed"
    FEED_FORWARD_ADDED = "added again"
    OUTPUT_NORMED = "output normed"


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
