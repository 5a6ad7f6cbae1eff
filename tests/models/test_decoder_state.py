"""A text that grows: rows that exchange their places, and what is said at any point of it."""

from typing import Any

import pytest
import torch

from models.assembly import plain_network
from models.checkpoints import REGISTRY
from models.decoder_state import DecoderState
from models.loading import ModelStore
from models.network_lock import NetworkLock
from models.precision import Precision, offered
from models.steps import Steps
from tests.models.test_lean import encoded_by, gpt2, marian, plain_logits, source_of


@pytest.mark.parametrize("network", [gpt2(), marian()], ids=["gpt2", "marian"])
@torch.inference_mode()
def test_rows_that_begin_alike_and_exchange_their_places_go_on_as_if_read_at_once(network: Any) -> None:
    chance = torch.Generator().manual_seed(0)
    steps = Steps(NetworkLock())
    state = DecoderState(network, torch.tensor([[3, 4, 5]]), steps, source=source_of(network))
    steps.result(state.next_best())
    state.reorder([0] * 4)
    copied = 0
    for step in range(30):
        # All rows the same at first, then apart, then again of one row.
        new = [7] * 4 if step % 10 < 3 else torch.randint(1, 50, (4,), generator=chance).tolist()
        state.append(new)
        expected = plain_logits(network, state.ids, encoded_by(network))
        torch.testing.assert_close(steps.result(state.next_best()).logits, expected, atol=1e-4, rtol=1e-4)
        rows = [0] * 4 if step % 10 == 9 else torch.randint(0, 4, (4,), generator=chance).tolist()
        copied += bool((state.ids[list(rows)] != state.ids).any())
        state.reorder(rows)
    assert copied > 10


@pytest.mark.parametrize("precision", offered(writes=True))
@torch.inference_mode()
def test_the_best_tokens_are_worth_what_transformers_says_in_every_precision(precision: Precision) -> None:
    """The bundled weights are kept in float16, so that nothing is rounded: not in the prompt, nor on the way."""
    checkpoint = REGISTRY["clearhead-stories"]
    model, plain = ModelStore(precision=precision).load(checkpoint), plain_network(checkpoint)
    written = model.tokenizer(" there lived an old woman who had a cat", return_tensors="pt")["input_ids"][0]
    steps = Steps(model.lock)
    state = DecoderState(model.network, model.tokenizer("Once upon a time", return_tensors="pt")["input_ids"], steps)
    for new in written:
        best, exact = steps.result(state.next_best()), plain(input_ids=state.ids).logits[:, -1]
        assert best.ids[:, :10].tolist() == exact.topk(10).indices.tolist()
        torch.testing.assert_close(best.logits.gather(1, best.ids), exact.gather(1, best.ids), atol=1e-3, rtol=1e-4)
        state.append([int(new)])
