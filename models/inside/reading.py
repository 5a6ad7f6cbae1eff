"""Run the network of transformers over a text, and record the vectors and weights of every layer."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from models.architectures import LayerNames, architecture, heads_of
from models.errors import InputError
from models.inside.outputs import Piece, TokenizedText
from models.inside.tokens import place_to_follow, texts_of
from models.outputs.base import Token
from models.registry import Task
from models.tasks.base import AnyTaskModel, batch_of_one, causal, require_text
from models.tasks.text_generation import TextGeneration, TextGenerationInput
from models.tasks.translation import EncodedSentence, EncodedSource, Translation
from models.text.tokenizer import read_tokens
from models.wording import Sentence

_BEAMS = 4
_NOT_TAKEN_APART = Sentence(
    "{model} is built in a way that cannot be taken apart here. Please choose a BERT, DistilBERT, RoBERTa, ELECTRA, "
    "ModernBERT, GPT-2, Llama, Marian or BART."
)


class LayerParts:
    """The model's own modules of one layer, under the names of `LayerNames`; `None` for a part that it lacks.

    They read and write `[token, component]`. `scaling` is the factor of the attention scores, 1/√d_k. For
    `key_value_heads`, `rotary_base` and `reach` see `HeadNumbers`.
    """

    def __init__(self, layer: nn.Module, names: LayerNames, heads: int, config: Any) -> None:
        def part(name: str) -> Any:
            return attrgetter(name)(layer) if name else None

        self.layer = layer
        self.attention = part(names.attention)
        self.query_key_value = [part(name) for name in names.query_key_value]
        self.together = part(names.together)
        self.attention_norm = part(names.attention_norm)
        self.cross = part(names.cross)
        self.cross_norm = part(names.cross_norm)
        self.inner = part(names.inner)
        self.gate = part(names.gate)
        self.activation = part(names.activation)
        self.outer = part(names.outer)
        self.output_norm = part(names.output_norm)
        self.norm_first = names.norm_first
        self.heads = heads
        self.key_value_heads = int(getattr(config, "num_key_value_heads", None) or heads)
        # ModernBERT names no scaling, and its layers differ in their rotary base and in how far they look.
        self.scaling = float(getattr(self.attention, "scaling", 0) or self.attention.head_dim**-0.5)
        kind = getattr(layer, "attention_type", "")
        rotary = getattr(config, "rope_parameters", None) or {}
        self.rotary_base: float | None = rotary.get(kind, rotary).get("rope_theta")
        self.reach = int(config.sliding_window) if kind == "sliding_attention" else None

    def project(self, vectors: Tensor) -> tuple[Tensor, ...]:
        """The queries `[token, heads * d_k]`, and the keys and values `[token, key_value_heads * d_k]`."""
        maps = [each(vectors) for each in self.query_key_value]
        return tuple(maps) if len(maps) == 3 else maps[0].chunk(3, dim=-1)

    def widen(self, vectors: Tensor) -> tuple[Tensor, Tensor | None]:
        """The input of the feed-forward layer's activation, and the gate that its output is multiplied by, if any."""
        if self.gate is None:
            return self.inner(vectors), None
        if self.gate is self.inner:
            widened, gate = self.inner(vectors).chunk(2, dim=-1)
            return widened, gate
        return self.inner(vectors), self.gate(vectors)

    def masked(self, tokens: int, kind: str) -> NDArray[np.bool_]:
        """The mask `[query, key]`, true where a query of the side called `kind` may not look."""
        distance = np.subtract.outer(np.arange(tokens), np.arange(tokens))
        hidden = causal(tokens) & (kind == "decoder")
        return hidden if self.reach is None else hidden | (np.abs(distance) > self.reach)


def kinds_of(model: AnyTaskModel) -> dict[str, LayerNames]:
    """The kinds of self-attention that can be shown, the default first; raises `InputError` where there is none."""
    layers = architecture(model.network.config.model_type).layers
    kinds = {kind: names for kind, names in layers.items() if names.attention}
    if not kinds:
        raise InputError(Sentence(_NOT_TAKEN_APART, model=model.checkpoint.title), "checkpoint")
    return kinds


def layers_of(model: AnyTaskModel, kind: str) -> tuple[LayerParts, ...]:
    """The layers of the side called `kind`, first to last."""
    names, config = kinds_of(model)[kind], model.network.config
    layers = attrgetter(names.layers)(model.network.base_model)
    return tuple(LayerParts(layer, names, heads_of(config, kind), config) for layer in layers)


@dataclass(frozen=True, eq=False)
class NetworkInput:
    """The network's input tensors `[1, token]` by name, and the `tokens` of the side called `kind`.

    `segments` says to which text of a pair each token belongs, 0 or 1; `guess_at` is the index of the token at which
    the model makes its guess.
    """

    kind: str
    network_inputs: Mapping[str, Tensor]
    tokens: tuple[Token, ...]
    segments: tuple[int, ...]
    guess_at: int


