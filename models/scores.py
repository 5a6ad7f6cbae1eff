"""What a pass says of the next token, and the best tokens at hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
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

    @cached_property
    def _known(self) -> dict[int, float]:
        return dict(zip(self.ids, self.log_probabilities, strict=True))


def scores_of(logits: Tensor) -> list[Scores]:
    """Those of every row of `logits` `[row, vocabulary]`, in one go."""
    # All shares in one go are quicker than the sum that they are shares of.
    best = logits.log_softmax(dim=-1).topk(min(MOST, logits.shape[1]))
    return [Scores(*row) for row in zip(logits, best.indices.tolist(), best.values.tolist(), strict=True)]


def scores_of_each(logits: Sequence[Tensor]) -> list[Scores]:
    """Those of texts of one row each, `[1, vocabulary]`; all together where there are several."""
    return scores_of(torch.cat(list(logits)) if len(logits) > 1 else logits[0])
