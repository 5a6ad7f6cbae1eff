"""Every endpoint answers with the names and the shapes that callers rely on."""

import csv
import io
import json
import math
from typing import Any

import numpy as np
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from models.registry import Task, checkpoints_for

INPUTS: dict[Task, dict[str, Any]] = {
    Task.FILL_MASK: {"text": "The cat sat on the [MASK]."},
    Task.SENTIMENT: {"text": "What a lovely film."},
    Task.QUESTION_ANSWERING: {
        "question": "Where does Maria live?",
        "context": "Maria is a baker. She lives in Lisbon with two cats and an unbelievably loud parrot.",
    },
    Task.NAMES: {"text": "Anna Karlsson lives in Lisbon."},
    Task.SENTENCE_PAIR: {"a": "The man went to the store.", "b": "He bought a gallon of milk."},
    Task.ENDINGS: {
        "beginning": "The man went to the store.",
        "endings": ["He bought a gallon of milk.", "Penguins are flightless."],
    },
    Task.TRANSLATION: {"text": "The dog sleeps."},
    Task.TRANSLATORS: {"text": "A boy plays in the snow."},
    Task.COMPLETION: {"prompt": "Once upon a time", "max_new_tokens": 6},
    Task.WORD_IN_CONTEXT: {
        "word": "bank",
        "sentences": ["The bank lent me money.", "We sat on the bank of the river.", "A bank is a bank."],
    },
    Task.TEACH: {
        "examples": [
            {"text": "Could you close the door?", "label": "polite"},
            {"text": "Thank you very much.", "label": "polite"},
            {"text": "After you, I insist.", "label": "polite"},
            {"text": "Shut the door, now.", "label": "rude"},
            {"text": "Get out of my way!", "label": "rude"},
        ],
        "texts": ["Would you mind waiting a moment?"],
    },
    Task.SURPRISE: {"text": "Once upon a time there was a king."},
    Task.WRITTEN_BY: {"text": "Once upon a time there was a king. " * 4},
    Task.GENERATIONS: {"text": "I don't love this movie.", "changed": "I do love this movie."},
    Task.CELLS: {"text": '"Who is there?" he asked.'},
    Task.TRAINING_STEP: {"text": "The keeper lit the lamp, and the boats came home."},
    Task.TINY_MODEL: {"text": "The keeper lit the lamp, and the boats came home. " * 3, "steps": 20},
}
ATTENDING = [task for task in Task if task.kinds]
KINDS = {Task.TRANSLATION: ["cross", "encoder", "decoder"], Task.COMPLETION: ["decoder"], Task.SURPRISE: ["decoder"],
         Task.WRITTEN_BY: ["decoder"]}  # fmt: skip


def answer_of(client: Client, task: Task, **changes: Any) -> dict[str, Any]:
    answer: dict[str, Any] = client.predict(api_name=f"/{task.endpoint}", **INPUTS[task] | changes)
    return answer


@pytest.mark.parametrize("task", Task)
def test_every_answer_names_its_run_its_time_and_the_bundled_checkpoint(client: Client, task: Task) -> None:
    answer = answer_of(client, task)
    assert len(answer["run_id"]) == 32
    assert answer["duration_ms"] > 0
    bundled = checkpoints_for(task)[0]
    assert answer["checkpoint"]["name"] == bundled.name
    assert answer["checkpoint"]["license"] == bundled.license
    assert len(answer["checkpoint"]["revision"]) >= 12


def test_fill_mask_has_a_list_of_tokens_for_each_mask(client: Client) -> None:
    answer = answer_of(client, Task.FILL_MASK, text="The [MASK] sat on the [MASK].", top_k=3, word="mat")
    assert [len(mask) for mask in answer["predictions"]] == [3, 3]
    for mask in answer["predictions"]:
        scores = [each["score"] for each in mask]
        assert scores == sorted(scores, reverse=True)
        assert 0 < sum(scores) <= 1
        assert all(each["token"] for each in mask)
    assert len(answer["sequences"]) == len(answer["sequence_scores"]) == 3
    assert answer["sequence_scores"] == sorted(answer["sequence_scores"], reverse=True)
    assert all("[MASK]" not in sequence for sequence in answer["sequences"])
    assert [(each["word"], each["rank"] >= 1) for each in answer["word"]] == [("mat", True), ("mat", True)]


