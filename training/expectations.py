"""What a model of Llama's architecture expects behind tokens of a text, as draws of equal weight.

Their gradient is on average that of all its probabilities (Anshumann et al., "Sparse Logit Sampling", 2025). They are
drawn systematically: at equal distances of the sum of probabilities, the first one by chance.

A larger model reads whole texts, or lets many grow by a token at a time. Where a processor multiplies bfloat16
(`tiles.py`) it does so in `native/reader.cpp`; where not, or on an accelerator, by transformers and torch.
"""

import ctypes
import math
import weakref
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from training import tiles
from training.text_cache import TextCache

DRAWS = 24
SCORED_AT_ONCE = 128
EPSILON = 1e-5
OF_A_LAYER = (
    "input_layernorm",
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.o_proj",
    "post_attention_layernorm",
    "mlp.gate_proj",
    "mlp.up_proj",
    "mlp.down_proj",
)


class Expectations(Protocol):
    """What is expected in texts, however it is found."""

    def __call__(self, tokens: Tensor, places: Tensor, chances: Tensor) -> Tensor:
        """Draws [n, DRAWS], int64, from what is expected behind `places` [n] of `tokens` [B, L].

        Places are counted through all rows, and come in order; a row knows nothing of the others. `chances` [n] are
        from 0 to 1, one for each place.
        """
        ...

    def begin(self, texts: int, longest: int) -> None:
        """Make room for `texts` that grow, each of up to `longest` tokens."""
        ...

    def grow(self, tokens: Tensor, places: Tensor, chances: Tensor) -> Tensor:
        """Draws [texts, DRAWS], int64, from what is expected behind `tokens` [texts].

        A token stands at `places` [texts] of its text, whose earlier ones were given before, and what was given at this
        place or behind it is forgotten: a text that is at its end goes on as another one from place 0.
        """
        ...


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


class ByTorch:
    """By transformers, in bfloat16."""

    def __init__(self, model: LlamaForCausalLM, head: Tensor) -> None:
        """`model` is made bfloat16; `head` [token, width] are its words' vectors in some order."""
        model.bfloat16().eval()
        self._network = model.model
        self._head = head.to(model.device, torch.bfloat16)
        self._texts = TextCache(0, 0)

    @torch.inference_mode()
    def __call__(self, tokens: Tensor, places: Tensor, chances: Tensor) -> Tensor:
        """As `Expectations`."""
        hidden = self._network(input_ids=tokens.to(self._head.device), use_cache=False).last_hidden_state.flatten(0, 1)
        return draws(hidden[places.to(hidden.device)], self._head, chances)

    def begin(self, texts: int, longest: int) -> None:
        """As `Expectations`."""
        self._texts = TextCache(self._network.config.num_hidden_layers, longest)

    @torch.inference_mode()
    def grow(self, tokens: Tensor, places: Tensor, chances: Tensor) -> Tensor:
        """As `Expectations`."""
        places = places.to(self._head.device)
        hidden = self._network(
            input_ids=tokens[:, None].to(self._head.device),
            position_ids=places[:, None],
            attention_mask=self._texts.stand_at(places),
            past_key_values=self._texts,
        ).last_hidden_state[:, 0]
        return draws(hidden, self._head, chances)


