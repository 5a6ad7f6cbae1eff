"""Inspecting a run through the endpoints: all heads, their roles, attribution, and answers after a change."""

import base64
import io
import math
from typing import Any

import numpy as np
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from PIL import Image

from models.explain.head_roles import ROLES
from models.registry import Task
from tests.api.test_endpoints import ATTENDING, KINDS, answer_of

NOT_ATTRIBUTED = (Task.TRANSLATION, Task.WORD_IN_CONTEXT, Task.TEACH, Task.SURPRISE, Task.WRITTEN_BY)
LOOKED_INTO = [task for task in ATTENDING if task not in NOT_ATTRIBUTED]


@pytest.mark.parametrize("task", ATTENDING)
def test_the_sheet_is_one_picture_with_a_thumbnail_for_each_head(client: Client, task: Task) -> None:
    run_id = answer_of(client, task)["run_id"]
    for kind in ["", *KINDS.get(task, ["encoder"])]:
        sheet = client.predict(run_id, kind=kind, api_name="/attention_sheet")
        assert sheet["run_id"] == run_id
        assert sheet["kind"] == (kind or sheet["kinds"][0])
        assert len(sheet["image"]) < 500_000
        prefix, encoded = sheet["image"].split(",")
        assert prefix == "data:image/png;base64"
        picture = Image.open(io.BytesIO(base64.b64decode(encoded)))
        assert picture.size == (sheet["width"], sheet["height"])
        for size, count, cell in (
            (sheet["width"], sheet["heads"], sheet["cell_width"]),
            (sheet["height"], sheet["layers"], sheet["cell_height"]),
        ):
            assert size == sheet["gap"] + count * (cell + sheet["gap"])
    dark = client.predict(run_id, dark=True, api_name="/attention_sheet")
    assert dark["image"] != client.predict(run_id, api_name="/attention_sheet")["image"]


@pytest.mark.parametrize("task", ATTENDING)
def test_every_head_has_a_role_and_a_share(client: Client, task: Task) -> None:
    run_id = answer_of(client, task)["run_id"]
    for kind in KINDS.get(task, ["encoder"]):
        answer = client.predict(run_id, kind=kind, api_name="/head_roles")
        shape = client.predict(run_id, kind=kind, api_name="/attention")
        places = [(each["layer"], each["head"]) for each in answer["roles"]]
        assert places == [(layer, head) for layer in range(shape["layers"]) for head in range(shape["heads"])]
        assert all(each["role"] in ROLES and 0 <= each["share"] <= 1 for each in answer["roles"])


def test_heads_can_be_brought_together(client: Client) -> None:
    run_id = answer_of(client, Task.FILL_MASK)["run_id"]

    def weights(**how: Any) -> np.ndarray:
        return np.array(client.predict(run_id, **how, api_name="/attention")["weights"])

    heads = np.array([weights(layer=0, head=head) for head in range(3)])
    assert (weights(layer=0, how="maximum") >= heads.max(axis=0) - 1e-6).all()
    np.testing.assert_allclose(weights(layer=2, head=1, how="mean"), weights(layer=2), atol=1e-6)
    rollout = weights(how="rollout", words=True)
    np.testing.assert_allclose(rollout.sum(axis=1), 1, atol=1e-4)
    with pytest.raises(AppError, match="brought together by: head, mean, maximum, rollout"):
        client.predict(run_id, how="sum", api_name="/attention")
    translation = answer_of(client, Task.TRANSLATION)["run_id"]
    with pytest.raises(AppError, match="not there between two texts"):
        client.predict(translation, how="rollout", api_name="/attention")
    assert client.predict(translation, kind="encoder", how="rollout", api_name="/attention")["kind"] == "encoder"


@pytest.mark.parametrize("task", LOOKED_INTO)
def test_attribution_has_a_score_for_each_token_and_is_complete(client: Client, task: Task) -> None:
    run_id = answer_of(client, task)["run_id"]
    answer = client.predict(run_id, api_name="/attribution")
    assert answer["run_id"] == run_id
    assert answer["method"] == "integrated gradients"
    assert len(answer["tokens"]) == len(answer["scores"])
    difference = answer["value"] - answer["baseline_value"]
    assert math.isclose(sum(answer["scores"]), difference, rel_tol=0.05)
    assert math.isclose(sum(answer["scores"]) - difference, answer["delta"], abs_tol=1e-5)
    assert answer["agreement"] is None or -1 <= answer["agreement"] <= 1


def test_attribution_has_targets(client: Client) -> None:
    sentiment = answer_of(client, Task.SENTIMENT)
    for label in sentiment["scores"]:
        assert client.predict(sentiment["run_id"], label, api_name="/attribution")["target"] == label
    found = answer_of(client, Task.QUESTION_ANSWERING)["run_id"]
    ends = [client.predict(found, end, api_name="/attribution") for end in ("start", "end")]
    assert ends[0]["scores"] != ends[1]["scores"]
    masked = answer_of(client, Task.FILL_MASK)
    top = client.predict(masked["run_id"], api_name="/attribution")
    assert top["target"] == masked["predictions"][0][0]["token"]
    written = answer_of(client, Task.COMPLETION)
    second = client.predict(written["run_id"], "#2", api_name="/attribution")
    assert second["target"] == written["tokens"][1]["token"]


