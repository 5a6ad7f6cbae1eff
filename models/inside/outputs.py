"""What the steps around the blocks give back: frozen, and free of torch. Those inside a head are in `head_outputs`."""

from dataclasses import dataclass


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