def read(model: AnyTaskModel, text: str, kind: str = "") -> NetworkInput:
    """Tokenize `text` for `model`; the tokens are those of the side called `kind`, if empty the model's first one.

    Encoders read "[CLS] one [SEP] another [SEP]" or "one [SEP] another" as a pair. A translator's encoder reads the
    text whole, not by sentences, and its decoder the translation that the model writes. Raises `InputError`.
    """
    kinds = kinds_of(model)
    kind = kind or next(iter(kinds))
    if kind not in kinds:
        raise InputError(Sentence("This model has no such attention; it has: {kinds}.", kinds=", ".join(kinds)), "kind")
    text = require_text(text, "text", Sentence("The text"))
    if isinstance(model, Translation):
        return _translated(model, text, kind)
    if isinstance(model, TextGeneration):
        prompt = model.preprocess(TextGenerationInput(text, max_new_tokens=1))
        inputs, count = {"input_ids": model.tensor(prompt.ids)}, len(prompt.tokens)
        return NetworkInput(kind, inputs, prompt.tokens, (0,) * count, count - 1)
    return _encoded(model, text)


def tokenized(model: AnyTaskModel, text: str) -> TokenizedText:
    """`text` in the pieces of a published `model`, the same as in `read`; raises `InputError`."""
    tokenizer, reading = model.tokenizer, read(model, text)
    # The offsets are those of a single text; where a pair has other tokens, it goes without.
    spans = tokenizer.encode(text.replace("[MASK]", tokenizer.settings.mask_token or "[MASK]")).offsets
    if len(spans) != len(reading.tokens):
        spans = [(0, 0)] * len(reading.tokens)
    pieces = (
        Piece(token.piece, token.id, segment, True, token.special, *span)
        for token, segment, span in zip(reading.tokens, reading.segments, spans, strict=True)
    )
    scheme = "wordpiece" if tokenizer.is_word_piece else "byte-level" if tokenizer.is_byte_level else "bpe"
    return TokenizedText(model.checkpoint.name, scheme, len(tokenizer), tuple(pieces))


def _encoded(model: AnyTaskModel, text: str) -> NetworkInput:
    tokenizer, mask = model.tokenizer, model.tokenizer.settings.mask_token or "[MASK]"
    parts = [part.replace("[MASK]", mask) for part in texts_of(text)]
    if not parts:
        raise InputError(Sentence("The text is empty. Please type something first."), "text")
    encoded = tokenizer.encode(*parts)
    model.require_window(len(encoded.ids), "text")
    inputs = {"input_ids": model.tensor(batch_of_one(encoded.ids))}
    if tokenizer.settings.has_types:
        inputs["token_type_ids"] = model.tensor(batch_of_one(encoded.types))
    # The separator after a text belongs to it.
    segments, current = [], 0
    for side in encoded.parts:
        current = current if side is None else side
        segments.append(current)
    tokens = read_tokens(tokenizer, encoded.ids)
    guess_at = place_to_follow(model.checkpoint.task, tokens, mask)
    return NetworkInput("encoder", inputs, tokens, tuple(segments), guess_at)


def _translated(model: Translation, text: str, kind: str) -> NetworkInput:
    ids = model.tokenizer.encode(text).ids
    model.require_window(len(ids), "text")
    source = EncodedSentence(batch_of_one(ids), read_tokens(model.tokenizer, ids))
    (hypotheses,) = model.forward(EncodedSource((source,), _BEAMS))
    # A decoder never reads the last token that it writes.
    read_back = np.concatenate([model.start, batch_of_one(hypotheses[0].ids[:-1])], axis=1)
    tokens = source.tokens if kind == "encoder" else read_tokens(model.tokenizer, read_back[0].tolist())
    inputs = {"input_ids": model.tensor(source.ids), "decoder_input_ids": model.tensor(read_back)}
    guess_at = place_to_follow(Task.TRANSLATION, tokens) if kind == "encoder" else len(tokens) - 1
    return NetworkInput(kind, inputs, tokens, (0,) * len(tokens), guess_at)


@dataclass(frozen=True, eq=False)
class Recording:
    """The model's own numbers over one text.

    `vectors` has the input of the first layer and the output of each, `[token, width]`; `weights` the attention of each
    layer, `[head, query, key]`; `mixed` its heads' outputs, concatenated, before the output projection,
    `[token, heads * d_k]`; `cross` the output of its cross-attention, `[token, width]`, where there is any.
    """

    parts: tuple[LayerParts, ...]
    vectors: list[Tensor] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)
    mixed: list[Tensor] = field(default_factory=list)
    cross: list[Tensor] = field(default_factory=list)


def record(
    model: AnyTaskModel, reading: NetworkInput, turn: Callable[[], Iterable[RemovableHandle]] = tuple
) -> Recording:
    """Record one forward pass, with eager attention, of the trunk of `model`: the network without its task head.

    `turn` registers hooks that change the pass; they are removed after it.
    """
    found = Recording(layers_of(model, reading.kind))

    def recorders() -> Iterator[RemovableHandle]:
        first = found.parts[0].layer
        yield first.register_forward_pre_hook(lambda _, inputs: found.vectors.append(inputs[0][0]))
        for parts in found.parts:
            yield parts.layer.register_forward_hook(lambda _, _in, output: found.vectors.append(output[0]))
            yield parts.attention.register_forward_hook(lambda _, _in, output: found.weights.append(output[1][0]))
            yield parts.together.register_forward_pre_hook(lambda _, inputs: found.mixed.append(inputs[0][0]))
            if parts.cross is not None:
                yield parts.cross.register_forward_hook(lambda _, _in, output: found.cross.append(output[0][0]))

    # The lock keeps other passes from running into the hooks.
    with model.lock, ExitStack() as hooks, torch.inference_mode():
        for handle in chain(turn(), recorders()):
            hooks.enter_context(handle)
        model.network.base_model(**reading.network_inputs, use_cache=False)
    return found
