"""One command fetches the standard published models, here from an imitated Hub, and makes them the defaults."""

import logging
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import gradio as gr
import pytest

from demo.defaults import BUNDLED, PUBLISHED, Defaults
from demo.log.session_log import SessionLog
from demo.page import build_demo
from demo.runs import DemoService
from demo.settings import Settings
from demo.tabs.history import FORGOTTEN
from demo.web.visitors import is_from_this_machine
from models.backend import LocalBackend
from models.engine import EngineSettings
from models.errors import CheckpointUnavailable
from models.loading import prepared, published
from models.loading.store import ModelStore
from models.registry import BUNDLED as BUNDLED_FOLDERS
from models.registry import STANDARD, Task, checkpoints_for
from tests.hub import WEIGHTS, Hub, hub_of

FIRST, *_ = STANDARD.values()
PART = 15_000_000


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """Has the repositories of all, with no weights that anyone could use."""
    for number, checkpoint in enumerate(STANDARD.values()):
        folder = tmp_path / "hub" / checkpoint.name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text('{"model_type": "bert"}')
        (folder / WEIGHTS).write_bytes(random.Random(number).randbytes(1000))
        (folder / "pytorch_model.bin").write_bytes(b"pickled weights")
    with hub_of(tmp_path / "hub") as hub:
        yield hub


