"""The modules of each layer of a network, found by the names in `models/architectures.py`."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from torch import Tensor, nn

from models.architectures import LayerNames, architecture
from models.errors import InputError
from models.tasks.base import AnyTaskModel


@dataclass(frozen=True)
class LayerParts:
    """The modules of one layer, the model's own; `scaling` is what the scores are multiplied by, 1/√d_k.

    Maps read and write `[token, component]`. The two halves of the block are attention and the
    feed-forward part `inner`, `activation`, `outer`; each has its norm behind it, or in front of it with `norm_first`.
    """

    layer: nn.Module
    attention: nn.Module
    scaling: float
    query_key_value: tuple[nn.Module, ...]
    together: nn.Module
    attention_norm: nn.Module
    inner: nn.Module
    activation: Callable[[Tensor], Tensor]
    outer: nn.Module
    output_norm: nn.Module
    norm_first: bool
    heads: int
    cross: nn.Module | None
    cross_norm: nn.Module | None

    def project(self, vectors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The queries, keys and values of all heads beside one another, each `[token, heads * d_k]`."""
        maps = [each(vectors) for each in self.query_key_value]
        query, key, value = maps if len(maps) == 3 else maps[0].chunk(3, dim=-1)
        return query, key, value


def kinds_inside(model: AnyTaskModel) -> tuple[str, ...]:
    """The kinds of self-attention that can be looked into, the one to show first in front.

    Raises `InputError` for an architecture whose layers are built in another way.
    """
    return tuple(_names(model))


def layers_of(model: AnyTaskModel, kind: str) -> tuple[LayerParts, ...]:
    """The layers of `kind`, first to last; raises `InputError` for a kind that the model has not."""
    kinds = _names(model)
    if kind not in kinds:
        raise InputError(f"This model has no such attention; it has: {', '.join(kinds)}.", "kind")
    names, config = kinds[kind], model.network.config
    heads = config.num_attention_heads
    if config.is_encoder_decoder:
        heads = config.encoder_attention_heads if kind == "encoder" else config.decoder_attention_heads
    return tuple(_parts(layer, names, heads) for layer in attrgetter(names.layers)(model.network.base_model))


def _names(model: AnyTaskModel) -> dict[str, LayerNames]:
    layers = architecture(model.network.config.model_type).layers
    whole = {kind: names for kind, names in layers.items() if names.attention}
    if not whole:
        raise InputError(
            f"{model.checkpoint.title} is built in a way that cannot be taken apart here. Please choose a BERT, "
            "DistilBERT, RoBERTa, ELECTRA, GPT-2, Marian or BART.",
            "checkpoint",
        )
    return whole


def _parts(layer: nn.Module, names: LayerNames, heads: int) -> LayerParts:
    def part(name: str) -> nn.Module:
        return attrgetter(name)(layer)  # type: ignore[no-any-return]

    return LayerParts(
        layer=layer,
        attention=part(names.attention),
        scaling=float(part(names.attention).scaling),  # type: ignore[arg-type]
        query_key_value=tuple(part(name) for name in names.query_key_value),
        together=part(names.together),
        attention_norm=part(names.attention_norm),
        inner=part(names.inner),
        activation=part(names.activation),
        outer=part(names.outer),
        output_norm=part(names.output_norm),
        norm_first=names.norm_first,
        heads=heads,
        cross=part(names.cross) if names.cross else None,
        cross_norm=part(names.cross_norm) if names.cross_norm else None,
    )
