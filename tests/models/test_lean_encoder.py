"""Lean encoders say what transformers says, padding and both texts of a pair included, and see the same attention."""

import pytest
import torch
from torch import Tensor
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertForQuestionAnswering,
    DistilBertForSequenceClassification,
    PreTrainedModel,
    RobertaConfig,
    RobertaForMaskedLM,
)

from models.layout import quickly
from models.lean import encoder
from models.lean.encoder import LeanEncoder
from models.packed_linear import pack
from models.precision import Precision, offered

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this build of torch has no oneDNN")

_BERT = {
    "vocab_size": 50, "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 64,
}  # fmt: skip
_DISTILBERT = {"vocab_size": 50, "dim": 32, "n_heads": 4, "n_layers": 2, "hidden_dim": 64}

NETWORKS = {
    **{
        kind.__name__: (kind, BertConfig(**_BERT))
        for kind in (BertForMaskedLM, BertForSequenceClassification, BertForQuestionAnswering)
    },
    **{
        kind.__name__: (kind, DistilBertConfig(**_DISTILBERT))
        for kind in (DistilBertForMaskedLM, DistilBertForSequenceClassification, DistilBertForQuestionAnswering)
    },
    "with relu": (BertForMaskedLM, BertConfig(**_BERT, hidden_act="relu")),
    "with gelu_new": (BertForMaskedLM, BertConfig(**_BERT, hidden_act="gelu_new")),
}


def made(name: str, precision: Precision = Precision.FLOAT32) -> PreTrainedModel:
    torch.manual_seed(0)
    kind, config = NETWORKS[name]
    network: PreTrainedModel = kind(config).eval()
    # A new network's own biases are zero, and its norms are none.
    for each in network.parameters():
        each.requires_grad_(False).add_(torch.randn(each.shape) * 0.05)
    pack(network, precision)
    return network


def texts(network: PreTrainedModel) -> tuple[dict[str, Tensor], Tensor]:
    """Three texts, one of them padded, and where they are real."""
    real = torch.ones(3, 9, dtype=torch.long)
    real[1, 5:] = 0
    given = {"input_ids": torch.randint(1, 50, (3, 9)), "attention_mask": real}
    if network.config.model_type == "bert":
        given["token_type_ids"] = (torch.arange(9) > 4).long().expand(3, 9)
    return given, real.bool()


