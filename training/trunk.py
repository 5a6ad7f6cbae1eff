"""The encoder that classifiers, labellers and span predictors here begin with: `clearhead-minilm` under a new head."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from training.cards import CHECKPOINTS
from training.masked_lm import NAME

TRUNK = NAME


def trunk_tokenizer() -> PreTrainedTokenizerBase:
    """The tokenizer of the trunk."""
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(CHECKPOINTS / TRUNK)
    return tokenizer


def with_head(kind: Any, labels: Sequence[str] = (), frozen_layers: int = 0) -> Any:
    """The network of class `kind` over the trunk, whose embeddings and `frozen_layers` lowest layers are frozen.

    These stay the weights of `clearhead-minilm`, so that they are shipped once.
    """
    numbers = {label: number for number, label in enumerate(labels)}
    named = {"id2label": dict(enumerate(labels)), "label2id": numbers} if labels else {}
    network = kind.from_pretrained(CHECKPOINTS / TRUNK, dtype=torch.float32, attn_implementation="eager", **named)
    for part in (network.bert.embeddings, *network.bert.encoder.layer[:frozen_layers]):
        part.requires_grad_(False)
    return network


def padded(rows: Iterable[Sequence[int]], filling: int = 0) -> Tensor:
    """The rows as one tensor [row, token], with `filling` after the shorter ones."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=filling)
