"""Compiled passes say what transformers says by the same weights, however many threads share them, or fail to come."""

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import GPT2LMHeadModel

import models.compiled
import models.compiled.code
import models.compiled.gpt2
from models import sizes
from models.assembly import plain_network
from models.checkpoints import REGISTRY
from models.compiled import compiled_passes, may_be_whole
from models.compiled.code import wait_for
from models.compiled.gpt2 import CompiledGPT2
from models.compiled.helpers import Helpers, helpers
from models.kernels.layout import STATE
from models.kernels.processor import DECODER
from models.layout import quickly
from models.lean.gpt2 import LeanGPT2
from models.loading import ModelStore
from models.outputs import CompletionOutput, generated_ids
from models.packed_linear import pack
from models.precision import Precision, offered
from models.scores import MOST, Best
from tests.models.test_lean import gpt2

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="helpers sleep as they do in Linux")

VOCABULARY = 1003


def in_halves(**settings: object) -> GPT2LMHeadModel:
    """A GPT-2 whose blocks' weights are float16's numbers, and whose answers are not all alike."""
    network = gpt2(**{"vocab_size": VOCABULARY, "n_embd": 128, "n_head": 2} | settings)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith("bias") or "ln_" in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
            else:
                parameter.copy_((3 * parameter).half().float())
    return network


def compile_passes(network: GPT2LMHeadModel) -> None:
    """As if it were large."""
    assert wait_for(DECODER)
    vars(network)["compiled"] = CompiledGPT2(network)


@pytest.fixture(scope="module")
def network() -> GPT2LMHeadModel:
    found = in_halves()
    compile_passes(found)
    return found


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def as_for_an_answer() -> Iterator[None]:
    with torch.inference_mode(), quickly():
        yield


def some_ids(rows: int, tokens: int, seed: int = 0) -> Tensor:
    return torch.randint(0, VOCABULARY, (rows, tokens), generator=torch.Generator().manual_seed(seed))


