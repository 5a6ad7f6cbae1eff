"""Which tokens probably come next, guessed without the model (speculative decoding, Leviathan et al., 2023).

To read a few tokens in one pass takes less than to read them one by one: what costs is the weights. So guesses are read
along, and as far as the model then chooses the same tokens, these need no passes of their own. The tokens are those
that would have been chosen one by one; where numbers are rounded, several in one pass are rounded elsewhere than one.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

MOST_GUESSES = 7
LEAST_SURE = 0.2
"""How likely a guess, and all before it, must be right: one costs from a sixteenth to a sixth of a pass."""

_FILE = "usual_next.safetensors"
_WHOLE = 255
_REPEATED = (0.0, 0.0, 0.4, 0.5, 0.8)
"""How likely a text goes on as it did before, by how many of its last tokens are the same.

Measured with the bundled model: behind two, three and four 0.47, 0.61 and 0.93 where it takes the likeliest token, and
0.37, 0.47 and 0.47 where it draws. Such runs are looked for as in prompt lookup (Saxena, 2023).
"""


@dataclass(frozen=True)
class UsualNext:
    """What usually stands behind two tokens, and behind one, in what a model has read.

    `pairs`, in order, are `first * vocabulary + second`. `behind_pairs` is what stands behind each of them, and of all
    that does, its share is so many 255ths; `behind_one` `[vocabulary]` is what stands behind a token alone.
    """

    pairs: Sequence[int]
    behind_pairs: Sequence[int]
    shares_of_pairs: Sequence[int]
    behind_one: Sequence[int]
    shares_of_one: Sequence[int]

    def behind(self, ids: Sequence[int]) -> tuple[int, float]:
        """The usual token behind `ids`, of which there is at least one, and its share."""
        if len(ids) > 1:
            pair = ids[-2] * len(self.behind_one) + ids[-1]
            place = bisect_left(self.pairs, pair)
            if place < len(self.pairs) and self.pairs[place] == pair:
                return self.behind_pairs[place], self.shares_of_pairs[place] / _WHOLE
        return self.behind_one[ids[-1]], self.shares_of_one[ids[-1]] / _WHOLE


_KINDS = {
    "pairs": (torch.int32, "i"),
    "behind_pairs": (torch.int16, "h"),
    "shares_of_pairs": (torch.uint8, "B"),
    "behind_one": (torch.int16, "h"),
    "shares_of_one": (torch.uint8, "B"),
}
"""The tensors of a file, and the same numbers as Python's arrays have them, which are searched without torch."""


def save_usual_next(
    pairs: Tensor,
    behind_pairs: Tensor,
    shares_of_pairs: Tensor,
    behind_one: Tensor,
    shares_of_one: Tensor,
    folder: Path,
) -> None:
    """Put them beside a checkpoint's weights, shares as parts of 1; of a vocabulary of at most 32,768 tokens."""
    given = (pairs, behind_pairs, shares_of_pairs * _WHOLE, behind_one, shares_of_one * _WHOLE)
    kept = {name: each.round().to(kind) for (name, (kind, _)), each in zip(_KINDS.items(), given, strict=True)}
    save_file(kept, folder / _FILE)


def usual_next(folder: Path) -> UsualNext | None:
    """What lies beside a checkpoint's weights; None where nothing does, as with published ones."""
    if not (folder / _FILE).exists():
        return None
    read = load_file(folder / _FILE)
    return UsualNext(**{name: array(kind, read[name].numpy().tobytes()) for name, (_, kind) in _KINDS.items()})


@dataclass(frozen=True)
class Guesser:
    """Guesses by what the text has said before, and by what is `usual`."""

    usual: UsualNext | None = None

    def guesses(self, ids: Sequence[int], most: int) -> list[int]:
        """Up to `most` tokens that may follow `ids`, as far as all of them are likely enough."""
        known, sure = list(ids), 1.0
        place, alike = _earlier(known)
        for _ in range(min(most, MOST_GUESSES)):
            if alike:
                following, share = known[place], _REPEATED[alike]
            elif self.usual is not None and known:
                following, share = self.usual.behind(known)
            else:
                break
            sure *= share
            if sure < LEAST_SURE:
                break
            known.append(following)
            place, alike = (place + 1, min(alike + 1, len(_REPEATED) - 1)) if alike else _earlier(known)
        return known[len(ids) :]


def _earlier(ids: list[int]) -> tuple[int, int]:
    """Where the last tokens of `ids` have stood before: the place behind them, and how many are alike, at least two.

    The longest such run counts, and of several the last; none is as long as 0.
    """
    best = (0, 0)
    longest = len(_REPEATED) - 1
    for place in range(len(ids) - 1, 1, -1):
        if ids[place - 1] == ids[-1] and ids[place - 2] == ids[-2]:
            alike = 2
            while alike < min(longest, place) and ids[place - 1 - alike] == ids[-1 - alike]:
                alike += 1
            if alike > best[1]:
                best = (place, alike)
            if alike == longest:
                break
    return best
