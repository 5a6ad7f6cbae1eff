"""What a task's head says of the vectors behind an encoder's blocks, as a function of plain numbers."""

from typing import NamedTuple

import torch
from torch import Tensor

from models.activations import activated
from models.products import Numbers, through
from models.scores import MOST
from models.scoring import Scoring, logits_by
from models.scripted import scripted

BLANKS, LABEL, SPAN = "blanks", "label", "span"
"""Heads that score the vocabulary at each token, name a text by its first token, and say where an answer stands."""


class Head(NamedTuple):
    """A head of one `kind`, dropout aside, which is for training.

    First a `dense` layer with the activation `then` and a norm, each where there is one; then the `output`, or for
    blanks the `scoring`.
    """

    kind: str
    dense: Numbers | None
    then: str
    norm: list[Tensor]
    epsilon: float
    output: Numbers | None
    scoring: Scoring | None


@scripted
def answered(x: Tensor, head: Head, most: int = MOST) -> list[Tensor]:
    """Of `x` `[row, token, width]` the logits `[row, token, vocabulary]`, or the starts' and ends' `[row, token]`.

    Of the texts' first tokens `[1, text, width]` those of the labels, `[text, label]`. The `most` likeliest words are
    exact.
    """
    dense, output, scoring = head.dense, head.output, head.scoring
    if dense is not None:
        x = activated(through(x, dense, 0).to(x.dtype), head.then)
    if len(head.norm) > 0:
        x = torch.layer_norm(x, [x.shape[-1]], head.norm[0], head.norm[1], head.epsilon)
    # The kinds are spelt out: TorchScript reads no names of the module.
    said: list[Tensor] = []
    if scoring is not None:
        said.append(logits_by(x.flatten(0, 1), scoring, most).view(x.shape[0], x.shape[1], -1))
    if output is not None:
        logits = through(x, output, 0).to(x.dtype)
        said.extend(logits.unbind(-1) if head.kind == "span" else [logits[0]])
    return said
