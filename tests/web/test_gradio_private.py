"""Internals of Gradio that the page relies on; another version of Gradio has to be read anew."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import httpx
import pytest
from fastapi import FastAPI
from gradio.blocks import BlocksConfig
from gradio.routes import App
from gradio.state_holder import SessionState
from gradio.utils import LRUCache
from starlette.testclient import TestClient

from demo.settings import MODEL_QUEUE
from demo.web.gradio_private import Page, States, component_class, described_anew, without_apps
from demo.web.gradio_scripts import CHANGES, page_scripts
from demo.web.model_queue import CALLER, SESSION, ModelQueue
from tests.api.server import Server
from tests.web.calls import called, outcome


def test_gradio_is_the_version_whose_private_names_were_looked_through() -> None:
    assert gr.__version__ == "6.31.0"


def test_the_page_gets_scripts_in_which_every_place_is_changed_once(server: Server) -> None:
    gradio_own = Path(gr.__file__).parent / "templates" / "frontend"
    for (address, text), changes in zip(page_scripts().items(), CHANGES.values(), strict=True):
        before = (gradio_own / address[1:]).read_text(encoding="utf-8")
        assert all(before.count(old) == 1 and text.count(new) == 1 for old, new in changes.items())
        assert all(old in new or old not in text for old, new in changes.items())
        for _ in range(2):
            served = httpx.get(f"{server.url}{address[1:]}")
            assert served.text == text and served.headers["content-type"].startswith("text/javascript")


@pytest.fixture
def page() -> gr.Blocks:
    with gr.Blocks() as blocks:
        count = gr.State(0)
        shown = gr.Textbox("x" * 10_000, label="Shown")

        def add(before: int) -> tuple[int, str]:
            return before + 1, f"{before + 1} times"

        gr.Button("Add").click(add, count, [count, shown], queue=False, api_name="add")
    return blocks


@pytest.fixture
def mounted(page: gr.Blocks) -> Iterator[tuple[TestClient, States]]:
    app = gr.mount_gradio_app(FastAPI(), page, path="/", ssr_mode=False)
    (gradio_app,) = [each.app for each in app.routes if hasattr(getattr(each, "app", None), "state_holder")]
    states = gradio_app.state_holder = States(page, {"shown"}, capacity=5)
    with TestClient(app) as client:
        yield client, states


def test_each_session_has_its_own_states_and_no_copy_of_the_page(mounted: tuple[TestClient, States]) -> None:
    client, states = mounted

    def pressed(session: str) -> str:
        answer = client.post("/gradio_api/run/add", json={"data": [None], "session_hash": session})
        return str(answer.json()["data"][1])

    assert [pressed(each) for each in "aab"] == ["1 times", "2 times", "1 times"]
    assert all("x" * 10_000 not in str(each.config_values) for each in states.session_data.values())
    # Gradio's own states would have one.
    assert "x" * 10_000 in str(SessionState(states.blocks).config_values)


def test_made_up_sessions_are_bounded_and_take_no_state_from_a_page_that_is_shown(
    mounted: tuple[TestClient, States],
) -> None:
    _, states = mounted
    states["shown"].state_data[0] = "kept"
    for number in range(100):
        states[f"invented {number}"]
    assert len(states.session_data) == 5 and states["shown"].state_data[0] == "kept"


def test_a_component_of_ours_is_drawn_as_its_base_and_made_anew_as_its_own_class() -> None:
    loud = component_class(gr.Textbox, "Loud", postprocess=lambda _self, value: str(value).upper())
    again = type(loud("a"))(**loud("a").constructor_args)
    assert again.get_block_name() == "textbox" and again.postprocess("a") == "A"


def _event(name: str, session: str, caller: str, age_s: float = 0.0) -> SimpleNamespace:
    scope = {SESSION: session, CALLER: caller}
    return SimpleNamespace(
        _id=name,
        session_hash=session,
        concurrency_id=MODEL_QUEUE,
        request=SimpleNamespace(scope=scope),
        enqueue_time=time.monotonic() - age_s,
        closed=False,
    )


def _queue(page: gr.Blocks, running: list[SimpleNamespace], waiting: list[SimpleNamespace]) -> ModelQueue:
    page._queue.event_ids_to_events = {each._id: each for each in [*running, *waiting]}  # type: ignore[misc]
    page._queue.event_queue_per_concurrency_id = {MODEL_QUEUE: SimpleNamespace(queue=waiting)}  # type: ignore[dict-item]
    return ModelQueue(page)


def test_a_page_makes_one_app_and_is_described_once_with_how_it_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    make_app, describe = App.configure_app, BlocksConfig.get_config
    monkeypatch.setattr(App, "configure_app", lambda *given: made.append("an app") or make_app(*given))
    monkeypatch.setattr(BlocksConfig, "get_config", lambda *given: made.append("a description") or describe(*given))
    with without_apps(), Page() as page:
        gr.Textbox("a", label="Text")
    assert not made
    gr.mount_gradio_app(FastAPI(), page, path="/", ssr_mode=False, mcp_server=True)
    assert sorted(made) == ["a description", "an app"]
    assert page.config["mcp_server"] and page.config["components"][0]["props"]["label"] == "Text"


def test_a_page_in_another_language_keeps_its_numbers_whatever_is_made_meanwhile() -> None:
    """Gradio makes a component for each update of one, so other visitors' events take numbers while a page is built."""

    def built(word: str, meanwhile: int) -> Page:
        with Page() as page:
            gr.HTML(word)
            for _ in range(meanwhile):
                gr.HTML("an update", render=False)
            gr.Dataset(components=[gr.Textbox(render=False)], samples=[[word]])
            gr.Textbox(label=word)
        return page

    page = built("word", 0)
    page.described = page.get_config_file()
    anew = described_anew(page, lambda: built("mot", 3))
    assert "mot" in str(anew) and "word" not in str(anew["components"])
    for old, new in zip(page.described["components"], anew["components"], strict=True):
        assert (old["id"], old["type"]) == (new["id"], new["type"])
        assert old["props"].get("component_ids") == new["props"].get("component_ids")


