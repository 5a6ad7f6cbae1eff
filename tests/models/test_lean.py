"""Lean readers read as transformers does, step by step, and leave alone what they do not know."""

import pytest
import torch
from torch import Tensor
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MarianConfig,
    MarianMTModel,
    PreTrainedModel,
)

from models.lean import lean_reader
from models.lean.marian_encoder import marian_encoded
from models.packed_linear import pack

_SIZE = 50


def gpt2(**settings: object) -> GPT2LMHeadModel:
    torch.manual_seed(0)
    shape = {"vocab_size": _SIZE, "n_embd": 32, "n_head": 4, "n_layer": 3, "n_positions": 160}
    return GPT2LMHeadModel(GPT2Config(**shape | settings)).eval()


def marian(**settings: object) -> MarianMTModel:
    torch.manual_seed(0)
    shape = {
        "vocab_size": _SIZE, "d_model": 32, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "pad_token_id": 0,
        "decoder_start_token_id": 0, "max_position_embeddings": 160,
    }  # fmt: skip
    network = MarianMTModel(MarianConfig(**shape | settings)).eval()
    torch.nn.init.normal_(network.final_logits_bias)
    return network


def source_of(network: PreTrainedModel) -> Tensor | None:
    return torch.arange(1, 8)[None] if network.config.is_encoder_decoder else None


def encoded_by(network: PreTrainedModel) -> Tensor | None:
    source = source_of(network)
    if source is None:
        return None
    encoded: Tensor = network.get_encoder()(input_ids=source).last_hidden_state
    return encoded


def plain_logits(network: PreTrainedModel, ids: Tensor, encoded: Tensor | None) -> Tensor:
    """The whole text read at once, without any memory."""
    if encoded is None:
        logits: Tensor = network(input_ids=ids).logits
    else:
        rows = encoded.expand(len(ids), -1, -1)
        logits = network(decoder_input_ids=ids, encoder_outputs=(rows,), use_cache=False).logits
    return logits[:, -1]


@pytest.mark.parametrize(
    "network",
    [
        gpt2(),
        gpt2(activation_function="relu", n_inner=48),
        marian(),
        marian(scale_embedding=True),
        marian(activation_function="swish"),
    ],
    ids=["gpt2", "gpt2 with relu", "marian", "marian scaled", "marian with swish"],
)
@pytest.mark.parametrize("beginning", [1, 5])
def test_each_step_is_as_if_all_was_read_at_once(network: PreTrainedModel, beginning: int) -> None:
    chance = torch.Generator().manual_seed(beginning)
    ids = torch.randint(1, _SIZE, (1, beginning), generator=chance)
    with torch.inference_mode():
        encoded = encoded_by(network)
        reader = lean_reader(network, source_of(network))
        assert reader is not None
        logits = reader.read(ids).logits
        # Past the room that is made at first, the rows repeated, dropped and exchanged on the way.
        for step in range(80):
            torch.testing.assert_close(logits, plain_logits(network, ids, encoded), atol=1e-4, rtol=1e-4)
            rows = torch.randint(0, len(ids), (1 + step % 4,), generator=chance)
            reader.reorder(rows.tolist())
            new = torch.randint(1, _SIZE, (len(rows), 1), generator=chance)
            ids = torch.cat([ids[rows], new], dim=1)
            logits = reader.read(new).logits


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("settings", [{}, {"scale_embedding": True, "activation_function": "swish"}])
@torch.inference_mode()
def test_a_source_is_read_as_transformers_reads_it(settings: dict[str, object], packed: bool) -> None:
    network = marian(encoder_layers=3, **settings)
    if packed:
        pack(network)
    ids = torch.randint(1, _SIZE, (1, 11), generator=torch.Generator().manual_seed(0))
    plain = network.get_encoder()(input_ids=ids).last_hidden_state
    torch.testing.assert_close(marian_encoded(network, ids), plain, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("network", [gpt2(), marian()], ids=["gpt2", "marian"])
@torch.inference_mode()
def test_several_tokens_are_read_behind_others_and_forgotten_again(network: PreTrainedModel) -> None:
    chance = torch.Generator().manual_seed(0)
    encoded = encoded_by(network)
    reader = lean_reader(network, source_of(network))
    assert reader is not None
    ids = torch.randint(1, _SIZE, (2, 3), generator=chance)
    reader.read(ids)
    for step in range(30):
        new = torch.randint(1, _SIZE, (2, 1 + step % 5), generator=chance)
        wanted = 1 + step % new.shape[1]
        said = reader.read(new, wanted).logits.view(2, wanted, -1)
        ids = torch.cat([ids, new], dim=1)
        for place in range(wanted):
            read = ids[:, : ids.shape[1] - wanted + 1 + place]
            torch.testing.assert_close(said[:, place], plain_logits(network, read, encoded), atol=1e-4, rtol=1e-4)
        forgotten = step % (new.shape[1] + 1)
        reader.forget(forgotten)
        ids = ids[:, : ids.shape[1] - forgotten]


@pytest.mark.parametrize(
    "network",
    [
        gpt2(scale_attn_by_inverse_layer_idx=True),
        gpt2(scale_attn_weights=False),
        gpt2(reorder_and_upcast_attn=True),
        LlamaForCausalLM(
            LlamaConfig(
                vocab_size=_SIZE, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
            )
        ),
    ],
)
def test_another_network_is_left_to_transformers(network: PreTrainedModel) -> None:
    assert lean_reader(network, None) is None


def test_a_network_that_is_watched_is_left_to_transformers() -> None:
    network = gpt2()
    watching = network.transformer.h[1].attn.c_proj.register_forward_pre_hook(lambda *_: None)
    assert lean_reader(network, None) is None
    watching.remove()
    assert lean_reader(network, None) is not None


def test_what_transformers_leaves_behind_is_nobody_who_watches() -> None:
    network = gpt2(attn_implementation="eager")
    with torch.inference_mode():
        network(input_ids=torch.ones(1, 3, dtype=torch.long), output_attentions=True)
    assert any(module._forward_hooks for module in network.modules())
    assert lean_reader(network, None) is not None
