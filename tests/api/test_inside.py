"""The endpoint of the tab Inside: a head's numbers follow from one another, and lead to the answer."""

from typing import Any

import numpy as np
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from models.registry import Task
from tests.api.test_endpoints import answer_of

ANIMAL = "The animal didn't cross the street because it was too tired."
CHECKPOINTS = [
    ("", "She turned the [MASK] and opened the door.", "encoder"),
    ("clearhead-sentiment", "A lovely film.", "encoder"),
    ("clearhead-qa", "Where does she live? [SEP] She lives in Lisbon.", "encoder"),
    ("clearhead-en-fr", "A dog is sleeping.", "decoder"),
    ("clearhead-stories", "Once upon a time", "decoder"),
]


@pytest.mark.parametrize(("checkpoint", "text", "kind"), CHECKPOINTS)
def test_every_number_follows_from_those_before_it(client: Client, checkpoint: str, text: str, kind: str) -> None:
    answer = client.predict(text, layer=1, head=2, checkpoint=checkpoint, api_name="/inside")
    query, keys, values = (np.array(answer[name]) for name in ("query", "keys", "values"))
    assert answer["kind"] == kind
    assert len(answer["tokens"]) == len(answer["segments"]) == len(keys) == len(values)
    assert query.shape == keys[0].shape
    np.testing.assert_allclose(answer["scores"], keys @ query, atol=1e-4)
    assert answer["divisor"] == pytest.approx(np.sqrt(len(query)))
    np.testing.assert_allclose(answer["scaled"], np.array(answer["scores"]) / answer["divisor"], atol=1e-5)
    powers = np.where(answer["masked"], 0, np.exp(answer["scaled"]))
    np.testing.assert_allclose(answer["weights"], powers / powers.sum(), atol=1e-5)
    np.testing.assert_allclose(answer["output"], np.array(answer["weights"]) @ values, atol=1e-4)
    assert [each["layer"] for each in answer["guesses_by_layer"]] == list(range(answer["layers"] + 1))
    assert answer["checkpoint"]["name"] == (checkpoint or "clearhead-minilm")
    assert answer["checkpoint"]["revision"]
    assert answer["duration_ms"] > 0


def test_the_last_guess_is_the_answer_of_the_task(client: Client) -> None:
    text = "She turned the [MASK] and opened the door."
    inside = client.predict(text, api_name="/inside")
    assert inside["tokens"][inside["position"]] == "[MASK]"
    assert inside["guesses_about"] == "word here"
    answer = client.predict(text, api_name="/fill_mask")
    # A look inside is exact on every machine; an answer may be rounded, and says so.
    assert inside["checkpoint"]["precision"] == "float32"
    near = {"float32": 1e-4, "float16": 0.02, "bfloat16": 0.02}[answer["checkpoint"]["precision"]]
    (expected,) = answer["predictions"]
    for guess, filled in zip(inside["guesses_by_layer"][-1]["guesses"], expected, strict=True):
        assert guess["token"] == filled["token"]
        assert guess["probability"] == pytest.approx(filled["score"], abs=near)


def test_layer_head_position_and_kind_choose_what_is_seen(client: Client) -> None:
    def seen(**chosen: Any) -> dict[str, Any]:
        return dict(client.predict(ANIMAL, **chosen, api_name="/inside"))

    found = seen(layer=3, head=1, position=10)
    assert found["tokens"][10] == "it"
    # Of the words: the rest falls to [CLS], the first token.
    assert found["tokens"][1:][int(np.argmax(found["weights"][1:]))] == "animal"
    for other in ({"layer": 2}, {"head": 0}, {"position": 3}):
        assert seen(**{"layer": 3, "head": 1, "position": 10, **other})["query"] != found["query"]
    masked = client.predict(ANIMAL, position=4, checkpoint="clearhead-stories", api_name="/inside")
    assert masked["masked"] == [False] * 5 + [True] * (len(masked["tokens"]) - 5)
    assert not any(masked["weights"][5:])
    source = client.predict("A dog.", checkpoint="clearhead-en-fr", kind="encoder", api_name="/inside")
    assert source["kinds"] == ["decoder", "encoder"]
    assert source["guesses_by_layer"] == []


def test_looking_inside_is_no_run(client: Client) -> None:
    answer_of(client, Task.SENTIMENT)
    client.predict(ANIMAL, api_name="/inside")
    assert len(client.predict(api_name="/session_runs")) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"text": ""}, "The text is empty. Please type something first."),
        ({"text": "[CLS][SEP]"}, "The text is empty."),
        ({"text": None}, "The text is empty."),
        ({"text": ["a"]}, "The text must be text."),
        ({"text": "z" * 20_000}, "The text is 20,000 characters long, and at most 5,000"),
        ({"text": "word " * 900}, "902 tokens, and this model reads at most 512"),
        ({"layer": 99}, "Layer 99 is not there: this model has layers 0 to 5."),
        ({"layer": -1}, "Layer -1 is not there"),
        ({"layer": True}, "The layer must be a whole number."),
        ({"head": 12}, "Head 12 is not there: this model has heads 0 to 11."),
        ({"head": "1"}, "The head must be a whole number."),
        ({"position": 99}, "Token 99 is not there: this text has tokens 0 to"),
        ({"position": 10**30}, "The position is out of range."),
        ({"checkpoint": "no-such-model"}, "There is no such model here."),
        ({"checkpoint": "x" * 100}, "The checkpoint is too long."),
        ({"checkpoint": 5}, "The checkpoint must be text."),
        ({"kind": "cross"}, "This model has no such attention; it has: encoder."),
    ],
)
def test_what_cannot_be_looked_into_is_told_in_one_sentence(
    client: Client, arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(AppError, match=sentence) as told:
        client.predict(**{"text": ANIMAL, **arguments}, api_name="/inside")
    assert "Traceback" not in str(told.value)
