"""The typed results of the steps of the tab Inside: frozen, without tensors, and written to JSON by these names."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from models.outputs.base import LoadedCheckpoint, Token
from models.outputs.writing import GeneratedToken

Numbers = NDArray[np.float32]


@dataclass(frozen=True)
class Piece:
    """A token in the vocabulary's spelling, and its characters `start` to `end` in its text (0 and 0 for marks).

    `segment` is the text of a pair that it belongs to, 0 or 1; `attended` is false for padding.
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
    """A text or a pair as `checkpoint` tokenizes it; its vocabulary has `size` pieces.

    `scheme` is `wordpiece`, `byte-level` or `bpe` (BPE with byte fallback).
    """

    checkpoint: str
    scheme: str
    size: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, eq=False)
class EmbeddedText:
    """The vectors `[token, width]` that the first layer reads, and the embeddings that they are the sum of.

    `parts` (`token`, `segment`, `position`) add up to `summed`, and `normed` is its layer norm, where there is one.
    `difference` is the greatest absolute difference from the first layer's own input. `positions` `[position, width]`
    are the embeddings of the model's first positions, `learned` or computed by a formula. Rotary positions are not
    among the parts: `positions` are then the cosines and sines `[position, d_k]` by which the first layer rotates
    queries and keys, with angles of base `rotary_base`.
    """

    checkpoint: LoadedCheckpoint
    tokens: tuple[Token, ...]
    parts: Mapping[str, Numbers]
    summed: Numbers
    normed: Numbers | None
    difference: float
    positions: Numbers
    learned: bool
    rotary_base: float | None = None


@dataclass(frozen=True, eq=False)
class TranslationSteps:
    """A greedy translation by tokens; `cross` is its cross-attention `[layer, head, written token, source token]`."""

    checkpoint: LoadedCheckpoint
    source: tuple[Token, ...]
    generated: tuple[GeneratedToken, ...]
    cross: Numbers


@dataclass(frozen=True)
class ParameterPart:
    """The parameter count of a model's part: `recomputed` from its sizes by `formula`, and `held` in its tensors."""

    name: str
    formula: str
    recomputed: int
    held: int


@dataclass(frozen=True)
class ParameterCount:
    """The parameter counts of a model's parts; `total` is counted from the network's tensors."""

    checkpoint: LoadedCheckpoint
    parts: tuple[ParameterPart, ...]
    total: int
    width: int


@dataclass(frozen=True, eq=False)
class HeadNumbers:
    """Every step of scaled dot-product attention (Vaswani et al., 2017, section 3.2.1) in one head over one text.

    `queries`, `keys`, `values` and `outputs` are `[token, d_k]`; `scores` (query times key), `scaled` (divided by
    `divisor`, √d_k), `masked` (true where the model may not look) and `weights` are `[query, key]`. `deviation` is the
    greatest absolute difference of these weights and outputs from the model's own.

    `reach` is how many tokens to either side a token may look in local attention, `None` where there is no bound.
    `key_value_heads` is the number of the layer's key-value heads: where it is below the number of heads, several
    queries share keys and values (grouped-query attention, Ainslie et al., 2023). Where positions are rotary,
    `unturned_queries` and `unturned_keys` are the vectors before the rotation by angles of base `rotary_base`.
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
    key_value_heads: int
    rotary_base: float | None = None
    unturned_queries: Numbers | None = None
    unturned_keys: Numbers | None = None
    reach: int | None = None

    @property
    def width(self) -> int:
        """d_k, the number of components of a query."""
        return int(self.queries.shape[1])


class Station(StrEnum):
    """The points in a layer at which a token's vector is shown."""

    INPUT = "input"
    CONCATENATED = "heads, concatenated"
    PROJECTED = "projected"
    ATTENTION_ADDED = "input added"
    ATTENTION_NORMED = "attention normed"
    CROSS_ADDED = "look at the source added"
    CROSS_NORMED = "source normed"
    WIDENED = "widened"
    ACTIVATED = "activated"
    GATED = "gated"
    NARROWED = "narrowed"
    FEED_FORWARD_ADDED = "added again"
    OUTPUT_NORMED = "output normed"


