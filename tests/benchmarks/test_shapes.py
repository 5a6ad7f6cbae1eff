"""Models with random weights are the same on both sides, and their texts as long as they are said to be."""

from collections.abc import Iterator

import pytest
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

from benchmarks import shapes
from benchmarks.plain_transformers import PLAIN
from models.outputs import CompletionOutput, FillMaskOutput
from models.registry import find


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    bert = BertConfig(hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    # A vocabulary larger than that of the tokenizer, as GPT-2's own is.
    gpt2 = GPT2Config(vocab_size=9_000, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    monkeypatch.setitem(shapes.SHAPES, "fill_mask", lambda: BertForMaskedLM(bert))
    monkeypatch.setitem(shapes.SHAPES, "completion", lambda: GPT2LMHeadModel(gpt2))
    yield
    shapes._folder.cache_clear()


def test_both_sides_have_the_same_weights() -> None:
    text = "[MASK] lit the lamp."
    (first, *_) = PLAIN["fill_mask"](*shapes.plain("fill_mask"))(text)
    model = shapes.ours("fill_mask")(text=text)
    assert isinstance(model, FillMaskOutput)
    assert model.predictions[0][0].score == pytest.approx(first["score"], rel=0.05)


def test_every_id_that_a_wider_network_writes_has_a_name() -> None:
    written = shapes.ours("completion")(prompt="Once upon a time", max_new_tokens=20, seed=3, top_k=0, top_p=1.0)
    assert isinstance(written, CompletionOutput) and len(written.generated) == 20
    assert any(generated.token.text.startswith("word8") for generated in written.generated)


@pytest.mark.parametrize("tokens", [8, 32, 375])
def test_a_text_makes_exactly_as_many_tokens(tokens: int) -> None:
    tokenizer = AutoTokenizer.from_pretrained(find("fill_mask").folder)
    text = shapes.text_of(tokenizer, tokens, "[MASK]")
    assert len(tokenizer(text)["input_ids"]) == tokens and text.startswith("[MASK]")
