"""From a decoder's last vectors to scores over the vocabulary, as a part of its pass."""

from typing import NamedTuple

from torch import Tensor

from models.coarse_scores import Coarse, coarse_best
from models.products import Numbers, through
from models.scores import with_best
from models.scripted import scripted


class Scoring(NamedTuple):
    """The output embedding: in 8 bits where it may be, or else the `numbers` of its layer; a `bias` `[vocabulary]`."""

    coarse: Coarse | None
    numbers: Numbers
    bias: Tensor | None


@scripted
def scored(x: Tensor, by: Scoring, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """Logits `[row, vocabulary]` of the rows `x` `[row, in]`, and the ids and log-probabilities of the best of each."""
    coarse, bias = by.coarse, by.bias
    if coarse is not None:
        return coarse_best(x, coarse, bias, most)
    logits = through(x, by.numbers, 0)
    if bias is not None:
        logits = logits + bias
    return with_best(logits.float(), most)
