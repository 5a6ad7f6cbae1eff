"""Bad input to the endpoints: callers read one sentence, the run is logged as failed, and the server stays up."""

import json
from typing import Any

import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from tests.api.server import Server
from tests.web.calls import called, outcome

_REFUSED: list[tuple[str, list[Any], str]] = [
    ("fill_mask", ["", 5, "", ""], "The text is empty. Please type something first."),
    ("fill_mask", ["No blank here.", 5, "", ""], "There is no blank to fill: write [MASK] where a word is missing."),
    ("fill_mask", ["A [MASK].", 0, "", ""], "The number of candidates must be from 1 to 20."),
    ("fill_mask", ["A [MASK].", 21, "", ""], "The number of candidates must be from 1 to 20."),
    ("fill_mask", ["A [MASK].", True, "", ""], "The number of candidates must be a whole number."),
    ("fill_mask", ["A [MASK].", "5", "", ""], "The number of candidates must be a whole number."),
    ("fill_mask", ["A [MASK].", 5, "no-such-model", ""], "There is no such model here."),
    ("fill_mask", ["A [MASK].", 5, "clearhead-qa", ""], "There is no such model here."),
    ("fill_mask", ["A [MASK].", 5, ["a"], ""], "The checkpoint must be text."),
    ("fill_mask", ["A [MASK].", 5, "", "x" * 200], "The word is 200 characters long"),
    ("sentiment", [["a", "list"], ""], "The text must be text."),
    ("sentiment", [None, ""], "The text is empty."),
    ("sentiment", ["\x00\x1b", ""], "The text is empty."),
    ("sentiment", ["\ud800", ""], "The text holds half of a character"),
    ("sentiment", ["word " * 900, ""], "tokens, and this model reads at most"),
    ("names", [None, ""], "The text is empty."),
    ("names", [{"a": 1}, ""], "The text must be text."),
    ("sentiment", ["z" * 100_000, ""], "The text is 100,000 characters long, and at most 5,000 are read here."),
    ("question_answering", ["", "A text.", 3, ""], "The question is empty."),
    ("question_answering", ["Who?", " ", 3, ""], "The text is empty."),
    ("question_answering", ["Who?", "A text.", 11, ""], "The number of answers must be from 1 to 10."),
    ("surprise", ["", "", ""], "The text is empty."),
    ("surprise", ["A dog.", "", 7], "The other text must be text."),
    ("surprise", ["A dog.", "clearhead-minilm", ""], "There is no such model here."),
    ("written_by", [""], "The text is empty."),
    ("written_by", ["A dog."], "fewer than 20 say too little about who wrote them."),
    ("surprise", ["A dog.", "", "z" * 6_000], "The other text is 6,000 characters long"),
    ("translation", ["A dog.", 9, ""], "The number of beams must be from 1 to 8."),
    ("translation", ["A dog.", 2.5, ""], "The number of beams must be a whole number."),
    ("completion", ["A", 0, "sample", 0.8, 50, 0.95, 4, 0, ""], "The number of new tokens must be from 1 to 200."),
    ("completion", ["A", 5, "guess", 0.8, 50, 0.95, 4, 0, ""], "The strategy must be one of greedy, beam, sample."),
    ("completion", ["A", 5, "sample", 0, 50, 0.95, 4, 0, ""], "The temperature must be from 0.05 to 5."),
    ("completion", ["A", 5, "sample", float("nan"), 50, 0.95, 4, 0, ""], "The temperature must be a number."),
    ("completion", ["A", 5, "sample", float("inf"), 50, 0.95, 4, 0, ""], "The temperature must be a number."),
    ("completion", ["A", 5, "sample", 0.8, 50, 1.5, 4, 0, ""], "The top-p must be from 0.01 to 1."),
    ("completion", ["A", 5, "sample", 0.8, 50, 0.95, 4, -1, ""], "The seed must be from 0 to"),
    ("completion", ["A", 5, "sample", 0.8, 50, 0.95, 4, 10**30, ""], "The seed is out of range."),
    ("word_in_context", ["sea", ["The sea."], ""], "There is 1 sentence: please give 2 to 6, one a line."),
    ("word_in_context", ["sea", ["A sea.", "Rain."], ""], "The word “sea” does not stand in sentence 2: “Rain.”."),
    ("word_in_context", ["sea", [5, None], ""], "The list of sentences must be text."),
    ("word_in_context", ["", ["A sea.", "The sea."], ""], "The word is empty."),
]


