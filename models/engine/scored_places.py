"""A masked language model's head, asked at some places alone: half the work of a small model is its vocabulary."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import Tensor, nn
from transformers import PreTrainedModel


@contextmanager
def scored_at(network: PreTrainedModel, places: Sequence[int] | Tensor) -> Iterator[None]:
    """Let the output embedding of `network` score only the vectors at `places`, which count through all rows.

    The logits of a pass inside are `[1, place, vocabulary]`.
    """

    def choose(_head: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
        return (inputs[0].flatten(0, 1)[None, places],)

    head: nn.Module = network.get_output_embeddings()
    hook = head.register_forward_pre_hook(choose)
    try:
        yield
    finally:
        hook.remove()
