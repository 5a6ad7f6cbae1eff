"""Switch off a head, or all heads of a layer, and see what the answer was worth without it (Michel et al., 2019)."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from torch import Tensor, nn

from models.architectures import architecture
from models.errors import InputError
from models.outputs import MEAN, SwitchedOff
from models.tasks.base import AnyTaskModel


@dataclass(frozen=True)
class _Heads:
    """The maps that bring the heads of one kind together, in the layers' order, and how many heads each has."""

    maps: tuple[nn.Module, ...]
    layers: int
    heads: int


@contextmanager
def without(model: AnyTaskModel, off: SwitchedOff) -> Iterator[None]:
    """While it is open, what `off` names puts out zeros in the network's passes in this thread, and in no other.

    Ask `model.exact`, whose answers are computed by the network itself.

    The rest of the layer stays: what it passes by, the bias of its output, its feed-forward part. Raises `InputError`
    for a kind, layer or head that is not there, and for a model whose heads cannot be told apart.
    """
    heads = _heads(model, off.kind)
    _require(off, heads)
    # ALBERT uses one layer again and again, so that the calls must be counted.
    uses = heads.layers // len(heads.maps)
    here, calls = threading.get_ident(), 0

    def silence(_map: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        nonlocal calls
        if threading.get_ident() != here:
            return None
        calls += 1
        if (calls - 1) % uses != off.layer % uses:
            return None
        mixed: Tensor = inputs[0].clone()
        size = mixed.shape[-1] // heads.heads
        mixed[..., slice(None) if off.head == MEAN else slice(off.head * size, (off.head + 1) * size)] = 0
        return (mixed, *inputs[1:])

    # Other threads run the network under this lock, so that nobody meets a hook on its way in or out.
    with model.lock:
        hook = heads.maps[off.layer // uses].register_forward_pre_hook(silence)
    try:
        yield
    finally:
        with model.lock:
            hook.remove()


def _heads(model: AnyTaskModel, kind: str) -> _Heads:
    """The heads of `kind`; raises `InputError` where there are none, or none that could be switched off."""
    kinds = model.checkpoint.task.kinds
    if kind not in kinds:
        raise InputError(f"This run has no such attention; it has: {', '.join(kinds)}.", "kind")
    config = model.network.config
    names = architecture(config.model_type).layers.get(kind)
    if names is None:
        raise InputError("The heads of this model cannot be switched off one by one.")
    layers = attrgetter(names.layers)(model.network.base_model)
    maps = tuple(attrgetter(names.together)(layer) for layer in layers)
    heads = config.num_attention_heads
    if not config.is_encoder_decoder:
        return _Heads(maps, config.num_hidden_layers, heads)
    if kind != "encoder":
        # T5 has as many heads on both sides, and one name for them.
        heads = getattr(config, "decoder_attention_heads", heads)
    return _Heads(maps, len(maps), heads)


def _require(off: SwitchedOff, there: _Heads) -> None:
    if not 0 <= off.layer < there.layers:
        raise InputError(f"Layer {off.layer} is not there: this model has layers 0 to {there.layers - 1}.", "layer")
    if not MEAN <= off.head < there.heads:
        raise InputError(f"Head {off.head} is not there: this model has heads 0 to {there.heads - 1}.", "head")
