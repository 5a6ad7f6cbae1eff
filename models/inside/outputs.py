"""What the steps around the blocks give back: frozen, and free of torch. Those inside a head are in `head_outputs`."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.outputs import GeneratedToken, LoadedCheckpoint, Token


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
    """What a layer of one kind costs for n tokens of width d (Vaswani et al., 2017, table 1), without constants.

    `sequential` is how many operations must wait for one another, `path` how many steps lie between the two tokens
    that are furthest apart.
    """

    name: str
    formula: str
    operations: int
    sequential: int
    path: int
