"""Compute by the equations what a model does with a text, and compare that with the model's own numbers."""

from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.architectures import architecture
from models.engine.pytorch import array
from models.errors import InputError, require_there
from models.inside.formulas import shares, turned, turns
from models.inside.lens import lens
from models.inside.outputs import (
    BlockNumbers,
    EmbeddedText,
    HeadNumbers,
    Look,
    Numbers,
    Stage,
    Station,
    TranslationSteps,
    VectorPath,
)
from models.inside.reading import LayerParts, Recording, kinds_of, layers_of, read, record
from models.inside.tokens import FROM_THE_MODEL
from models.tasks.base import AnyTaskModel
from models.tasks.translation import Translation, TranslationInput
from models.wording import Sentence

POSITIONS_SHOWN = 64
"""The number of positions whose embeddings `embed` returns."""


def embed(model: AnyTaskModel, text: str) -> EmbeddedText:
    """Embed `text` by the model's tables and compare that with its first layer's input; raises `InputError`."""
    trunk = model.network.base_model
    names = architecture(model.network.config.model_type).embeddings
    if names is None:
        raise InputError(
            Sentence("The vectors of {model} are made in a way that is not known here.", model=model.checkpoint.title)
        )
    reading = read(model, text, names.kind)
    own = record(model, reading).vectors[0]
    picked = {
        "token": reading.network_inputs["input_ids"][0],
        "segment": torch.tensor(reading.segments),
        "position": torch.arange(len(reading.tokens)),
    }
    tables = {name: attrgetter(path)(trunk).weight for name, path in names.tables.items()}
    first = layers_of(model, names.kind)[0]
    with torch.inference_mode():
        parts = {name: table[picked[name].to(table.device)] for name, table in tables.items()}
        if names.scale:
            parts["token"] = parts["token"] * float(attrgetter(names.scale)(trunk))
        summed = torch.stack(list(parts.values())).sum(dim=0)
        normed = attrgetter(names.norm)(trunk)(summed) if names.norm else None
    if first.rotary_base is None:
        positions = array(tables["position"][:POSITIONS_SHOWN])
    else:
        width = int(first.together.in_features) // first.heads
        positions = turns(POSITIONS_SHOWN, width, first.rotary_base).astype(np.float32)
    return EmbeddedText(
        model.looked_into,
        reading.tokens,
        {name: array(vectors) for name, vectors in parts.items()},
        array(summed),
        None if normed is None else array(normed),
        float(((summed if normed is None else normed) - own).abs().max()),
        positions,
        learned=names.learned and first.rotary_base is None,
        rotary_base=first.rotary_base,
    )


def look_inside(
    model: AnyTaskModel, text: str, layer: int = 0, head: int = 0, position: int = FROM_THE_MODEL, kind: str = ""
) -> Look:
    """Follow the token at `position` through `layer` and `head`, all counted from 0.

    `kind` is one of the model's kinds of self-attention, the first one where it is empty. Raises `InputError` for a
    text that cannot be read and for a layer, head, position or kind that is not there.
    """
    reading = read(model, text, kind)
    place = reading.guess_at if position == FROM_THE_MODEL else position
    require_there("token", place, len(reading.tokens), field="position")
    recording = record(model, reading)
    layers, heads = len(recording.parts), recording.parts[0].heads
    require_there("layer", layer, layers)
    require_there("head", head, heads)
    masked = recording.parts[layer].masked(len(reading.tokens), reading.kind)
    cross = recording.cross[layer] if recording.cross else None
    composed = compose(recording.parts[layer], recording.vectors[layer], masked, cross)
    return Look(
        model.looked_into, reading.tokens, reading.segments, reading.kind, tuple(kinds_of(model)), layers, heads,
        layer, head, place,
        _head_numbers(recording, composed, layer, head, masked),
        _block_numbers(recording, composed, layer, place),
        _vector_path(recording),
        lens(model, reading, recording, place),
    )  # fmt: skip


def vectors_through(model: AnyTaskModel, text: str, position: int) -> Numbers:
    """The vector of the token at `position` before the first layer and after each, `[layer + 1, width]`."""
    reading = read(model, text)
    require_there("token", position, len(reading.tokens), field="position")
    return np.stack([array(vectors[position]) for vectors in record(model, reading).vectors])


def translation_steps(model: AnyTaskModel, text: str) -> TranslationSteps:
    """The translation of `text` by greedy search, with the cross-attention of every step; raises `InputError`."""
    if not isinstance(model, Translation):
        raise InputError(Sentence("{model} does not translate.", model=model.checkpoint.title), "checkpoint")
    inputs = TranslationInput(text, num_beams=1)
    output = model.answer(inputs)
    cross = model.attend(inputs, tuple(token.id for token in output.target_tokens))["cross"]
    return TranslationSteps(model.identity, cross.key_tokens, output.generated, cross.weights)


@dataclass(frozen=True, eq=False)
class Composed:
    """A block computed for all tokens: the vectors at each `Station`, in order, and the steps of its attention.

    `attention` has the arrays of `HeadNumbers` by name, with a first axis of all heads; shared keys and values are
    repeated for each of them.
    """

    stations: dict[str, Tensor]
    attention: dict[str, Numbers]

    @property
    def output(self) -> Tensor:
        """The output of the block, `[token, width]`."""
        return list(self.stations.values())[-1]