@dataclass(frozen=True, eq=False)
class Stage:
    """A `Station` by name, and the followed token's vector there, `[component]`."""

    name: str
    vector: Numbers


@dataclass(frozen=True, eq=False)
class BlockNumbers:
    """One token's vector at each `Station` of one layer, from the layer's input to its output.

    With `norm_first` the norm comes before each sublayer (GPT-2), otherwise after it (BERT); with `centred` it is layer
    norm, otherwise RMS norm, which subtracts no mean (Zhang and Sennrich, 2019). `width` is the size of a vector,
    `inner_width` its size inside the feed-forward layer; `deviation` is the greatest absolute difference of the output
    for any token from the model's own.
    """

    stages: tuple[Stage, ...]
    norm_first: bool
    heads: int
    head_width: int
    width: int
    inner_width: int
    activation: str
    deviation: float
    centred: bool = True

    @property
    def is_gated(self) -> bool:
        """Whether the feed-forward part multiplies its activations by a second map of its input (Shazeer, 2020)."""
        return any(stage.name == Station.GATED for stage in self.stages)


@dataclass(frozen=True, eq=False)
class VectorPath:
    """The norm of each token's vector and its cosine to the token's input, `[layer + 1, token]`; row 0 is the input."""

    norms: Numbers
    cosines: Numbers


@dataclass(frozen=True)
class Guess:
    """A choice, its probability by softmax, and its logit, the number that the last linear map gives it."""

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
    """The model's guess after every layer (the "logit lens"), read at `position` by the model's own output head.

    `about` says what is guessed: `word here`, `next word`, `label`, `label here`, `label of the pair` or `first token
    of the answer`. `choices` is the number of choices, and `vector` `[component]` the last layer's output, from which
    the last guess is read.
    """

    about: str
    position: int
    choices: int
    vector: Numbers
    layers: tuple[LayerGuesses, ...]


@dataclass(frozen=True, eq=False)
class TurnedQuery:
    """The followed token's attention before and after component `component` of its `query`, from 0, became `value`.

    `before` and `after` are its weights `[key]`. `strongest` is the component that changes them most.
    """

    tokens: tuple[Token, ...]
    position: int
    query: Numbers
    component: int
    value: float
    before: Numbers
    after: Numbers
    strongest: int


@dataclass(frozen=True, eq=False)
class Answers:
    """The model's answer in several cases, read at `token`: the `probabilities` `[case, choice]` of `choices`.

    `choices` are the likeliest ones of each case, the first case's first. `about` is as in `Lens`.
    """

    about: str
    token: Token
    choices: tuple[str, ...]
    probabilities: Numbers


@dataclass(frozen=True, eq=False)
class Temperatures:
    """The answer at each of `temperatures`, and the entropy in bits over all choices, `[temperature]`."""

    answers: Answers
    temperatures: Numbers
    entropies: Numbers


@dataclass(frozen=True, eq=False)
class Patched:
    """The answers to a text in which the state of one word is replaced by that of a word in another text.

    The cases of `answers` are: the other text, the text itself, and then the text with the state replaced before the
    first layer and after each layer, one at a time. `there` and `here` are the last tokens of the word in the other
    text and of the word that is replaced.
    """

    there: Token
    here: Token
    answers: Answers


@dataclass(frozen=True, eq=False)
class Look:
    """The numbers of one forward pass over a text: one head, its layer, the vectors through all layers, the guesses.

    `kind` is the kind of self-attention shown, `kinds` all that the model has. `layer`, `head` and `position`, that of
    the followed token, count from 0. `lens` is `None` where nothing is guessed.
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
