"""The decoder through the endpoints: the tree of three strategies, texts continued from another token, and seeds."""

from typing import Any

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

PROMPT = "Once upon a time"


def grown(client: Client, **settings: Any) -> dict[str, Any]:
    tree: dict[str, Any] = client.predict(api_name="/decode_tree", **{"prompt": PROMPT} | settings)
    return tree


def written(client: Client, **settings: Any) -> dict[str, Any]:
    answer: dict[str, Any] = client.predict(
        api_name="/completion", **{"prompt": PROMPT, "max_new_tokens": 10} | settings
    )
    return answer


def test_the_tree_has_each_node_behind_its_parent(client: Client) -> None:
    tree = grown(client)
    assert tree["checkpoint"]["name"] == "clearhead-stories"
    root, *nodes = tree["nodes"]
    assert (root["id"], root["parent"], root["step"]) == (0, -1, 0)
    assert max(node["step"] for node in nodes) == 12
    for node in nodes:
        parent = tree["nodes"][node["parent"]]
        assert node["step"] == parent["step"] + 1
        assert node["total"] == pytest.approx(parent["total"] + node["log_probability"])
        assert node["log_probability"] <= 0
    assert {node["kept"] for node in nodes} == {True, False}


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_the_tree_holds_the_texts_that_completion_writes(client: Client, strategy: str) -> None:
    tree = grown(client, num_beams=3, steps=8, seed=5)
    (text,) = [each["text"] for each in tree["texts"] if each["strategy"] == strategy]
    path = [node["token"] for node in tree["nodes"] if strategy in node["strategies"]]
    alone = written(client, strategy=strategy, num_beams=3, max_new_tokens=8, seed=5)
    assert text == alone["text"]
    assert path == [token["token"] for token in alone["tokens"]]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"steps": 41}, "The number of steps must be from 1 to 40."),
        ({"num_beams": 9}, "The number of beams must be from 1 to 8."),
        ({"steps": 2.5}, "The number of steps must be a whole number."),
        ({"checkpoint": "gpt5"}, "There is no such model here."),
        ({"prompt": "word " * 2000}, "at most 5,000"),
    ],
)
def test_what_no_tree_can_be_grown_from_is_told(client: Client, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AppError, match=sentence):
        grown(client, **settings)


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_two_runs_with_one_seed_are_the_same_to_the_last_digit(client: Client, strategy: str) -> None:
    first, second = (written(client, strategy=strategy, seed=11) for _ in range(2))
    for own in ("run_id", "duration_ms"):
        assert first.pop(own) != second.pop(own)
    assert first == second


def test_a_text_goes_on_from_another_token_and_the_log_knows_from_which(client: Client) -> None:
    first = written(client, seed=3)
    ids = [token["id"] for token in first["tokens"][:4]]
    other = next(each for each in first["tokens"][4]["alternatives"] if each["id"] != first["tokens"][4]["id"])
    asked = {"run_id": first["run_id"], "step": 5, "token_id": other["id"]}
    parted, again = (client.predict(api_name="/fork", **asked) for _ in range(2))
    assert [token["id"] for token in parted["tokens"][:5]] == [*ids, other["id"]]
    assert parted["text"] == again["text"] != first["text"]
    newest, *_ = client.predict(api_name="/session_runs")
    assert (newest["id"], newest["parameters"]["kept"]) == (again["run_id"], [*ids, other["id"]])
    rows = client.predict(newest["id"], api_name="/attention")["weights"]
    assert len(rows) == len(client.predict(run_id=first["run_id"], api_name="/attention")["weights"])


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"step": 0}, "The step must be from 1 to 4."),
        ({"step": 5}, "The step must be from 1 to 4."),
        ({"token_id": 10**6}, "This model does not know one of the tokens to go on from."),
        ({"token_id": "a"}, "The id of the token must be a whole number."),
        ({"run_id": "nobody"}, "There is no such run"),
    ],
)
def test_where_no_text_can_part_is_told(client: Client, asked: dict[str, Any], sentence: str) -> None:
    run_id = written(client, strategy="greedy", max_new_tokens=4)["run_id"]
    with pytest.raises(AppError, match=sentence):
        client.predict(api_name="/fork", **{"run_id": run_id, "step": 2, "token_id": 5} | asked)


def test_a_drawn_token_has_its_share_before_and_after(client: Client) -> None:
    answer = written(client, top_k=3, top_p=1.0, temperature=1.0)
    for token in answer["tokens"]:
        assert token["left"] == 3 and 0 < token["drawn"] <= 1
        shares = [each["drawn"] for each in token["alternatives"]]
        assert sum(shares) == pytest.approx(1, abs=1e-4) and shares[3:] == [0.0] * 7
    assert all(token["drawn"] is None for token in written(client, strategy="greedy")["tokens"])


def test_each_token_of_a_translation_has_alternatives(client: Client) -> None:
    answer = client.predict(text="The dog sleeps.", api_name="/translation")
    assert all(len(token["alternatives"]) == 10 and 0 < token["probability"] <= 1 for token in answer["tokens"])