@pytest.mark.parametrize("task", ATTENDING)
def test_an_answer_without_a_layer_stands_beside_the_answer(client: Client, task: Task) -> None:
    given = answer_of(client, task)
    comparison = client.predict(given["run_id"], 0, api_name="/ablate")
    own = {
        name: value for name, value in given.items() if name not in ("run_id", "duration_ms", "logged", "checkpoint")
    }
    # Both sides are computed exactly, as every look inside; the answer may have been rounded on the way.
    assert _near(comparison["before"], own)
    assert comparison["after"].keys() == own.keys()
    assert comparison["after"] != own
    assert comparison["run_id"] == given["run_id"]
    one = client.predict(given["run_id"], 0, 1, api_name="/ablate")
    assert one["after"] != comparison["after"]
    assert len(client.predict(api_name="/session_runs")) == 1


def _near(found: Any, expected: Any) -> bool:
    """Whether two answers say the same, their numbers apart by no more than rounding may move a probability."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(_near(found[name], expected[name]) for name in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(_near(*pair) for pair in zip(found, expected, strict=True))
    return bool(found == pytest.approx(expected, abs=0.02) if isinstance(expected, float) else found == expected)


def test_each_kind_of_a_translations_heads_can_be_off(client: Client) -> None:
    run_id = answer_of(client, Task.TRANSLATION)["run_id"]
    after = [client.predict(run_id, 0, kind=kind, api_name="/ablate")["after"] for kind in KINDS[Task.TRANSLATION]]
    assert len({str(each) for each in after}) == 3
    assert client.predict(run_id, 0, api_name="/ablate")["after"] == after[0]


@pytest.mark.parametrize(
    ("task", "old", "new"),
    [
        (Task.FILL_MASK, "cat", "dog"),
        (Task.SENTIMENT, "lovely", "dreadful"),
        (Task.QUESTION_ANSWERING, "lisbon", "Rome"),
        (Task.NAMES, "lisbon", "Peter"),
        (Task.SENTENCE_PAIR, "milk", "sand"),
        (Task.ENDINGS, "store", "moon"),
        (Task.TRANSLATION, "dog", "cat"),
        (Task.COMPLETION, "time", "midnight"),
        (Task.SURPRISE, "king", "submarine"),
    ],
)
def test_another_word_has_another_answer(client: Client, task: Task, old: str, new: str) -> None:
    run_id = answer_of(client, task)["run_id"]
    kind = "encoder" if task is Task.TRANSLATION else ""
    tokens = client.predict(run_id, kind=kind, api_name="/attention")["key_tokens"]
    position = [token.strip().lower() for token in tokens].index(old)
    comparison = client.predict(run_id, position, new, api_name="/replace_token")
    assert comparison["before"] != comparison["after"]
    if task in (Task.SENTIMENT, Task.QUESTION_ANSWERING, Task.NAMES):
        assert comparison["changed"]
    assert len(client.predict(api_name="/session_runs")) == 1


@pytest.mark.parametrize(
    ("endpoint", "arguments", "sentence"),
    [
        ("attention_sheet", {"run_id": "no such run"}, "There is no such run"),
        ("attention_sheet", {"kind": "cross"}, "no such attention; it has: encoder"),
        ("attention_sheet", {"dark": "yes"}, "must be true or false"),
        ("head_roles", {"run_id": 7}, "The run id must be text."),
        ("head_roles", {"kind": "x" * 100}, "The kind is too long."),
        ("attribution", {"run_id": "x" * 100}, "The run id is too long."),
        ("attribution", {"target": "mixed"}, "There is no such label; this model has: negative, positive."),
        ("attribution", {"target": "x" * 1_000}, "The target is 1,000 characters long, and at most 100"),
        ("attribution", {"target": ["a"]}, "The target must be text."),
        ("ablate", {"layer": 99}, "Layer 99 is not there"),
        ("ablate", {"layer": -1}, "Layer -1 is not there"),
        ("ablate", {"layer": "0"}, "The layer must be a whole number."),
        ("ablate", {"layer": 0, "head": 99}, "Head 99 is not there"),
        ("ablate", {"layer": 0, "kind": "sideways"}, "no such attention; it has: encoder"),
        ("replace_token", {"position": 99, "token": "x"}, "Token 99 is not there"),
        ("replace_token", {"position": True, "token": "x"}, "The position must be a whole number."),
        ("replace_token", {"position": 0, "token": "x"}, "a mark of the model's own"),
        ("replace_token", {"position": 1, "token": "x" * 200}, "The word is 200 characters long"),
        ("replace_token", {"position": 1, "token": None}, "The word must be text."),
    ],
)
def test_what_cannot_be_looked_at_is_told_in_one_sentence(
    client: Client, endpoint: str, arguments: dict[str, Any], sentence: str
) -> None:
    run_id = answer_of(client, Task.SENTIMENT)["run_id"]
    with pytest.raises(AppError, match=sentence) as told:
        client.predict(**{"run_id": run_id, **arguments}, api_name=f"/{endpoint}")
    assert "Traceback" not in str(told.value)


def test_what_no_attribution_is_there_for_is_told(client: Client) -> None:
    translation = answer_of(client, Task.TRANSLATION)["run_id"]
    with pytest.raises(AppError, match="sentiment, questions, names, blanks and writing on"):
        client.predict(translation, api_name="/attribution")
    empty = answer_of(client, Task.COMPLETION, prompt="")["run_id"]
    with pytest.raises(AppError, match="no word in this text"):
        client.predict(empty, api_name="/attribution")
    with pytest.raises(AppError, match="knows no blank"):
        client.predict(translation, 0, "[MASK]", api_name="/replace_token")
