"""The layers that a pass goes through, as plain numbers."""

from typing import NamedTuple

from torch import Tensor

from models.products import Numbers


class Stack(NamedTuple):
    """The layers of an encoder or a decoder: their `numbers`, the activation `then`, and the tables of their norms."""

    heads: int
    numbers: Numbers
    then: str
    norms: list[Tensor]
    epsilons: list[float]
