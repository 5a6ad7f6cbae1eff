"""A text that grows: rows that exchange their places, and numbers that are not rounded, at any point of it."""

import threading
from typing import Any

import pytest
import torch
from torch import Tensor

from models.assembly import plain_network
from models.checkpoints import REGISTRY
from models.decoder_state import DecoderState
from models.loading import ModelStore
from models.precision import Precision, offered
from tests.models.test_lean import encoded_by, gpt2, marian, plain_logits


@pytest.mark.parametrize("network", [gpt2(), marian()], ids=["gpt2", "marian"])
@torch.inference_mode()
def test_rows_that_begin_alike_and_exchange_their_places_go_on_as_if_read_at_once(network: Any) -> None:
    chance = torch.Generator().manual_seed(0)
    source = torch.arange(1, 8)[None] if network.config.is_encoder_decoder else None
    state = DecoderState(network, torch.tensor([[3, 4, 5]]), threading.RLock(), source=source)
    state.next_best()
    state.reorder(torch.zeros(4, dtype=torch.long))
    copied = 0
    for step in range(30):
        # All rows the same at first, then apart, then again of one row.
        new = torch.full((4,), 7) if step % 10 < 3 else torch.randint(1, 50, (4,), generator=chance)
        state.append(new)
        expected = plain_logits(network, state.ids, encoded_by(network))
        torch.testing.assert_close(state.next_best().logits, expected, atol=1e-4, rtol=1e-4)
        rows = torch.zeros(4, dtype=torch.long) if step % 10 == 9 else torch.randint(0, 4, (4,), generator=chance)
        copied += bool((state.ids[rows] != state.ids).any())
        state.reorder(rows)
    assert copied > 10


@torch.inference_mode()
def test_exact_numbers_are_those_of_the_whole_text_and_nothing_is_read_twice() -> None:
    network = gpt2()
    read: list[int] = []
    state = DecoderState(network, torch.tensor([[3, 4, 5]]), threading.RLock())

    def listen(_module: object, _inputs: object, given: dict[str, Tensor]) -> None:
        read.append(given["input_ids"].shape[1])

    for exactly in (True, False, False, True, True):
        state.next_best()
        if exactly:
            with_hook = network.register_forward_pre_hook(listen, with_kwargs=True)
            found = state.exactly_next()
            with_hook.remove()
            torch.testing.assert_close(found.logits, plain_logits(network, state.ids, None), atol=1e-5, rtol=1e-5)
        state.append(torch.tensor([6]))
    assert read == [3, 3, 1]


@pytest.mark.parametrize("precision", offered())
@torch.inference_mode()
def test_what_is_exact_is_what_transformers_says_whatever_answers_are_computed_in(precision: Precision) -> None:
    checkpoint = REGISTRY["clearhead-stories"]
    model, plain = ModelStore(precision=precision).load(checkpoint), plain_network(checkpoint)
    written = model.tokenizer(" there lived an old woman who had a cat", return_tensors="pt")["input_ids"][0]
    state = DecoderState(
        model.network, model.tokenizer("Once upon a time", return_tensors="pt")["input_ids"], model.lock
    )
    for place, new in enumerate(written):
        state.next_best()
        if place % 3 == 0:
            found = state.exactly_next().logits
            torch.testing.assert_close(found, plain(input_ids=state.ids).logits[:, -1], atol=1e-3, rtol=1e-4)
        state.append(new[None])


@torch.inference_mode()
def test_an_exact_pass_that_breaks_is_made_anew() -> None:
    network = gpt2()
    state = DecoderState(network, torch.tensor([[3, 4, 5]]), threading.RLock())
    state.exactly_next()
    state.append(torch.tensor([6]))

    weight = network.lm_head.weight
    network.lm_head.weight = torch.nn.Parameter(weight[:, :1])
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        state.exactly_next()
    network.lm_head.weight = weight
    torch.testing.assert_close(
        state.exactly_next().logits, plain_logits(network, state.ids, None), atol=1e-5, rtol=1e-5
    )
