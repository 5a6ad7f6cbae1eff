"""A session cannot be guessed, made up or taken over: nobody reads, exports or deletes another visitor's runs."""

import json
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from demo.settings import SettingError, Settings
from demo.web.identity import SessionSigner, host_secret, signed_session
from tests.api.server import ROOT, Server
from tests.web.calls import Page, called, outcome

MINE = "The keeper wrote a private line."


def test_a_signed_session_is_read_back_and_nothing_else_is() -> None:
    ours, theirs = SessionSigner(b"ours"), SessionSigner(b"theirs")
    token = ours.sign("visitor")
    assert ours.read(token) == "visitor"
    forged = ["visitor", "visitor.", ".", "", "other." + token.partition(".")[2], token[:-1], token + "A"]
    forged += [theirs.sign("visitor"), token.upper(), "ü.ü", "visitor." + "A" * 32, "x" * 1000]
    assert [each for each in forged if ours.read(each)] == []
    assert [each for each in (None, 5, ["visitor"], {"a": 1}) if ours.read(each)] == []
    assert ours.sign("") == ""


def test_handlers_see_the_id_and_browsers_keep_the_token() -> None:
    signer = SessionSigner(b"ours")
    session = signed_session(signer)
    assert session.postprocess("visitor") == signer.sign("visitor")
    assert session.preprocess(signer.sign("visitor")) == "visitor"
    assert session.preprocess("visitor") == session.preprocess(None) == ""
    assert session.get_block_name() == "browserstate"


def test_a_session_that_an_event_leaves_as_it_is_stays_signed() -> None:
    # So Gradio makes a component anew for the page, when an event gives it no value.
    signer = SessionSigner(b"ours")
    session = signed_session(signer)
    again = type(session)(**session.constructor_args)
    assert again.preprocess(again.postprocess("visitor")) == "visitor"
    assert again.postprocess("visitor") == signer.sign("visitor")
    assert again.get_config()["storage_key"] == session.get_config()["storage_key"]


def test_a_secret_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path}/runs.sqlite3")
    secret = host_secret(settings)
    assert len(secret) == 32 and host_secret(settings) == secret
    (kept,) = tmp_path.iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert kept.read_bytes() == secret


@pytest.mark.parametrize("database", ["sqlite://", "postgresql+psycopg://nobody@localhost/none"])
def test_without_a_place_for_a_secret_the_host_is_told(database: str, caplog: pytest.LogCaptureFixture) -> None:
    assert host_secret(Settings(database_url=database)) != host_secret(Settings(database_url=database))
    assert "CLEARHEAD_SECRET" in caplog.text
    assert host_secret(Settings(database_url=database, secret="sixteen bytes or more")) == b"sixteen bytes or more"  # noqa: S106


@pytest.mark.parametrize("kept", [b"", b"\n", b"short", b"x" * 15, b" " * 40])
def test_a_secret_that_could_be_guessed_is_refused_in_a_sentence(tmp_path: Path, kept: bytes) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path}/runs.sqlite3")
    path = tmp_path / "runs.secret"
    path.write_bytes(kept)
    with pytest.raises(SettingError, match=f"the secret in {path} must have 16 bytes or more"):
        host_secret(settings)
    with pytest.raises(SettingError, match="CLEARHEAD_SECRET must have 16 bytes or more"):
        host_secret(settings.model_copy(update={"secret": kept.decode()}))


@pytest.fixture(scope="module")
def owner(server: Server) -> tuple[str, str]:
    """The session token of a visitor with one run, and that run's id."""
    page = Page(server, "the owner's page")
    token, *_ = page.now(page.event("load", ("browserstate",), ("browserstate",)), [""])
    read_it = page.event("click", ("browserstate", "dropdown", "textbox"))
    answer = page.queued(read_it, [token, "clearhead-sentiment", MINE])
    assert answer["success"]
    listed = _history(page, token)
    assert MINE in listed
    return token, listed.partition('data-run="')[2].partition('"')[0]


def _history(page: Page, token: str) -> str:
    listed, *_ = page.now(page.event("select", ("browserstate",), ("html",)), [token])
    return str(listed)


def _forged(token: str) -> list[str]:
    session_id, _, signature = token.rpartition(".")
    changed = signature[:-1] + ("A" if signature[-1] != "A" else "B")
    other = SessionSigner(b"another host").sign(session_id)
    return [session_id, f"{session_id}.", f"{session_id}.{changed}", other, f"{session_id}x.{signature}", "%"]


