"""What the encoders' scripts promise: how text is masked, what is kept apart, and adapters that load again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerBase

from benchmarks.masking import PASSAGE_LENGTH, masked, packed
from benchmarks.metrics import exact_match, f1, normalised_answer
from training import masked_lm, spans, text
from training.adapters import adapted, save_adapter, shuffled_batches, trunk_tokenizer
from training.cards import Card, Source, render
from training.loop import Batch, Plan, train
from training.question_answering import apart
from training.sentiment import detokenised, distinct


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return trunk_tokenizer()


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
    rows = {length: torch.randint(2000, 3000, (600, length)).numpy() for length in (10, 128)}
    whole = masked_lm.batches(rows, tokenizer, 0)
    for _ in range(7):
        next(whole)
    for _, expected, found in zip(range(40), whole, masked_lm.batches(rows, tokenizer, 7), strict=False):
        assert torch.equal(expected["shown"], found["shown"]) and torch.equal(expected["ids"], found["ids"])


def test_development_sentences_are_cut_out_of_training_however_they_are_printed() -> None:
    held_out = text.fingerprint(["The owl slept until noon. It woke hungry."])
    kept = list(
        text.without_development(["Rain fell. The owl slept , until noon!  Nobody saw it.", "it woke hungry"], held_out)
    )
    assert kept == ["Rain fell. Nobody saw it."]


def test_questions_on_held_out_articles_or_their_sentences_are_left_out() -> None:
    def question(title: str, context: str) -> text.Question:
        return text.Question("1", title, "Who?", context, (), ())

    kept = question("C", "A crow sat there.")
    questions = [question("A", "Other words here."), question("B", "the owl slept until noon ."), kept]
    assert apart(questions, frozenset({"A"}), text.fingerprint(["The owl slept until noon. It woke."])) == [kept]


def test_squad_files_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    questions = [
        text.Question("a", "Owls", "When?", "It slept until noon.", ("noon",), (15,)),
        text.Question("b", "Owls", "Where?", "It slept until noon.", (), ()),
    ]
    text.write_squad(questions, tmp_path / "questions.json")
    assert text.read_squad(tmp_path / "questions.json") == questions


def test_answers_are_compared_as_squad_does() -> None:
    assert normalised_answer(" The  Old, grey-haired Owl! ") == "old greyhaired owl"
    assert exact_match("the owl.", ["Owl"]) == 1.0
    assert exact_match("", []) == 1.0 and exact_match("owl", []) == 0.0
    assert f1("the grey owl", ["an owl", "grey barn owl"]) == pytest.approx(0.8)
    assert f1("crow", ["owl"]) == 0.0 and f1("", []) == 1.0 and f1("crow", []) == 0.0


def test_answer_tokens_are_found_and_missing_answers_point_at_cls(tokenizer: PreTrainedTokenizerBase) -> None:
    context = "The owl, very tired, slept until noon."
    answered = text.Question("a", "t", "How did the owl feel?", context, ("very tired",), (context.index("very"),))
    unanswered = text.Question("b", "t", "Where is the crow?", context, (), ())
    first, second = spans.encode([answered, unanswered], tokenizer)
    assert tokenizer.decode(first.ids[first.start : first.end + 1]) == "very tired"
    assert (second.start, second.end) == (0, 0)


def test_treebank_spacing_is_undone() -> None:
    assert detokenised("it 's fine , but you do n't care .") == "it's fine, but you don't care."
    assert detokenised("`` fun '' -lrb- mostly -rrb-") == '"fun" (mostly)'


def test_phrases_that_are_another_less_a_word_or_two_are_dropped_unless_their_label_differs() -> None:
    whole = ("a warm and funny film about owls", 1)
    other = ("and funny film about owls", 0)
    short = ("a warm and", 1)
    assert distinct([whole, whole, ("warm and funny film about", 1), other, short]) == [whole, other, short]


def test_every_example_is_in_one_batch_an_epoch_with_examples_of_like_length() -> None:
    lengths = torch.randint(1, 60, (500,)).tolist()
    batches = shuffled_batches(lengths, 16, seed=0)
    assert sorted(index for batch in batches for index in batch) == list(range(500))
    assert max(max(lengths[i] for i in batch) - min(lengths[i] for i in batch) for batch in batches) < 15


class _KilledError(Exception):
    pass


def _training_run(workdir: Path, die_at: int | None) -> nn.Module:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)

    def batches(step: int) -> Iterator[Batch]:
        while True:
            if step == die_at:
                raise _KilledError
            yield {"x": torch.randn(8, 4, generator=torch.Generator().manual_seed(step))}
            step += 1

    train(
        model,
        [torch.optim.AdamW(model.parameters(), lr=0.05)],
        batches,
        lambda trained, batch: trained(batch["x"]).float().square().mean(),
        Plan(steps=9, warmup_steps=3, workdir=workdir, save_every_s=0.0),
    )
    return model


def test_a_run_that_was_killed_ends_with_the_weights_of_one_that_was_not(tmp_path: Path) -> None:
    whole = _training_run(tmp_path / "whole", None)
    with pytest.raises(_KilledError):
        _training_run(tmp_path / "killed", 5)
    resumed = _training_run(tmp_path / "killed", None)
    assert torch.equal(whole.weight, resumed.weight) and torch.equal(whole.bias, resumed.bias)


def test_a_saved_adapter_gives_the_same_answers_over_the_same_trunk(tmp_path: Path) -> None:
    config = BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        id2label={0: "negative", 1: "positive"}, label2id={"negative": 0, "positive": 1},
    )  # fmt: skip
    trunk = BertForSequenceClassification(config).eval()
    weights = {name: tensor.clone() for name, tensor in trunk.state_dict().items()}
    model = adapted(trunk, 4, ["pooler", "classifier"])
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            assert "embeddings" not in name
            nn.init.normal_(parameter, std=0.3)
    ids = torch.randint(0, 50, (2, 7))
    save_adapter(model, tmp_path)
    expected = model.eval()(input_ids=ids).logits

    again = BertForSequenceClassification(BertConfig.from_pretrained(tmp_path)).eval()
    again.load_state_dict(weights)
    assert not torch.allclose(again(input_ids=ids).logits, expected, atol=1e-3)
    loaded = PeftModel.from_pretrained(again, tmp_path).eval()
    assert torch.allclose(loaded(input_ids=ids).logits, expected, atol=1e-4)
    assert loaded.config.id2label == {0: "negative", 1: "positive"}
    assert "assets/checkpoints/clearhead-minilm" in (tmp_path / "adapter_config.json").read_text()


def test_a_card_states_data_licences_figures_and_digests() -> None:
    barns = (Source("Barns", "CC0"),)
    card = Card("owl", "fill-mask", ("en",), "apache-2.0", "An owl.", barns, "Sleep.", {"rest, h": 8.04}, "Day.")
    text_of_card = render(card, {"model.safetensors": "abc"})
    assert "license: apache-2.0" in text_of_card and "- Barns: CC0" in text_of_card
    assert "| rest, h | 8.0 |" in text_of_card and "sha256 `abc`" in text_of_card
