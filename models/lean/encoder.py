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
from models.lean.encoder_pass import Embeddings, apart, embedded, read_texts, visible_of, weights_of
from models.lean.heads import BLANKS, LABEL, SPAN, Head
from models.lean.parts import FUSED, Map, are_watched, listeners, numbers_of
from models.lean.stack import Stack
from models.near_products import NearProduct
from models.packed_linear import joint_layers, scoring_by
from models.products import Numbers, in_a_row
from models.scoring import Scoring


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
        self._heads = int(network.config.num_attention_heads)
        self._then = FUSED[_activation(network)]
        self._blocks = tuple(_blocks(network))
        self._quick: _Quick | None = None
        self._near: tuple[LaidOut | None, tuple[_Near, ...]] = (None, ())
        # Whoever listens to the network as a whole hears when transformers reads it, not when it is read here.
        self._listeners = listeners(each for each in network.modules() if each is not network)

    @staticmethod
    def knows(network: PreTrainedModel) -> bool:
        """Whether the network is one of the plain ones, laid out for this processor."""
        plain = type(network) in _KNOWN and not getattr(network.config, "is_decoder", False)
        return (
            plain
            and _activation(network) in FUSED
            and all(isinstance(layout, LaidOut) for block in _blocks(network) for layout in block.layouts)
        )

    @property
    def is_watched(self) -> bool:
        """Whether a hook listens: then transformers must read."""
        return are_watched(self._listeners)

    def __call__(
        self,
        input_ids: Tensor,
        token_type_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        only: Sequence[int] | None = None,
    ) -> ModelOutput:
        """What the network says of texts `[row, token]`; `attention_mask` `[row, token]` is 0 at padding.

        With places of tokens, counted through all rows, it says `only` what it does of these, in one row.
        """
        quick = self._quick
        if quick is None or quick.first is not self._blocks[0].wide.layout:
            # Weights are laid out anew where somebody has changed them.
            self._quick = quick = _Quick.of(self._blocks)
        stack = Stack(self._heads, quick.numbers, self._then, quick.norms, quick.epsilons)
        # oneDNN knows no gradient, and TorchScript would prepare for one.
        with torch.no_grad():
            head = _head(self._network, self._then, input_ids.numel() if only is None else len(only))
            said = read_texts(
                input_ids, token_type_ids, attention_mask, None if only is None else list(only), self._embeddings(),
                stack, head, _WORTH_ROUNDING, _LONG,
            )  # fmt: skip
        return _SAID[head.kind](*said)

    def attention(
        self, input_ids: Tensor, token_type_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> list[Tensor]:
        """Each layer's attention `[row, head, query, key]`: exact, or nearly so where answers are rounded.

        One caller at a time.
        """
        x, visible = embedded(input_ids, token_type_ids, self._embeddings()), visible_of(attention_mask)
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

    def _embeddings(self) -> Embeddings:
        parts = self._network.base_model.embeddings
        norm, texts = parts.LayerNorm, getattr(parts, "token_type_embeddings", None)
        return Embeddings(
            parts.word_embeddings.weight, parts.position_embeddings.weight, None if texts is None else texts.weight,
            [norm.weight, norm.bias], norm.eps,
        )  # fmt: skip


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


_KNOWN = (
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForQuestionAnswering,
    DistilBertForMaskedLM,
    DistilBertForSequenceClassification,
    DistilBertForQuestionAnswering,
)


def _head(network: Any, then: str, rows: int) -> Head:
    """The head of a `network` whose blocks have the activation `then`, for so many `rows` that are scored."""
    match network:
        case BertForMaskedLM():
            scores = network.cls.predictions
            dense, norm, output = scores.transform.dense, scores.transform.LayerNorm, scores.decoder
            return _blanks(dense, then, norm, scoring_by(output, rows))
        case DistilBertForMaskedLM():
            norm, output = network.vocab_layer_norm, network.vocab_projector
            return _blanks(network.vocab_transform, then, norm, scoring_by(output, rows))
        case BertForSequenceClassification():
            trunk: Any = network.bert
            return _label(trunk.pooler.dense, "tanh", network.classifier)
        case DistilBertForSequenceClassification():
            return _label(network.pre_classifier, "relu", network.classifier)
        case _:
            return Head(SPAN, None, "none", [], 0.0, numbers_of(network.qa_outputs), None)


def _blanks(dense: nn.Linear, then: str, norm: nn.LayerNorm, scoring: Scoring) -> Head:
    return Head(BLANKS, numbers_of(dense), then, [norm.weight, norm.bias], norm.eps, None, scoring)


def _label(dense: nn.Linear, then: str, output: nn.Linear) -> Head:
    return Head(LABEL, numbers_of(dense), then, [], 0.0, numbers_of(output), None)


_SAID: dict[str, Callable[..., ModelOutput]] = {
    BLANKS: lambda logits: MaskedLMOutput(logits=logits),
    LABEL: lambda logits: SequenceClassifierOutput(logits=logits),
    SPAN: lambda starts, ends: QuestionAnsweringModelOutput(start_logits=starts, end_logits=ends),
}
"""What each kind of head says, as transformers says it."""