def compose(parts: LayerParts, vectors: Tensor, masked: NDArray[np.bool_], cross: Tensor | None = None) -> Composed:
    """Compute a block over `vectors` `[token, width]` by the equations of Vaswani et al. (2017) with the model's maps.

    `cross` is the output of its cross-attention, where it has one.
    """
    with torch.inference_mode():
        stations: dict[str, Tensor] = {Station.INPUT: vectors}
        attended = vectors
        # ModernBERT's first layer reads vectors that were normed already.
        if parts.norm_first and not isinstance(parts.attention_norm, nn.Identity):
            attended = stations[Station.ATTENTION_NORMED] = parts.attention_norm(vectors)
        heads = (parts.heads, parts.key_value_heads, parts.key_value_heads)
        queries, keys, values = (
            np.repeat(_by_head(each, count), parts.heads // count, axis=0)
            for each, count in zip(parts.project(attended), heads, strict=True)
        )
        attention = {}
        if parts.rotary_base is not None:
            attention = {"unturned_queries": queries, "unturned_keys": keys}
            queries, keys = (turned(each, parts.rotary_base) for each in (queries, keys))
        scores = queries @ keys.swapaxes(1, 2)
        scaled, weights = shares(scores, 1 / parts.scaling, masked)
        outputs = weights @ values
        stations[Station.CONCATENATED] = torch.from_numpy(np.concatenate(list(outputs), axis=-1)).to(vectors)
        stations[Station.PROJECTED] = parts.together(stations[Station.CONCATENATED])
        current = stations[Station.ATTENTION_ADDED] = vectors + stations[Station.PROJECTED]
        if not parts.norm_first:
            current = stations[Station.ATTENTION_NORMED] = parts.attention_norm(current)
        if cross is not None:
            stations[Station.CROSS_ADDED] = current + cross
            current = stations[Station.CROSS_NORMED] = parts.cross_norm(stations[Station.CROSS_ADDED])
        read = current
        if parts.norm_first:
            read = stations[Station.OUTPUT_NORMED] = parts.output_norm(current)
        stations[Station.WIDENED], gate = parts.widen(read)
        inside = stations[Station.ACTIVATED] = parts.activation(stations[Station.WIDENED])
        if gate is not None:
            inside = stations[Station.GATED] = inside * gate
        stations[Station.NARROWED] = parts.outer(inside)
        stations[Station.FEED_FORWARD_ADDED] = current + stations[Station.NARROWED]
        if not parts.norm_first:
            stations[Station.OUTPUT_NORMED] = parts.output_norm(stations[Station.FEED_FORWARD_ADDED])
    attention |= {"queries": queries, "keys": keys, "values": values, "scores": scores, "scaled": scaled}
    return Composed(stations, attention | {"weights": weights, "outputs": outputs})


def _head_numbers(
    recording: Recording, composed: Composed, layer: int, head: int, masked: NDArray[np.bool_]
) -> HeadNumbers:
    parts = recording.parts[layer]
    numbers = {name: each[head] for name, each in composed.attention.items()}
    own = {
        "weights": array(recording.weights[layer][head]),
        "outputs": _by_head(recording.mixed[layer], parts.heads)[head],
    }
    deviation = max(float(np.abs(numbers[name] - each).max()) for name, each in own.items())
    return HeadNumbers(
        **numbers,
        divisor=1 / parts.scaling,
        masked=masked,
        deviation=deviation,
        key_value_heads=parts.key_value_heads,
        rotary_base=parts.rotary_base,
        reach=parts.reach,
    )


def _block_numbers(recording: Recording, composed: Composed, layer: int, position: int) -> BlockNumbers:
    parts, stations = recording.parts[layer], composed.stations
    activation = getattr(parts.activation, "__name__", type(parts.activation).__name__).lower()
    return BlockNumbers(
        tuple(Stage(name, array(vectors[position])) for name, vectors in stations.items()),
        parts.norm_first,
        parts.heads,
        head_width=composed.attention["queries"].shape[-1],
        width=stations[Station.INPUT].shape[-1],
        inner_width=stations[Station.WIDENED].shape[-1],
        activation=next((name for name in ("GELU", "ReLU", "SiLU") if name.lower() in activation), activation),
        deviation=float((composed.output - recording.vectors[layer + 1]).abs().max()),
        centred="RMS" not in type(parts.output_norm).__name__,
    )


def _vector_path(recording: Recording) -> VectorPath:
    vectors = np.stack([array(each) for each in recording.vectors])
    norms = np.linalg.norm(vectors, axis=-1)
    products = (vectors * vectors[0]).sum(axis=-1)
    return VectorPath(norms, products / np.maximum(norms * norms[0], np.finfo(np.float32).tiny))


def _by_head(vectors: Tensor, heads: int) -> Numbers:
    """Split `vectors` `[token, heads * d_k]` into `[head, token, d_k]`."""
    return np.stack(np.split(array(vectors), heads, axis=-1))
