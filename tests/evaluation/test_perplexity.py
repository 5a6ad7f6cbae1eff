"""Perplexity counts every piece once, and is the vocabulary's size per piece for a uniform model."""

import math

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from evaluation.perplexity import losses, perplexity_per_word
from training.bpe import byte_level_tokenizer

TEXT = "One day a small cat sat on the wall. " * 40


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return byte_level_tokenizer([TEXT], vocab_size=300)


@pytest.fixture(scope="module")
def model(tokenizer: PreTrainedTokenizerFast) -> GPT2LMHeadModel:
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_layer=1, n_head=2, n_embd=16)).eval()


def test_who_knows_nothing_is_as_perplexed_as_there_are_pieces(
    model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast
) -> None:
    with torch.no_grad():
        even = GPT2LMHeadModel(model.config).eval()
        even.transformer.ln_f.weight.zero_()
    loss, pieces = losses(even, tokenizer, TEXT, context=64)
    assert pieces == len(tokenizer(TEXT)["input_ids"])
    assert loss == pytest.approx(pieces * math.log(len(tokenizer)), rel=1e-5)
    assert perplexity_per_word(even, tokenizer, TEXT) == pytest.approx(
        len(tokenizer) ** (pieces / len(TEXT.split())), rel=1e-3
    )


def test_a_text_that_fits_the_window_is_read_in_one_go(
    model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast
) -> None:
    ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(TEXT)["input_ids"]]])
    with torch.inference_mode():
        mean = model(input_ids=ids, labels=ids).loss.item()
    loss, pieces = losses(model, tokenizer, TEXT, context=ids.shape[1] + 1)
    assert loss == pytest.approx(mean * pieces, rel=1e-4)


def test_windows_one_after_another_forget_what_was_before(
    model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast
) -> None:
    ids = [tokenizer.bos_token_id, *tokenizer(TEXT)["input_ids"]]
    expected = 0.0
    for start in range(0, len(ids) - 1, 16):
        window = torch.tensor([ids[start : start + 17]])
        with torch.inference_mode():
            expected += model(input_ids=window, labels=window).loss.item() * (window.shape[1] - 1)
    loss, pieces = losses(model, tokenizer, TEXT, context=16, overlap=0)
    assert pieces == len(ids) - 1
    assert loss == pytest.approx(expected, rel=1e-4)
