"""Where BERT and DistilBERT keep the layers of their blocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor, nn
from transformers import (
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    DistilBertForMaskedLM,
    DistilBertForQuestionAnswering,
    DistilBertForSequenceClassification,
    PreTrainedModel,
)

_KNOWN = (
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForQuestionAnswering,
    DistilBertForMaskedLM,
    DistilBertForSequenceClassification,
    DistilBertForQuestionAnswering,
)


@dataclass(frozen=True)
class Block:
    """The layers of a block in the order in which they read; `attention` has its queries, keys and values jointly."""

    attention: Any
    together: Any
    first_norm: nn.LayerNorm
    wide: Any
    narrow: Any
    second_norm: nn.LayerNorm

    @property
    def layouts(self) -> list[Any]:
        """What was packed, in the same order; nothing stands for what was not."""
        return [getattr(self.attention, "joint", None)] + [
            getattr(each, "layout", None) for each in (self.together, self.wide, self.narrow)
        ]


class Embeddings(NamedTuple):
    """Tables `[entry, width]` of words, places and, where the network tells them apart, texts; and their norm."""

    words: Tensor
    places: Tensor
    texts: Tensor | None
    norm: list[Tensor]
    epsilon: float


def is_plain(network: PreTrainedModel) -> bool:
    """Whether the network is one of the plain ones, that only read."""
    return type(network) in _KNOWN and not getattr(network.config, "is_decoder", False)


def activation_of(network: PreTrainedModel) -> str:
    """What the wide layers end with, as transformers calls it."""
    config = network.config
    return str(getattr(config, "hidden_act", None) or getattr(config, "activation", ""))


def blocks_of(network: PreTrainedModel) -> Iterator[Block]:
    """The blocks of a network that is plain, first to last."""
    trunk: Any = network.base_model
    if network.config.model_type == "bert":
        for layer in trunk.encoder.layer:
            attention, found = layer.attention.self, layer.attention.output
            inner, outer = layer.intermediate.dense, layer.output
            norms = found.LayerNorm, outer.LayerNorm
            yield Block(attention, found.dense, norms[0], inner, outer.dense, norms[1])
    else:
        for layer in trunk.transformer.layer:
            attention, ffn = layer.attention, layer.ffn
            norms = layer.sa_layer_norm, layer.output_layer_norm
            yield Block(attention, attention.out_lin, norms[0], ffn.lin1, ffn.lin2, norms[1])


def modules_inside(network: PreTrainedModel) -> Iterator[nn.Module]:
    """All modules of the blocks."""
    trunk: Any = network.base_model
    blocks = trunk.encoder if network.config.model_type == "bert" else trunk.transformer
    yield from blocks.modules()


def embeddings_of(network: PreTrainedModel) -> Embeddings:
    """What turns ids into the vectors that the first block reads."""
    parts: Any = network.base_model.embeddings
    norm, texts = parts.LayerNorm, getattr(parts, "token_type_embeddings", None)
    return Embeddings(
        parts.word_embeddings.weight, parts.position_embeddings.weight, None if texts is None else texts.weight,
        [norm.weight, norm.bias], norm.eps,
    )  # fmt: skip