def assert_says(best: Best, network: GPT2LMHeadModel, ids: Tensor, wanted: int = 1) -> None:
    """`best` is what transformers says behind the last `wanted` of `ids` `[row, token]`, read all at once."""
    exact = network(input_ids=ids).logits[:, -wanted:].flatten(0, 1)
    # In 8 bits where a word is far from the best.
    torch.testing.assert_close(best.logits, exact, atol=0.1, rtol=0)
    at_the_top = exact.topk(10).indices
    torch.testing.assert_close(best.ids[:, :10], at_the_top)
    chosen = best.logits.gather(1, best.ids)
    torch.testing.assert_close(chosen, exact.gather(1, best.ids), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(best.log_probabilities, chosen - best.logits.logsumexp(1, keepdim=True))
    assert best.ids.shape[1] == MOST and torch.equal(chosen, chosen.sort(dim=1, descending=True).values)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_texts_of_all_sizes_are_read_in_one_pass(
    network: GPT2LMHeadModel, threads: Callable[[int], None], count: int
) -> None:
    threads(count)
    readers = [LeanGPT2(network) for _ in range(4)]
    texts = [some_ids(1, 1), some_ids(3, 9), some_ids(1, 70), some_ids(2, 5)]
    wanted = [1, 2, 3, 5]
    first = LeanGPT2.read_together(readers, texts, wanted)
    for best, ids, asked in zip(first, texts, wanted, strict=True):
        assert_says(best, network, ids, asked)
    # Behind what is remembered: one token, several, and more than there was room for.
    new = [some_ids(1, 1, 1), some_ids(3, 4, 2), some_ids(1, 75, 3), some_ids(2, 1, 4)]
    for best, ids, more, asked in zip(
        LeanGPT2.read_together(readers, new, [1, 4, 2, 1]), texts, new, [1, 4, 2, 1], strict=True
    ):
        assert_says(best, network, torch.cat([ids, more], dim=1), asked)


@pytest.mark.parametrize("rows", range(1, 9))
def test_rows_exchange_their_places_and_go_on(network: GPT2LMHeadModel, rows: int) -> None:
    reader, ids = LeanGPT2(network), some_ids(1, 3)
    reader.read(ids)
    reader.reorder([0] * rows)
    ids = ids.expand(rows, -1)
    for step in range(4):
        ids = torch.cat([ids, some_ids(rows, 1, step)], dim=1)
        assert_says(reader.read(ids[:, -1:]), network, ids)
        order = [(row * 3 + step) % rows for row in range(rows)]
        reader.reorder(order, alike=3)
        ids = ids[order]


def test_what_was_guessed_wrongly_is_forgotten(network: GPT2LMHeadModel) -> None:
    reader, ids = LeanGPT2(network), some_ids(1, 12)
    reader.read(ids[:, :7])
    assert_says(reader.read(ids[:, 7:], wanted=5), network, ids, wanted=5)
    reader.forget(3)
    other = torch.cat([ids[:, :9], some_ids(1, 1, seed=9)], dim=1)
    assert_says(reader.read(other[:, -1:]), network, other)


@pytest.mark.parametrize("settings", [{"n_embd": 192, "n_head": 3, "n_inner": 320}, {"vocab_size": MOST}], ids=str)
def test_other_shapes(settings: dict[str, int]) -> None:
    network = in_halves(**settings)
    compile_passes(network)
    ids = some_ids(2, 7) % network.config.vocab_size
    assert_says(LeanGPT2(network).read(ids), network, ids)


def test_a_pass_needs_no_helper_that_does_not_come(
    network: GPT2LMHeadModel, threads: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads(3)
    made = Helpers()
    # Two helpers are counted as there, and nobody sleeps at their mailboxes.
    made._count = 2
    monkeypatch.setattr(models.compiled.gpt2, "helpers", lambda: made)
    ids = some_ids(1, 20)
    assert_says(LeanGPT2(network).read(ids), network, ids)
    assert not made._mailboxes[:, STATE].any(), "nobody is asked any more"


def test_passes_at_once_do_not_share_helpers(network: GPT2LMHeadModel, threads: Callable[[int], None]) -> None:
    said: dict[int, Best] = {}

    def read(number: int) -> None:
        torch.set_num_threads(2)
        with torch.inference_mode(), quickly():
            for _ in range(20):
                said[number] = LeanGPT2(network).read(some_ids(1, 30, number))

    reading = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for each in reading:
        each.start()
    for each in reading:
        each.join(60)
    for number, best in said.items():
        assert_says(best, network, some_ids(1, 30, number))
    assert len(said) == 4


def test_helpers_are_as_many_as_were_needed(network: GPT2LMHeadModel, threads: Callable[[int], None]) -> None:
    for count in (3, 2, 3):
        threads(count)
        LeanGPT2(network).read(some_ids(1, 4))
    assert helpers()._count == len([each for each in threading.enumerate() if each.name.startswith("pass-")]) == 2


def test_who_looks_inside_sees_exact_numbers() -> None:
    network = gpt2(vocab_size=VOCABULARY, n_embd=128, n_head=2)
    compile_passes(network)
    ids = some_ids(1, 9)
    rounded = LeanGPT2(network).read(ids).logits
    # Tests run inside `quickly`, and a thread of its own does not.
    found: list[Tensor] = []

    def look() -> None:
        with torch.inference_mode():
            found.append(LeanGPT2(network).read(ids).logits)

    looking = threading.Thread(target=look)
    looking.start()
    looking.join()
    exact = network(input_ids=ids).logits[:, -1]
    torch.testing.assert_close(found[0], exact, atol=1e-5, rtol=1e-5)
    assert (rounded - exact).abs().max() > 1e-4


@pytest.fixture
def any_size_on_any_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "_LARGE", 0)
    monkeypatch.setattr(models.compiled, "reads_decoders", lambda: True)


@pytest.mark.usefixtures("any_size_on_any_processor")
@pytest.mark.parametrize(
    "fields", [{"strategy": "greedy"}, {"strategy": "beam"}, {"strategy": "sample", "seed": 7}], ids=str
)
def test_a_trained_model_writes_what_generate_writes(fields: dict[str, Any]) -> None:
    """The bundled weights are kept in float16, so that nothing is rounded but scores far from the best."""
    checkpoint = REGISTRY["clearhead-stories"]
    model, plain = ModelStore(precision=Precision.FLOAT16).load(checkpoint), plain_network(checkpoint)
    assert compiled_passes(model.network)
    settings = {
        "greedy": {"do_sample": False},
        "beam": {"do_sample": False, "num_beams": 4},
        "sample": {"do_sample": True, "temperature": 0.8, "top_k": 50, "top_p": 0.95},
    }[fields["strategy"]]
    for prompt in ("The old ship", "She opened the box and"):
        output: CompletionOutput = model(prompt=prompt, max_new_tokens=30, **fields)
        ids = model.tokenizer(prompt, return_tensors="pt")["input_ids"]
        torch.manual_seed(7)
        theirs = plain.generate(ids, max_new_tokens=30, pad_token_id=0, **settings)  # type: ignore[operator]
        assert generated_ids(output) == tuple(theirs[0, ids.shape[1] :].tolist())


@pytest.mark.usefixtures("any_size_on_any_processor")
@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        ({}, True),
        ({"n_inner": 192}, True),
        ({"n_inner": 200}, False),
        ({"n_head": 4}, False),
        ({"n_embd": 64, "vocab_size": 50, "n_head": 1}, False),
        ({"activation_function": "relu"}, False),
        ({"activation_function": "gelu_pytorch_tanh"}, True),
    ],
    ids=str,
)
def test_only_what_passes_were_written_for_is_compiled(settings: dict[str, Any], answer: bool) -> None:
    network = gpt2(**{"n_embd": 128, "n_head": 2, "vocab_size": VOCABULARY} | settings)
    assert may_be_whole(network, Precision.FLOAT16) == answer