@pytest.fixture
def command(hub: Hub, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(which: str = PUBLISHED, **environment: str) -> subprocess.CompletedProcess[str]:
        """`python -m demo.defaults`, on a host where PyTorch answers."""
        return subprocess.run(  # noqa: S603
            [sys.executable, "-m", "demo.defaults", which],
            env=hub.environment(tmp_path / "cache") | {"CLEARHEAD_ENGINE": "torch", "COLUMNS": "100"} | environment,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    return run


def kept_choice(tmp_path: Path) -> str:
    file = tmp_path / "clearhead.defaults"
    return file.read_text().strip() if file.exists() else ""


def assert_failed_in_one_sentence(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert done.returncode == 1
    sentence = done.stderr.strip().splitlines()[-1]
    assert all(part in sentence for part in parts), done.stderr
    assert "Traceback" not in done.stderr


def test_one_command_fetches_them_all_checked_and_no_code(
    hub: Hub, command: Callable[..., Any], tmp_path: Path
) -> None:
    done = command()
    assert done.returncode == 0, done.stderr
    for number, checkpoint in enumerate(STANDARD.values(), start=1):
        told = f"{number} of {len(STANDARD)}: Downloading {checkpoint.title}: 0 of {checkpoint.size_mb:,} MB"
        assert told in done.stdout
        (weights,) = (tmp_path / "cache").glob(f"hub/models--*--{checkpoint.name}/snapshots/*/{WEIGHTS}")
        assert weights.parent.name == checkpoint.revision
        assert weights.read_bytes() == (hub.folder / checkpoint.name / WEIGHTS).read_bytes()
    assert not any(path.endswith(".bin") for path in hub.requests)
    assert kept_choice(tmp_path) == PUBLISHED
    hub.requests.clear()
    assert command().returncode == 0 and hub.requests == [], "what is here already asks nobody"
    assert command(BUNDLED).returncode == 0 and kept_choice(tmp_path) == BUNDLED


def test_a_download_that_broke_off_goes_on_where_it_was(hub: Hub, command: Callable[..., Any], tmp_path: Path) -> None:
    whole = random.Random(7).randbytes(2 * PART)
    (hub.folder / FIRST.name / WEIGHTS).write_bytes(whole)
    hub.ends_after = PART
    assert_failed_in_one_sentence(command(), FIRST.title, "the model hub cannot be reached")
    assert kept_choice(tmp_path) == ""
    (part,) = (tmp_path / "cache").glob("hub/*/blobs/*.incomplete")
    kept = part.stat().st_size
    assert 0 < kept <= PART

    hub.ends_after, hub.is_down = 0, False
    hub.ranges.clear()
    assert command().returncode == 0
    assert hub.ranges == [f"bytes={kept}-"]
    (weights,) = (tmp_path / "cache").glob(f"hub/*{FIRST.name}/snapshots/*/{WEIGHTS}")
    assert weights.read_bytes() == whole


def test_a_file_without_the_hubs_checksum_is_thrown_away(hub: Hub, command: Callable[..., Any], tmp_path: Path) -> None:
    second = list(STANDARD.values())[1]
    hub.damages = second.name
    assert_failed_in_one_sentence(command(), second.title, "damaged", "thrown away")
    sizes = [each.stat().st_size for each in (tmp_path / "cache").glob(f"hub/*{second.name}/blobs/*")]
    assert sizes == [(hub.folder / second.name / "config.json").stat().st_size]
    assert kept_choice(tmp_path) == ""
    hub.damages = ""
    assert command().returncode == 0 and kept_choice(tmp_path) == PUBLISHED


@pytest.mark.parametrize("environment", [{"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}], ids=str)
def test_without_a_hub_one_sentence_says_so_and_nothing_changes(
    environment: dict[str, str], command: Callable[..., Any], tmp_path: Path
) -> None:
    assert_failed_in_one_sentence(command(**environment), FIRST.title, "the model hub cannot be reached")
    assert kept_choice(tmp_path) == ""


def test_a_full_disk_is_said_before_anything_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = SimpleNamespace(free=1_200_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _disk: usage)
    monkeypatch.setattr(published, "is_downloaded", lambda _checkpoint: False)
    monkeypatch.setattr(published, "bytes_kept", lambda _checkpoint: 0)
    monkeypatch.setattr(published, "fetch", lambda *_: pytest.fail("fetched on a full disk"))
    with pytest.raises(CheckpointUnavailable, match=r"need 2\.8 GB .* 1\.2 GB are free .* nothing was downloaded"):
        published.fetch_standard(EngineSettings("torch"))


def test_what_is_fetched_is_prepared_for_quick_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared_for: list[Task] = []
    monkeypatch.setattr(published, "_require_room", lambda _settings: None)
    monkeypatch.setattr(published, "fetch", lambda each, _: (BUNDLED_FOLDERS / checkpoints_for(each.task)[0].name, ""))
    monkeypatch.setattr(prepared, "prepared_folder", lambda task, *_, **__: prepared_for.append(task))
    published.fetch_standard(EngineSettings())
    assert prepared_for == list(STANDARD)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the published models that are on the disk: all but one."""
    names = {each.name for each in STANDARD.values()} - {FIRST.name}
    monkeypatch.setattr("models.loading.hub.is_downloaded", lambda checkpoint: checkpoint.name in names)
    return names


def test_a_published_default_that_is_not_here_leaves_the_bundled_one(
    here: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        defaults = Defaults(Settings(defaults="published"))
    choices = {task: checkpoints_for(task) for task in Task}
    only_bundled = {
        found[0].name for task, found in choices.items() if task.answered_by not in STANDARD or len(found) == 1
    }
    bundled = only_bundled | {checkpoints_for(FIRST.task)[0].name}
    assert {defaults.of(task).name for task in Task} == here | bundled
    assert [FIRST.name in each for each in caplog.messages] == [True]


def test_a_choice_outlives_a_restart_and_the_hosts_setting_goes_before_it(here: set[str]) -> None:
    assert not Defaults(Settings()).are_published
    Defaults(Settings()).choose(PUBLISHED)
    assert Defaults(Settings()).are_published
    assert not Defaults(Settings(defaults="bundled")).are_published
    Defaults(Settings()).choose(BUNDLED)
    assert not Defaults(Settings()).are_published


OWN = {"host": "localhost:7860"}


@pytest.mark.parametrize(
    ("client", "headers", "own"),
    [
        ("127.0.0.1", OWN, True),
        ("::1", {"host": "[::1]:7860"}, True),
        ("192.0.2.7", OWN, False),
        ("127.0.0.1", {"host": "clearhead.example"}, False),
        ("127.0.0.1", OWN | {"x-forwarded-for": "127.0.0.1"}, False),
        ("127.0.0.1", {}, False),
    ],
)
def test_a_browser_on_this_machine_is_told_from_a_visitor(client: str, headers: dict[str, str], own: bool) -> None:
    request = SimpleNamespace(client=SimpleNamespace(host=client), headers=headers)
    assert is_from_this_machine(cast(gr.Request, request)) == own


@pytest.mark.parametrize(
    ("settings", "offered"),
    [
        ({}, True),
        ({"host": "0.0.0.0"}, False),  # noqa: S104
        ({"root_path": "/clearhead"}, False),
        ({"space_id": "somebody/clearhead"}, False),
        ({"defaults": "bundled"}, False),
    ],
    ids=str,
)
def test_a_public_page_has_no_button_and_says_how_a_host_does_it_and_that_a_space_forgets(
    settings: dict[str, Any], offered: bool, runs: SessionLog
) -> None:
    of_host = Settings(**settings)
    page = str(build_demo(DemoService(of_host, LocalBackend(ModelStore()), runs)).get_config_file()["components"])
    assert ("Fetch the published models" in page) == offered
    assert "make models" in page
    assert (FORGOTTEN in page) == of_host.forgets_at_restart == ("space_id" in settings)
