"""What a pass of an encoder is given; see `layout.py`."""

from typing import Any, NamedTuple

from numpy.typing import NDArray

Array = NDArray[Any]

ROWS_OF_A_NORM = 8
"""So many rows are normed as one part."""

PHASES = 6
"""Of one block: attention, a tile of queries for each part; heads together; norm; wide; narrow; norm.

One phase is before all blocks, for embeddings.
"""

FACTOR = 2
"""A factor takes the place of so many numbers of 16 bits."""

MOST_INPUT = 2**14 - 1
"""The largest whole number that an input is kept as."""


class EncoderWeights(NamedTuple):
    """All blocks' weights in 16 bits, `[block, tile, in, 64]`, and biases `[block, out]` and norms in float32.

    In bfloat16 those of two inputs that follow each other stand side by side: `[tile, in / 2, 64, 2]`. Of each block
    `norms` are the factors and the biases of both, `[block, 4, width]`, and `epsilons` `[block, 2]`. A head is as wide
    as there are numbers in `head`. `words`, `places` and `texts` `[entry, width]` are the tables of embeddings, the
    last of which may have no entry, `norm` `[2, width]` and `epsilon` `[1]` those of their norm.
    """

    joint: Array
    together: Array
    wide: Array
    narrow: Array
    joint_bias: Array
    together_bias: Array
    wide_bias: Array
    narrow_bias: Array
    norms: Array
    epsilons: Array
    head: Array
    words: Array
    places: Array
    texts: Array
    norm: Array
    epsilon: Array


class EncoderPass(NamedTuple):
    """Texts, what is wanted of them, and room.

    Tokens are counted through all texts. Each text begins with its `first` and has so many (`sizes`); `wanted` are the
    tokens that are asked for, in order, of which each text has its first at `asked_first`, and `asked` many. `ids`,
    `columns` and `types` `[token]` say of each which word it is, which place it has and of which text of a pair it is.
    `ends` and `counts` are those of `sharing.py`.

    `x` `[token, width]` is what is read, from the embeddings on; behind the last block its first rows are what is
    wanted. `joint` `[token, 3 * width]` are the queries, keys and values. `kept`, which is `x`, `found`
    `[token, width]` and `inner` `[token, inner]` are what products read: in bfloat16 for answers. `scratch`
    `[thread, …]` is each thread's own. Where attention is to be seen, of a single text, `seen` has its numbers,
    `[block, head * query * key]`, and otherwise no block.
    """

    first: Array
    sizes: Array
    wanted: Array
    asked_first: Array
    asked: Array
    ids: Array
    columns: Array
    types: Array
    ends: Array
    counts: Array
    x: Array
    kept: Array
    joint: Array
    found: Array
    inner: Array
    scratch: Array
    seen: Array
