"""Step 8: parameters counted from the sizes in a configuration, and from the network's own tensors beside them."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from models.architectures import architecture
from models.errors import InputError
from models.inside.outputs import ParameterCount, ParameterPart, PublishedSize, Shape
from models.registry import Checkpoint

if TYPE_CHECKING:
    from models.tasks.base import AnyTaskModel

_HEADS = {
    "BertForMaskedLM": "mask",
    "BertForSequenceClassification": "classes",
    "BertForQuestionAnswering": "span",
    "BertModel": "none",
}


def count_parameters(model: "AnyTaskModel") -> ParameterCount:
    """Every part of `model`, from its sizes and from its tensors; raises `InputError` for an unknown architecture."""
    config = model.network.config
    names = architecture(config.model_type).parameters
    if not names:
        raise InputError(f"The parts of {model.checkpoint.title} are named in a way that is not known here.")
    sizes = {**config.to_dict(), "head": _HEADS.get(type(model.network).__name__, "none"), "labels": config.num_labels}
    held = dict.fromkeys((name for name, _ in names), 0)
    # Each tensor once: the matrix that writes is the one that reads.
    for path, tensor in model.network.named_parameters():
        held[next(name for name, pattern in names if re.search(pattern, path))] += tensor.numel()
    parts = tuple(
        ParameterPart(name, formula, recomputed, held[name])
        for name, formula, recomputed in parts_from_sizes(config.model_type, sizes)
    )
    total = sum(tensor.numel() for tensor in model.network.parameters())
    return ParameterCount(model.looked_into, parts, total, int(config.hidden_size))


def parts_from_sizes(model_type: str, sizes: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """Name, sum of products and count of each part, from the sizes that a configuration states."""
    parts = {"bert": _bert, "gpt2": _gpt2, "marian": _marian}[model_type](sizes)
    return [(name, formula, count) for name, formula, count in parts if count]


def _bert(sizes: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    words, width, layers = sizes["vocab_size"], sizes["hidden_size"], sizes["num_hidden_layers"]
    inner, places, segments = sizes["intermediate_size"], sizes["max_position_embeddings"], sizes["type_vocab_size"]
    labels = sizes.get("labels", 2)
    head = {
        "mask": (f"{width}² + {width} + 2 · {width} + {words:,}", width**2 + 3 * width + words),
        "classes": (f"{width} · {labels} + {labels}", width * labels + labels),
        "span": (f"{width} · 2 + 2", width * 2 + 2),
        "none": ("", 0),
    }[sizes["head"]]
    pooler = width**2 + width if sizes["head"] in ("classes", "none") else 0
    return [
        *_tables(words, places, width),
        ("segment embedding", f"{segments} · {width}", segments * width),
        ("norm of the embedding", f"2 · {width}", 2 * width),
        _attention("attention", layers, width),
        _feed_forward("feed-forward", layers, width, inner),
        ("norms in the layers", f"{layers} · 2 · 2 · {width}", layers * 4 * width),
        ("pooler", f"{width}² + {width}", pooler),
        ("task head", *head),
    ]


def _gpt2(sizes: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    width, layers = sizes["n_embd"], sizes["n_layer"]
    return [
        *_tables(sizes["vocab_size"], sizes["n_positions"], width),
        _attention("attention", layers, width),
        _feed_forward("feed-forward", layers, width, 4 * width),
        ("norms in the layers", f"{layers} · 2 · 2 · {width}", layers * 4 * width),
        ("last norm", f"2 · {width}", 2 * width),
    ]


def _marian(sizes: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    words, width, places = sizes["vocab_size"], sizes["d_model"], sizes["max_position_embeddings"]
    encoder, decoder = sizes["encoder_layers"], sizes["decoder_layers"]
    return [
        ("token embedding", f"{words:,} · {width}", words * width),
        ("positions, computed", f"2 · {places} · {width}", 2 * places * width),
        _attention("attention in the encoder", encoder, width),
        _feed_forward("feed-forward in the encoder", encoder, width, sizes["encoder_ffn_dim"]),
        ("norms in the encoder", f"{encoder} · 2 · 2 · {width}", encoder * 4 * width),
        _attention("attention in the decoder", decoder, width),
        _attention("cross-attention", decoder, width),
        _feed_forward("feed-forward in the decoder", decoder, width, sizes["decoder_ffn_dim"]),
        ("norms in the decoder", f"{decoder} · 3 · 2 · {width}", decoder * 6 * width),
    ]


def _tables(words: int, places: int, width: int) -> list[tuple[str, str, int]]:
    return [
        ("token embedding", f"{words:,} · {width}", words * width),
        ("position embedding", f"{places:,} · {width}", places * width),
    ]


def _attention(name: str, layers: int, width: int) -> tuple[str, str, int]:
    """Query, key, value and what brings the heads together: four maps of d to d, each with a shift."""
    return name, f"{layers} · 4 · ({width}² + {width})", layers * 4 * (width**2 + width)


def _feed_forward(name: str, layers: int, width: int, inner: int) -> tuple[str, str, int]:
    """A map to the inner width and one back, each with a shift."""
    return name, f"{layers} · (2 · {width} · {inner} + {inner} + {width})", layers * (2 * width * inner + inner + width)


_FIRST_GPTS_WORDS = 40_478
_BERT_COUNTED = "embeddings, layers and pooler; no task head. The paper rounds to tens of millions."
_GPT2_COUNTED = (
    f"embeddings, layers and last norm, with the {_FIRST_GPTS_WORDS:,} tokens of the first GPT’s list; with the 50,257 "
    "of its own, as released, it is {millions:.0f} million."
)


def published_sizes() -> tuple[PublishedSize, ...]:
    """BERT's two sizes (Devlin et al., 2019) and GPT-2's four (Radford et al., 2019, table 2), counted from shapes."""
    berts = [
        PublishedSize(name, layers, width, _bert_total(layers, width), stated, _BERT_COUNTED)
        for name, layers, width, stated in (("BERT-base", 12, 768, 110), ("BERT-large", 24, 1024, 340))
    ]
    gpts = [
        PublishedSize(
            name,
            layers,
            width,
            gpt2_total(layers, width, _FIRST_GPTS_WORDS),
            stated,
            _GPT2_COUNTED.format(millions=gpt2_total(layers, width, 50_257) / 1e6),
        )
        for name, layers, width, stated in (
            ("GPT-2, smallest", 12, 768, 117),
            ("GPT-2, medium", 24, 1024, 345),
            ("GPT-2, large", 36, 1280, 762),
            ("GPT-2, largest", 48, 1600, 1542),
        )
    ]
    return (*berts, *gpts)


def gpt2_total(layers: int, width: int, words: int) -> int:
    """The parameters of a GPT-2 of this size that knows so many tokens."""
    sizes = {"vocab_size": words, "n_positions": 1024, "n_embd": width, "n_layer": layers}
    return sum(count for *_, count in parts_from_sizes("gpt2", sizes))


def _bert_total(layers: int, width: int) -> int:
    sizes = {
        "vocab_size": 30_522,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "intermediate_size": 4 * width,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "head": "none",
    }
    return sum(count for *_, count in parts_from_sizes("bert", sizes))


def shape_of(checkpoint: Checkpoint) -> Shape:
    """The stack that reads the text: of an encoder-decoder, the encoder."""
    config = configuration(checkpoint)
    match config["model_type"]:
        case "gpt2":
            return Shape(config["n_layer"], config["n_head"], config["n_embd"])
        case "marian":
            return Shape(config["encoder_layers"], config["encoder_attention_heads"], config["d_model"])
        case _:
            return Shape(config["num_hidden_layers"], config["num_attention_heads"], config["hidden_size"])


@cache
def configuration(checkpoint: Checkpoint) -> dict[str, Any]:
    """The `config.json` of a bundled checkpoint."""
    config: dict[str, Any] = json.loads((checkpoint.folder / "config.json").read_text(encoding="utf-8"))
    return config
