"""BERT and DistilBERT (Devlin et al., 2019; Sanh et al., 2019), read with nothing in between."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers import (
    BertForMaskedLM,
    BertForSequenceClassification,
    DistilBertForMaskedLM,
    DistilBertForSequenceClassification,
    PreTrainedModel,
)
from transformers.modeling_outputs import MaskedLMOutput, QuestionAnsweringModelOutput, SequenceClassifierOutput
from transformers.utils.generic import ModelOutput

from models.compiled import compiled_encoder
from models.compiled.heads import label, span
from models.encoder_blocks import Block, activation_of, blocks_of, embeddings_of, is_plain
from models.joint import joint_layers
from models.layout import LaidOut
from models.lean.encoder_pass import apart, embedded, read_texts, visible_of, weights_of
from models.lean.heads import BLANKS, LABEL, SPAN, Head, answered
from models.lean.parts import FUSED, Map, are_watched, listeners, numbers_of
from models.lean.stack import Stack
from models.near_products import NearProduct
from models.packed_linear import scoring_by
from models.products import Numbers, in_a_row
from models.scoring import Scoring

if TYPE_CHECKING:
    from models.compiled.encoder import CompiledEncoder


@dataclass(frozen=True)
class _Quick:
    """All blocks' numbers as they were laid out, and the norms' weights and biases, `[width]` each."""

    first: LaidOut
    numbers: Numbers
    norms: list[Tensor]
    epsilons: list[float]

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> "_Quick":
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
    def of(cls, block: Block, then: str) -> "_Near":
        """Those of `block`: as they were laid out where that is exact."""
        layout = getattr(block.wide, "layout", None)
        if layout is not None and layout.is_exact:
            joint, together, wide, narrow = (layout.raw for layout in block.layouts)
        else:
            asking = joint_layers(block.attention)
            joint = NearProduct(torch.cat([each.weight for each in asking]), torch.cat([each.bias for each in asking]))
            together, wide, narrow = (
                NearProduct(each.weight, each.bias) for each in (block.together, block.wide, block.narrow)
            )
        return cls(joint, together, partial(wide, then=then), narrow)


_SCORING = (BertForMaskedLM, DistilBertForMaskedLM)
_NAMING = (BertForSequenceClassification, DistilBertForSequenceClassification)
"""Networks that score the vocabulary, and those that name a text; all others say where an answer stands."""

_LONG = 128
"""From so many tokens on the attention weights of many texts at once would need much memory."""

_WORTH_ROUNDING = 64 * 3 * 768
"""From so many tokens, times what is read of each, on, products of bfloat16 gain more than it costs to begin them."""


class LeanEncoder:
    """An encoder whose weights were laid out, with the head of its task."""

    def __init__(self, network: PreTrainedModel) -> None:
        self._network: Any = network
        self._heads = int(network.config.num_attention_heads)
        self._then = FUSED[activation_of(network)]
        self._blocks = tuple(blocks_of(network))
        self._quick: _Quick | None = None
        self._near: tuple[object, tuple[_Near, ...]] = (None, ())
        # Whoever listens to the network as a whole hears when transformers reads it, not when it is read here.
        self._listeners = listeners(each for each in network.modules() if each is not network)

    @staticmethod
    def knows(network: PreTrainedModel) -> bool:
        """Whether the network is one of the plain ones, laid out for this processor."""
        if not is_plain(network) or activation_of(network) not in FUSED:
            return False
        laid_out = (isinstance(layout, LaidOut) for block in blocks_of(network) for layout in block.layouts)
        return compiled_encoder(network) is not None or all(laid_out)

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
        compiled = compiled_encoder(self._network)
        if compiled is not None:
            return self._read_by(compiled, input_ids, token_type_ids, attention_mask, only)
        quick = self._quick
        if quick is None or quick.first is not self._blocks[0].wide.layout:
            # Weights are laid out anew where somebody has changed them.
            self._quick = quick = _Quick.of(self._blocks)
        stack = Stack(self._heads, quick.numbers, self._then, quick.norms, quick.epsilons)
        # oneDNN knows no gradient, and TorchScript would prepare for one.
        with torch.no_grad():
            head = _head(self._network, self._then, input_ids.numel() if only is None else len(only))
            said = read_texts(
                input_ids, token_type_ids, attention_mask, None if only is None else list(only),
                embeddings_of(self._network), stack, head, _WORTH_ROUNDING, _LONG,
            )  # fmt: skip
        return _SAID[head.kind](*said)

    def _read_by(
        self, compiled: "CompiledEncoder", ids: Tensor, types: Tensor | None, mask: Tensor | None,
        only: Sequence[int] | None,
    ) -> ModelOutput:  # fmt: skip
        """The same by compiled blocks."""
        with torch.no_grad():
            if isinstance(self._network, _SCORING):
                head = _head(self._network, self._then, ids.numel() if only is None else len(only))
                return _SAID[BLANKS](*answered(compiled.read(ids, types, mask, only), head))
            if not isinstance(self._network, _NAMING):
                return _SAID[SPAN](*span(compiled.read(ids, types, mask), self._network.qa_outputs))
            firsts = compiled.read(ids, types, mask, range(0, ids.numel(), ids.shape[1]))[0]
            return _SAID[LABEL](label(firsts, *_naming(self._network)))

    def attention(
        self, input_ids: Tensor, token_type_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> list[Tensor]:
        """Each layer's attention `[row, head, query, key]`: exact, or nearly so where answers are rounded.

        One caller at a time.
        """
        compiled = compiled_encoder(self._network)
        is_padded = attention_mask is not None and not bool(attention_mask.all())
        if compiled is not None and len(input_ids) == 1 and not is_padded and compiled.shows_attention:
            return compiled.attention(self._network, input_ids, token_type_ids)
        x, visible = embedded(input_ids, token_type_ids, embeddings_of(self._network)), visible_of(attention_mask)
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
        laid_out = compiled_encoder(self._network) or self._blocks[0].wide.layout
        if self._near[0] is not laid_out:
            # Few texts are looked at; who only wants an answer needs none of these.
            self._near = (laid_out, tuple(_Near.of(block, self._then) for block in self._blocks))
        return self._near[1]


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
        case BertForSequenceClassification() | DistilBertForSequenceClassification():
            dense, activation, output = _naming(network)
            return Head(LABEL, numbers_of(dense), activation, [], 0.0, numbers_of(output), None)
        case _:
            return Head(SPAN, None, "none", [], 0.0, numbers_of(network.qa_outputs), None)


def _blanks(dense: nn.Linear, then: str, norm: nn.LayerNorm, scoring: Scoring) -> Head:
    return Head(BLANKS, numbers_of(dense), then, [norm.weight, norm.bias], norm.eps, None, scoring)


def _naming(network: Any) -> tuple[nn.Linear, str, nn.Linear]:
    """The two layers of a `network` that names texts, and the activation between them."""
    if isinstance(network, BertForSequenceClassification):
        pooler: Any = network.bert.pooler
        return pooler.dense, "tanh", network.classifier
    return network.pre_classifier, "relu", network.classifier


_SAID: dict[str, Callable[..., ModelOutput]] = {
    BLANKS: lambda logits: MaskedLMOutput(logits=logits),
    LABEL: lambda logits: SequenceClassifierOutput(logits=logits),
    SPAN: lambda starts, ends: QuestionAnsweringModelOutput(start_logits=starts, end_logits=ends),
}
"""What each kind of head says, as transformers says it."""
