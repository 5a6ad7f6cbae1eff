"""The first screen says what happens to a visitor's runs, as things are."""

from pathlib import Path
from typing import cast

import pytest

from demo.log.run import with_wish
from demo.log.session_log import SessionLog
from demo.runs import DemoService
from demo.settings import Settings
from demo.tabs.about import what_is_kept
from demo.tabs.history import UNKEPT
from demo.widgets.kept_note import kept_note
from demo.widgets.runs import run_header
from models.loading.store import ModelStore
from models.registry import Task
from tests.service.scripted import ScriptedModel, ScriptedStore, TextInput, sentiment


def service_on(path: Path, retention_days: int | None = None) -> DemoService:
    url = f"sqlite:///{path}"
    store = cast(ModelStore, ScriptedStore(ScriptedModel(sentiment, TextInput)))
    return DemoService(Settings(database_url=url, retention_days=retention_days), store, SessionLog(url))


@pytest.mark.parametrize(("days", "said"), [(None, "until you delete them"), (1, "for a day"), (30, "for 30 days")])
def test_it_says_for_how_long(tmp_path: Path, days: int | None, said: str) -> None:
    note = kept_note(service_on(tmp_path / "runs.sqlite3", days), "visitor")
    assert f"Your runs are kept {said}" in note
    assert "alert" not in note


@pytest.mark.parametrize(("days", "said"), [(None, "until you delete them"), (1, "for a day"), (30, "for 30 days")])
def test_about_says_for_how_long_and_how_to_turn_it_off(days: int | None, said: str) -> None:
    told = what_is_kept(Settings(retention_days=days))
    assert f"Runs are kept {said}." in told
    assert f"“{UNKEPT}”" in told
    assert "until this host restarts" in what_is_kept(
        Settings(space_id="a/space", database_url="sqlite:////tmp/a.sqlite3")
    )


def test_it_says_when_history_is_not_being_kept_and_when_it_is_again(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    path.write_text("a diary, not a database")
    service = service_on(path)
    finished = service.run("visitor", Task.SENTIMENT, {"text": "so so"})
    assert "not being kept" in kept_note(service, "visitor")
    assert 'role="alert"' in kept_note(service, "visitor")
    assert not service.is_kept(finished.run)
    path.unlink()
    assert service._runs.recover()  # type: ignore[attr-defined]
    assert "Your runs are kept" in kept_note(service, "visitor")
    assert service.is_kept(finished.run)


def test_a_visitor_who_wants_none_kept_reads_so_and_can_still_look_closer(tmp_path: Path) -> None:
    service = service_on(tmp_path / "runs.sqlite3")
    session = with_wish("visitor", keep=False)
    finished = service.run(session, Task.SENTIMENT, {"text": "so so"})
    assert "not kept" in kept_note(service, session)
    assert "not kept in History" in run_header(finished.run, kept=service.is_kept(finished.run))
    assert "not kept" not in run_header(finished.run)
    assert service.history(session) == ()
    assert service.attention(service.source_of(service.get(finished.run.id)))