def test_fill_mask_gives_five_candidates_and_no_word_unless_asked(client: Client) -> None:
    answer = answer_of(client, Task.FILL_MASK)
    assert [len(mask) for mask in answer["predictions"]] == [5]
    assert answer["word"] == []


def test_sentiment_gives_each_label_its_probability(client: Client) -> None:
    answer = answer_of(client, Task.SENTIMENT)
    assert math.isclose(sum(answer["scores"].values()), 1, abs_tol=1e-5)
    assert answer["label"] == max(answer["scores"], key=answer["scores"].__getitem__)


def test_every_generation_judges_both_texts(client: Client) -> None:
    answer = answer_of(client, Task.GENERATIONS)
    assert len(answer["rows"]) == 12 and answer["unknown"] == []
    for row in answer["rows"]:
        assert row["name"] and row["paper"] and 1950 <= row["year"] <= 2019 and row["parameters"] > 9_000
        for share, label in ((row["positive"], row["label"]), (row["changed_positive"], row["changed_label"])):
            assert label == ("positive" if share > 0.5 else "negative")
    assert (answer["rows"][-1]["label"], answer["rows"][-1]["changed_label"]) == ("negative", "positive")
    alone = answer_of(client, Task.GENERATIONS, changed="")["rows"]
    assert [row["changed_label"] for row in alone] == [None] * 12


def test_cells_have_a_state_at_each_character_and_no_attention(client: Client) -> None:
    answer = answer_of(client, Task.CELLS, text="a\tnaïve ship", cells=[3, 3, 399])
    assert (answer["model"], answer["read"], answer["unknown"]) == ("prose", "a    na\ufffdve ship", ["ï"])
    *named, third, last = answer["cells"]
    assert named and all(each["watches"] and 0.5 <= abs(each["correlation"]) <= 1 for each in named)
    assert [(each["cell"], each["watches"], each["correlation"]) for each in (third, last)] == [
        (3, "", None),
        (399, "", None),
    ]
    for each in answer["cells"]:
        assert len(each["states"]) == len(answer["read"]) and all(-1 <= state <= 1 for state in each["states"])
    assert [len(each) for each in answer["guesses"]] == [3] * len(answer["read"])
    assert answer_of(client, Task.CELLS, model="code")["cells"] != answer_of(client, Task.CELLS)["cells"]
    for endpoint in ("/attention", "/attribution", "/head_roles"):
        with pytest.raises(AppError, match="no attention to look at"):
            client.predict(answer["run_id"], api_name=endpoint)
    for changes in ({"text": "x" * 1001}, {"model": "verse"}, {"cells": [400]}, {"cells": ["a"]}, {"text": " "}):
        with pytest.raises(AppError, match=r"^[A-Z][^\n]*\.$"):
            answer_of(client, Task.CELLS, **changes)


def test_five_translators_say_what_each_looked_at(client: Client) -> None:
    answer = answer_of(client, Task.TRANSLATORS)
    first, *others = answer["rows"]
    assert [row["year"] for row in answer["rows"]] == [2014, 2015, 2015, 2015, 2017]
    assert first["alignment"] == []
    for row in others:
        assert row["text"] and len(row["alignment"]) == len(row["tokens"])
        assert all(len(weights) == len(answer["tokens"]) for weights in row["alignment"])
    with pytest.raises(AppError, match="no attention to look at"):
        client.predict(answer["run_id"], api_name="/attention")
    with pytest.raises(AppError, match="at most 64"):
        answer_of(client, Task.TRANSLATORS, text="word " * 90)


def test_a_step_of_training_has_a_loss_at_each_place_and_a_gradient_for_each_part(client: Client) -> None:
    answer = answer_of(client, Task.TRAINING_STEP)
    words = [token for token in answer["tokens"] if not token.startswith("[")]
    assert len(answer["places"]) == max(1, round(0.15 * len(words)))
    for each in answer["places"]:
        assert each["fate"] in ("blanked", "exchanged", "left")
        assert math.isclose(each["loss"], -math.log(each["probability"]), rel_tol=1e-3, abs_tol=1e-5)
    assert math.isclose(answer["loss"], np.mean([each["loss"] for each in answer["places"]]), rel_tol=1e-5)
    parts = ["embeddings", *(f"layer {number}" for number in range(1, 7)), "head"]
    assert [each["part"] for each in answer["gradients"]] == parts
    assert answer_of(client, Task.TRAINING_STEP, seed=1)["places"] != answer["places"]
    following = answer_of(client, Task.TRAINING_STEP, objective="next")
    assert following["checkpoint"]["name"] == "clearhead-stories"
    assert [each["position"] for each in following["places"]] == list(range(1, len(following["tokens"])))
    for changes, said in (({"objective": "both"}, "masked or next"), ({"text": "a b c " * 60}, "at most 128")):
        with pytest.raises(AppError, match=said):
            answer_of(client, Task.TRAINING_STEP, **changes)
    with pytest.raises(AppError, match="no attention to look at"):
        client.predict(answer["run_id"], api_name="/attention")


