"""Step 8 of the tab Inside: parameters counted from the sizes in a configuration, and from the network's tensors."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from models.architectures import architecture
from models.errors import InputError
from models.inside.outputs import ParameterCount, ParameterPart
from models.wording import Sentence

if TYPE_CHECKING:
    from models.tasks.base import AnyTaskModel

Part = tuple[str, str, int]
"""A part's name, the formula of its parameter count as text, and the count."""

_SIZES = itemgetter("vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size")


def count_parameters(model: "AnyTaskModel") -> ParameterCount:
    """Count each part of `model` by its sizes and by its tensors; raises `InputError` for an unknown architecture."""
    network = model.network
    names = architecture(network.config.model_type).parameters
    if not names:
        raise InputError(
            Sentence("The parts of {model} are named in a way that is not known here.", model=model.checkpoint.title)
        )
    held = dict.fromkeys((name for name, _ in names), 0)
    # A tied output embedding counts once: `named_parameters` yields each tensor once.
    for path, tensor in network.named_parameters():
        held[next(name for name, pattern in names if re.search(pattern, path))] += tensor.numel()
    counted = {"bert": _bert, "gpt2": _gpt2, "marian": _marian, "llama": _llama, "modernbert": _modernbert}[
        network.config.model_type
    ]({**network.config.to_dict(), "head": type(network).__name__, "labels": network.config.num_labels})
    parts = tuple(ParameterPart(name, formula, count, held[name]) for name, formula, count in counted if count)
    return ParameterCount(model.looked_into, parts, sum(held.values()), int(network.config.hidden_size))


def _bert(sizes: Mapping[str, Any]) -> list[Part]:
    words, width, layers, inner = _SIZES(sizes)
    labels, segments = sizes["labels"], sizes["type_vocab_size"]
    heads = {
        "BertForMaskedLM": (f"{width}² + {width} + 2 · {width} + {words:,}", width**2 + 3 * width + words),
        "BertForSequenceClassification": (f"{width} · {labels} + {labels}", width * labels + labels),
        "BertForQuestionAnswering": (f"{width} · 2 + 2", width * 2 + 2),
    }
    has_pooler = sizes["head"] not in ("BertForMaskedLM", "BertForQuestionAnswering")
    return [
        *_tables(words, sizes["max_position_embeddings"], width),
        (Sentence("segment embedding"), f"{segments} · {width}", segments * width),
        (Sentence("norm of the embedding"), f"2 · {width}", 2 * width),
        *_layers(layers, width, inner),
        (Sentence("pooler"), f"{width}² + {width}", has_pooler * (width**2 + width)),
        (Sentence("task head"), *heads.get(sizes["head"], ("", 0))),
    ]


def _gpt2(sizes: Mapping[str, Any]) -> list[Part]:
    width = sizes["n_embd"]
    return [
        *_tables(sizes["vocab_size"], sizes["n_positions"], width),
        *_layers(sizes["n_layer"], width, 4 * width),
        (Sentence("last norm"), f"2 · {width}", 2 * width),
    ]


def _marian(sizes: Mapping[str, Any]) -> list[Part]:
    words, width, places = sizes["vocab_size"], sizes["d_model"], sizes["max_position_embeddings"]
    return [
        (Sentence("token embedding"), f"{words:,} · {width}", words * width),
        (Sentence("positions, computed"), f"2 · {places} · {width}", 2 * places * width),
        *_layers(sizes["encoder_layers"], width, sizes["encoder_ffn_dim"], _IN_THE_ENCODER),
        *_layers(sizes["decoder_layers"], width, sizes["decoder_ffn_dim"], _IN_THE_DECODER, cross=True),
    ]


def _llama(sizes: Mapping[str, Any]) -> list[Part]:
    """Llama's parts: attention has two maps from d to d and two to the key-value heads, feed-forward has three."""
    words, width, layers, inner = _SIZES(sizes)
    shared = width * sizes["num_key_value_heads"] // sizes["num_attention_heads"]
    return [
        (Sentence("token embedding"), f"{words:,} · {width}", words * width),
        (
            Sentence("attention"),
            f"{layers} · 2 · ({width}² + {width} · {shared})",
            layers * 2 * (width**2 + width * shared),
        ),
        (Sentence("feed-forward"), f"{layers} · 3 · {width} · {inner}", layers * 3 * width * inner),
        (Sentence("norms in the layers"), f"{layers} · 2 · {width}", layers * 2 * width),
        (Sentence("last norm"), f"{width}", width),
    ]


def _modernbert(sizes: Mapping[str, Any]) -> list[Part]:
    """ModernBERT's parts: maps and norms of the layers have no bias, and the first layer has one norm."""
    words, width, layers, inner = _SIZES(sizes)
    return [
        (Sentence("token embedding"), f"{words:,} · {width}", words * width),
        (Sentence("norm of the embedding"), f"{width}", width),
        (Sentence("attention"), f"{layers} · 4 · {width}²", layers * 4 * width**2),
        (Sentence("feed-forward"), f"{layers} · 3 · {width} · {inner}", layers * 3 * width * inner),
        (Sentence("norms in the layers"), f"({layers} · 2 − 1) · {width}", (layers * 2 - 1) * width),
        (Sentence("last norm"), f"{width}", width),
        (Sentence("task head"), f"{width}² + {width} + {words:,}", width**2 + width + words),
    ]


