"""Sampling with temperature, top-k (Fan et al., 2018) and nucleus cut-offs (Holtzman et al., 2020)."""

import numpy as np
from numpy.typing import NDArray

from models.decoding.scores import best, softmax


class Sampling:
    """Draws tokens by their probabilities after temperature and cut-offs; the same `seed` draws the same tokens.

    Only the `top_k` likeliest are drawn, and of these the likeliest that have `top_p` of the probability together;
    `top_k=0` and `top_p=1` cut nothing off. The draws are those of transformers' `generate` after
    `torch.manual_seed(seed)`.
    """

    def __init__(self, temperature: float, top_k: int, top_p: float, seed: int) -> None:
        self._temperature = np.float32(temperature)
        self._top_k = top_k
        self._top_p = top_p
        # torch's generator on a CPU is the same Mersenne Twister, seeded in the same way.
        self._random = np.random.RandomState(seed)

    def shares(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """The probabilities `[vocabulary]` to draw by; those of tokens that are cut off are 0."""
        kept = best(logits, self._top_k or len(logits))
        shares = softmax(logits[kept] / self._temperature)
        if self._top_p < 1:
            # Summed from the least likely on; the likeliest always stays.
            cut = np.cumsum(shares[::-1])[::-1] <= 1 - self._top_p
            cut[0] = False
            shares = np.where(cut, 0, shares)
            shares /= shares.sum()
        found = np.zeros_like(logits)
        found[kept] = shares
        return found

    def draw(self, shares: NDArray[np.float32]) -> int:
        """One token by its share of `shares` `[vocabulary]`: the one that `torch.multinomial` draws.

        Every token waits for a time that is drawn from an exponential distribution, and the one with the greatest share
        per wait is taken.
        """
        high, low = self._random.randint(0, 2**32, (len(shares), 2), dtype=np.uint32).astype(np.uint64).T
        drawn = np.flatnonzero(shares)
        chances = (((high << np.uint64(32)) | low)[drawn] & np.uint64(2**53 - 1)) / 2**53
        return int(drawn[(shares[drawn] / -np.log1p(-chances)).argmax()])