def test_a_tiny_model_tells_how_far_it_came_and_the_run_is_logged(client: Client) -> None:
    answer = answer_of(client, Task.TINY_MODEL)
    assert answer["finished"] and answer["course"][-1]["step"] == answer["steps"] == 20
    assert answer["course"][-1]["loss"] < answer["course"][0]["loss"]
    assert answer["read"] + answer["kept"] == len(INPUTS[Task.TINY_MODEL]["text"])
    assert set("".join(each["text"] for each in answer["samples"])) <= set(answer["alphabet"])
    (run,) = [each for each in client.predict(api_name="/session_runs") if each["run_id"] == answer["run_id"]]
    assert run["parameters"] == {"steps": 20} and run["seed"] == 0
    with pytest.raises(AppError, match="100 to 2,000"):
        answer_of(client, Task.TINY_MODEL, text="Too short.")


def test_names_stand_in_their_text_and_every_token_has_a_label(client: Client) -> None:
    text = INPUTS[Task.NAMES]["text"]
    answer = answer_of(client, Task.NAMES)
    assert [(each["text"], each["label"]) for each in answer["entities"]] == [
        ("Anna Karlsson", "person"),
        ("Lisbon", "place"),
    ]
    assert all(text[each["start"] : each["end"]] == each["text"] for each in answer["entities"])
    assert [each["token"] for each in answer["tokens"]][:2] == ["anna", "karl"]
    assert [each["label"] for each in answer["tokens"]][:3] == ["B-person", "I-person", "X"]
    assert {each["word"] for each in answer["tokens"]} == {"Anna", "Karlsson", "lives", "in", "Lisbon", "."}
    for each in answer["tokens"]:
        assert math.isclose(sum(each["scores"].values()), 1, abs_tol=1e-4)
    assert all(0 < each["score"] <= 1 for each in answer["entities"])
    assert answer_of(client, Task.NAMES, text="It rains.")["entities"] == []


def test_question_answering_says_where_its_answers_stand(client: Client) -> None:
    answer = answer_of(client, Task.QUESTION_ANSWERING, top_k=2)
    context = INPUTS[Task.QUESTION_ANSWERING]["context"]
    assert 1 <= len(answer["answers"]) <= 2
    for each in answer["answers"]:
        assert context[each["start"] : each["end"]] == each["text"]
        assert 0 <= each["score"] <= 1
    assert 0 <= answer["no_answer_score"] <= 1
    assert answer["answered"] == (answer["answers"][0]["score"] >= answer["no_answer_score"])


def test_a_pair_has_three_probabilities_and_a_cosine(client: Client) -> None:
    answer = answer_of(client, Task.SENTENCE_PAIR)
    assert list(answer["entailment"]) == ["entailment", "neutral", "contradiction"]
    assert math.isclose(sum(answer["entailment"].values()), 1, abs_tol=1e-5)
    assert answer["follows"] > 0.5 > answer_of(client, Task.SENTENCE_PAIR, b="Penguins are flightless.")["follows"]
    assert 0 <= answer["paraphrase"] <= 1
    assert -1 <= answer["similarity"] < 1


def test_endings_are_ranked_twice_and_one_that_is_refused_is_logged(client: Client) -> None:
    answer = answer_of(client, Task.ENDINGS)
    assert [each["text"] for each in answer["endings"]] == INPUTS[Task.ENDINGS]["endings"]
    assert answer["by_follows"] == [0, 1] and sorted(answer["by_log_probability"]) == [0, 1]
    assert answer["disagree"] == (answer["by_follows"][0] != answer["by_log_probability"][0])
    assert answer["writer"]["name"] == "clearhead-stories"
    for endings in (["One."], ["a", " "], ["a"] * 5, "abc", ["a", "b" * 501]):
        with pytest.raises(AppError):
            answer_of(client, Task.ENDINGS, endings=endings)
    runs = client.predict(api_name="/session_runs")
    assert runs[-1]["inputs"] == INPUTS[Task.ENDINGS]
    assert [bool(run["error"]) for run in runs] == [True] * 5 + [False]


