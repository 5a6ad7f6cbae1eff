"""The process drops visitors' texts when they are deleted, and computes what a whole room opens at once only once."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import gradio as gr
import httpx
import pytest
import uvicorn

from demo.lectures import LectureStep
from demo.log.session_log import SessionLog
from demo.page import build_demo
from demo.runs import DemoService, Finished
from demo.settings import MODEL_QUEUE, Limits, Settings
from demo.tabs.lecture import LectureViews
from demo.web.app import create_app
from demo.widgets import Updates
from models.backend import LocalBackend
from models.errors import InputError
from models.loading.store import ModelStore
from tests.api.server import free_port

_LONG_S = 60.0
_PHONES = 40


@dataclass(frozen=True)
class Site:
    """The whole site, served by a thread of this process."""

    url: str
    demo: gr.Blocks
    service: DemoService
    client: httpx.Client

    def press(self, fn: Any, data: list[Any], session: str = "a-page-of-its-own") -> httpx.Response:
        """Call a quick event of the page as a browser does."""
        body = {"data": data, "fn_index": fn._id, "session_hash": session}
        return self.client.post(f"{self.url}/gradio_api/run/predict", json=body)

    def run(self, fn: Any, data: list[Any], session: str = "a-page-of-its-own") -> list[Any]:
        """What an event gives that waits in the line."""
        body = {"data": data, "fn_index": fn._id, "session_hash": session}
        self.client.post(f"{self.url}/gradio_api/queue/join", json=body).raise_for_status()
        with self.client.stream("GET", f"{self.url}/gradio_api/queue/data?session_hash={session}") as stream:
            for line in stream.iter_lines():
                message = json.loads(line.removeprefix("data:")) if line else {}
                if message.get("msg") == "process_completed":
                    assert message["success"], message
                    return list(message["output"]["data"])
        raise AssertionError("no answer")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    database_url = f"sqlite:///{tmp_path_factory.mktemp('memory')}/runs.sqlite3"
    settings = Settings(database_url=database_url, limits=Limits(runs_per_minute=1_000))
    store = ModelStore()
    service = DemoService(settings, LocalBackend(store), SessionLog(database_url))
    demo = build_demo(service)
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(create_app(demo, service, store), port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    ends = time.monotonic() + _LONG_S
    while not server.started and time.monotonic() < ends:
        time.sleep(0.05)
    assert server.started
    with httpx.Client(timeout=_LONG_S, limits=httpx.Limits(max_connections=2 * _PHONES)) as client:
        yield Site(f"http://127.0.0.1:{port}", demo, service, client)
    server.should_exit = True
    thread.join(_LONG_S)


def test_a_room_that_opens_a_step_at_once_computes_it_once_and_holds_up_nobody(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on, computed = threading.Event(), threading.Event(), []

    def slowly(self: LectureViews, _key: tuple[str, int], step: LectureStep) -> Updates:
        computed.append(step)
        begun.set()
        assert goes_on.wait(2 * _LONG_S)
        return {self.inside.heading: "the only picture"}

    monkeypatch.setattr(LectureViews, "_computed", slowly)
    turn, show = (
        next(
            fn for fn in site.demo.fns.values() if fn.name == name and [each.label for each in fn.inputs] == ["Address"]
        )
        for name in ("turn", "show")
    )
    # Gradio makes each of its 200 outputs anew for every answer, which takes long and is nothing to wait for here.
    monkeypatch.setattr(
        show, "outputs", [each for each in show.outputs if isinstance(each, gr.HTML) and each.label == "Step"]
    )
    address = f"{site.url}/?lecture=attention&step=1"
    with ThreadPoolExecutor(_PHONES) as phones:
        opened = [phones.submit(site.press, show, [address], f"phone-number-{number}") for number in range(_PHONES)]
        try:
            assert begun.wait(_LONG_S)
            # So that all of them have come, not only the first.
            time.sleep(1)
            small = site.press(turn, [address])
        finally:
            goes_on.set()
        answers = [each.result(_LONG_S) for each in opened]
    assert small.status_code == 200
    assert {each.status_code for each in answers} == {200} and len(computed) == 1
    assert all("the only picture" in each.text for each in answers)


@pytest.mark.parametrize("way", ["delete", "delete_all", "forget"])
def test_neither_the_cache_nor_an_open_page_holds_a_text_that_is_to_be_gone(site: Site, way: str) -> None:
    text, page = f"A film about a quagga, to {way}.", f"page-that-will-{way}"
    fns = list(site.demo.fns.values())
    run = next(fn for fn in fns if fn.name == "run" and len(fn.inputs) == 3)
    values = [text if each.label == "Your text" else None if each.stateful else each.value for each in run.inputs]
    site.run(run, ["", *values[1:]], page)
    (state,) = (each for key, each in site.demo.state_holder.session_data.items() if key == page)

    def finished() -> Finished:
        (found,) = (each for each in state.state_data.values() if isinstance(each, Finished) and each.run.id)
        return found

    source, run_id = finished().source, finished().run.id
    (session,) = source.origin.sessions
    site.service.attribution(source)
    assert text in repr(finished()) and session in str(site.service._cache._entries.keys())
    getattr(site.service, way)(*((run_id, session) if way == "delete" else (session,)))
    assert len(site.service.history(session)) == (way == "forget")
    assert session not in str(site.service._cache._entries.keys())
    # The page still knows the run's id, to end its sharing, and says why it draws nothing more.
    with pytest.raises(InputError, match="no longer in this host"):
        site.service.attention(finished().source)
    with pytest.raises(InputError, match="no longer in this host"):
        assert finished().output
    assert finished().run.id == run_id and "quagga" not in repr(finished())


def test_a_redraw_that_needs_a_model_is_a_run_and_one_that_needs_none_is_not(site: Site) -> None:
    fns = list(site.demo.fns.values())
    run = next(fn for fn in fns if fn.name == "run" and len(fn.inputs) == 3)
    follow = next(fn for fn in fns if fn.name == "redraw" and fn.trigger_after == run._id)
    queued = [fn for fn in fns if fn.concurrency_id == MODEL_QUEUE and fn.inputs == follow.inputs[2:]]
    page = "page-that-redraws"

    def values(fn: Any) -> list[Any]:
        return [None if each.stateful else each.value for each in fn.inputs]

    site.run(run, ["", run.inputs[1].value, "A film to look at again."], page)
    site.run(follow, values(follow), page)
    (redraw,) = (fn for fn in fns if (follow.inputs[-1]._id, "input") in fn.targets)
    drawn = site.press(redraw, values(redraw), page).json()
    missing = [each.label for each in redraw.outputs if hasattr(each, "label")].index("Drawn in the line")
    assert "film" in str(drawn["data"]) and not isinstance(drawn["data"][missing], str)

    for session in {key[0][0] for key in site.service._cache._entries if key[0]}:
        site.service._cache.forget(lambda each, of=session: each == of)
    missed = site.press(redraw, values(redraw), page).json()
    assert "film" not in str(missed["data"]) and not site.service._cache._entries
    assert missed["data"][missing]
    (event,) = (fn for fn in queued if fn.targets[0] == (redraw.outputs[missing]._id, "change"))
    assert "film" in str(site.run(event, values(event), page))
    assert "film" in str(site.press(redraw, values(redraw), page).json()["data"])
