"""A block by its equations: its heads step by step, residual, layer norm, feed-forward (Vaswani et al., 2017)."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.inside.formulas import shares
from models.inside.outputs import BlockNumbers, HeadNumbers, Numbers, Stage, Station, VectorPath
from models.inside.reading import LayerParts, Recording


@dataclass(frozen=True, eq=False)
class Composed:
    """A block worked out for all tokens: its heads, and every station's vectors `[token, component]`, in order."""

    heads: tuple[HeadNumbers, ...]
    stations: dict[str, Tensor]

    @property
    def output(self) -> Tensor:
        """The output of the block, `[token, width]`."""
        return list(self.stations.values())[-1]


def attend(queries: Numbers, keys: Numbers, values: Numbers, divisor: float, masked: NDArray[np.bool_]) -> HeadNumbers:
    """A head over queries, keys and values `[token, d_k]`; its deviation is not known yet and said to be zero."""
    scores = queries @ keys.T
    scaled, weights = shares(scores, divisor, masked)
    return HeadNumbers(queries, keys, values, scores, divisor, scaled, masked, weights, weights @ values, 0.0)


def heads_of(parts: LayerParts, vectors: Tensor, masked: NDArray[np.bool_]) -> tuple[HeadNumbers, ...]:
    """All heads of a layer over what its attention reads, `[token, width]`."""
    queries, keys, values = (
        np.split(each.float().cpu().numpy(), parts.heads, axis=-1) for each in parts.project(vectors)
    )
    return tuple(
        attend(query, key, value, 1 / parts.scaling, masked)
        for query, key, value in zip(queries, keys, values, strict=True)
    )


def compared(numbers: HeadNumbers, weights: Numbers, outputs: Numbers) -> float:
    """The greatest distance of a head's weights and outputs from the model's own."""
    return float(max(np.abs(numbers.weights - weights).max(), np.abs(numbers.outputs - outputs).max()))


def compose(parts: LayerParts, vectors: Tensor, masked: NDArray[np.bool_], cross: Tensor | None = None) -> Composed:
    """A block over `vectors` `[token, width]`, by the equations and the model's own maps.

    `cross` is what the attention to another text puts out, where the block has one.
    """
    with torch.inference_mode():
        stations: dict[str, Tensor] = {Station.INPUT: vectors}
        attended = vectors
        if parts.norm_first:
            attended = stations[Station.ATTENTION_NORMED] = parts.attention_norm(vectors)
        heads = heads_of(parts, attended, masked)
        mixed = torch.from_numpy(np.concatenate([head.outputs for head in heads], axis=-1))
        stations[Station.CONCATENATED] = mixed.to(vectors)
        stations[Station.PROJECTED] = parts.together(stations[Station.CONCATENATED])
        current = stations[Station.ATTENTION_ADDED] = vectors + stations[Station.PROJECTED]
        if not parts.norm_first:
            current = stations[Station.ATTENTION_NORMED] = parts.attention_norm(current)
        if cross is not None and parts.cross_norm is not None:
            stations[Station.CROSS_ADDED] = current + cross
            current = stations[Station.CROSS_NORMED] = parts.cross_norm(stations[Station.CROSS_ADDED])
        read = current
        if parts.norm_first:
            read = stations[Station.OUTPUT_NORMED] = parts.output_norm(current)
        stations[Station.WIDENED] = parts.inner(read)
        stations[Station.ACTIVATED] = parts.activation(stations[Station.WIDENED])
        stations[Station.NARROWED] = parts.outer(stations[Station.ACTIVATED])
        stations[Station.FEED_FORWARD_ADDED] = current + stations[Station.NARROWED]
        if not parts.norm_first:
            stations[Station.OUTPUT_NORMED] = parts.output_norm(stations[Station.FEED_FORWARD_ADDED])
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
        inner_width=int(composed.stations[Station.WIDENED].shape[-1]),
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
