"""Record what passes through the layers of a model in one forward pass of its own, by hooks."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from models.inside.anatomy import LayerParts, layers_of
from models.inside.reading import Reading
from models.tasks.base import AnyTaskModel


@dataclass(frozen=True, eq=False)
class Recording:
    """The model's own numbers over one text.

    `vectors` has the input of the first layer and the output of each, `[token, width]`; `weights` the attention of each
    layer, `[head, query, key]`; `mixed` the heads' outputs beside one another, `[token, heads * d_k]`, before they are
    brought together; `cross` what the attention to another text adds, `[token, width]`, where there is any.
    """

    parts: tuple[LayerParts, ...]
    vectors: list[Tensor] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)
    mixed: list[Tensor] = field(default_factory=list)
    cross: list[Tensor] = field(default_factory=list)


def record(model: AnyTaskModel, reading: Reading) -> Recording:
    """One eager forward pass of the trunk of `model`, the part below its task's head, recorded."""
    recording = Recording(layers_of(model, reading.kind))
    network = model.network
    # The lock keeps other passes out of the hooks.
    with model.lock, _listening(recording), torch.inference_mode():
        network.base_model(**reading.network_inputs, use_cache=False)
    return recording


@contextmanager
def _listening(recording: Recording) -> Iterator[None]:
    """While it is open, every layer that runs writes itself down."""

    def layer_ran(_layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        if not recording.vectors:
            recording.vectors.append(inputs[0][0])
        recording.vectors.append(output[0])

    def attended(_attention: nn.Module, _inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
        recording.weights.append(output[1][0])

    def brought_together(_map: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        recording.mixed.append(inputs[0][0])

    def crossed(_attention: nn.Module, _inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
        recording.cross.append(output[0][0])

    with ExitStack() as hooks:
        for parts in recording.parts:
            handles = [
                parts.layer.register_forward_hook(layer_ran),
                parts.attention.register_forward_hook(attended),
                parts.together.register_forward_pre_hook(brought_together),
            ]
            if parts.cross is not None:
                handles.append(parts.cross.register_forward_hook(crossed))
            for handle in handles:
                hooks.callback(handle.remove)
        yield
