"""A compiled encoder says what transformers says by the same weights, padding and both texts of a pair included."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

import models.compiled
from models.assembly import plain_network
from models.checkpoints import REGISTRY
from models.compiled import code, compiled_encoder
from models.compiled.encoder import CompiledEncoder, encoder_of
from models.kernels.processor import ATTENTION, ENCODER, is_worth_it
from models.layout import quickly
from models.lean.encoder import LeanEncoder
from models.loading import ModelStore
from models.packed_linear import pack
from models.precision import Precision
from tests.models.test_lean_encoder import NETWORKS

pytestmark = pytest.mark.skipif(not is_worth_it(ENCODER), reason="this processor has no products for it")

WIDE = {
    "BertConfig": {"hidden_size": 128, "intermediate_size": 192},
    "DistilBertConfig": {"dim": 128, "hidden_dim": 192},
}
KINDS = [name for name in NETWORKS if not name.startswith("with")]
ROUNDING = 0.03
"""What bfloat16 may move at most in these networks; their logits differ by about 1."""


def made(name: str, heads: int = 2, **settings: Any) -> PreTrainedModel:
    """A network of this name, as wide as compiled passes want it, whose answers are not all alike."""
    torch.manual_seed(0)
    kind, config = NETWORKS[name]
    own = type(config)
    counts = {"n_heads": heads, "n_layers": 3} if own.__name__ == "DistilBertConfig" else {"num_attention_heads": heads}
    network: PreTrainedModel = kind(own(**{"vocab_size": 90} | WIDE[own.__name__] | counts | settings)).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return network


@pytest.fixture(autouse=True)
def as_for_an_answer() -> Iterator[None]:
    code.wait_for(ENCODER)
    code.wait_for(ATTENTION)
    with torch.inference_mode(), quickly():
        yield


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def some_ids(rows: int, tokens: int) -> Tensor:
    return torch.randint(1, 90, (rows, tokens), generator=torch.Generator().manual_seed(tokens))


def trunk_says(network: PreTrainedModel, **inputs: Tensor) -> Tensor:
    found: Tensor = network.base_model(**inputs).last_hidden_state
    return found


def compiled(network: PreTrainedModel) -> CompiledEncoder:
    found = encoder_of(network)
    assert found is not None
    return found


@pytest.mark.parametrize("heads", [2, 4], ids=["heads as wide as a tile", "heads half as wide"])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("tokens", [1, 2, 5, 23, 64, 65, 150])
def test_a_text_is_read_as_transformers_reads_it(
    heads: int, count: int, tokens: int, threads: Callable[[int], None]
) -> None:
    network, ids = made("BertForMaskedLM", heads), some_ids(1, tokens)
    threads(count)
    found, exact = compiled(network).read(ids), trunk_says(network, input_ids=ids)
    assert found.shape == exact.shape
    torch.testing.assert_close(found, exact, atol=ROUNDING, rtol=0)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("heads", [2, 4])
def test_every_head_says_what_transformers_says(name: str, heads: int) -> None:
    network, inputs = made(name, heads), {"input_ids": some_ids(2, 11)}
    exact = network(**inputs)
    pack(network, Precision.BFLOAT16)
    assert compiled_encoder(network) and LeanEncoder.knows(network)
    said = LeanEncoder(network)(**inputs)
    assert said.keys() == exact.keys()
    for part, theirs in exact.items():
        torch.testing.assert_close(said[part], theirs, atol=ROUNDING, rtol=0)


@pytest.mark.parametrize("left", [False, True], ids=["behind", "in front"])
def test_padding_changes_nothing_and_comes_out_as_zeros(left: bool) -> None:
    network = made("BertForQuestionAnswering", 4)
    encoder, lengths, width = compiled(network), (30, 7, 18), 30
    ids, mask, types = (torch.zeros(3, width, dtype=torch.long) for _ in range(3))
    for row, length in enumerate(lengths):
        own = slice(width - length, None) if left else slice(length)
        ids[row, own], mask[row, own] = some_ids(1, length)[0], 1
        types[row, own] = torch.arange(length) // 3 % 2
    together = encoder.read(ids, types, mask)
    assert not together[mask == 0].any()
    exact = trunk_says(network, input_ids=ids, token_type_ids=types, attention_mask=mask)
    torch.testing.assert_close(together[mask == 1], exact[mask == 1], atol=ROUNDING, rtol=0)
    if not left:
        for row, length in enumerate(lengths):
            alone = encoder.read(ids[row : row + 1, :length], types[row : row + 1, :length])
            assert torch.equal(alone[0], together[row, :length]), "who else is read changes no bit"


def test_only_what_is_wanted_comes_out_in_the_order_in_which_it_is() -> None:
    encoder, ids = compiled(made("DistilBertForMaskedLM", 2)), some_ids(3, 14)
    mask = torch.ones_like(ids)
    mask[0, 10:] = 0
    everything = encoder.read(ids, mask=mask).flatten(0, 1)
    for only in ([], [0], [5, 9, 14, 41], [41, 3, 3, 20], list(range(14, 42))):
        found = encoder.read(ids, mask=mask, only=only)
        assert found.shape[0] == 1 and torch.equal(found[0], everything[only])


def test_texts_of_all_sizes_use_the_same_room() -> None:
    network = made("BertForMaskedLM", 4)
    encoder = compiled(network)
    kept = encoder.read(some_ids(1, 20))
    before = kept.clone()
    for tokens in (3, 120, 20, 7):
        ids = some_ids(2, tokens)
        exact = trunk_says(network, input_ids=ids)
        torch.testing.assert_close(encoder.read(ids), exact, atol=ROUNDING, rtol=0)
    assert torch.equal(kept, before), "what was said stays"


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden_act": "relu"},
        {"hidden_size": 96},
        {"intermediate_size": 100},
        {"num_attention_heads": 8},
        {"is_decoder": True},
    ],
    ids=str,
)
def test_what_passes_were_not_written_for_is_read_by_torch(settings: dict[str, Any]) -> None:
    network = made("BertForMaskedLM", **settings)
    pack(network, Precision.BFLOAT16)
    assert compiled_encoder(network) is None
    assert LeanEncoder.knows(network) != ("is_decoder" in settings)


def test_only_bfloat16_is_compiled_and_a_changed_weight_counts_when_it_is_packed_again() -> None:
    network = made("BertForMaskedLM")
    pack(network, Precision.FLOAT32)
    assert compiled_encoder(network) is None
    pack(network, Precision.BFLOAT16)
    reader, ids = LeanEncoder(network), some_ids(1, 9)
    before = reader(ids).logits.clone()
    network.base_model.encoder.layer[0].output.dense.weight.add_(torch.randn(128, 192))  # type: ignore[union-attr,operator]
    pack(network, Precision.BFLOAT16)
    after = reader(ids).logits
    assert (after - before).abs().max() > 0.1
    torch.testing.assert_close(after, network(input_ids=ids).logits, atol=2 * ROUNDING, rtol=0)


def test_where_no_code_is_there_torch_reads_and_code_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(models.compiled.encoder, "is_there", lambda _name: False)
    monkeypatch.setattr(models.compiled.encoder, "begin", lambda *names: begun.extend(names))
    network = made("BertForMaskedLM")
    pack(network, Precision.BFLOAT16)
    assert compiled_encoder(network) is None and LeanEncoder.knows(network)
    assert begun == [ENCODER, ATTENTION]


@pytest.mark.parametrize("name", ["BertForQuestionAnswering", "DistilBertForMaskedLM"])
@pytest.mark.parametrize("heads", [2, 4])
@pytest.mark.parametrize("tokens", [1, 12, 64, 67])
@pytest.mark.parametrize("compiled_so", [True, False], ids=["compiled", "before code is there"])
def test_attention_that_is_looked_at_is_nearly_exact(
    name: str, heads: int, tokens: int, compiled_so: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, ids = made(name, heads), some_ids(1, tokens)
    network.set_attn_implementation("eager")
    exact = network(input_ids=ids, output_attentions=True).attentions
    pack(network, Precision.BFLOAT16)
    monkeypatch.setattr(CompiledEncoder, "shows_attention", compiled_so)
    for mask in (None, torch.ones_like(ids)):
        seen = LeanEncoder(network).attention(ids, attention_mask=mask)
        assert len(seen) == len(exact)
        for ours, theirs in zip(seen, exact, strict=True):
            assert ours.shape == theirs.shape
            torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=0)
    assert bool(compiled_encoder(network)._looks) == compiled_so  # type: ignore[union-attr]


def test_attention_over_a_text_with_padding_is_as_wide_as_the_text() -> None:
    network, ids = made("BertForMaskedLM"), some_ids(1, 12)
    mask = torch.ones_like(ids)
    mask[0, 9:] = 0
    network.set_attn_implementation("eager")
    exact = network(input_ids=ids, attention_mask=mask, output_attentions=True).attentions
    pack(network, Precision.BFLOAT16)
    for ours, theirs in zip(LeanEncoder(network).attention(ids, attention_mask=mask), exact, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=0)


@pytest.mark.parametrize("name", ["clearhead-minilm", "clearhead-sentiment", "clearhead-qa"])
def test_bundled_encoders_are_compiled(name: str) -> None:
    model = ModelStore(precision=Precision.BFLOAT16).load(REGISTRY[name])
    encoder = compiled_encoder(model.network)
    assert encoder is not None
    ids = torch.randint(0, 30_000, (1, 40), generator=torch.Generator().manual_seed(1))
    exact = trunk_says(plain_network(REGISTRY[name]), input_ids=ids)
    torch.testing.assert_close(encoder.read(ids), exact, atol=0.05, rtol=0)