def test_translation_gives_as_many_texts_as_beams_best_first(client: Client) -> None:
    answer = answer_of(client, Task.TRANSLATION)
    scores = [each["score"] for each in answer["translations"]]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert len(answer_of(client, Task.TRANSLATION, num_beams=1)["translations"]) == 1


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_completion_tells_what_each_token_was_worth(client: Client, strategy: str) -> None:
    answer = answer_of(client, Task.COMPLETION, strategy=strategy)
    assert 1 <= len(answer["tokens"]) <= 6
    assert answer["finished"]
    for token in answer["tokens"]:
        assert 0 < token["probability"] <= 1
        assert all(0 <= each["probability"] <= 1 for each in token["alternatives"])
        assert token["alternatives"]
    assert bool(answer["candidates"]) == (strategy == "beam")


def test_the_same_seed_writes_the_same_text_and_another_one_another(client: Client) -> None:
    def written(seed: int) -> str:
        return str(answer_of(client, Task.COMPLETION, seed=seed, max_new_tokens=20, temperature=1.5)["text"])

    assert written(7) == written(7)
    assert len({written(seed) for seed in range(4)}) > 1


def test_one_word_has_a_matrix_for_each_layer_and_words_for_each_sentence(client: Client) -> None:
    answer = answer_of(client, Task.WORD_IN_CONTEXT)
    assert answer["word"] == "bank"
    assert len(answer["layers"]) == len(answer["planes"]) == 7
    for layer, plane in zip(answer["layers"], answer["planes"], strict=True):
        matrix = np.array(layer)
        assert matrix.shape == (3, 3) and (matrix == matrix.T).all() and (np.diagonal(matrix) == 1).all()
        assert np.array(plane["points"]).shape == (3, 2) and len(plane["static"]) == len(plane["shares"]) == 2
    assert [len(each) for each in answer["fitting_words"]] == [5, 5, 5]
    assert all(0 < word["score"] < 1 and word["token"] for each in answer["fitting_words"] for word in each)
    near = answer["static_neighbours"]
    assert near and "bank" not in [each["word"] for each in near] and answer["static_note"] == ""
    assert [each["cosine"] for each in near] == sorted((each["cosine"] for each in near), reverse=True)


def test_an_empty_prompt_starts_from_the_start_token(client: Client) -> None:
    assert answer_of(client, Task.COMPLETION, prompt="")["tokens"]


def test_teach_judges_texts_and_says_how_it_was_measured(client: Client) -> None:
    kept = [{"text": "May I help you?", "label": "polite"}, {"text": "Move!", "label": "rude"}]
    answer = answer_of(client, Task.TEACH, kept_out=kept)
    assert answer["labels"] == ["polite", "rude"]
    (judged,) = answer["predictions"]
    assert math.isclose(sum(judged["scores"].values()), 1, abs_tol=1e-5)
    assert judged["label"] == max(judged["scores"], key=judged["scores"].__getitem__)
    assert (answer["measured_on"], answer["measured"], answer["chance"]) == ("kept", 2, 0.5)
    assert answer["accuracy"] == 1 - len(answer["mistakes"]) / 2
    assert [each["representation"] for each in answer["curve"]] == ["bert", "bag of words", "random weights"]
    for curve in answer["curve"]:
        assert curve["examples_per_class"] == [1, 2]
        assert len(curve["accuracy"]) == len(curve["spread"]) == 2
    (run,) = client.predict(api_name="/session_runs")
    assert run["inputs"]["examples"][0] == ["Could you close the door?", "polite"]
    assert run["inputs"]["texts"] == INPUTS[Task.TEACH]["texts"]
    assert answer_of(client, Task.TEACH, texts=[])["measured_on"] == "cross-validation"
    assert client.predict(api_name="/session_delete_all") == 2


