"""What the encoders' scripts promise: how text is masked, what is kept apart, and adapters that load again."""

import lzma
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerBase

from benchmarks.masking import PASSAGE_LENGTH, masked, packed
from benchmarks.metrics import calibration_error, exact_match, f1, normalised_answer
from models.calibration import Calibration
from training import masked_lm, spans, text
from training.adapters import (
    adapter_of,
    freeze_but,
    input_moments,
    low_rank,
    mean_of,
    save_adapter,
    shuffled_batches,
    trunk_tokenizer,
)
from training.calibration import Judged, Shown, fit_questions, pooled, shown
from training.cards import Card, Source, render
from training.loop import Batch, Plan, train
from training.question_answering import apart
from training.references import agreed
from training.sentiment import detokenised, development_sentences, distinct, phrase_rows, review_rows
from training.text import Question
from training.unanswerable import unanswerable


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


def test_the_mean_of_states_weighs_each_and_leaves_whole_numbers() -> None:
    first, last = ({"w": torch.tensor([w]), "step": torch.tensor(step)} for w, step in ((1.0, 3), (5.0, 4)))
    mean = mean_of([first, last], (0.25, 0.75))
    assert mean["w"].item() == 4.0 and mean["step"].item() == 4


def test_the_cut_to_a_rank_is_exact_for_a_change_of_that_rank_and_closer_the_higher_it_is() -> None:
    change, inputs = torch.randn(12, 3) @ torch.randn(3, 20), torch.randn(100, 20).double()
    thin, wide = low_rank(change, 3, inputs.T @ inputs)
    assert thin.shape == (3, 20) and wide.shape == (12, 3)
    assert torch.allclose(wide @ thin, change, atol=1e-4)
    cuts = [low_rank(change, rank, inputs.T @ inputs) for rank in (1, 2)]
    errors = [torch.dist(change, wide @ thin).item() for thin, wide in cuts]
    assert errors[0] > errors[1] > 0.1


def test_the_cut_keeps_what_the_inputs_bring_out() -> None:
    # A large part of the change that no input meets, and a small one that all do.
    unmet, met = torch.zeros(4, 6), torch.zeros(4, 6)
    unmet[0, 0], met[1, 1] = 10.0, 1.0
    inputs = torch.randn(50, 6).double() * torch.tensor([0, 1, 0, 0, 0, 0])
    thin, wide = low_rank(unmet + met, 1, inputs.T @ inputs)
    assert torch.allclose((wide @ thin)[1], met[1], atol=1e-2)


HEADS = ["pooler", "classifier"]


def _trunk() -> BertForSequenceClassification:
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        id2label={0: "negative", 1: "positive"}, label2id={"negative": 0, "positive": 1},
    )  # fmt: skip
    return BertForSequenceClassification(config).eval()


def test_blocks_and_heads_are_trained_and_nothing_else() -> None:
    model = _trunk()
    freeze_but(model, HEADS)
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert "bert.encoder.layer.1.attention.self.query.weight" in trained and "classifier.bias" in trained
    assert not [name for name in trained if "embeddings" in name]


def test_a_saved_adapter_makes_the_trained_model_of_the_trunk_again(tmp_path: Path) -> None:
    model = _trunk()
    freeze_but(model, HEADS)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data += 0.2 * torch.randn_like(parameter)
    ids = torch.randint(0, 50, (2, 7))
    expected = model(input_ids=ids).logits
    moments = input_moments(model, [{"input_ids": torch.randint(0, 50, (16, 7))}])
    assert model(input_ids=ids).logits.equal(expected)
    save_adapter(adapter_of(model, _trunk(), 16, HEADS, moments), tmp_path)

    again = _trunk()
    assert not torch.allclose(again(input_ids=ids).logits, expected, atol=1e-3)
    loaded = PeftModel.from_pretrained(again, tmp_path).eval()
    assert torch.allclose(loaded(input_ids=ids).logits, expected, atol=3e-3)
    assert torch.allclose(loaded.merge_and_unload()(input_ids=ids).logits, expected, atol=3e-3)
    assert BertConfig.from_pretrained(tmp_path).id2label == {0: "negative", 1: "positive"}
    assert "assets/checkpoints/clearhead-minilm" in (tmp_path / "adapter_config.json").read_text()
    assert not [name for name in load_file(tmp_path / "adapter_model.safetensors") if "embeddings" in name]


ARTICLE = [
    Question("1", "Rome", "Who led the northern army in 1815?", "In 1815 Anna Berg led the northern army to Vienna.",
             ("Anna Berg",), (8,)),
    Question("2", "Rome", "Where did Anna Berg lead it?", "In 1815 Anna Berg led the northern army to Vienna.",
             ("Vienna",), (43,)),
    Question("3", "Rome", "What was sold on Sundays?", "On Sundays Karl Frank sold 40 apples at the market.",
             ("apples",), (30,)),
    Question("4", "Rome", "What is it?", "It is a boat.", (), ()),
]  # fmt: skip


def test_an_unanswerable_question_is_asked_of_another_text_or_of_something_that_is_not_there() -> None:
    by_id = {question.id: question for question in ARTICLE}
    kinds = set()
    for seed in range(40):
        for made in unanswerable(ARTICLE, seed):
            before = by_id[made.id.removesuffix("-none")]
            assert before.answers and not made.answers and not made.starts
            assert (made.question == before.question) != (made.context == before.context)
            if made.context != before.context:
                assert before.answers[0].lower() not in made.context.lower()
                kinds.add("elsewhere")
            else:
                new = set(text.normalised(made.question).split()) - set(text.normalised(before.question).split())
                assert new and new.isdisjoint(text.normalised(before.answers[0]).split())
                kinds |= new
    # A name and a number that stand elsewhere in the article, and an opposite.
    assert {"elsewhere", "karl", "40", "southern"} <= kinds