def test_a_small_network_is_not_worth_the_time_and_memory() -> None:
    network = gpt2(n_embd=128, n_head=2, vocab_size=VOCABULARY)
    pack(network, Precision.FLOAT16)
    assert compiled_passes(network) is None


@pytest.mark.usefixtures("any_size_on_any_processor")
def test_where_code_cannot_be_made_torch_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models.compiled.code, "wait_for", lambda _name: False)
    network = gpt2(n_embd=128, n_head=2, vocab_size=VOCABULARY, n_layer=1)
    pack(network, Precision.FLOAT16)
    assert compiled_passes(network) is None
    ids = some_ids(1, 5)
    exact = network(input_ids=ids).logits[:, -1]
    torch.testing.assert_close(LeanGPT2(network).read(ids).logits, exact, atol=0.1, rtol=0)


@pytest.mark.usefixtures("any_size_on_any_processor")
def test_only_passes_by_weights_in_float16_are_compiled() -> None:
    for precision in (*offered(writes=False), Precision.FLOAT16):
        network = gpt2(n_embd=128, n_head=2, vocab_size=VOCABULARY, n_layer=1)
        pack(network, precision)
        assert bool(compiled_passes(network)) == (precision is Precision.FLOAT16)
    network = gpt2(n_embd=128, n_head=2, vocab_size=VOCABULARY, n_layer=1).double()
    pack(network, Precision.FLOAT16)
    assert compiled_passes(network) is None


def test_the_bytes_of_a_pass_are_two_for_each_weight_and_one_for_each_of_the_vocabulary(
    network: GPT2LMHeadModel,
) -> None:
    inside, rows = 3 * 12 * 128 * 128, -(-VOCABULARY // 64) * 64
    assert compiled_passes(network).bytes == 2 * inside + rows * 128  # type: ignore[union-attr]