def test_surprise_adds_up_from_its_tokens(client: Client) -> None:
    answer = answer_of(client, Task.SURPRISE, other="Time a king upon there once was.")
    assert answer["start"] == "<|endoftext|>" and answer["window"] == 512
    for text in (answer, answer["other"]):
        bits = [each["bits"] for each in text["tokens"]]
        assert text["counted"] == len(bits) >= 8
        assert text["bits_per_token"] == pytest.approx(np.mean(bits))
        assert text["perplexity"] == pytest.approx(2 ** text["bits_per_token"])
        assert text["log_probability"] == pytest.approx(sum(math.log(each["probability"]) for each in text["tokens"]))
        assert text["pseudo_perplexity"] > 1
        assert all(each["rank"] >= 1 and len(each["rather"]) == 3 for each in text["tokens"])
    assert answer["other"]["perplexity"] > answer["perplexity"]
    assert answer_of(client, Task.SURPRISE)["other"] is None


def test_a_text_is_judged_with_how_often_that_is_wrong(client: Client) -> None:
    answer = answer_of(client, Task.WRITTEN_BY)
    assert 0 < answer["machine"] < 1 and answer["counted"] >= 20
    assert sum(answer["ranks"]) == pytest.approx(1)
    assert answer["figures"]["tokens"] == 25
    assert 0 <= answer["figures"]["false_alarms"] < 0.5 < answer["figures"]["accuracy"] <= 1
    long = answer_of(client, Task.WRITTEN_BY, text=INPUTS[Task.WRITTEN_BY]["text"] * 8)
    assert long["figures"]["tokens"] == 200
    with pytest.raises(AppError, match="fewer than 20 say too little about who wrote them"):
        answer_of(client, Task.WRITTEN_BY, text="Once upon a time.")


@pytest.mark.parametrize("task", ATTENDING)
def test_attention_of_every_task_has_rows_that_sum_to_one(client: Client, task: Task) -> None:
    run_id = answer_of(client, task)["run_id"]
    first = client.predict(run_id, api_name="/attention")
    assert first["run_id"] == run_id
    assert first["kinds"] == KINDS.get(task, ["encoder"])
    assert first["kind"] == first["kinds"][0]
    for kind in first["kinds"]:
        for layer, head in ((-1, -1), (0, 0), (first["layers"] - 1, -1)):
            rows = client.predict(run_id, kind=kind, layer=layer, head=head, api_name="/attention")
            weights = np.array(rows["weights"])
            assert weights.shape == (len(rows["query_tokens"]), len(rows["key_tokens"]))
            np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-4)
            if kind == "decoder":
                assert not np.triu(weights, k=1).any()


def test_attention_by_words_has_fewer_rows_that_still_sum_to_one(client: Client) -> None:
    run_id = answer_of(client, Task.QUESTION_ANSWERING)["run_id"]
    pieces = client.predict(run_id, api_name="/attention")
    words = client.predict(run_id, words=True, api_name="/attention")
    assert any(token.startswith("##") for token in pieces["key_tokens"])
    assert "unbelievably" in words["key_tokens"]
    assert len(words["key_tokens"]) < len(pieces["key_tokens"])
    np.testing.assert_allclose(np.sum(words["weights"], axis=1), 1, atol=1e-4)


def test_a_session_lists_exports_and_forgets_its_own_runs(client: Client) -> None:
    kept = answer_of(client, Task.SENTIMENT)["run_id"]
    dropped = answer_of(client, Task.FILL_MASK)["run_id"]
    listed = client.predict(api_name="/session_runs")
    assert [run["id"] for run in listed] == [run["run_id"] for run in listed] == [dropped, kept]
    assert client.predict(1, 1, api_name="/session_runs") == listed[1:]
    for limit, offset in ((0, 0), (51, 0), (5, -1)):
        with pytest.raises(Exception, match="must be"):
            client.predict(limit, offset, api_name="/session_runs")
    assert json.loads(client.predict("json", api_name="/session_export")) == listed
    lines = csv.DictReader(io.StringIO(client.predict(api_name="/session_export")))
    assert [line["id"] for line in lines] == [dropped, kept]
    assert client.predict(dropped, api_name="/session_delete") is True
    assert client.predict(dropped, api_name="/session_delete") is False
    assert client.predict(api_name="/session_delete_all") == 1
    assert client.predict(api_name="/session_runs") == []


def test_one_session_cannot_list_or_delete_the_runs_of_another(client: Client) -> None:
    run_id = answer_of(client, Task.SENTIMENT)["run_id"]
    other = Client(client.src, verbose=False, analytics_enabled=False)
    assert other.predict(api_name="/session_runs") == []
    assert other.predict(run_id, api_name="/session_delete") is False
    assert other.predict(api_name="/session_delete_all") == 0
    assert [run["id"] for run in client.predict(api_name="/session_runs")] == [run_id]