class ByTiles:
    """By `native/reader.cpp`: products in bfloat16, the path past the layers in float32."""

    def __init__(self, model: LlamaForCausalLM, head: Tensor, library: ctypes.CDLL) -> None:
        """`head` [token, width] are the words' vectors in some order."""
        network, self._library, self._width = model.model, library, model.config.hidden_size
        modules = [layer.get_submodule(name) for layer in network.layers for name in OF_A_LAYER]
        everywhere = torch.arange(tiles.MOST_PLACES)[None]
        turned = network.rotary_emb(torch.zeros(1, tiles.MOST_PLACES, self._width), everywhere)
        # Both halves of a head turn by the same angles.
        cosines, sines = (each[0, :, : tiles.HEAD_WIDTH // 2].float().contiguous() for each in turned)
        vectors = [network.embed_tokens.weight, network.norm.weight, head, *(module.weight for module in modules)]
        # Some of them are read each time.
        self._kept = [cosines, sines, *(vector.detach().float().contiguous() for vector in vectors)]
        self._texts = 0
        self._library.reader_new.restype = ctypes.c_void_p
        self._reader = ctypes.c_void_p(
            self._library.reader_new(
                tiles.pointers(self._kept[2:]),
                *(ctypes.c_void_p(each.data_ptr()) for each in (cosines, sines)),
                torch.get_num_threads(),
            )
        )
        weakref.finalize(self, self._library.reader_delete, self._reader)

    def __call__(self, tokens: Tensor, places: Tensor, chances: Tensor) -> Tensor:
        """As `Expectations`; ArithmeticError where the largest score of a place is beyond 60 or below -60."""
        return self.read(tokens, places, chances)[0]

    def read(self, tokens: Tensor, places: Tensor, chances: Tensor) -> tuple[Tensor, Tensor]:
        """The draws, and the last norm's outputs for all `tokens` [B, L, width]."""
        rows, length = tokens.shape
        if length > tiles.MOST_PLACES or length % tiles.BLOCK:
            raise ValueError(f"Rows have up to {tiles.MOST_PLACES} tokens, a multiple of {tiles.BLOCK}.")
        counts = torch.bincount(places // length, minlength=rows).int()
        drawn = torch.empty(len(places), DRAWS, dtype=torch.int32)
        hidden = torch.empty(rows, length, self._width)
        given = [tokens.contiguous(), counts, (places % length).int(), chances.float().contiguous(), drawn, hidden]
        at = [ctypes.c_void_p(each.data_ptr()) for each in given]
        told_apart = self._library.reader_read(self._reader, at[0], rows, length, *at[1:4], DRAWS, *at[4:])
        return checked(drawn, told_apart), hidden

    def begin(self, texts: int, longest: int) -> None:
        """As `Expectations`; the texts are shared out to the threads, up to 512 of as many tokens to each."""
        threads = torch.get_num_threads()
        rows = math.ceil(texts / threads / tiles.BLOCK) * tiles.BLOCK
        if max(rows, longest) > tiles.MOST_PLACES:
            raise ValueError(f"A thread grows up to {tiles.MOST_PLACES} texts of as many tokens.")
        self._texts = threads * rows
        self._library.reader_remember(self._reader, rows, longest)

    def grow(self, tokens: Tensor, places: Tensor, chances: Tensor) -> Tensor:
        """As `Expectations`, and as `__call__`."""
        # The last thread may have texts that nobody asked for.
        unasked = (0, self._texts - len(tokens))
        given = [functional.pad(each, unasked).contiguous() for each in (tokens, places.int(), chances.float())]
        drawn = torch.empty(self._texts, DRAWS, dtype=torch.int32)
        at = [ctypes.c_void_p(each.data_ptr()) for each in (*given, drawn)]
        return checked(drawn, self._library.reader_grow(self._reader, *at[:3], DRAWS, at[3]))[: len(tokens)]


def checked(drawn: Tensor, told_apart: int) -> Tensor:
    """`drawn` as int64; ArithmeticError where its scores are too large."""
    if not told_apart:
        raise ArithmeticError("The scores of the tokens are too large to be exponentials.")
    return drawn.long()


def suits(config: LlamaConfig) -> bool:
    """Whether `native/reader.cpp` has the architecture: heads of one width, one kind of norm, nothing added."""
    return bool(
        config.model_type == "llama"
        and config.head_dim == tiles.HEAD_WIDTH
        and not (config.hidden_size % tiles.BLOCK or config.intermediate_size % tiles.BLOCK)
        and not config.vocab_size % tiles.BLOCK
        and config.hidden_act == "silu"
        and math.isclose(config.rms_norm_eps, EPSILON, rel_tol=1e-6)
        and not (config.attention_bias or config.mlp_bias)
    )


def expectations_of(model: LlamaForCausalLM, order: Tensor) -> Expectations:
    """What `model` expects, drawn from its tokens in this `order` [token]; the quicker way here."""
    config, head = model.config, model.lm_head.weight.detach()[order.to(model.device)]
    library = None
    if suits(config):
        library = tiles.compiled(
            "reader",
            width=config.hidden_size,
            inner=config.intermediate_size,
            layers=config.num_hidden_layers,
            words=config.vocab_size,
            heads=config.num_attention_heads,
            shared=config.num_key_value_heads,
        )
    return ByTorch(model, head) if library is None else ByTiles(model, head, library)
