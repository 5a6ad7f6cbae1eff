"""A table of the module names under which each architecture of transformers keeps its parts.

Ablation, the tab Inside and the engine read it; nothing else knows an architecture by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from models.wording import Sentence


@dataclass(frozen=True)
class LayerNames:
    """The module names of a layer's parts: `layers` is the list of layers in the trunk, the others are paths in one.

    `together` is the output projection of the heads, W^O of Vaswani et al. (2017, section 3.2.2). `query_key_value` has
    one name where one projection makes all three. `cross` and `cross_norm` name the cross-attention, where a layer has
    it. `gate` is the second up projection of a gated feed-forward network (Shazeer, 2020), whose output is multiplied
    by that of `inner` after the activation. It has the name of `inner` where one projection makes both. Given only the
    first two names, heads can be switched off; the other uses of this table need the rest.
    """

    layers: str
    together: str
    attention: str = ""
    query_key_value: tuple[str, ...] = ()
    attention_norm: str = ""
    inner: str = ""
    activation: str = ""
    outer: str = ""
    output_norm: str = ""
    norm_first: bool = False
    cross: str = ""
    cross_norm: str = ""
    gate: str = ""


@dataclass(frozen=True)
class EmbeddingNames:
    """The module names of the embedding tables in the trunk, by what they embed, and of the norm after their sum.

    `kind` is the side that reads the text, `encoder` or `decoder`; `scale` names the factor of the token vectors.
    Position embeddings are `learned` or computed; without a position table they are rotary (Su et al., 2021): each
    layer rotates its queries and keys.
    """

    kind: str
    tables: Mapping[str, str]
    norm: str = ""
    scale: str = ""
    learned: bool = True

    @property
    def rotary(self) -> bool:
        """Whether positions are rotary, so that none is added to a token's vector."""
        return "position" not in self.tables


@dataclass(frozen=True)
class Architecture:
    """An architecture: the names of its layers by kind of attention, the kind to show first in front.

    `parameters` are the parts by which its parameters are counted, each with a regular expression; a parameter belongs
    to the first that matches its name. `last_norm` names the norm between a decoder's last layer and its output
    embedding. `converts` is true where its OpenVINO graphs were compared with transformers.
    """

    layers: Mapping[str, LayerNames] = field(default_factory=dict)
    embeddings: EmbeddingNames | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    last_norm: str = ""
    converts: bool = False


_BERT_LAYERS = LayerNames(
    layers="encoder.layer", together="attention.output.dense", attention="attention.self",
    query_key_value=("attention.self.query", "attention.self.key", "attention.self.value"),
    attention_norm="attention.output.LayerNorm", output_norm="output.LayerNorm",
    inner="intermediate.dense", activation="intermediate.intermediate_act_fn", outer="output.dense",
)  # fmt: skip
_BERT_EMBEDDINGS = EmbeddingNames(
    "encoder",
    {
        "token": "embeddings.word_embeddings",
        "segment": "embeddings.token_type_embeddings",
        "position": "embeddings.position_embeddings",
    },
    norm="embeddings.LayerNorm",
)
_BERT_PARAMETERS = (
    (Sentence("token embedding"), r"word_embeddings"),
    (Sentence("position embedding"), r"position_embeddings"),
    (Sentence("segment embedding"), r"token_type_embeddings"),
    (Sentence("norm of the embedding"), r"embeddings\.LayerNorm"),
    (Sentence("attention"), r"attention\.(self|output\.dense)"),
    (Sentence("feed-forward"), r"layer\.\d+\.(intermediate|output\.dense)"),
    (Sentence("norms in the layers"), r"layer\.\d+\..*LayerNorm"),
    (Sentence("pooler"), r"pooler"),
    (Sentence("task head"), r"^(cls|classifier|qa_outputs)\."),
)
_DISTILBERT_LAYERS = LayerNames(
    layers="transformer.layer", together="attention.out_lin", attention="attention",
    query_key_value=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    attention_norm="sa_layer_norm", output_norm="output_layer_norm",
    inner="ffn.lin1", activation="ffn.activation", outer="ffn.lin2",
)  # fmt: skip
_GPT2_LAYERS = LayerNames(
    layers="h", together="attn.c_proj", attention="attn",
    query_key_value=("attn.c_attn",),
    attention_norm="ln_1", output_norm="ln_2", norm_first=True,
    inner="mlp.c_fc", activation="mlp.act", outer="mlp.c_proj",
)  # fmt: skip
_GPT2_PARAMETERS = (
    (Sentence("token embedding"), r"wte"),
    (Sentence("position embedding"), r"wpe"),
    (Sentence("attention"), r"attn"),
    (Sentence("feed-forward"), r"mlp"),
    (Sentence("norms in the layers"), r"h\.\d+\.ln_"),
    (Sentence("last norm"), r"ln_f"),
)
_LLAMA_LAYERS = LayerNames(
    layers="layers", together="self_attn.o_proj", attention="self_attn",
    query_key_value=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    attention_norm="input_layernorm", output_norm="post_attention_layernorm", norm_first=True,
    inner="mlp.gate_proj", activation="mlp.act_fn", gate="mlp.up_proj", outer="mlp.down_proj",
)  # fmt: skip
_LLAMA_PARAMETERS = (
    (Sentence("token embedding"), r"embed_tokens"),
    (Sentence("attention"), r"self_attn"),
    (Sentence("feed-forward"), r"mlp"),
    (Sentence("norms in the layers"), r"layernorm"),
    (Sentence("last norm"), r"^model\.norm"),
)
_MODERNBERT_LAYERS = LayerNames(
    layers="layers", together="attn.Wo", attention="attn",
    query_key_value=("attn.Wqkv",),
    attention_norm="attn_norm", output_norm="mlp_norm", norm_first=True,
    inner="mlp.Wi", activation="mlp.act", gate="mlp.Wi", outer="mlp.Wo",
)  # fmt: skip
_MODERNBERT_PARAMETERS = (
    (Sentence("token embedding"), r"tok_embeddings"),
    (Sentence("norm of the embedding"), r"embeddings\.norm"),
    (Sentence("attention"), r"attn\.W"),
    (Sentence("feed-forward"), r"mlp\.W"),
    (Sentence("norms in the layers"), r"layers\.\d+\..*norm"),
    (Sentence("last norm"), r"final_norm"),
    (Sentence("task head"), r"^(head|decoder)\."),
)
_BART_ENCODER = LayerNames(
    layers="encoder.layers", together="self_attn.out_proj", attention="self_attn",
    query_key_value=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    attention_norm="self_attn_layer_norm", output_norm="final_layer_norm",
    inner="fc1", activation="activation_fn", outer="fc2",
)  # fmt: skip
_BART_LAYERS = {
    "decoder": replace(
        _BART_ENCODER, layers="decoder.layers", cross="encoder_attn", cross_norm="encoder_attn_layer_norm"
    ),
    "encoder": _BART_ENCODER,
    "cross": LayerNames("decoder.layers", "encoder_attn.out_proj"),
}
_MARIAN_EMBEDDINGS = EmbeddingNames(
    "encoder",
    {"token": "encoder.embed_tokens", "position": "encoder.embed_positions"},
    scale="encoder.embed_scale",
    learned=False,
)
_MARIAN_PARAMETERS = (
    (Sentence("positions, computed"), r"embed_positions"),
    (Sentence("token embedding"), r"shared|embed_tokens"),
    (Sentence("attention in the encoder"), r"encoder\.layers\.\d+\.self_attn\."),
    (Sentence("feed-forward in the encoder"), r"encoder\.layers\.\d+\.fc"),
    (Sentence("norms in the encoder"), r"encoder\.layers\.\d+\..*norm"),
    (Sentence("attention in the decoder"), r"decoder\.layers\.\d+\.self_attn\."),
    (Sentence("cross-attention"), r"decoder\.layers\.\d+\.encoder_attn\."),
    (Sentence("feed-forward in the decoder"), r"decoder\.layers\.\d+\.fc"),
    (Sentence("norms in the decoder"), r"decoder\.layers\.\d+\..*norm"),
)

