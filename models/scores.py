"""What a pass says of the next token, and the best tokens at hand."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

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
    return Best(*with_best(logits, MOST))


def scores_of(logits: Tensor) -> list[Scores]:
    """The same, row by row, at hand."""
    return best_of(logits).rows()


@scripted
def largest(scores: Tensor, count: int, large: int = 16_384, size: int = 64) -> Tensor:
    """Where the `count` largest of each row of `scores` `[row, word]` are, `[row, count]`, in no order.

    Of a `large` vocabulary first the blocks of `size` words whose largest are largest: no other can hold one of them.
    """
    words = scores.shape[1]
    if words < large:
        return scores.topk(count, dim=1, sorted=False)[1]
    blocks = words // size
    apart = scores[:, : blocks * size].view(len(scores), blocks, size)
    best = apart.amax(dim=2).topk(count, dim=1, sorted=False)[1]
    some = apart[torch.arange(len(scores), device=scores.device)[:, None], best].flatten(1)
    # What is left over behind the last whole block.
    some = torch.cat([some, scores[:, blocks * size :]], dim=1)
    found = some.topk(count, dim=1, sorted=False)[1]
    block = found // size
    inside = best.gather(1, block.clamp_max(count - 1)) * size + found % size
    return torch.where(block < count, inside, found + (blocks - count) * size)


@scripted
def with_best(logits: Tensor, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """`logits` `[row, vocabulary]`, and the ids and log-probabilities of up to `most` tokens a row, best first."""
    # All shares in one go are quicker than the sum that they are shares of.
    log_probabilities, ids = logits.log_softmax(dim=-1).topk(min(most, logits.shape[1]))
    return logits, ids, log_probabilities
