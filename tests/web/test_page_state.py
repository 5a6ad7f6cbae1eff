"""A session holds its states and no copy of the page."""

from datetime import timedelta

import gradio as gr
import pytest
from fastapi import FastAPI
from gradio.state_holder import SessionState
from starlette.testclient import TestClient

from demo.web.page_state import PageState, keep_states_only


@pytest.fixture
def page() -> gr.Blocks:
    with gr.Blocks() as blocks:
        count = gr.State(0)
        shown = gr.Textbox("x" * 10_000, label="Shown")

        def add(before: int) -> tuple[int, str]:
            return before + 1, f"{before + 1} times"

        gr.Button("Add").click(add, count, [count, shown], queue=False, api_name="add")
    return blocks


def _pressed(client: TestClient, session: str) -> str:
    answer = client.post("/gradio_api/run/add", json={"data": [None], "session_hash": session})
    return str(answer.json()["data"][1])


def test_each_session_has_its_own_states_and_no_copy_of_the_page(page: gr.Blocks) -> None:
    app = gr.mount_gradio_app(FastAPI(), page, path="/", ssr_mode=False)
    keep_states_only(app, page, ())
    with TestClient(app) as client:
        assert [_pressed(client, each) for each in "aab"] == ["1 times", "2 times", "1 times"]
    held = page.state_holder.session_data
    assert set(held) == {"a", "b"}
    assert all("x" * 10_000 not in str(each.config_values) for each in held.values())


def test_made_up_sessions_are_bounded_and_take_no_state_from_a_page_that_is_shown(page: gr.Blocks) -> None:
    app = gr.mount_gradio_app(FastAPI(), page, path="/", ssr_mode=False)
    keep_states_only(app, page, {"shown"})
    states = page.state_holder
    states["shown"].state_data[0] = "kept"
    states["quiet"].state_data[0] = "dropped"
    for number in range(5_000):
        states[f"invented {number}"]
    assert len(states.session_data) == len(states.time_last_used) == 1_001
    assert states["shown"].state_data[0] == "kept" and "quiet" not in states
    for session in states.time_last_used:
        states.time_last_used[session] -= timedelta(hours=1)
    states["new"]
    assert set(states.session_data) == {"shown", "new"}


def test_gradio_itself_would_copy_the_page(page: gr.Blocks) -> None:
    assert "x" * 10_000 in str(SessionState(page).config_values)
    assert PageState(page).config_values == {}
