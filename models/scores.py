"""What a pass says of the next token, and the best tokens at hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from models.scripted import scripted

MOST = 64
"""How many of the best tokens are at hand: more than are ever shown, and than most cut-offs leave."""


@dataclass(frozen=True, eq=False)
class Scores:
    """The `logits` `[vocabulary]` of one text's next token; the best tokens' ids and log-probabilities, best first."""

    logits: Tensor
    ids: Sequence[int]
    log_probabilities: Sequence[float]

    def log_probability(self, token: int) -> float:
        """The logarithm of any token's probability."""
        found = self._known.get(token)
        if found is None:
            # All logits are as far from their log-probabilities.
            found = float(self.logits[token] - self.logits[self.ids[0]]) + self.log_probabilities[0]
        return found

    @cached_property
    def _known(self) -> dict[int, float]:
        return dict(zip(self.ids, self.log_probabilities, strict=True))


@dataclass(frozen=True, eq=False)
class Best:
    """The `logits` `[row, vocabulary]` of a text's next token; the best ids and log-probabilities `[row, most]`."""

    logits: Tensor
    ids: Tensor
    log_probabilities: Tensor

    def rows(self) -> list[Scores]:
        """Those of each row."""
        ids, values = self.ids.tolist(), self.log_probabilities.tolist()
        return [Scores(*row) for row in zip(self.logits, ids, values, strict=True)]

    def repeated(self, rows: int) -> "Best":
        """A single row as so many."""
        return Best(*(each.expand(rows, -1) for each in (self.logits, self.ids, self.log_probabilities)))

    def split(self, rows: list[int]) -> list["Best"]:
        """Those of several texts, which have so many rows each."""
        if len(rows) == 1:
            return [self]
        parts = (torch.split(each, rows) for each in (self.logits, self.ids, self.log_probabilities))
        return [Best(*part) for part in zip(*parts, strict=True)]


def best_of(logits: Tensor) -> Best:
    """The best of every row of `logits` `[row, vocabulary]`, in one go."""
    log_probabilities, ids = _best(logits, min(MOST, logits.shape[1]))
    return Best(logits, ids, log_probabilities)


def scores_of(logits: Tensor) -> list[Scores]:
    """The same, row by row, at hand."""
    return best_of(logits).rows()


@scripted
def _best(logits: Tensor, most: int) -> tuple[Tensor, Tensor]:
    # All shares in one go are quicker than the sum that they are shares of.
    return logits.log_softmax(dim=-1).topk(most)
