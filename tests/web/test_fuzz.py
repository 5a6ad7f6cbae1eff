"""Whatever is sent to an endpoint, it returns an answer or one sentence, shows no internals, and logs every run.

`make test` sends 300 inputs, `HYPOTHESIS_PROFILE=nightly` 5,000. Schemathesis would add nothing: in Gradio's OpenAPI
document a call answers with the number of an event, and the answer is read from a stream that no schema describes.
"""

import json
import math
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from demo.looks import OUR_FAULT
from models.registry import Task
from tests.api.server import ROOT, Server, serving

_ENDPOINTS: dict[str, Any] = json.loads((ROOT / "tests" / "api" / "endpoints.json").read_text(encoding="utf-8"))
_INPUTS = {"default": 300, "nightly": 5_000}[os.environ.get("HYPOTHESIS_PROFILE", "default")]
_RAW_INPUTS = _INPUTS // 10
_INPUTS_EACH = math.ceil((_INPUTS - _RAW_INPUTS) / len(_ENDPOINTS))
_TASKS = {f"/{task.endpoint}" for task in Task}
_INSIDE = ("Traceback", 'File "', str(ROOT), "site-packages", OUR_FAULT)
_PATIENCE_S = 120
_FUZZ = settings(
    deadline=None,
    database=None,
    derandomize=_INPUTS == 300,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

_USUAL: dict[str, list[Any]] = {
    "text": [
        "A [MASK] film that we saw on a rainy evening in a small cinema by the river, with all of our friends.",
        "Lovely.",
    ],
    "question": ["Who sleeps?"],
    "context": ["The dog sleeps in Lisbon."],
    "prompt": ["Once", ""],
    "a": ["The dog sleeps."],
    "b": ["It is tired."],
    "beginning": ["The dog sleeps."],
    "endings": [["It is tired.", "Two and two are four."]],
    "checkpoint": [""],
    "word": ["dog", ""],
    "sentences": [["A dog barks.", "The dog sleeps."]],
    "changed": ["", "Awful."],
    "model": ["prose", "code"],
    "cells": [[], [5, 7]],
    "objective": ["masked", "next"],
    "other": ["", "Awful."],
    "kind": ["", "encoder", "cross"],
    "target": ["", "positive"],
    "token": ["dog", "[MASK]", ""],
    "strategy": ["greedy", "beam", "sample"],
    "how": ["head", "mean", "maximum", "rollout"],
    "format": ["csv", "json"],
    "max_new_tokens": [1, 3],
    "steps": [1, 2],
    "num_beams": [1, 2],
    "top_k": [1, 5],
    "top_p": [0.9],
    "temperature": [0.8],
    "seed": [0, 7],
    "loop_guard": [0, 4],
    "layer": [0, -1],
    "head": [0, -1],
    "position": [1],
    "step": [0],
    "token_id": [5],
    "words": [True, False],
    "dark": [True, False],
    "examples": [
        [{"text": text, "label": label} for label in ("a", "b") for text in (f"One {label}.", f"Two {label}.")]
    ],
    "texts": [[], ["One more."]],
    "kept_out": [[], [{"text": "Three.", "label": "a"}]],
}
"""What a visitor might send; a parameter that is not here gets odd values only."""

_ODD_TEXTS = st.one_of(
    st.text(max_size=80),
    st.text(st.characters(categories=["Cs", "Cc", "Cf", "Co", "Mn"]), max_size=20),
    st.sampled_from([
        "\x00", "\ud800", "a\x00[MASK]", "[MASK]\udfff", "[MASK]" * 200, "x" * 6_000, "x" * 25_000, "\u202e[MASK]",
        "../../etc/passwd", "file:///etc/passwd", "http://127.0.0.1:1/", "=1+1", "<script>alert(1)</script> [MASK]",
        "'; DROP TABLE runs; --", "{{7*7}}", "%s%n", "a\r\nb", "🙂" * 600, "z" * 4_999, "[MASK]", "NaN", "null",
    ]),
)  # fmt: skip
_ODD_NUMBERS = st.one_of(
    st.integers(),
    st.floats(),
    st.sampled_from([2**31, 2**63, -(2**63) - 1, 10**30, 10**400, -1, 1e308, 5e-324, -0.0, 0.5]),
)
_ODD = st.one_of(
    _ODD_TEXTS,
    _ODD_NUMBERS,
    st.sampled_from([None, True, False, [], {}, [[[]]], {"path": "/etc/passwd"}, {"__type__": "update"}]),
    st.lists(_ODD_TEXTS, max_size=3),
    st.dictionaries(st.text(max_size=8), _ODD_NUMBERS, max_size=3),
)


@dataclass(frozen=True)
class Outcome:
    """The status of a call and, where it was taken, the event that it came to."""

    status: int
    event: str
    message: Any


@dataclass(frozen=True)
class Target:
    """The app, and a run of each task to look into."""

    server: Server
    client: httpx.Client
    run_ids: tuple[str, ...]

    def send(self, endpoint: str, body: bytes) -> Outcome:
        """Call, read all that comes, and hold every byte of it to tell nothing of the inside."""
        path = f"gradio_api/call{endpoint}"
        begun = self.client.post(path, content=body, headers={"content-type": "application/json"})
        require_discreet(begun)
        if begun.status_code != 200:
            return Outcome(begun.status_code, "", begun.json()["detail"])
        stream = self.client.get(f"{path}/{begun.json()['event_id']}")
        require_discreet(stream)
        lines = [line for line in stream.text.splitlines() if line]
        event, data = lines[-2].removeprefix("event: "), lines[-1].removeprefix("data: ")
        return Outcome(200, event, json.loads(data))

    def logged(self, session: str) -> int:
        """How many runs of a session are in the log."""
        outcome = self.send("/session_runs", json.dumps({"data": [], "session_hash": session}).encode())
        return len(outcome.message[0])


def require_discreet(answer: httpx.Response) -> None:
    """No failure of the server's, and nothing of its inside."""
    assert answer.status_code < 500, answer.text
    for inside in _INSIDE:
        assert inside not in answer.text


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    wide = dict.fromkeys(("CLEARHEAD_RUNS_PER_MINUTE", "CLEARHEAD_RUNS_AT_ONCE"), "1000000")
    with (
        serving(tmp_path_factory.mktemp("fuzz"), **wide) as server,
        httpx.Client(base_url=server.url, timeout=_PATIENCE_S) as client,
    ):
        first = Target(server, client, ())
        usual = {name: values[0] for name, values in _USUAL.items()}
        run_ids = []
        for endpoint in sorted(_TASKS):
            data = [usual[each["parameter_name"]] for each in _ENDPOINTS[endpoint]["parameters"]]
            outcome = first.send(endpoint, json.dumps({"data": data, "session_hash": "the usual one"}).encode())
            assert outcome.event == "complete", outcome
            run_ids.append(outcome.message[0]["run_id"])
        yield Target(server, client, tuple(run_ids))


def arguments(endpoint: str, run_ids: tuple[str, ...]) -> st.SearchStrategy[list[Any]]:
    """One value for each parameter: mostly a usual one, often enough an odd one."""
    values = []
    for each in _ENDPOINTS[endpoint]["parameters"]:
        name = each["parameter_name"]
        usual = run_ids if name == "run_id" else _USUAL.get(name, ())
        values.append(st.one_of(st.sampled_from(usual), st.sampled_from(usual), _ODD) if usual else _ODD)
    return st.tuples(*values).map(list)


@pytest.mark.timeout(0 if _INPUTS > 300 else 300)
@pytest.mark.parametrize("endpoint", sorted(_ENDPOINTS))
def test_any_value_gets_an_answer_or_a_sentence_and_a_task_is_logged(target: Target, endpoint: str) -> None:
    @settings(_FUZZ, max_examples=_INPUTS_EACH)
    @given(arguments(endpoint, target.run_ids))
    def send(data: list[Any]) -> None:
        session = secrets.token_urlsafe(12)
        outcome = target.send(endpoint, json.dumps({"data": data, "session_hash": session}).encode())
        if outcome.status != 200:
            # Refused on the way in: too large, a file, or no JSON that anybody reads.
            assert outcome.status in (400, 413)
            assert outcome.message
        elif outcome.event == "error":
            sentence = outcome.message["error"]
            assert sentence.endswith((".", "…", ")"))
            assert "\n" not in sentence
        else:
            assert outcome.event == "complete"
        reached = endpoint in _TASKS and outcome.status == 200
        if endpoint in _TASKS:
            assert target.logged(session) == (1 if reached else 0), (data, outcome)

    send()


_NESTED = st.recursive(_ODD, lambda each: st.lists(each, max_size=3), max_leaves=5)
_BODIES = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
    _NESTED.map(lambda value: json.dumps({"data": value}).encode()),
    _NESTED.map(lambda value: json.dumps(value).encode()),
    st.sampled_from([
        b"", b"{", b"[" * 100_000, b'{"data":' * 1_000, b'{"data": []}', b'{"data": ["Lovely.", "", 1, 2, 3]}',
        b'{"data": ["Lovely."], "session_hash": 5}', b'{"data": ["Lovely."], "session_hash": ["a"]}',
        b'{"data": ["Lovely.", ""], "fn_index": 99999}', b'{"data": ["Lovely.", ""], "event_id": "../x"}',
        b'{"data": ["Lovely.", ""], "trigger_id": {}}', b'{"data": null}',
        b'{"data": [' + b"9" * 5_000 + b', ""]}', b'\xff\xfe{"data": []}',
    ]),
)  # fmt: skip


@pytest.mark.timeout(0 if _INPUTS > 300 else 300)
def test_any_body_gets_an_answer_or_a_sentence(target: Target) -> None:
    @settings(_FUZZ, max_examples=_RAW_INPUTS)
    @given(st.sampled_from(["/sentiment", "/attention", "/session_export"]), _BODIES)
    def send(endpoint: str, body: bytes) -> None:
        outcome = target.send(endpoint, body)
        assert outcome.status in (200, 400, 404, 413)

    send()
    assert target.send("/sentiment", b'{"data": ["Lovely.", ""]}').event == "complete"
