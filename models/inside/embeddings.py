"""Step 2: tokens become vectors, as the model's own embedding tables give them, added up as it adds them."""

from collections.abc import Callable
from contextlib import ExitStack
from operator import attrgetter

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.architectures import EmbeddingNames, architecture
from models.errors import InputError
from models.inside.outputs import EmbeddedText
from models.inside.reading import NetworkInput, layers_of, read
from models.tasks.base import AnyTaskModel

POSITIONS_SHOWN = 64
"""So many of the model's places are given."""

_READ = "read"


def embed(model: AnyTaskModel, text: str) -> EmbeddedText:
    """The vectors of `text` in one forward pass of `model`; raises `InputError`."""
    trunk = model.network.base_model
    names = architecture(model.network.config.model_type).embeddings
    if names is None:
        raise InputError(f"The vectors of {model.checkpoint.title} are made in a way that is not known here.")
    reading = read(model, text, names.kind)
    given = _looked_up(model, names, reading)
    scale = float(attrgetter(names.scale)(trunk)) if names.scale else 1.0
    given["token"] = given["token"] * scale
    own = given.pop(_READ)
    summed = torch.stack(list(given.values())).sum(dim=0)
    with torch.inference_mode():
        normed = attrgetter(names.norm)(trunk)(summed) if names.norm else None
    made = summed if normed is None else normed
    table = attrgetter(names.tables["position"])(trunk).weight
    return EmbeddedText(
        model.looked_into,
        reading.tokens,
        {name: _array(vectors) for name, vectors in given.items()},
        _array(summed),
        None if normed is None else _array(normed),
        float((made - own).abs().max()),
        _array(table[:POSITIONS_SHOWN]),
        learned=names.learned,
    )


def _looked_up(model: AnyTaskModel, names: EmbeddingNames, reading: NetworkInput) -> dict[str, Tensor]:
    """The vectors that each table gave and, as `_READ`, those that the first layer read; all `[token, width]`."""
    trunk = model.network.base_model
    given: dict[str, Tensor] = {}

    def noting(name: str) -> Callable[[nn.Module, object, Tensor], None]:
        def note(_table: nn.Module, _ids: object, vectors: Tensor) -> None:
            # A decoder may look up in the same table after the encoder.
            given.setdefault(name, vectors.reshape(-1, vectors.shape[-1]))

        return note

    def reads(_layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        given[_READ] = inputs[0][0]

    with model.lock, ExitStack() as hooks, torch.inference_mode():
        for name, path in names.tables.items():
            hooks.callback(attrgetter(path)(trunk).register_forward_hook(noting(name)).remove)
        first = layers_of(model, names.kind)[0].layer
        hooks.callback(first.register_forward_pre_hook(reads).remove)
        trunk(**reading.network_inputs, use_cache=False)
    return {name: given[name] for name in (*names.tables, _READ)}


def _array(vectors: Tensor) -> NDArray[np.float32]:
    return np.asarray(vectors.detach().float().cpu().numpy())
