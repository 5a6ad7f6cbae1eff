"""What usually stands behind one and behind two pieces: with it a completion model's next pieces are guessed."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

PAIRS = 150_000
"""So many are kept, those that guess rightly most often."""
SURE_ENOUGH = 0.25
"""A piece with a lesser share of all that stands behind a pair is no guess."""


class Usual(NamedTuple):
    """Pairs in order, as `first * vocabulary + second`, what is likeliest behind each, and its share of all that is.

    And the same for every piece alone, `[vocabulary]`.
    """

    pairs: Tensor
    behind_pairs: Tensor
    shares_of_pairs: Tensor
    behind_one: Tensor
    shares_of_one: Tensor


def usual_behind(runs: Sequence[Tensor], vocabulary: int, most: int = PAIRS) -> Usual:
    """Of `runs` `[piece]` the `most` useful pairs, and all pieces. Behind what ends all of its runs stands piece 0."""
    run = torch.cat(list(runs))
    pieces, behind, _, shares = _likeliest(run[:-1], run[1:], vocabulary)
    behind_one, shares_of_one = torch.zeros(vocabulary, dtype=torch.long), torch.zeros(vocabulary)
    behind_one[pieces], shares_of_one[pieces] = behind, shares
    pairs, behind, times, shares = _likeliest(run[:-2] * vocabulary + run[1:-1], run[2:], vocabulary)
    useful = times * (shares >= SURE_ENOUGH)
    kept = useful.topk(min(most, int(useful.count_nonzero()))).indices.sort().values
    return Usual(pairs[kept], behind[kept], shares[kept], behind_one, shares_of_one)


def _likeliest(before: Tensor, behind: Tensor, vocabulary: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Each number of `before`, in order; the piece that is most often `behind` it, how often, and its share."""
    both, times = (before * vocabulary + behind).unique(return_counts=True)
    # In order of numbers, and for each the most frequent piece last.
    order = times.argsort(stable=True)
    order = order[(both[order] // vocabulary).argsort(stable=True)]
    numbers, times = both[order] // vocabulary, times[order]
    last = torch.cat([numbers[1:] != numbers[:-1], torch.ones(1, dtype=torch.bool)])
    ends = times.cumsum(0)[last]
    shares = times[last] / ends.diff(prepend=ends.new_zeros(1))
    return numbers[last], both[order][last] % vocabulary, times[last], shares