ARCHITECTURES: dict[str, Architecture] = {
    "bert": Architecture({"encoder": _BERT_LAYERS}, _BERT_EMBEDDINGS, _BERT_PARAMETERS, converts=True),
    "roberta": Architecture({"encoder": _BERT_LAYERS}, converts=True),
    "electra": Architecture({"encoder": _BERT_LAYERS}, converts=True),
    "distilbert": Architecture({"encoder": _DISTILBERT_LAYERS}, converts=True),
    # All layers of ALBERT share one set of weights.
    "albert": Architecture({"encoder": LayerNames("encoder.albert_layer_groups", "albert_layers.0.attention.dense")}),
    "gpt2": Architecture(
        {"decoder": _GPT2_LAYERS},
        EmbeddingNames("decoder", {"token": "wte", "position": "wpe"}),
        _GPT2_PARAMETERS,
        last_norm="ln_f",
        converts=True,
    ),
    "llama": Architecture(
        {"decoder": _LLAMA_LAYERS},
        EmbeddingNames("decoder", {"token": "embed_tokens"}),
        _LLAMA_PARAMETERS,
        last_norm="norm",
        converts=True,
    ),
    "modernbert": Architecture(
        {"encoder": _MODERNBERT_LAYERS},
        EmbeddingNames("encoder", {"token": "embeddings.tok_embeddings"}, norm="embeddings.norm"),
        _MODERNBERT_PARAMETERS,
        converts=True,
    ),
    "openai-gpt": Architecture({"decoder": LayerNames("h", "attn.c_proj")}),
    "marian": Architecture(_BART_LAYERS, _MARIAN_EMBEDDINGS, _MARIAN_PARAMETERS, converts=True),
    "bart": Architecture(_BART_LAYERS),
    "t5": Architecture(
        {
            "encoder": LayerNames("encoder.block", "layer.0.SelfAttention.o"),
            "decoder": LayerNames("decoder.block", "layer.0.SelfAttention.o"),
            "cross": LayerNames("decoder.block", "layer.1.EncDecAttention.o"),
        }
    ),
}
"""The architectures by `model_type`, the name that a checkpoint's `config.json` gives."""


def architecture(model_type: str) -> Architecture:
    """Return the architecture of this `model_type`, or one without any names if it is not in the table."""
    return ARCHITECTURES.get(model_type, Architecture())


def heads_of(config: Any, kind: str) -> int:
    """The number of heads in each layer of this kind, by transformers' configuration of the network."""
    heads = int(config.num_attention_heads)
    if kind == "encoder" or not config.is_encoder_decoder:
        return heads
    # T5 has one setting for the heads of both sides.
    return int(getattr(config, "decoder_attention_heads", heads))
