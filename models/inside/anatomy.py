"""Where each architecture keeps the parts of a layer, by the names that its own modules have."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter

from torch import Tensor, nn

from models.errors import InputError
from models.tasks.base import AnyTaskModel


@dataclass(frozen=True)
class _Names:
    """The names of a layer's parts, seen from the layer; `query_key_value` has one name where one map makes all three.

    `cross` and `cross_norm` name the attention to another text, where a layer has it.
    """

    layers: str
    attention: str
    query_key_value: tuple[str, ...]
    together: str
    attention_norm: str
    inner: str
    activation: str
    outer: str
    output_norm: str
    norm_first: bool = False
    cross: str = ""
    cross_norm: str = ""


_BERT = _Names(
    layers="encoder.layer",
    attention="attention.self",
    query_key_value=("attention.self.query", "attention.self.key", "attention.self.value"),
    together="attention.output.dense",
    attention_norm="attention.output.LayerNorm",
    inner="intermediate.dense",
    activation="intermediate.intermediate_act_fn",
    outer="output.dense",
    output_norm="output.LayerNorm",
)
_DISTILBERT = _Names(
    layers="transformer.layer",
    attention="attention",
    query_key_value=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    together="attention.out_lin",
    attention_norm="sa_layer_norm",
    inner="ffn.lin1",
    activation="ffn.activation",
    outer="ffn.lin2",
    output_norm="output_layer_norm",
)
_GPT2 = _Names(
    layers="h",
    attention="attn",
    query_key_value=("attn.c_attn",),
    together="attn.c_proj",
    attention_norm="ln_1",
    inner="mlp.c_fc",
    activation="mlp.act",
    outer="mlp.c_proj",
    output_norm="ln_2",
    norm_first=True,
)
_BART_ENCODER = _Names(
    layers="encoder.layers",
    attention="self_attn",
    query_key_value=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    together="self_attn.out_proj",
    attention_norm="self_attn_layer_norm",
    inner="fc1",
    activation="activation_fn",
    outer="fc2",
    output_norm="final_layer_norm",
)
_BART_DECODER = replace(
    _BART_ENCODER, layers="decoder.layers", cross="encoder_attn", cross_norm="encoder_attn_layer_norm"
)
_KNOWN: dict[str, dict[str, _Names]] = {
    **{name: {"encoder": _BERT} for name in ("bert", "roberta", "electra")},
    "distilbert": {"encoder": _DISTILBERT},
    "gpt2": {"decoder": _GPT2},
    **{name: {"decoder": _BART_DECODER, "encoder": _BART_ENCODER} for name in ("marian", "bart")},
}


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
    names, config = kinds[kind], model.config
    heads = config.num_attention_heads
    if config.is_encoder_decoder:
        heads = config.encoder_attention_heads if kind == "encoder" else config.decoder_attention_heads
    return tuple(_parts(layer, names, heads) for layer in attrgetter(names.layers)(model.network.base_model))


def _names(model: AnyTaskModel) -> dict[str, _Names]:
    try:
        return _KNOWN[model.config.model_type]
    except KeyError:
        raise InputError(
            f"{model.checkpoint.title} is built in a way that cannot be taken apart here. Please choose a BERT, "
            "DistilBERT, RoBERTa, ELECTRA, GPT-2, Marian or BART.",
            "checkpoint",
        ) from None


def _parts(layer: nn.Module, names: _Names, heads: int) -> LayerParts:
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
