"""The expectations of a model of Llama's architecture after tokens of a text, as draws of equal weight."""

import torch
from torch import Tensor
from transformers import LlamaForCausalLM
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


DRAWS = 24
SCORED_AT_ONCE = 128


def draws(hidden: Tensor, head: Tensor, chances: Tensor) -> Tensor:
    """Rows [n, DRAWS] of `head` [token, width], drawn from the probabilities that `hidden` [n, width] gives them."""
    drawn = torch.empty(len(hidden), DRAWS, dtype=torch.long)
    steps = torch.arange(DRAWS, device=hidden.device)
    for start in range(0, len(hidden), SCORED_AT_ONCE):
        rows = slice(start, start + SCORED_AT_ONCE)
        sums = (hidden[rows] @ head.T).float().softmax(dim=-1).cumsum(dim=-1)
        points = (steps + chances[rows, None].to(sums.device)) / DRAWS * sums[:, -1:]
        drawn[rows] = torch.searchsorted(sums, points).clamp_max(len(head) - 1).cpu()
    return drawn


class Expectations:
    """A model of Llama's architecture in bfloat16, and what it expects."""

    def __init__(self, model: LlamaForCausalLM, order: Tensor) -> None:
        """`model` is made bfloat16; draws count its tokens in this `order` [token]."""
        model.bfloat16().eval()
        self._network = model.model
        self._head = model.lm_head.weight.detach()[order.to(model.device)]
        self._texts = TextCache(0, 0)

    @torch.inference_mode()
    def __call__(self, tokens: Tensor, places: Tensor, chances: Tensor) -> Tensor:
        """Draws [n, DRAWS], int64, from what is expected after `places` [n] of `tokens` [B, L].

        Places are counted through all rows; a row knows nothing of the others. `chances` [n] are from 0 to 1.
        """
        hidden = self._network(input_ids=tokens.to(self._head.device), use_cache=False).last_hidden_state.flatten(0, 1)
        return draws(hidden[places.to(hidden.device)], self._head, chances)

    def begin(self, texts: int, longest: int) -> None:
        """Make room for `texts` that grow, each of up to `longest` tokens."""
        self._texts = TextCache(self._network.config.num_hidden_layers, longest)

    @torch.inference_mode()
    def grow(self, tokens: Tensor, places: Tensor, chances: Tensor) -> Tensor:
        """Draws [texts, DRAWS], int64, from what is expected after `tokens` [texts].

        A token stands at `places` [texts] of its text, whose earlier ones were given before. What was given at this
        place or after it is forgotten, so a text that has ended goes on as another one from place 0.
        """
        places = places.to(self._head.device)
        hidden = self._network(
            input_ids=tokens[:, None].to(self._head.device),
            position_ids=places[:, None],
            attention_mask=self._texts.stand_at(places),
            past_key_values=self._texts,
        ).last_hidden_state[:, 0]
        return draws(hidden, self._head, chances)
