"""The app answers despite a damaged log, keeps nothing of callers who ask for that, and contacts no other host."""

import time
from pathlib import Path

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from demo.log.session_log import SessionLog
from tests.api.server import Server, serving


def test_a_damaged_log_is_left_as_it_is_and_the_app_answers_and_comes_back_by_itself(tmp_path: Path) -> None:
    path, garbage = tmp_path / "runs.sqlite3", b"a diary, not a database\n" * 100
    path.write_bytes(garbage)
    with serving(tmp_path) as server:
        client = Client(server.url, verbose=False, analytics_enabled=False)
        answer = client.predict("A quiet film.", api_name="/sentiment")
        assert not answer["logged"]
        run_id = answer["run_id"]
        assert client.predict(run_id, api_name="/attention")["weights"]
        assert [run["id"] for run in client.predict(api_name="/session_runs")] == [run_id]
        assert path.read_bytes() == garbage
        assert "runs are not kept" in server.output.read_text()
        path.unlink()
        ends = time.monotonic() + 60
        while "the session log is written again" not in server.output.read_text():
            assert time.monotonic() < ends
            time.sleep(0.2)
        assert client.predict("A loud film.", api_name="/sentiment")["logged"]
        # What waited for the database is in it by now.
        assert client.predict(run_id, api_name="/attention")["logged"]
        server.kill()
    assert SessionLog(server.database_url).get(run_id) is not None


def test_a_caller_who_wants_nothing_kept_leaves_nothing(server: Server) -> None:
    wish = {"X-Clearhead-Keep": "no"}
    client = Client(server.url, verbose=False, analytics_enabled=False, headers=wish)
    answer = client.predict("A marmalade film.", api_name="/sentiment")
    assert not answer["logged"]
    run_id = answer["run_id"]
    assert client.predict(run_id, api_name="/attention")["weights"]
    assert client.predict(api_name="/session_runs") == []
    folder = Path(server.database_url.removeprefix("sqlite:///")).parent
    assert not any(b"marmalade" in file.read_bytes() for file in folder.iterdir())


def test_the_app_starts_and_answers_without_asking_any_other_host(server: Server) -> None:
    client = Client(server.url, verbose=False, analytics_enabled=False)
    run_id = client.predict("A quiet film.", api_name="/sentiment")["run_id"]
    client.predict(run_id, api_name="/attention")
    assert "asked for the outside" not in server.output.read_text()
    with pytest.raises(AppError, match="cannot be reached"):
        client.predict("A [MASK].", checkpoint="distilbert-base-uncased", api_name="/fill_mask")
    assert "asked for the outside: huggingface.co" in server.output.read_text()
