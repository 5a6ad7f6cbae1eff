"""The typed results of the walk's steps: frozen, free of torch, and written to JSON under these names."""

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
    """A token in the vocabulary's own spelling, from character `start` to `end` of its text (0 and 0 for marks).

    Padding is not `attended`.
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
    """A text or a pair as the vocabulary of `checkpoint` spells it, which has `size` pieces.

    `scheme` is `wordpiece`, `byte-level` or `bpe` (pairs that fall back on bytes).
    """

    checkpoint: str
    scheme: str
    size: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, eq=False)
class EmbeddedText:
    """How tokens become the vectors that the first layer reads; vectors are `[token, width]`.

    `parts` (`token`, `segment`, `position`) add up to `summed`, and `normed` is its layer norm, where there is one.
    `difference` is the greatest one, in any number, from the first layer's own input. `positions` `[position, width]`
    are the model's first places, `learned` or computed by a formula. Where they are rotary, they
    are no part: `[position, d_k]` are the cosines and sines by which the first layer turns queries and keys, with
    angles of this `rotary_base`.
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
    """A greedy translation token by token; `cross` is its attention `[layer, head, written token, source token]`."""

    checkpoint: LoadedCheckpoint
    source: tuple[Token, ...]
    generated: tuple[GeneratedToken, ...]
    cross: Numbers


@dataclass(frozen=True)
class ParameterPart:
    """The numbers in one part of a model, `recomputed` from its sizes by `formula`, and `held` by its own tensors."""

    name: str
    formula: str
    recomputed: int
    held: int


@dataclass(frozen=True)
class ParameterCount:
    """The parts of a model; `total` is counted from the network's tensors."""

    checkpoint: LoadedCheckpoint
    parts: tuple[ParameterPart, ...]
    total: int
    width: int


@dataclass(frozen=True, eq=False)
class HeadNumbers:
    """Scaled dot-product attention of one head over one text (Vaswani et al., 2017, section 3.2.1), every step of it.

    `queries`, `keys`, `values` and `outputs` are `[token, d_k]`; `scores` (query times key), `scaled` (divided by
    `divisor`, √d_k), `masked` (true where the model may not look) and `weights` are `[query, key]`. `deviation` is the
    greatest distance of these weights and outputs from the model's own.

    `reach` is how many tokens a token may look to either side, `None` for all of them (local attention).
    `key_value_heads` is how many heads of the layer have keys and values of their own: where these are fewer than its
    heads, several queries share them (grouped-query attention, Ainslie et al., 2023). Where positions are rotary,
    `unturned_queries` and `unturned_keys` are what was turned, with angles of this `rotary_base`.
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
    """The stations of a token's way through a block."""

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
    """The way of one token through one layer, from the layer's input to its output.

    With `norm_first` the norm stands before each part (GPT-2), otherwise after it (BERT); with `centred` it is layer
    norm, otherwise RMS norm, which takes no mean away (Zhang and Sennrich, 2019). `width` is the size of a vector,
    `inner_width` inside the feed-forward part; `deviation` is the greatest distance of any output from the model's own.
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
    """The lengths of all tokens' vectors and their cosines to the input, `[layer + 1, token]`; row 0 is the input."""

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

    `about` says what is guessed: `word here`, `next word`, `label`, `label here`, `label of the pair` or `first token
    of the answer`. `choices` is how many there are, and `vector` `[component]` what the last guess is read off, the
    last layer's output.
    """

    about: str
    position: int
    choices: int
    vector: Numbers
    layers: tuple[LayerGuesses, ...]


@dataclass(frozen=True, eq=False)
class TurnedQuery:
    """The weights of the followed token after number `component` of its `query`, counted from 0, became `value`.

    `before` and `after` are the weights of all keys, `[key]`. `strongest` is the component that moves them most.
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
    """The model's answer in several cases, read at `token`: the `probabilities` `[case, choice]` of these `choices`.

    They are the likeliest of each case, those of the first case in front. `about` is as in `Lens`.
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
    """The answer to a text into which the state of a word of another text was put.

    The cases of `answers` are: the other text, the text itself, and then the text with the word's state before the
    first layer and after each, one at a time. `there` and `here` are the two words, each by the last of its tokens.
    """

    there: Token
    here: Token
    answers: Answers


@dataclass(frozen=True, eq=False)
class Look:
    """A look into a model that reads a text: one head, the block around it, the vectors' path and the guesses.

    `kind` is the attention looked at, `kinds` all that the model has. `layer`, `head` and `position`, the token that is
    followed, count from 0. `lens` is `None` where nothing is guessed.
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
