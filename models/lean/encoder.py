"""BERT and DistilBERT (Devlin et al., 2019; Sanh et al., 2019), read with nothing in between."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import (
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    DistilBertForMaskedLM,
    DistilBertForQuestionAnswering,
    DistilBertForSequenceClassification,
    PreTrainedModel,
)
from transformers.modeling_outputs import MaskedLMOutput, QuestionAnsweringModelOutput, SequenceClassifierOutput
from transformers.utils.generic import ModelOutput

from models.layout import LaidOut
from models.lean.parts import FUSED, Map, heads_apart, norm_of


@dataclass(frozen=True)
class _Block:
    """The layers of a block in the order in which they read; `attention` has its queries, keys and values jointly."""

    attention: Any
    together: Any
    first_norm: Map
    wide: Any
    narrow: Any
    second_norm: Map

    @property
    def is_laid_out(self) -> bool:
        """Whether all of it was packed."""
        layouts = (getattr(each, "layout", None) for each in (self.together, self.wide, self.narrow))
        return all(isinstance(each, LaidOut) for each in (getattr(self.attention, "joint", None), *layouts))


class LeanEncoder:
    """An encoder whose weights were laid out, with the head of its task."""

    def __init__(self, network: PreTrainedModel) -> None:
        self._network: Any = network
        trunk: Any = network.base_model
        self._embeddings = trunk.embeddings
        self._norm = norm_of(trunk.embeddings.LayerNorm)
        self._answer = _HEADS[type(network)]
        self._heads = int(network.config.num_attention_heads)
        self._then = FUSED[_activation(network)]
        self._blocks = tuple(_blocks(network))
        self._watched = tuple(trunk.modules())

    @staticmethod
    def knows(network: PreTrainedModel) -> bool:
        """Whether the network is one of the plain ones, laid out for this processor."""
        plain = type(network) in _HEADS and not getattr(network.config, "is_decoder", False)
        return plain and _activation(network) in FUSED and all(block.is_laid_out for block in _blocks(network))

    @property
    def is_watched(self) -> bool:
        """Whether a hook listens inside: then transformers must read."""
        return any(module._forward_hooks or module._forward_pre_hooks for module in self._watched)

    def __call__(
        self, input_ids: Tensor, token_type_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> ModelOutput:
        """What the network says of texts `[row, token]`; `attention_mask` `[row, token]` is 0 at padding."""
        return self._answer(self._network, self.read(input_ids, token_type_ids, attention_mask))

    def read(
        self,
        input_ids: Tensor,
        token_type_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        seen: list[Tensor] | None = None,
    ) -> Tensor:
        """The last hidden state `[row, token, width]`; each layer's attention is put behind those in `seen`.

        One entry of `seen` is `[row, head, query, key]`.
        """
        x = self._embedded(input_ids, token_type_ids)
        rows, tokens, width = x.shape
        visible = None if attention_mask is None else attention_mask[:, None, None, :].bool()
        for block in self._blocks:
            joint = block.attention.joint.product(x)
            queries, keys, values = (heads_apart(each, self._heads) for each in joint.chunk(3, dim=-1))
            if seen is None:
                found = functional.scaled_dot_product_attention(queries, keys, values, visible)
            else:
                seen.append(_weights(queries, keys, visible))
                found = seen[-1] @ values
            found = found.transpose(1, 2).reshape(rows, tokens, width)
            x = block.first_norm(x + block.together.layout.raw(found))
            # What lies between the two layers stays in the numbers in which they multiply.
            x = block.second_norm(x + block.narrow.layout.raw(block.wide.layout.raw(x, self._then)))
        return x

    def _embedded(self, ids: Tensor, types: Tensor | None) -> Tensor:
        """Words, places and, where the network tells them apart, the first text from the second."""
        parts = self._embeddings
        x = parts.word_embeddings.weight[ids] + parts.position_embeddings.weight[: ids.shape[1]]
        if table := getattr(parts, "token_type_embeddings", None):
            x = x + (table.weight[0] if types is None else table.weight[types])
        return self._norm(x)


def _weights(queries: Tensor, keys: Tensor, visible: Tensor | None) -> Tensor:
    """softmax(Q K^T / sqrt(d)) (Vaswani et al., 2017, section 3.2.1), `[row, head, query, key]`."""
    scores = (queries @ keys.transpose(2, 3)).mul_(queries.shape[-1] ** -0.5)
    if visible is not None:
        scores = scores.masked_fill_(~visible, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1)


def _activation(network: PreTrainedModel) -> str:
    config = network.config
    return str(getattr(config, "hidden_act", None) or getattr(config, "activation", ""))


def _blocks(network: PreTrainedModel) -> Iterator[_Block]:
    trunk: Any = network.base_model
    if network.config.model_type == "bert":
        for layer in trunk.encoder.layer:
            attention, found = layer.attention.self, layer.attention.output
            inner, outer = layer.intermediate.dense, layer.output
            norms = norm_of(found.LayerNorm), norm_of(outer.LayerNorm)
            yield _Block(attention, found.dense, norms[0], inner, outer.dense, norms[1])
    else:
        for layer in trunk.transformer.layer:
            attention, ffn = layer.attention, layer.ffn
            norms = norm_of(layer.sa_layer_norm), norm_of(layer.output_layer_norm)
            yield _Block(attention, attention.out_lin, norms[0], ffn.lin1, ffn.lin2, norms[1])


def _bert_blanks(network: Any, hidden: Tensor) -> ModelOutput:
    return MaskedLMOutput(logits=network.cls(hidden))


def _bert_label(network: Any, hidden: Tensor) -> ModelOutput:
    return SequenceClassifierOutput(logits=network.classifier(network.bert.pooler(hidden)))


def _distilbert_blanks(network: Any, hidden: Tensor) -> ModelOutput:
    transformed = network.activation(network.vocab_transform(hidden))
    return MaskedLMOutput(logits=network.vocab_projector(network.vocab_layer_norm(transformed)))


def _distilbert_label(network: Any, hidden: Tensor) -> ModelOutput:
    return SequenceClassifierOutput(logits=network.classifier(network.pre_classifier(hidden[:, 0]).relu()))


def _span(network: Any, hidden: Tensor) -> ModelOutput:
    starts, ends = network.qa_outputs(hidden).unbind(dim=-1)
    return QuestionAnsweringModelOutput(start_logits=starts, end_logits=ends)


_HEADS: dict[type, Callable[[Any, Tensor], ModelOutput]] = {
    BertForMaskedLM: _bert_blanks,
    BertForSequenceClassification: _bert_label,
    BertForQuestionAnswering: _span,
    DistilBertForMaskedLM: _distilbert_blanks,
    DistilBertForSequenceClassification: _distilbert_label,
    DistilBertForQuestionAnswering: _span,
}
"""How the head of each task answers, dropout aside, which is for training."""
