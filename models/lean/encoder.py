"""BERT and DistilBERT (Devlin et al., 2019; Sanh et al., 2019), read with nothing in between."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
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
from models.lean.parts import FUSED, Map, are_watched, listeners, norm_of
from models.near_products import NearProduct
from models.packed_linear import joint_layers


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


@dataclass(frozen=True)
class _Products:
    """How the linear layers of a block multiply; `wide` ends with the activation."""

    joint: Map
    together: Map
    wide: Map
    narrow: Map

    @classmethod
    def quick(cls, block: _Block, then: str) -> "_Products":
        """As they were laid out."""
        # What lies between two layers stays in the numbers in which they multiply.
        layouts = (block.attention.joint, block.together.layout, block.wide.layout, block.narrow.layout)
        joint, together, wide, narrow = (layout.raw for layout in layouts)
        return cls(joint, together, partial(wide, then=then), narrow)

    @classmethod
    def near(cls, block: _Block, then: str) -> "_Products":
        """Nearly exact."""
        asking = joint_layers(block.attention)
        joint = NearProduct(torch.cat([each.weight for each in asking]), torch.cat([each.bias for each in asking]))
        together, wide, narrow = (
            NearProduct(each.weight, each.bias) for each in (block.together, block.wide, block.narrow)
        )
        return cls(joint, together, partial(wide, then=then), narrow)


_LONG = 128
"""From so many tokens on the attention weights of many texts at once would need much memory."""

_WORTH_ROUNDING = 64 * 3 * 768
"""From so many tokens, times what is read of each, on, products of bfloat16 gain more than it costs to begin them."""


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
        self._near: tuple[LaidOut | None, tuple[_Products, ...]] = (None, ())
        self._listeners = listeners(trunk.modules())

    @staticmethod
    def knows(network: PreTrainedModel) -> bool:
        """Whether the network is one of the plain ones, laid out for this processor."""
        plain = type(network) in _HEADS and not getattr(network.config, "is_decoder", False)
        return plain and _activation(network) in FUSED and all(block.is_laid_out for block in _blocks(network))

    @property
    def is_watched(self) -> bool:
        """Whether a hook listens inside: then transformers must read."""
        return are_watched(self._listeners)

    def __call__(
        self, input_ids: Tensor, token_type_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> ModelOutput:
        """What the network says of texts `[row, token]`; `attention_mask` `[row, token]` is 0 at padding."""
        x, visible = self._embedded(input_ids, token_type_ids), _visible(attention_mask)
        for block in self._blocks:
            products = _Products.quick(block, self._then)
            queries, keys, values = self._apart(products.joint(x))
            x = self._after(block, products, x, _found(queries, keys, values, visible))
        return self._answer(self._network, x)

    def attention(
        self, input_ids: Tensor, token_type_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> list[Tensor]:
        """Each layer's attention `[row, head, query, key]`: exact, or nearly so where answers are rounded.

        One caller at a time.
        """
        x, visible = self._embedded(input_ids, token_type_ids), _visible(attention_mask)
        seen: list[Tensor] = []
        for block, products in zip(self._blocks, self._products(), strict=True):
            queries, keys, values = self._apart(products.joint(x))
            seen.append(_weights(queries, keys, visible))
            if len(seen) < len(self._blocks):
                x = self._after(block, products, x, seen[-1] @ values)
        return seen

    def _products(self) -> tuple[_Products, ...]:
        """Those that attention is made of, kept as long as the weights are laid out as they are."""
        layout = self._blocks[0].wide.layout
        if layout.is_exact:
            return tuple(_Products.quick(block, self._then) for block in self._blocks)
        if self._near[0] is not layout:
            # Few texts are looked at; who only wants an answer needs none of these.
            self._near = (layout, tuple(_Products.near(block, self._then) for block in self._blocks))
        return self._near[1]

    def _apart(self, joint: Tensor) -> Sequence[Tensor]:
        """Queries, keys and values, each `[row, head, token, width]`, of `[row, token, 3 * heads * width]`."""
        rows, tokens, width = joint.shape
        parts = joint.view(rows, tokens, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
        return (parts if tokens * width >= _WORTH_ROUNDING else parts.float()).unbind()

    def _after(self, block: _Block, products: _Products, x: Tensor, found: Tensor) -> Tensor:
        """What a block makes of `x` `[row, token, width]` and what attention `found` `[row, head, token, width]`."""
        x = block.first_norm(x + products.together(found.transpose(1, 2).reshape(x.shape)))
        return block.second_norm(x + products.narrow(products.wide(x)))

    def _embedded(self, ids: Tensor, types: Tensor | None) -> Tensor:
        """Words, places and, where the network tells them apart, the first text from the second."""
        parts = self._embeddings
        x = parts.word_embeddings.weight[ids] + parts.position_embeddings.weight[: ids.shape[1]]
        if table := getattr(parts, "token_type_embeddings", None):
            x = x + (table.weight[0] if types is None else table.weight[types])
        return self._norm(x)


def _visible(mask: Tensor | None) -> Tensor | None:
    """`[row, token]`, 0 at padding, as every query of every head sees it."""
    return None if mask is None else mask[:, None, None, :].bool()


def _found(queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor | None) -> Tensor:
    """What each query finds, `[row, head, query, width]`; of many long texts one after the other, to spare memory."""
    if len(queries) == 1 or queries.shape[2] < _LONG:
        return _weights(queries, keys, visible) @ values
    found = []
    for row in range(len(queries)):
        one = slice(row, row + 1)
        weights = _weights(queries[one], keys[one], None if visible is None else visible[one])
        found.append(weights @ values[one])
    return torch.cat(found)


def _weights(queries: Tensor, keys: Tensor, visible: Tensor | None) -> Tensor:
    """softmax(Q K^T / sqrt(d)) (Vaswani et al., 2017, section 3.2.1), `[row, head, query, key]`."""
    scores: Tensor = (queries * queries.shape[-1] ** -0.5) @ keys.transpose(2, 3)
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
    # The first token alone: the pooler would read it from all of them.
    pooled = network.bert.pooler.dense.forward(hidden[:, 0]).tanh_()
    return SequenceClassifierOutput(logits=network.classifier.forward(pooled))


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
