"""BERT and DistilBERT (Devlin et al., 2019; Sanh et al., 2019), read with nothing in between."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
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
from transformers.modeling_outputs import MaskedLMOutput, QuestionAnsweringModelOutput, SequenceClassifierOutput
from transformers.utils.generic import ModelOutput

from models.layout import LaidOut
from models.lean.encoder_pass import apart, embedded, read_blocks, weights_of
from models.lean.parts import FUSED, Map, are_watched, listeners
from models.near_products import NearProduct
from models.packed_linear import joint_layers
from models.products import Numbers, in_a_row


@dataclass(frozen=True)
class _Block:
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


@dataclass(frozen=True)
class _Quick:
    """All blocks' numbers as they were laid out, and the norms' weights and biases, `[width]` each."""

    first: LaidOut
    numbers: Numbers
    norms: list[Tensor]
    epsilons: list[float]

    @classmethod
    def of(cls, blocks: Sequence[_Block]) -> "_Quick":
        """Those of `blocks`."""
        numbers = in_a_row([layout.numbers for block in blocks for layout in block.layouts])
        norms = [norm for block in blocks for norm in (block.first_norm, block.second_norm)]
        tables: list[Tensor] = [table for norm in norms for table in (norm.weight, norm.bias)]
        return cls(blocks[0].wide.layout, numbers, tables, [norm.eps for norm in norms])


@dataclass(frozen=True)
class _Near:
    """How the linear layers of a block multiply nearly exactly; `wide` ends with the activation."""

    joint: Map
    together: Map
    wide: Map
    narrow: Map

    @classmethod
    def of(cls, block: _Block, then: str) -> "_Near":
        """Those of `block`: as they were laid out where that is exact."""
        if block.wide.layout.is_exact:
            joint, together, wide, narrow = (layout.raw for layout in block.layouts)
        else:
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
        self._answer = _HEADS[type(network)]
        self._heads = int(network.config.num_attention_heads)
        self._then = FUSED[_activation(network)]
        self._blocks = tuple(_blocks(network))
        self._quick: _Quick | None = None
        self._near: tuple[LaidOut | None, tuple[_Near, ...]] = (None, ())
        self._listeners = listeners(trunk.modules())

    @staticmethod
    def knows(network: PreTrainedModel) -> bool:
        """Whether the network is one of the plain ones, laid out for this processor."""
        plain = type(network) in _HEADS and not getattr(network.config, "is_decoder", False)
        return (
            plain
            and _activation(network) in FUSED
            and all(isinstance(layout, LaidOut) for block in _blocks(network) for layout in block.layouts)
        )

    @property
    def is_watched(self) -> bool:
        """Whether a hook listens inside: then transformers must read."""
        return are_watched(self._listeners)

    def __call__(
        self, input_ids: Tensor, token_type_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> ModelOutput:
        """What the network says of texts `[row, token]`; `attention_mask` `[row, token]` is 0 at padding."""
        quick = self._quick
        if quick is None or quick.first is not self._blocks[0].wide.layout:
            # Weights are laid out anew where somebody has changed them.
            self._quick = quick = _Quick.of(self._blocks)
        numbers = quick.numbers
        # oneDNN knows no gradient, and TorchScript would prepare for one.
        with torch.no_grad():
            x: Tensor = read_blocks(
                self._embedded(input_ids, token_type_ids), _visible(attention_mask), numbers,
                self._then, quick.norms, quick.epsilons, self._heads, _WORTH_ROUNDING,
                _LONG,
            )  # fmt: skip
            return self._answer(self._network, x)

    def attention(
        self, input_ids: Tensor, token_type_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> list[Tensor]:
        """Each layer's attention `[row, head, query, key]`: exact, or nearly so where answers are rounded.

        One caller at a time.
        """
        x, visible = self._embedded(input_ids, token_type_ids), _visible(attention_mask)
        seen: list[Tensor] = []
        for block, products in zip(self._blocks, self._nearly(), strict=True):
            queries, keys, values = apart(products.joint(x), self._heads).unbind()
            seen.append(weights_of(queries, keys, visible))
            if len(seen) < len(self._blocks):
                found = (seen[-1] @ values).transpose(1, 2).reshape(x.shape)
                x = block.first_norm.forward(x + products.together(found))
                x = block.second_norm.forward(x + products.narrow(products.wide(x)))
        return seen

    def _nearly(self) -> tuple[_Near, ...]:
        """What attention is made of, kept as long as the weights are laid out as they are."""
        layout = self._blocks[0].wide.layout
        if self._near[0] is not layout:
            # Few texts are looked at; who only wants an answer needs none of these.
            self._near = (layout, tuple(_Near.of(block, self._then) for block in self._blocks))
        return self._near[1]

    def _embedded(self, ids: Tensor, types: Tensor | None) -> Tensor:
        parts, norm = self._embeddings, self._embeddings.LayerNorm
        texts = getattr(parts, "token_type_embeddings", None)
        found: Tensor = embedded(
            ids, types, parts.word_embeddings.weight, parts.position_embeddings.weight,
            None if texts is None else texts.weight, [norm.weight, norm.bias], norm.eps,
        )  # fmt: skip
        return found


def _visible(mask: Tensor | None) -> Tensor | None:
    """`[row, token]`, 0 at padding, as every query of every head sees it."""
    return None if mask is None else mask[:, None, None, :].bool()


def _activation(network: PreTrainedModel) -> str:
    config = network.config
    return str(getattr(config, "hidden_act", None) or getattr(config, "activation", ""))


def _blocks(network: PreTrainedModel) -> Iterator[_Block]:
    trunk: Any = network.base_model
    if network.config.model_type == "bert":
        for layer in trunk.encoder.layer:
            attention, found = layer.attention.self, layer.attention.output
            inner, outer = layer.intermediate.dense, layer.output
            norms = found.LayerNorm, outer.LayerNorm
            yield _Block(attention, found.dense, norms[0], inner, outer.dense, norms[1])
    else:
        for layer in trunk.transformer.layer:
            attention, ffn = layer.attention, layer.ffn
            norms = layer.sa_layer_norm, layer.output_layer_norm
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
