"""Temperature, top-k and nucleus cut-offs (Fan et al., 2018; Holtzman et al., 2020) for one token at a time.

What transformers' three warpers make of a whole vocabulary, computed on the few tokens that top-k leaves.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Nucleus:
    """At most `top_k` tokens, and of these the likeliest that have `top_p` of the probability together."""

    temperature: float
    top_k: int
    top_p: float

    def shares(self, logits: Tensor) -> Tensor:
        """What each token is drawn by after all cut-offs, by `logits`; both `[vocabulary]`."""
        best = logits.topk(min(self.top_k, len(logits)))
        # From the least likely on, as the sums are rounded there.
        scores = (best.values / self.temperature).flip(0)
        if self.top_p < 1:
            beyond = scores.softmax(dim=0).cumsum(dim=0) <= 1 - self.top_p
            beyond[-1] = False
            scores = scores.masked_fill(beyond, -torch.inf)
        return torch.zeros_like(logits).scatter_(0, best.indices.flip(0), scores.softmax(dim=0))