def test_visitors_take_turns(page: gr.Blocks) -> None:
    running = [_event("a1", "a", "home")]
    waiting = [
        _event(*each) for each in (("a2", "a", "home"), ("a3", "a", "home"), ("b1", "b", "home"), ("c1", "c", "x"))
    ]
    queue = _queue(page, running, waiting)
    queue.take_turns()
    assert [each._id for each in waiting] == ["c1", "b1", "a2", "a3"]
    assert (queue.waiting, queue.running, queue.of(SESSION, "a"), queue.of(CALLER, "home")) == (4, 1, 3, 4)


def test_a_run_that_nobody_listens_to_is_stopped_and_one_that_waits_keeps_its_place(page: gr.Blocks) -> None:
    running = [_event("old", "a", "x", 60), _event("heard", "b", "x", 60), _event("new", "c", "x")]
    waiting = [_event("waits", "d", "x", 60)]
    _queue(page, running, waiting).tidy({"b"})
    assert [each._id for each in [*running, *waiting] if each.closed] == ["old"]


def test_answers_that_nobody_fetches_are_dropped_the_oldest_first(
    page: gr.Blocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("demo.web.model_queue._MOST_UNFETCHED_BYTES", 250)
    queue = _queue(page, [], [])
    held = page._queue.pending_messages_per_session
    assert isinstance(held, LRUCache)
    for session in ("first", "second", "listens", "third"):
        held[session] = SimpleNamespace(_queue=[SimpleNamespace(output="x" * 98)])  # type: ignore[assignment]
        page._queue.pending_event_ids_session[session] = {f"event of {session}"}
        queue.tidy({"event of listens"})
    assert sorted(held) == ["listens", "second", "third"]
    aged = ModelQueue(page, unfetched_s=0.0)
    page._queue.pending_messages_per_session = held
    list(ModelQueue(page).unheard(()))
    page._queue.pending_messages_per_session = held
    aged.tidy({"listens"})
    assert sorted(held) == ["listens"]


def test_what_is_left_out_at_the_end_of_a_call_has_its_default(server: Server) -> None:
    event, (answer,) = outcome(server, "completion", called(server, "completion", ["Once", 3], "who says little"))
    assert event == "complete" and len(answer["tokens"]) == 3
    refused = called(server, "question_answering", [])
    assert refused.status_code == 400 or outcome(server, "question_answering", refused)[0] == "error"


def test_every_call_of_a_session_gets_its_own_answer(server: Server) -> None:
    calls = [called(server, "sentiment", [f"Text {number}", ""], "one session of many calls") for number in range(3)]
    answers = [outcome(server, "sentiment", call)[1][0]["run_id"] for call in reversed(calls)]
    _, (runs,) = outcome(server, "session_runs", called(server, "session_runs", [], "one session of many calls"))
    texts = {run["id"]: run["inputs"]["text"] for run in runs}
    assert [texts[each] for each in answers] == ["Text 2", "Text 1", "Text 0"]
