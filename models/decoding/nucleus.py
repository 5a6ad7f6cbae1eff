"""Temperature, top-k and nucleus cut-offs (Fan et al., 2018; Holtzman et al., 2020) for one token at a time.

What transformers' three warpers and torch's `multinomial` make of a whole vocabulary, computed on the few tokens that
top-k leaves.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch

from models.decoding.scores import Scores


@dataclass(frozen=True)
class Nucleus:
    """At most `top_k` tokens, and of these the likeliest that have `top_p` of the probability together."""

    temperature: float
    top_k: int
    top_p: float

    def cut(self, scores: Scores, barred: Collection[int] = ()) -> dict[int, float]:
        """The shares to draw by, by token and likeliest first; a token that was cut off is not among them.

        As if tokens that are `barred` were not there.
        """
        ids, values = zip(*scores.best(self.top_k, barred), strict=True)
        shares = _softmax(np.array(values, dtype=np.float32) / np.float32(self.temperature))
        if self.top_p < 1:
            # From the least likely on, as the sums are rounded there; the likeliest always stays.
            beyond = np.cumsum(shares[::-1])[::-1] <= 1 - self.top_p
            beyond[0] = False
            shares = np.where(beyond, 0, shares)
            shares /= shares.sum()
        return {token: share for token, share in zip(ids, shares.tolist(), strict=True) if share > 0}

    @staticmethod
    def draw(shares: dict[int, float], vocabulary: int, generator: torch.Generator) -> int:
        """One token by its share: the one that `torch.multinomial` draws from those of the whole `vocabulary`.

        It lets every token wait for a time that is exponential and takes the one with the greatest share per wait. As
        many numbers are drawn here, but only those few become waits: a logarithm takes longer than a random number.
        """
        chances = torch.empty(vocabulary, dtype=torch.float64).uniform_(generator=generator).numpy()
        ids = list(shares)
        waits = -np.log1p(-chances[ids])
        return ids[int((np.array(list(shares.values())) / waits).argmax())]


def _softmax(values: np.ndarray) -> np.ndarray:
    shares = np.exp(values - values[0])
    return np.asarray(shares / shares.sum())