@pytest.mark.parametrize("name", list(NETWORKS))
def test_it_says_what_transformers_says(name: str) -> None:
    network = made(name)
    lean = LeanEncoder(network)
    given, real = texts(network)
    with torch.inference_mode():
        plain, ours = network(**given), lean(**given)
        assert list(ours) == list(plain)
        for field, expected in plain.items():
            # What is said at padding nobody reads.
            read = real if expected.shape[:2] == real.shape else slice(None)
            torch.testing.assert_close(ours[field][read], expected[read], atol=1e-5, rtol=1e-5)
        alone = {"input_ids": given["input_ids"][:1]}
        torch.testing.assert_close(lean(**alone)[0], network(**alone)[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("precision", offered(writes=False))
@pytest.mark.parametrize("name", ["BertForMaskedLM", "DistilBertForMaskedLM"])
def test_it_sees_the_same_attention(name: str, precision: Precision) -> None:
    network = made(name, precision)
    given, real = texts(network)
    with torch.inference_mode():
        seen = LeanEncoder(network).attention(**given)
        network.set_attn_implementation("eager")
        plain = network(**given, output_attentions=True).attentions
    assert len(seen) == len(plain) == 2
    for ours, theirs in zip(seen, plain, strict=True):
        # Where answers are rounded to 8 bits, attention comes of weights of 11.
        near = 1e-6 if precision == Precision.FLOAT32 else 1e-3
        torch.testing.assert_close(ours.transpose(1, 2)[real], theirs.transpose(1, 2)[real], atol=near, rtol=1e-5)


@pytest.mark.parametrize("precision", offered(writes=False))
@pytest.mark.parametrize("name", ["BertForQuestionAnswering", "DistilBertForSequenceClassification"])
def test_nobody_waits_for_a_gradient_even_where_one_could_be_had(name: str, precision: Precision) -> None:
    """Several passes, since what is compiled may change after the first ones."""
    network = made(name, precision)
    for each in network.parameters():
        each.requires_grad_(True)
    lean, (given, _) = LeanEncoder(network), texts(network)
    for enabled in (True, False, True, True):
        with torch.set_grad_enabled(enabled), quickly():
            assert not any(said.requires_grad for said in lean(**given).values())


def test_many_long_texts_are_read_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    network = made("BertForQuestionAnswering")
    given, _ = texts(network)
    with torch.inference_mode():
        at_once = LeanEncoder(network)(**given)
        monkeypatch.setattr(encoder, "_LONG", 1)
        one_by_one = LeanEncoder(network)(**given)
    torch.testing.assert_close(one_by_one.start_logits, at_once.start_logits)


def test_what_transformers_leaves_behind_is_nobody_who_listens() -> None:
    network = made("BertForMaskedLM")
    given, _ = texts(network)
    lean = LeanEncoder(network)
    network.set_attn_implementation("eager")
    with torch.inference_mode():
        network(**given, output_attentions=True)
    assert any(module._forward_hooks for module in network.modules()) and not lean.is_watched
    network.bert.encoder.layer[1].register_forward_hook(lambda *_: None)
    assert lean.is_watched


@pytest.mark.skipif(Precision.BFLOAT16 not in offered(writes=False), reason="this processor is not offered bfloat16")
def test_in_fewer_bits_it_is_near_and_no_longer_the_same() -> None:
    network = made("BertForMaskedLM", Precision.BFLOAT16)
    given, real = texts(network)
    with torch.inference_mode():
        plain = network(**given).logits[real]
        with quickly():
            ours = LeanEncoder(network)(**given)["logits"][real]
    assert 0 < (ours - plain).abs().max() < 0.02 * plain.abs().max()


def test_a_network_that_was_packed_again_is_read_as_it_is_now() -> None:
    network = made("BertForMaskedLM")
    lean = LeanEncoder(network)
    given, real = texts(network)
    with torch.inference_mode():
        for each in network.parameters():
            each.mul_(0.7)
        pack(network)
        torch.testing.assert_close(lean(**given)["logits"][real], network(**given).logits[real], atol=1e-5, rtol=1e-5)


def test_whoever_watches_inside_or_at_the_head_is_seen() -> None:
    network = made("BertForMaskedLM")
    lean = LeanEncoder(network)
    for watched in (network.bert.encoder.layer[1].attention.output.dense, network.get_output_embeddings()):
        assert not lean.is_watched
        watching = watched.register_forward_pre_hook(lambda *_: None)
        assert lean.is_watched
        watching.remove()


@pytest.mark.parametrize("name", list(NETWORKS))
def test_what_is_said_only_of_some_tokens_is_what_is_said_there(name: str) -> None:
    network = made(name)
    lean, (given, _) = LeanEncoder(network), texts(network)
    with torch.inference_mode():
        everywhere = lean(**given)
        for places in ([0], [3], [25, 1, 10, 1], list(range(27))):
            only = lean(**given, only=places)
            for field, expected in everywhere.items():
                # A label is always that of a text's first token.
                some = expected if field == "logits" and expected.dim() == 2 else expected.flatten(0, 1)[None, places]
                torch.testing.assert_close(only[field], some, atol=1e-5, rtol=1e-5)


def test_others_are_left_to_transformers() -> None:
    shape = {**_BERT, "max_position_embeddings": 20}
    roberta = RobertaForMaskedLM(RobertaConfig(**shape)).eval()
    pack(roberta)
    unpacked = BertForMaskedLM(BertConfig(**_BERT)).eval()
    strange = BertForMaskedLM(BertConfig(**_BERT, hidden_act="tanh")).eval()
    pack(strange)
    assert not any(LeanEncoder.knows(each) for each in (roberta, unpacked, strange))
