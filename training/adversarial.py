"""Training against the small change of the inputs that hurts most (Miyato et al., 2017)."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from training.loop import Batch


class Adversarial:
    """A loss that counts each batch twice: as it is, and with the output of `embeddings` moved against the model.

    A text's vectors `[token, dimension]` are moved by `share` of their own length, as one vector.
    """

    def __init__(self, embeddings: nn.Module, loss_of: Callable[[nn.Module, Batch], Tensor], share: float) -> None:
        self._loss_of, self._share = loss_of, share
        self._seen = torch.empty(0)
        self._change: Tensor | None = None
        embeddings.register_forward_hook(self._pass)

    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:
        """The loss on the moved batch; the gradient of the other one is there already."""
        plain = self._loss_of(model, batch)
        plain.backward()
        (gradient, vectors) = (each.float() for each in (self._seen.grad, self._seen.detach()) if each is not None)
        lengths = vectors.norm(dim=(1, 2), keepdim=True) / gradient.norm(dim=(1, 2), keepdim=True).clamp_min(1e-12)
        self._change = (self._share * lengths * gradient).to(self._seen.dtype)
        try:
            return self._loss_of(model, batch)
        finally:
            self._change = None

    def _pass(self, module: nn.Module, _inputs: object, vectors: Tensor) -> Tensor:
        if not module.training:
            return vectors
        if self._change is not None:
            return vectors + self._change
        # The embeddings themselves are not trained, so their output is a start of its own.
        self._seen = vectors.detach().requires_grad_()
        return self._seen
