"""What a text goes on with, as a model is to learn it: the piece that does, or several pieces with their shares."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Answers:
    """For each place `k` pieces `[..., k]`, int64, and their shares `[..., k]`, float32, which sum to one."""

    pieces: Tensor
    shares: Tensor

    def loss(self, logits: Tensor) -> Tensor:
        """The mean cross-entropy over all places, by `logits` `[..., word]`."""
        log_shares = logits.float().log_softmax(dim=-1).gather(-1, self.pieces)
        return -(log_shares * self.shares).sum(dim=-1).mean()