def _tables(words: int, places: int, width: int) -> list[Part]:
    return [
        (Sentence("token embedding"), f"{words:,} · {width}", words * width),
        (Sentence("position embedding"), f"{places:,} · {width}", places * width),
    ]


_IN_THE_LAYERS = Sentence("attention"), Sentence("feed-forward"), Sentence("norms in the layers")
_IN_THE_ENCODER = (
    Sentence("attention in the encoder"),
    Sentence("feed-forward in the encoder"),
    Sentence("norms in the encoder"),
)
_IN_THE_DECODER = (
    Sentence("attention in the decoder"),
    Sentence("feed-forward in the decoder"),
    Sentence("norms in the decoder"),
)


def _layers(
    layers: int, width: int, inner: int, names: tuple[str, str, str] = _IN_THE_LAYERS, cross: bool = False
) -> list[Part]:
    """The layers' parts: attention has four maps from d to d, feed-forward two, to `inner` and back, all with bias."""
    of_attention, of_feed_forward, of_norms = names
    attention = f"{layers} · 4 · ({width}² + {width})", layers * 4 * (width**2 + width)
    feed_forward = f"{layers} · (2 · {width} · {inner} + {inner} + {width})"
    norms = 3 if cross else 2
    return [
        (of_attention, *attention),
        *([(Sentence("cross-attention"), *attention)] if cross else []),
        (of_feed_forward, feed_forward, layers * (2 * width * inner + inner + width)),
        (of_norms, f"{layers} · {norms} · 2 · {width}", layers * norms * 2 * width),
    ]


class PublishedSize(NamedTuple):
    """A model of a paper: its sizes, its parameters counted from them, and the millions that the paper states."""

    name: str
    layers: int
    width: int
    parameters: int
    stated_millions: int
    counted: str


_FIRST_GPTS_WORDS = 40_478


def published_sizes() -> tuple[PublishedSize, ...]:
    """BERT's two sizes (Devlin et al., 2019) and GPT-2's four (Radford et al., 2019, table 2), counted from shapes."""
    found = []
    for name, layers, width, stated in (("BERT-base", 12, 768, 110), ("BERT-large", 24, 1024, 340)):
        counted = Sentence("embeddings, layers and pooler; no task head. The paper rounds to tens of millions.")
        found.append(PublishedSize(name, layers, width, _bert_total(layers, width), stated, counted))
    for name, layers, width, stated in (
        (Sentence("GPT-2, smallest"), 12, 768, 117),
        (Sentence("GPT-2, medium"), 24, 1024, 345),
        (Sentence("GPT-2, large"), 36, 1280, 762),
        (Sentence("GPT-2, largest"), 48, 1600, 1542),
    ):
        counted = Sentence(
            "embeddings, layers and last norm, with the {first:,} tokens of the first GPT’s list; with the {own:,} of "
            "its own, as released, it is {millions:.0f} million.",
            first=_FIRST_GPTS_WORDS,
            own=50_257,
            millions=gpt2_total(layers, width, 50_257) / 1e6,
        )
        total = gpt2_total(layers, width, _FIRST_GPTS_WORDS)
        found.append(PublishedSize(name, layers, width, total, stated, counted))
    return tuple(found)


def gpt2_total(layers: int, width: int, words: int) -> int:
    """The number of parameters of a GPT-2 of this size with a vocabulary of `words` tokens."""
    sizes = {"vocab_size": words, "n_positions": 1024, "n_embd": width, "n_layer": layers}
    return sum(count for *_, count in _gpt2(sizes))


def _bert_total(layers: int, width: int) -> int:
    sizes = {
        "vocab_size": 30_522, "hidden_size": width, "num_hidden_layers": layers, "intermediate_size": 4 * width,
        "max_position_embeddings": 512, "type_vocab_size": 2, "head": "BertModel", "labels": 0,
    }  # fmt: skip
    return sum(count for *_, count in _bert(sizes))


@dataclass(frozen=True)
class Sizes:
    """The sizes of a model; in an encoder-decoder, `layers` and `heads` are the encoder's.

    Vectors have `width` components, `inner` inside the feed-forward layer; `vocabulary` counts pieces, and
    `decoder_layers` the layers of an encoder-decoder's decoder.
    """

    layers: int
    heads: int
    width: int
    inner: int
    vocabulary: int
    decoder_layers: int = 0


_NAMES = {
    "gpt2": ("n_layer", "n_head", "n_embd", "n_inner"),
    "marian": ("encoder_layers", "encoder_attention_heads", "d_model", "encoder_ffn_dim"),
}
"""The configuration keys of layers, heads, width and inner width by `model_type`, where not BERT's."""


@cache
def sizes_of(folder: Path) -> Sizes:
    """The sizes of the checkpoint in `folder`, from its configuration."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    bert = ("num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size")
    layers, heads, width, inner = (config.get(name) for name in _NAMES.get(config["model_type"], bert))
    # GPT-2 leaves the inner width out where it is four times the width.
    decoder = config["decoder_layers"] if config.get("is_encoder_decoder") else 0
    return Sizes(layers, heads, width, inner or 4 * width, config["vocab_size"], decoder)