def test_a_forged_session_sees_exports_and_deletes_nothing(server: Server, owner: tuple[str, str]) -> None:
    token, run_id = owner
    page = Page(server, "the thief's page")
    exports = page.event("click", ("browserstate",), ("textbox", "textbox", "textbox"))
    delete = page.event("delete", ("browserstate", "state"), ("html",))
    for forged in _forged(token):
        assert MINE not in _history(page, forged)
        assert MINE not in str(page.now(exports, [forged]))
        page.now(delete, [forged, None], {"run": run_id})
    assert MINE in _history(page, token)


def test_an_endpoint_caller_gets_nothing_with_the_pages_session(server: Server, owner: tuple[str, str]) -> None:
    token, run_id = owner
    for session in (token, token.rpartition(".")[0], "a session of a thief"):
        for endpoint, data in (("session_runs", []), ("session_export", ["csv"]), ("session_export", ["json"])):
            event, said = outcome(server, endpoint, called(server, endpoint, data, session))
            assert event == "complete" and MINE not in str(said)
        assert outcome(server, "session_delete", called(server, "session_delete", [run_id], session)) == (
            "complete",
            [False],
        )
        assert outcome(server, "session_delete_all", called(server, "session_delete_all", [], session))[1] == [0]
    assert MINE in _history(Page(server, "the owner's other page"), token)


def test_a_session_short_enough_to_be_guessed_is_none(server: Server) -> None:
    event, said = outcome(server, "session_runs", called(server, "session_runs", [], "guess"))
    assert event == "error" and "needs a session" in said["error"]


_PUBLISHED = json.loads((ROOT / "tests" / "api" / "endpoints.json").read_text(encoding="utf-8"))
_OF_A_RUN = sorted(
    name.strip("/")
    for name, endpoint in _PUBLISHED.items()
    if any(each["parameter_name"] == "run_id" for each in endpoint["parameters"]) and name != "/session_delete"
)
_NEEDED = {"layer": 0, "position": 1, "token": "dog", "step": 1, "token_id": 5}


def _looked_into(server: Server, endpoint: str, run_id: str, session: str | None) -> tuple[str, Any]:
    """What the endpoint says of that run, asked for with its other parameters as they are by default."""
    known = {"run_id": run_id} | _NEEDED
    data = [
        each["parameter_default"] if each["parameter_has_default"] else known[each["parameter_name"]]
        for each in _PUBLISHED[f"/{endpoint}"]["parameters"]
    ]
    return outcome(server, endpoint, called(server, endpoint, data, session))


@pytest.mark.parametrize("guess", ["0" * 32, "1", "' OR 1=1 --", "%", "../runs"])
@pytest.mark.parametrize("endpoint", _OF_A_RUN)
def test_a_guessed_run_shows_nothing(server: Server, endpoint: str, guess: str) -> None:
    event, said = _looked_into(server, endpoint, guess, f"guessing {endpoint} {guess}")
    assert event == "error" and "There is no such run" in said["error"]


@pytest.fixture(scope="module")
def callers_run(server: Server) -> str:
    """A run of the session "a caller's session"."""
    data = [MINE, 8, "greedy", 0.8, 50, 0.95, 4, 0, ""]
    event, (answer,) = outcome(server, "completion", called(server, "completion", data, "a caller's session"))
    assert event == "complete"
    return str(answer["run_id"])


@pytest.mark.parametrize("endpoint", _OF_A_RUN)
def test_a_run_of_a_session_is_nobody_elses(
    server: Server, owner: tuple[str, str], callers_run: str, endpoint: str
) -> None:
    for run_id in (owner[1], callers_run):
        # Calls without a session share their caller's few a minute.
        for session in (None,) * (endpoint == "attention") + (f"another session at {endpoint}",):
            event, said = _looked_into(server, endpoint, run_id, session)
            assert event == "error" and "There is no such run" in said["error"]
            assert MINE not in str(said)
    assert "There is no such run" not in str(_looked_into(server, endpoint, callers_run, "a caller's session"))


def test_a_run_without_a_session_is_its_who_knows_the_id(server: Server) -> None:
    _, (answer,) = outcome(server, "sentiment", called(server, "sentiment", [MINE, ""]))
    event, (seen,) = _looked_into(server, "attention", answer["run_id"], None)
    assert event == "complete" and "keeper" in seen["query_tokens"]


def test_the_page_does_not_carry_the_secret(server: Server) -> None:
    secret = next(Path(server.output).parent.glob("*.secret")).read_bytes()
    config = httpx.get(f"{server.url}config", timeout=60).content
    assert secret not in config and secret.hex().encode() not in config