def test_the_same_seed_makes_the_same_questions() -> None:
    assert unanswerable(ARTICLE, 3) == unanswerable(ARTICLE, 3)


def test_calibration_error_is_the_weighted_gap_between_probability_and_share_of_right_answers() -> None:
    # Two at 0.9 with one right: a gap of 0.4 for half of them; two at 0.55, both right: 0.45 for the other half.
    assert calibration_error([0.9, 0.9, 0.55, 0.55], [True, False, True, True]) == pytest.approx(42.5)
    assert calibration_error([1.0, 1.0], [True, True]) == 0.0


def test_the_answer_that_most_people_gave_is_learnt_where_the_question_points() -> None:
    context = "The lamp was new. " + "Years went by. " * 10 + "In a storm the keeper lit the lamp for the boats."
    asked = Question("5", "Pier", "What did the keeper light for the boats?", context,
                     ("lamp for the boats", "lamp", "the lamp"), (198, 4, 0))  # fmt: skip
    learnt = agreed(asked)
    assert learnt.answers == ("lamp",)
    assert learnt.starts == (context.rindex("lamp"),)
    assert agreed(ARTICLE[3]) is ARTICLE[3]


def _judged(*questions: tuple[list[float], float, float, bool, bool]) -> Judged:
    scores, nulls, f1s, right, unanswerable = zip(*questions, strict=True)
    arrays = (np.array(column) for column in (nulls, f1s, right, unanswerable))
    return Judged(tuple(np.log(np.array(each, np.float32)) for each in scores), *arrays)


def test_what_is_shown_of_a_question_is_judged_by_temperature_scale_and_bias() -> None:
    # Spans worth 2 and 1, no answer 1: shares of a half, a quarter and a quarter.
    judged = _judged(([2.0, 1.0], 0.0, 0.5, False, True))
    plain, biased, scaled = shown(judged, [
        Calibration(), Calibration(answerable_bias=-np.log(24)), Calibration(2.0, 0.5, -np.log(24))
    ])  # fmt: skip
    assert plain == Shown(50.0, pytest.approx(50.0))
    # Answers are three times as likely as none, and an eighth of that: 1 in 9. None is right, at 8 of 9.
    assert biased == Shown(100.0, pytest.approx(100 / 9))
    # The root of three, by 24.
    assert scaled.error == pytest.approx(100 * (3**0.5 / 24) / (1 + 3**0.5 / 24))


def test_the_calibration_suits_questions_with_and_without_an_answer() -> None:
    chance = np.random.default_rng(4)

    def asked(number: int, share_unanswerable: float) -> Judged:
        rows = []
        for _ in range(number):
            unanswerable = bool(chance.random() < share_unanswerable)
            # Two bells 1.4 apart: the log-odds are 1.4 times the place, and the network says five times as much.
            margin = 7 * chance.normal(-0.7 if unanswerable else 0.7)
            right = not unanswerable and bool(chance.random() < 0.8)
            rows.append(([0.8, 0.2], -margin, float(right), right, unanswerable))
        return _judged(*rows)

    answerable, mixed = asked(1500, 0.0), asked(1500, 0.5)
    fitted = fit_questions(answerable, mixed)
    for judged in (mixed, pooled(answerable, mixed)):
        before, after = shown(judged, [Calibration(), fitted])
        assert before.error > 10 and after.error < 7
    before, after = shown(mixed, [Calibration(), fitted])
    assert after.f1 > before.f1 - 1
    assert fitted.answerable_scale < 0.5


def _sentiment_data(folder: Path) -> Path:
    (folder / "sst2").mkdir()
    (folder / "sst2/dev.tsv").write_text("sentence\tlabel\nthe owl slept .\t0\n")
    (folder / "sst2/train.tsv").write_text(
        "sentence\tlabel\nthe owl  slept !\t0\na bright and merry film about barns\t1\n"
    )
    (folder / "imdb").mkdir()
    long = "Rain fell on the barn all night. " * 10
    reviews = ["1\t9\t1\t" + long + "The owl slept. I loved it.", "2\t5\t0\tNeither here nor there.",
               "3\t1\t0\tA waste of<br />an evening."]  # fmt: skip
    with lzma.open(folder / "imdb/train.tsv.xz", "wt") as file:
        file.write("\n".join(reviews))
    return folder


def test_no_development_sentence_is_in_the_sentiment_data(tmp_path: Path) -> None:
    data = _sentiment_data(tmp_path)
    held_out = development_sentences(data)
    assert [text.normalised(row) for row, _ in phrase_rows(data, held_out)] == ["a bright and merry film about barns"]
    rows = review_rows(data, held_out)
    assert ("A waste of an evening.", 0) in rows and not [row for row, _ in rows if "Neither" in row]
    # The opening of the first review stays, its ending holds a development sentence.
    assert [row.startswith("Rain fell") for row, label in rows if label == 1] == [True]
    assert not [row for row, _ in rows if "owl" in row]


def test_a_card_states_data_licences_figures_and_digests() -> None:
    barns = (Source("Barns", "CC0"),)
    card = Card("owl", "fill-mask", ("en",), "apache-2.0", "An owl.", barns, "Sleep.", {"rest, h": 8.04}, "Day.")
    text_of_card = render(card, {"model.safetensors": "abc"})
    assert "license: apache-2.0" in text_of_card and "- Barns: CC0" in text_of_card
    assert "| rest, h | 8.0 |" in text_of_card and "sha256 `abc`" in text_of_card
