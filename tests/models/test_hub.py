"""Published checkpoints, fetched from an imitated Hub on this machine: no test reaches the network."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from models.cancellation import only_while
from models.errors import Overdue, Stopped
from models.loading import Progress, prepared, silent
from models.loading import hub as of_hub
from models.loading.prepared import PACKED, packaged
from models.loading.store import ModelStore
from models.registry import REGISTRY, Task
from tests.hub import Hub, hub_of
from tests.models.architectures import save_tiny
from tests.models.conftest import in_this_process

NAME = "bert-base-uncased"
COMMIT = REGISTRY[NAME].revision
SENTENCE = "could not be downloaded, because the model hub cannot be reached"

LOAD = """
import json, sys
from models.registry import REGISTRY
from models.errors import CheckpointUnavailable
from models.loading.store import ModelStore
answers = []
for name in sys.argv[1:]:
    messages = []
    try:
        model = ModelStore().load(REGISTRY[name], lambda fraction, message: messages.append((fraction, message)))
        answers.append({"revision": model.identity.revision, "messages": messages})
        if "bert" in name:
            answers[-1]["best"] = model(text="The keeper [MASK] the lamp.").sequences[0].text
    except CheckpointUnavailable as error:
        answers.append({"sentence": error.sentence, "field": error.field})
print(json.dumps(answers))
"""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    save_tiny("bert", Task.FILL_MASK, tmp_path / "hub" / NAME)
    with hub_of(tmp_path / "hub") as hub:
        yield hub


def load(names: list[str], cache: Path, **environment: str) -> list[dict[str, Any]]:
    """What loading `names` gives in a process of its own, with its own cache."""
    variables = {**os.environ, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "0", **environment}
    finished = subprocess.run(  # noqa: S603
        [sys.executable, "-c", LOAD, *names], env=variables, capture_output=True, text=True, timeout=200, check=False
    )
    assert finished.returncode == 0, finished.stderr
    answers: list[dict[str, Any]] = json.loads(finished.stdout)
    return answers


def test_a_published_checkpoint_is_fetched_and_kept_at_its_pinned_commit_and_whole(hub: Hub, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (hub.folder / NAME / "pytorch_model.bin").write_bytes(b"pickled weights")
    (hub.folder / NAME / "modeling_own.py").write_text("raise SystemExit")
    (first,) = load([NAME], cache, HF_ENDPOINT=hub.address)
    assert first["revision"] == COMMIT
    assert first["best"]
    messages = first["messages"]
    assert any("Downloading" in message for _, message in messages)
    assert all(0 <= fraction <= 1 for fraction, _ in messages)
    assert any(path.endswith(f"/resolve/{COMMIT}/model.safetensors") for path in hub.requests)
    assert not any(path.endswith((".bin", ".py")) for path in hub.requests)

    hub.requests.clear()
    (second,) = load([NAME], cache, HF_ENDPOINT=hub.address)
    assert second["best"] == first["best"]
    assert hub.requests == [], "a checkpoint that is here already asks nobody"

    # Nothing else that lies in the cache, nothing else that a Hub offers, and no damaged file.
    (snapshots,) = cache.glob("hub/models--*/snapshots")
    weights = (snapshots / COMMIT / "model.safetensors").resolve()
    whole = weights.read_bytes()

    weights.write_bytes(whole[:-8] + (bytes(8) if whole[-8:] != bytes(8) else b"12345678"))
    hub.requests.clear()
    (again,) = load([NAME], cache, HF_ENDPOINT=hub.address)
    assert again["best"] == first["best"]
    assert [path for path in hub.requests if "/resolve/" in path], "the damaged file was fetched again"
    assert weights.read_bytes() == whole

    # Another commit, to which a name of the repository points, as other programs leave it.
    other = "b" * 40
    (snapshots / COMMIT).rename(snapshots / other)
    (snapshots.parent / "refs").mkdir(exist_ok=True)
    (snapshots.parent / "refs" / "main").write_text(other)
    hub.commit = other
    (answer,) = load([NAME], cache, HF_ENDPOINT=hub.address)
    assert "of the version that is offered here" in str(answer.get("sentence"))


def test_a_download_that_stalls_or_that_nobody_waits_for_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_hub, "_STALLED_AFTER_S", 0.1)
    monkeypatch.setattr(of_hub, "ASK_EVERY_S", 0.05)
    may_end = threading.Event()

    def stalled(_progress: Progress) -> Path:
        may_end.wait(20)
        return Path()

    with pytest.raises(Overdue):
        of_hub._unless_it_stalls(stalled, silent)
    with pytest.raises(Stopped), only_while(lambda: False):
        of_hub._unless_it_stalls(stalled, silent)
    may_end.set()
    assert of_hub._unless_it_stalls(stalled, silent) == Path()


def test_a_repository_with_pickled_weights_only_is_refused(hub: Hub, tmp_path: Path) -> None:
    (hub.folder / NAME / "model.safetensors").rename(hub.folder / NAME / "pytorch_model.bin")
    (answer,) = load([NAME], tmp_path / "cache", HF_ENDPOINT=hub.address)
    assert "no safetensors weights" in str(answer.get("sentence"))
    assert answer["field"] == "checkpoint"
    assert not any(path.endswith(".bin") for path in hub.requests)


@pytest.mark.parametrize("environment", [{"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}], ids=str)
def test_a_hub_out_of_reach_is_one_sentence(environment: dict[str, str], tmp_path: Path) -> None:
    (answer,) = load([NAME], tmp_path / "cache", **environment)
    assert SENTENCE in str(answer.get("sentence"))
    assert answer["field"] == "checkpoint"


def test_weights_in_an_installed_package_are_unpacked_once_and_no_hub_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint, unpacked = REGISTRY["SmolLM2-135M-Instruct"], []

    def run(command: list[str]) -> None:
        """As `python -m models.loading`, with a tiny model in the place of what the file holds."""
        if command[4].endswith(PACKED):
            unpacked.append(save_tiny("llama", checkpoint.task, Path(command[5])))
        else:
            in_this_process(command)

    for name in ("kept_folder", "writable_folder"):
        monkeypatch.setattr(prepared, name, lambda: tmp_path)
    monkeypatch.setattr(prepared, "_run", run)
    monkeypatch.setattr(of_hub, "fetch", lambda *_: pytest.fail("the Hub was asked"))
    for name in (checkpoint.package, "gguf/__init__.py"):
        (tmp_path / "packages" / name).parent.mkdir(parents=True)
        (tmp_path / "packages" / name).write_bytes(b"weights")
    (tmp_path / "packages" / checkpoint.package).with_name("__init__.py").touch()
    assert packaged(checkpoint) is None
    monkeypatch.syspath_prepend(tmp_path / "packages")
    assert of_hub.is_downloaded(checkpoint)
    for _ in range(2):
        model = ModelStore().load(checkpoint)
        assert model.identity.revision == sha256(b"weights").hexdigest()[:12]
        assert model(prompt="The boats", max_new_tokens=2).generated
    assert len(unpacked) == 1


def test_bundled_checkpoints_ask_nobody(hub: Hub, tmp_path: Path) -> None:
    bundled = [checkpoint.name for checkpoint in REGISTRY.values() if not checkpoint.hub_id]
    answers = load(bundled, tmp_path / "cache", HF_ENDPOINT=hub.address)
    assert all("revision" in answer for answer in answers), answers
    assert hub.requests == []