@pytest.mark.parametrize(("endpoint", "data", "sentence"), _REFUSED, ids=range(len(_REFUSED)))
def test_what_cannot_be_used_is_refused_in_one_sentence_and_logged(
    server: Server, endpoint: str, data: list[Any], sentence: str, request: pytest.FixtureRequest
) -> None:
    session_hash = f"refused-call-{request.node.callspec.id}"
    event, message = outcome(server, endpoint, called(server, endpoint, data, session_hash))
    assert event == "error"
    assert sentence in message["error"]
    assert "Traceback" not in message["error"]
    _, (runs,) = outcome(server, "session_runs", called(server, "session_runs", [], session_hash))
    (run,) = runs
    assert run["error"] == message["error"]
    assert run["answer"] is None
    assert len(json.dumps(run)) < 6_000


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> is [MASK]",
        "שלום [MASK] עולם",
        "🙂 a [MASK] 👩‍👩‍👧",
        "a\x00b [MASK]",
        "'; DROP TABLE runs; -- [MASK]",
    ],
)
def test_unusual_text_is_only_text(client: Client, text: str) -> None:
    answer = client.predict(text, api_name="/fill_mask")
    (run,) = client.predict(api_name="/session_runs")
    assert run["inputs"]["text"] == text.replace("\x00", " ")
    assert answer["sequences"][0].startswith(run["inputs"]["text"].split("[MASK]")[0].rstrip())


def test_ten_megabytes_are_refused_before_they_are_read(server: Server) -> None:
    answer = httpx.post(f"{server.url}gradio_api/call/sentiment", json={"data": ["z" * 10_000_000, ""]}, timeout=60)
    assert answer.status_code == 413
    assert answer.json()["detail"] == "That is more than this page reads at once. Please shorten it."
    lovely = called(server, "sentiment", ["Lovely.", ""], "pasted before")
    assert outcome(server, "sentiment", lovely)[0] == "complete"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"run_id": "no such run"}, "There is no such run"),
        ({"run_id": ""}, "There is no such run"),
        ({"run_id": "x" * 100_000}, "The run id is too long."),
        ({"run_id": 5}, "The run id must be text."),
        ({"kind": "sideways"}, "This run has no such attention; it has: encoder."),
        ({"layer": 99}, "Layer 99 is not there: this model has layers 0 to"),
        ({"head": -2}, "Head -2 is not there: this model has heads 0 to"),
        ({"layer": True}, "The layer must be a whole number."),
        ({"head": "1"}, "The head must be a whole number."),
        ({"words": "false"}, "The choice of words must be true or false."),
    ],
)
def test_attention_that_is_not_there_is_told_in_one_sentence(
    client: Client, arguments: dict[str, Any], sentence: str
) -> None:
    run_id = client.predict("Lovely.", api_name="/sentiment")["run_id"]
    with pytest.raises(AppError, match=sentence):
        client.predict(**{"run_id": run_id, **arguments}, api_name="/attention")


def test_attention_of_a_refused_run_is_told_in_one_sentence(client: Client) -> None:
    with pytest.raises(AppError):
        client.predict("", api_name="/sentiment")
    (run,) = client.predict(api_name="/session_runs")
    with pytest.raises(AppError, match="no answer to look at"):
        client.predict(run["id"], api_name="/attention")


def test_an_export_in_another_format_is_refused(client: Client) -> None:
    with pytest.raises(AppError, match="csv or json"):
        client.predict("exe", api_name="/session_export")


def test_a_malformed_call_tells_nothing_about_the_inside_and_the_server_stays_up(server: Server) -> None:
    malformed = called(server, "sentiment", [], "malformed")
    assert outcome(server, "sentiment", malformed) == ("error", {"error": None})
    assert outcome(server, "sentiment", called(server, "sentiment", ["Lovely.", ""], "malformed"))[0] == "complete"
