"""What a text goes on with, as a model is to learn it: the piece that does, or several pieces with their shares."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Answers:
    """For each place `k` pieces `[..., k]`, int64, and their shares `[..., k]`, float32, which sum to one."""

    pieces: Tensor
    shares: Tensor

    @classmethod
    def certain(cls, pieces: Tensor) -> "Answers":
        """One piece for each place, `[...]`, and no other."""
        return cls(pieces[..., None].contiguous(), torch.ones(*pieces.shape, 1, device=pieces.device))

    def flat(self) -> "Answers":
        """The same for all places in one row, `[n, k]`."""
        return Answers(self.pieces.flatten(0, -2).contiguous(), self.shares.flatten(0, -2).contiguous())
