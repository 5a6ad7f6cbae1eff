"""History shows a page of runs at a time, and deleting the last one of a page shows the page before."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.log.session_log import SessionLog
from demo.web.identity import SessionSigner
from tests.api.server import Server, serving
from tests.log.runs import finished_run
from tests.web.calls import Page

_RUNS = 101
_SECRET = "a secret of this test"  # noqa: S105


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("history")
    runs = SessionLog(f"sqlite:///{folder}/runs.sqlite3")
    for number in range(_RUNS):
        runs.record(finished_run(f"{number:03}", session_id="visitor"))
    with serving(folder, CLEARHEAD_SECRET=_SECRET) as running:
        yield running


def test_older_and_newer_runs_are_a_page_away_and_the_export_has_all(server: Server) -> None:
    page = Page(server, "a page with a long history")
    token = SessionSigner(_SECRET.encode()).sign("visitor")
    look = page.event("select", ("browserstate",), ("html", "state", "button", "button"))
    turns = [
        int(each["id"])
        for each in page.config["dependencies"]
        if len(each["outputs"]) == 4 and each["inputs"] == _of_the_page(page) and each["targets"][0][1] == "click"
    ]
    newer, older = turns
    delete = page.event("delete", ("browserstate", "state"), ("html", "state"))

    def shown(answer: list[Any]) -> tuple[list[str], bool, bool]:
        listed, _, to_newer, to_older = answer[:4]
        ids = [part.partition('"')[0] for part in listed.split('data-run="')[1::2]]
        return ids, to_newer["visible"], to_older["visible"]

    newest_first = [f"{number:03}" for number in reversed(range(_RUNS))]
    assert shown(page.now(look, [token])) == (newest_first[:50], False, True)
    assert shown(page.now(older, [token, None])) == (newest_first[50:100], True, True)
    assert shown(page.now(older, [token, None])) == (newest_first[100:], True, False)
    assert shown(page.now(delete, [token, None], {"run_id": "000"})) == (newest_first[50:100], True, False)
    assert shown(page.now(newer, [token, None])) == (newest_first[:50], False, True)
    exports = page.event("click", ("browserstate",), ("textbox", "textbox", "textbox"))
    assert str(page.now(exports, [token])).count("clearhead-sentiment") == _RUNS - 1


def _of_the_page(page: Page) -> list[int]:
    """The inputs of the buttons under the list: the session and how many runs are passed over."""
    look = page.event("delete", ("browserstate", "state"), ("html", "state"))
    return next(each["inputs"] for each in page.config["dependencies"] if each["id"] == look)
