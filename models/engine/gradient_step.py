"""One step of gradient descent on copies of the parameters: the network, which all runs share, stays as it is."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from models.architectures import architecture
from models.cancellation import go_on
from models.engine import Ids, Logits
from models.engine.pytorch import array, on_device_of
from models.wording import Sentence

BEFORE_LAYERS, AFTER_LAYERS = Sentence("embeddings"), Sentence("head")


@dataclass(frozen=True)
class GradientStep:
    """The logits `[place, vocabulary]` before and after the step, and the gradient norm and the size of each part.

    `loss` is the mean cross-entropy over the places, in nats; parts are in the order of the network.
    """

    before: Logits
    after: Logits
    loss: float
    norms: Mapping[str, float]
    sizes: Mapping[str, int]


def gradient_step(
    network: PreTrainedModel,
    lock: AbstractContextManager[object],
    ids: Ids,
    places: Sequence[int],
    targets: Sequence[int],
    rate: float,
) -> GradientStep:
    """Read `ids` `[1, token]`, take the gradient of the loss of `targets` at `places`, and read again after one step.

    Each parameter moves against its gradient by `rate` times that. Dropout is off, so that a step can be repeated.
    """
    read, wanted = on_device_of(network, ids), torch.tensor(list(targets), device=network.device)

    def logits(parameters: Mapping[str, Tensor]) -> Tensor:
        go_on()
        # The parameters take the place of the network's own for one pass, during which no other may run.
        with lock:
            output = functional_call(network, dict(parameters), kwargs={"input_ids": read})
        found: Tensor = output.logits[0, list(places)].float()
        return found

    with torch.inference_mode(False), torch.enable_grad():
        # The same numbers, not copied, as tensors that take gradients.
        parameters = {name: each.detach().requires_grad_() for name, each in network.named_parameters()}
        before = logits(parameters)
        loss = cross_entropy(before, wanted)
        go_on()
        found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    gradients = {name: each for name, each in zip(parameters, found, strict=True) if each is not None}
    parts = part_of_each(network)
    squares, sizes = defaultdict[str, float](float), defaultdict[str, int](int)
    for name, gradient in gradients.items():
        squares[parts[name]] += float(gradient.double().square().sum())
        sizes[parts[name]] += gradient.numel()
    with torch.no_grad():
        # In place, so that a moved parameter takes the memory of its gradient.
        moved = {name: gradient.mul_(-rate).add_(parameters[name]) for name, gradient in gradients.items()}
        after = logits(moved)
    norms = {part: square**0.5 for part, square in squares.items()}
    return GradientStep(array(before.detach()), array(after), float(loss.detach()), norms, sizes)


def part_of_each(network: PreTrainedModel) -> dict[str, str]:
    """The part that each parameter, by name, belongs to: `embeddings`, `layer 1`, …, `head`.

    Parameters before the layers belong to the embeddings, those after them to the head.
    """
    trunk, parts = network.base_model, {}
    (first, *_) = architecture(network.config.model_type).layers.values()
    layers = f"{network.base_model_prefix}.{first.layers}."
    assert trunk is not network  # noqa: S101
    part: str = BEFORE_LAYERS
    for name, _ in network.named_parameters():
        if name.startswith(layers):
            part = Sentence("layer {number}", number=int(name.removeprefix(layers).split(".")[0]) + 1)
        elif part != BEFORE_LAYERS:
            part = AFTER_LAYERS
        parts[name] = part
    return parts


def shares_embeddings(network: PreTrainedModel) -> bool:
    """Whether the output layer uses the table of the embeddings."""
    return network.get_output_embeddings().weight is network.get_input_embeddings().weight
