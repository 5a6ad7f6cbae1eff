"""Which models the picker offers."""

from pathlib import Path

import pytest

from demo.widgets import picker as checkpoint_picker
from models.loading import hub
from models.registry import REGISTRY, Task, checkpoints_for


def test_a_host_that_asks_nothing_of_the_hub_offers_what_is_on_its_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = REGISTRY["gpt2"]
    folder = tmp_path / "models--openai-community--gpt2" / "snapshots" / there.revision
    folder.mkdir(parents=True)
    (folder / hub.WEIGHTS).touch()
    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(checkpoint_picker, "HF_HUB_OFFLINE", True)
    offered = [each.name for each in checkpoint_picker._offered(Task.COMPLETION)]
    assert offered == ["clearhead-stories", "gpt2"]
    monkeypatch.setattr(checkpoint_picker, "HF_HUB_OFFLINE", False)
    assert checkpoint_picker._offered(Task.COMPLETION) == checkpoints_for(Task.COMPLETION)
