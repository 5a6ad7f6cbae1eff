"""A cache of transformers' for texts that grow by a token at a time, each from a place of its own."""

import torch
from torch import Tensor
from transformers.cache_utils import Cache, StaticLayer

UNSEEN = -1e9
"""Added to the score of a place that is not to be seen: finite in bfloat16, and its exponential is zero."""


class _TextLayer(StaticLayer):
    """One layer's keys and values [texts, heads, longest, width]; the newest stand at `places` [texts]."""

    places: Tensor

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        keys, values = self.keys, self.values
        assert keys is not None and values is not None, "made above"  # noqa: S101
        texts = torch.arange(len(key_states), device=key_states.device)
        keys[texts, :, self.places] = key_states[:, :, 0]
        values[texts, :, self.places] = value_states[:, :, 0]
        return keys, values


class TextCache(Cache):
    """Keys and values of texts of up to `longest` tokens."""

    def __init__(self, layers: int, longest: int) -> None:
        self._of_texts = [_TextLayer(longest) for _ in range(layers)]
        self._longest = longest
        super().__init__(layers=list(self._of_texts))

    def stand_at(self, places: Tensor) -> Tensor:
        """Where the next tokens stand, `places` [texts]; what is added to the scores [texts, 1, 1, longest] then."""
        for layer in self._of_texts:
            layer.places = places
        behind = torch.arange(self._longest, device=places.device) > places[:, None]
        return (behind * UNSEEN)[:, None, None].to(torch.bfloat16)
