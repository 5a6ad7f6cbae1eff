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
def _exact(x: Tensor, by: Scoring) -> Tensor:
    logits, bias = through(x, by.numbers, 0), by.bias
    if bias is not None:
        logits = logits + bias
    return logits.float()


@scripted
def scored(x: Tensor, by: Scoring, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """Logits `[row, vocabulary]` of the rows `x` `[row, in]`, and the ids and log-probabilities of the best of each."""
    coarse = by.coarse
    if coarse is not None:
        return coarse_best(x, coarse, by.bias, most)
    return with_best(_exact(x, by), most)


@scripted
def logits_by(x: Tensor, by: Scoring, most: int) -> Tensor:
    """Only the logits, those of the `most` best of each row exact."""
    coarse = by.coarse
    if coarse is not None:
        return coarse_best(x, coarse, by.bias, most)[0]
    return _exact(x, by)
