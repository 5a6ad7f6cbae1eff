"""What a pass says of the next token, and the best tokens at hand."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from torch import Tensor

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

    def best(self, count: int, barred: Collection[int] = ()) -> list[tuple[int, float]]:
        """The `count` likeliest tokens that are not `barred`, each with its log-probability, likeliest first."""
        at_hand = zip(self.ids, self.log_probabilities, strict=True)
        free = list(islice((each for each in at_hand if each[0] not in barred), count))
        if len(free) == count or len(self.ids) == len(self.logits):
            return free
        # Within a character few tokens may follow, and they need not be among the best.
        ids = self.logits.topk(min(count + len(barred), len(self.logits))).indices.tolist()
        return [(token, self.log_probability(token)) for token in ids if token not in barred][:count]

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


def best_of(logits: Tensor) -> Best:
    """The best of every row of `logits` `[row, vocabulary]`, in one go."""
    log_probabilities, ids = logits.log_softmax(dim=-1).topk(min(MOST, logits.shape[1]))
    return Best(logits, ids, log_probabilities)


def scores_of(logits: Tensor) -> list[Scores]:
    """The same, row by row, at hand."""
    return best_of(logits).rows()
