"""What a pass of a GPT-2 is given; see `layout.py`."""

from typing import Any, NamedTuple

from numpy.typing import NDArray

Array = NDArray[Any]

HEAD_WIDTH = 64
"""Of all published GPT-2s."""

PHASES = 4
"""Of one block: attention, a head for each part; heads together; wide; narrow. Scores and ranks follow the last."""

TILES_OF_WORDS = 4
"""So many tiles of the vocabulary are taken at once."""


class Weights(NamedTuple):
    """The weights of all blocks as tiles, `[block, tile, in, 64]`, their biases `[block, out]`, and tables of norms.

    They are float16, kept as whole numbers of the same bits. `norms` `[block, 4, width]` are the factors and the biases
    of both norms of a block, `last` `[2, width]` those of the last one, and `epsilons` `[block + 1, 2]` those of all.
    The vocabulary's bytes in `output`, tiles as well, are to be multiplied by their word's scale; `exact`
    `[word, width]` is what was rounded. `words` and `places` are the embeddings.
    """

    words: Array
    places: Array
    joint: Array
    together: Array
    wide: Array
    narrow: Array
    joint_bias: Array
    together_bias: Array
    wide_bias: Array
    narrow_bias: Array
    norms: Array
    last: Array
    epsilons: Array
    output: Array
    scales: Array
    exact: Array


class Pass(NamedTuple):
    """Texts, and room.

    Of each row of all texts `first` is its first new token, counted through all, `new` how many there are, `behind` how
    many that are remembered, for which there is `room`. `keys` and `values` are the addresses of the first block's
    `[head, room, 64]`; those of each next block are as many bytes `apart`. `ids` `[token]` are all new tokens, `wanted`
    those that are to be scored. `ends` and `counts` are those of `sharing.py`.

    `x` `[token, width]` goes from embeddings to the last block; `normed`, `joint`, `found` and `inner` lie between two
    phases. `final` `[row, width]` are the normed vectors that are scored, a row for each wanted token, `scores`
    `[row, word]` what comes of it, `largest` and `sums` `[row, tile]` what `sum_up` says of that. `best` and `values`
    `[row, most]` are the best words and the logarithms of their probabilities. `scratch` `[thread, …]` is each thread's
    own, and `kept` `[thread, most]` and `kept_words` so, too.
    """

    first: Array
    new: Array
    behind: Array
    room: Array
    keys: Array
    values_at: Array
    apart: Array
    ids: Array
    wanted: Array
    ends: Array
    counts: Array
    x: Array
    normed: Array
    joint: Array
    found: Array
    inner: Array
    final: Array
    scores: Array
    largest: Array
    sums: Array
    best: Array
    values: Array
    scratch: Array
    kept: Array
    kept_words: Array
