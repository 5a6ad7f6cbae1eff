"""The rest of a block: heads concatenated and projected, residual, layer norm, feed-forward; and the vectors' path."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.inside.anatomy import LayerParts
from models.inside.head import compared, heads_of
from models.inside.head_outputs import BlockNumbers, HeadNumbers, Numbers, Stage, VectorPath
from models.inside.recording import Recording
from models.inside.stations import (
    ACTIVATED,
    ATTENTION_ADDED,
    ATTENTION_NORMED,
    CONCATENATED,
    CROSS_ADDED,
    CROSS_NORMED,
    FEED_FORWARD_ADDED,
    INPUT,
    NARROWED,
    OUTPUT_NORMED,
    PROJECTED,
    WIDENED,
)


@dataclass(frozen=True, eq=False)
class Composed:
    """A block worked out for all tokens: its heads, and every station's vectors `[token, component]`, in order."""

    heads: tuple[HeadNumbers, ...]
    stations: dict[str, Tensor]

    @property
    def output(self) -> Tensor:
        """What comes out of the block, `[token, width]`."""
        return list(self.stations.values())[-1]


def compose(parts: LayerParts, vectors: Tensor, masked: NDArray[np.bool_], cross: Tensor | None = None) -> Composed:
    """A block over `vectors` `[token, width]`, by the equations and the model's own maps.

    `cross` is what the attention to another text puts out, where the block has one.
    """
    with torch.inference_mode():
        stations = {INPUT: vectors}
        attended = vectors
        if parts.norm_first:
            attended = stations[ATTENTION_NORMED] = parts.attention_norm(vectors)
        heads = heads_of(parts, attended, masked)
        mixed = torch.from_numpy(np.concatenate([head.outputs for head in heads], axis=-1))
        stations[CONCATENATED] = mixed.to(vectors)
        stations[PROJECTED] = parts.together(stations[CONCATENATED])
        current = stations[ATTENTION_ADDED] = vectors + stations[PROJECTED]
        if not parts.norm_first:
            current = stations[ATTENTION_NORMED] = parts.attention_norm(current)
        if cross is not None and parts.cross_norm is not None:
            stations[CROSS_ADDED] = current + cross
            current = stations[CROSS_NORMED] = parts.cross_norm(stations[CROSS_ADDED])
        read = current
        if parts.norm_first:
            read = stations[OUTPUT_NORMED] = parts.output_norm(current)
        stations[WIDENED] = parts.inner(read)
        stations[ACTIVATED] = parts.activation(stations[WIDENED])
        stations[NARROWED] = parts.outer(stations[ACTIVATED])
        stations[FEED_FORWARD_ADDED] = current + stations[NARROWED]
        if not parts.norm_first:
            stations[OUTPUT_NORMED] = parts.output_norm(stations[FEED_FORWARD_ADDED])
        return Composed(heads, stations)


def compose_layer(recording: Recording, layer: int, masked: NDArray[np.bool_]) -> Composed:
    """Layer `layer` of a recording over the input that it really had, each head with its distance from the model's."""
    parts = recording.parts[layer]
    composed = compose(parts, recording.vectors[layer], masked, recording.cross[layer] if recording.cross else None)
    outputs = np.split(numpy_of(recording.mixed[layer]), parts.heads, axis=-1)
    heads = tuple(
        replace(head, deviation=compared(head, weights, output))
        for head, weights, output in zip(composed.heads, numpy_of(recording.weights[layer]), outputs, strict=True)
    )
    return replace(composed, heads=heads)


def block_numbers(recording: Recording, layer: int, composed: Composed, position: int) -> BlockNumbers:
    """The way of the token at `position` through `composed`, layer `layer` of the recording."""
    parts = recording.parts[layer]
    stages = tuple(Stage(name, numpy_of(vectors[position])) for name, vectors in composed.stations.items())
    return BlockNumbers(
        stages,
        parts.norm_first,
        parts.heads,
        composed.heads[0].width,
        width=len(stages[0].vector),
        inner_width=int(composed.stations[WIDENED].shape[-1]),
        activation=activation_name(parts),
        deviation=float((composed.output - recording.vectors[layer + 1]).abs().max()),
    )


def activation_name(parts: LayerParts) -> str:
    """GELU, ReLU or SiLU, whichever the feed-forward part of a layer uses."""
    name = getattr(parts.activation, "__name__", type(parts.activation).__name__).lower()
    return next((title for title in ("GELU", "ReLU", "SiLU") if title.lower() in name), name)


def vector_path(recording: Recording) -> VectorPath:
    """The lengths of all tokens' vectors before and after every layer, and their cosines to the first."""
    vectors = np.stack([numpy_of(each) for each in recording.vectors])
    norms = np.linalg.norm(vectors, axis=-1)
    products = (vectors * vectors[0]).sum(axis=-1)
    return VectorPath(norms, products / np.maximum(norms * norms[0], np.finfo(np.float32).tiny))


def numpy_of(numbers: Tensor) -> Numbers:
    """A tensor's numbers as float32 on the host."""
    return numbers.float().cpu().numpy()
