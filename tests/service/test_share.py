"""A run is private until its owner shares it, and a link says where and how it is to be seen."""

from pathlib import Path

import pytest

from demo.log.session_log import SessionLog
from demo.sharing import ReaderSettings, link_of
from models.errors import InputError
from tests.log.runs import finished_run

PLACE = ReaderSettings("cross", "head", layer=3, head=11, words=False, specials=False, step=7)


@pytest.fixture
def runs(tmp_path: Path) -> SessionLog:
    runs = SessionLog(f"sqlite:///{tmp_path}/runs.sqlite3")
    runs.record(finished_run("mine", session_id="me"))
    runs.record(finished_run("my other", session_id="me"))
    return runs


@pytest.mark.parametrize("place", [ReaderSettings(), PLACE, ReaderSettings("encoder", "rollout", layer=2)])
def test_a_link_comes_back_as_it_was_made(place: ReaderSettings) -> None:
    assert link_of(f"?shared=a-key_1#{place.as_fragment()}").place == place
    assert link_of(f"?__theme=dark&shared=a-key_1#{place.as_fragment()}").key == "a-key_1"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "#",
        "?shared=",
        "?shared=%00",
        "?shared=" + "k" * 65,
        "?shared=ключ",
        "?shared=a'%20OR%201",
        "http://[",
        "?" * 9_999,
    ],
)
def test_what_is_no_key_is_none(address: str) -> None:
    assert link_of(address).key == ""


@pytest.mark.parametrize(
    "fragment",
    ["layer=-1&head=x", "layer=99999999999999999999", "how=__class__", "layer=²", "words=&step=1e3", "layer"],
)
def test_what_is_no_setting_counts_as_not_given(fragment: str) -> None:
    assert link_of(f"?shared=a#{fragment}").place == ReaderSettings()


def test_a_run_is_seen_under_its_key_and_under_nothing_else(runs: SessionLog) -> None:
    key = runs.share("mine", "me")
    assert len(key) >= 32
    assert runs.shared(key).id == "mine"
    assert runs.share("mine", "me") == key
    for other in ("mine", "my other", key[:-1], key.swapcase(), ""):
        with pytest.raises(InputError, match="deleted, is no longer shared, or belongs to another host"):
            runs.shared(other)


@pytest.mark.parametrize(("run_id", "session_id"), [("mine", "somebody"), ("mine", ""), ("", "me"), ("nowhere", "me")])
def test_nobody_shares_what_is_not_theirs(runs: SessionLog, run_id: str, session_id: str) -> None:
    with pytest.raises(InputError, match="Only a run that this browser made"):
        runs.share(run_id, session_id)


def test_a_link_ends_when_its_owner_says_so_and_a_new_one_has_another_key(runs: SessionLog) -> None:
    key = runs.share("mine", "me")
    assert not runs.unshare("mine", "somebody")
    assert runs.shared(key).id == "mine"
    assert runs.unshare("mine", "me")
    with pytest.raises(InputError):
        runs.shared(key)
    assert runs.share("mine", "me") != key


@pytest.mark.parametrize("everything", [False, True])
def test_a_link_goes_with_its_run(runs: SessionLog, everything: bool) -> None:
    key = runs.share("mine", "me")
    if everything:
        runs.delete_all("me")
    else:
        runs.delete("mine", "me")
    with pytest.raises(InputError):
        runs.shared(key)
