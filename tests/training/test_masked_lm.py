"""The masked language model's texts: masked, packed, and kept apart from development text; and a card's content."""

from types import SimpleNamespace
from typing import cast

import pytest
import torch
from transformers import BertForMaskedLM, PreTrainedTokenizerBase

from evaluation.masking import PASSAGE_LENGTH, masked, packed
from training import masked_lm, text
from training.cards import Card, Credit, render


def test_fifteen_percent_are_chosen_and_eight_of_ten_of_them_masked(tokenizer: PreTrainedTokenizerBase) -> None:
    ids = torch.full((400, 128), tokenizer.convert_tokens_to_ids("house"))
    ids[:, 0], ids[:, -1] = tokenizer.cls_token_id, tokenizer.sep_token_id
    shown, chosen = masked(ids, torch.Generator().manual_seed(0), tokenizer)
    assert not chosen[:, [0, -1]].any()
    assert torch.equal(shown[~chosen], ids[~chosen])
    assert chosen[:, 1:-1].float().mean().item() == pytest.approx(0.15, abs=0.01)
    assert (shown[chosen] == tokenizer.mask_token_id).float().mean().item() == pytest.approx(0.8, abs=0.02)
    assert (shown[chosen] == ids[chosen]).float().mean().item() == pytest.approx(0.1, abs=0.02)


def test_packed_rows_hold_every_piece_in_order_and_no_padding(tokenizer: PreTrainedTokenizerBase) -> None:
    rows = packed([list(range(2000, 2200)), list(range(2200, 2300))], tokenizer)
    assert rows.shape == (2, PASSAGE_LENGTH)
    assert rows[:, 1:-1].reshape(-1).tolist() == list(range(2000, 2252))
    assert set(rows[:, 0]) == {tokenizer.cls_token_id} and set(rows[:, -1]) == {tokenizer.sep_token_id}


def test_batches_of_the_masked_model_go_on_where_a_run_stopped(tokenizer: PreTrainedTokenizerBase) -> None:
    rows = {
        name: torch.randint(2000, 3000, (600, length)).numpy()
        for name, length in {"sentences 10": 10, "sentences 14": 14, "windows": 128}.items()
    }
    whole = masked_lm.sentence_batches(rows, tokenizer, 0)
    for _ in range(7):
        next(whole)
    for _, expected, found in zip(range(40), whole, masked_lm.sentence_batches(rows, tokenizer, 7), strict=False):
        assert torch.equal(expected["shown"], found["shown"]) and torch.equal(expected["ids"], found["ids"])


def test_one_whole_word_of_a_short_sentence_is_blanked(tokenizer: PreTrainedTokenizerBase) -> None:
    sentence = tokenizer(["An armadillo isn't a bird, it seems!"] * 300, return_tensors="pt")["input_ids"]
    rows = {f"sentences {sentence.shape[1]}": sentence.numpy(), "windows": torch.randint(2000, 3000, (32, 128)).numpy()}
    batches = masked_lm.sentence_batches(rows, tokenizer, 0)
    next(batches)
    batch = next(batches)
    assert (batch["chosen"].sum(dim=1) == 1).all()
    assert (batch["shown"][batch["chosen"]] == tokenizer.mask_token_id).all()
    blanked = set(tokenizer.convert_ids_to_tokens(batch["ids"][batch["chosen"]].unique().tolist()))
    assert blanked == {"an", "isn", "a", "bird", "it", "seems"}


def test_a_word_copied_into_a_blank_costs_more_than_another_wrong_word(tokenizer: PreTrainedTokenizerBase) -> None:
    ids = tokenizer("Cows give us milk.", return_tensors="pt")["input_ids"]
    chosen = ids == tokenizer.convert_tokens_to_ids("milk")
    batch = {"ids": ids, "chosen": chosen, "shown": ids.masked_fill(chosen, tokenizer.mask_token_id)}

    class Sure:
        """A model that is sure of one word."""

        def __init__(self, word: str) -> None:
            self.logits = torch.zeros(1, len(tokenizer))
            self.logits[0, tokenizer.convert_tokens_to_ids(word)] = 20.0

        def bert(self, input_ids: torch.Tensor) -> SimpleNamespace:
            return SimpleNamespace(last_hidden_state=torch.zeros(*input_ids.shape, 4))

        def cls(self, _hidden: torch.Tensor) -> torch.Tensor:
            return self.logits

    def loss(word: str) -> float:
        return masked_lm.loss_without_copying(cast(BertForMaskedLM, Sure(word)), batch).item()

    assert loss("milk") < 0.1 < loss("money") < loss("cows") - 0.5


def test_development_sentences_are_cut_out_of_training_however_they_are_printed() -> None:
    held_out = text.fingerprint(["The owl slept until noon. It woke hungry."])
    kept = list(
        text.without_development(["Rain fell. The owl slept , until noon!  Nobody saw it.", "it woke hungry"], held_out)
    )
    assert kept == ["Rain fell. Nobody saw it."]


def test_a_card_states_data_licences_figures_and_digests() -> None:
    barns = (Credit("Barns", "CC0"),)
    card = Card("owl", "fill-mask", ("en",), "apache-2.0", "An owl.", barns, "Sleep.", {"rest, h": 8.04}, "Day.")
    text_of_card = render(card, {"model.safetensors": "abc"}, "0123abcd")
    assert "license: apache-2.0" in text_of_card and "- Barns: CC0" in text_of_card
    assert "| rest, h | 8.0 |" in text_of_card and "sha256 `abc`" in text_of_card
    assert "commit `0123abcd`" in text_of_card
