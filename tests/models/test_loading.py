"""The store: one load for many callers, and a bound in bytes."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch

import models.loading.assembly
from models.engine import FLOAT32, OPENVINO, TORCH, EngineSettings
from models.errors import CheckpointUnavailable
from models.loading import Progress, silent
from models.loading.assembly import assemble, bundled_revision, wrap
from models.loading.store import ModelStore
from models.registry import REGISTRY, Checkpoint, Task
from tests.models.architectures import save_tiny
from tests.models.conftest import tiny_checkpoint

NAMES = ("gpt2", "distilgpt2", "t5-small", "albert-base-v2")


@dataclass(frozen=True)
class Weight:
    """Stands for a model where only its size matters."""

    name: str
    held_bytes: int = 10**9


@dataclass
class Loads:
    """The names that were loaded, in order; a load takes `seconds`, and those in `broken` fail."""

    names: list[str] = field(default_factory=list)
    seconds: float = 0.0
    broken: set[str] = field(default_factory=set)

    def __call__(self, checkpoint: Checkpoint, _progress: Progress, _precision: str) -> Weight:
        self.names.append(checkpoint.name)
        time.sleep(self.seconds)
        if checkpoint.name in self.broken:
            raise CheckpointUnavailable("Not now.")
        return Weight(checkpoint.name)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loads]:
    recorded = Loads()
    monkeypatch.setattr(models.loading.assembly, "assemble", recorded)
    yield recorded


def test_a_model_is_loaded_once(loads: Loads) -> None:
    store = ModelStore()
    assert store.load(REGISTRY["gpt2"]) is store.load(REGISTRY["gpt2"])
    assert loads.names == ["gpt2"]


def test_many_threads_wait_for_one_load(loads: Loads) -> None:
    loads.seconds = 0.1
    store = ModelStore()
    with ThreadPoolExecutor(16) as callers:
        models_of_all = list(callers.map(store.load, [REGISTRY["gpt2"]] * 16))
    assert loads.names == ["gpt2"]
    assert len({id(model) for model in models_of_all}) == 1


def test_a_load_holds_up_nobody_who_wants_another_model(loads: Loads) -> None:
    store = ModelStore()
    store.load(REGISTRY["t5-small"])
    loads.seconds = 1.0
    slow = threading.Thread(target=store.load, args=(REGISTRY["gpt2"],))
    slow.start()
    began = time.monotonic()
    store.load(REGISTRY["t5-small"])
    assert time.monotonic() - began < 0.5
    assert not store.is_loaded(REGISTRY["gpt2"])
    slow.join()
    assert store.is_loaded(REGISTRY["gpt2"])


def test_the_least_recently_used_goes_when_the_bytes_are_spent(loads: Loads) -> None:
    store = ModelStore(max_bytes=2_500_000_000)
    first, second, third, _ = (REGISTRY[name] for name in NAMES)
    store.load(first)
    store.load(second)
    store.load(first)
    store.load(third)
    assert [store.is_loaded(each) for each in (first, second, third)] == [True, False, True]
    assert store.loaded_bytes == 2 * 10**9
    store.load(second)
    assert loads.names == [first.name, second.name, third.name, second.name]


def test_a_model_greater_than_the_bound_says_so_and_is_not_kept(loads: Loads) -> None:
    store = ModelStore(max_bytes=900_000_000)
    # 124 million parameters in float32, twice; nothing of it is downloaded or loaded.
    with pytest.raises(CheckpointUnavailable, match="takes 992 MB of memory, and this page has 900 MB for models"):
        store.load(REGISTRY["gpt2"])
    assert loads.names == []
    # One that turns out to be larger than was to be expected is loaded once, and not at every click.
    for _ in range(2):
        with pytest.raises(CheckpointUnavailable, match="takes 1,000 MB of memory, and this page has 900 MB"):
            store.load(REGISTRY["t5-small"])
    assert loads.names == ["t5-small"]
    assert not store.is_loaded(REGISTRY["t5-small"]) and store.loaded_bytes == 0


def test_a_failed_load_is_tried_again(loads: Loads) -> None:
    store = ModelStore()
    loads.broken = {"gpt2"}
    for _ in range(2):
        with pytest.raises(CheckpointUnavailable):
            store.load(REGISTRY["gpt2"])
    loads.broken = set()
    assert store.load(REGISTRY["gpt2"]).held_bytes == 10**9
    assert loads.names == ["gpt2"] * 3


@pytest.mark.parametrize("precision", ["float32", "auto"])
@pytest.mark.parametrize("name", ["clearhead-minilm", "clearhead-stories"])
def test_a_models_bytes_are_those_of_its_weights_and_after_a_look_those_of_the_network(
    name: str, precision: str
) -> None:
    checkpoint = REGISTRY[name]
    model = ModelStore(engine=EngineSettings(precision=precision)).load(checkpoint)
    assert model.identity.precision == FLOAT32 or precision == "auto"
    bytes_each = 4 if model.identity.precision == FLOAT32 else 2
    assert model.held_bytes == pytest.approx(bytes_each * checkpoint.parameters, rel=0.3)
    before, parameters = model.held_bytes, 4 * model.network.num_parameters()
    assert model.held_bytes == before + parameters
    assert model.exact.held_bytes == parameters


BOTH_ENGINES = [EngineSettings(TORCH), EngineSettings(OPENVINO)]


class Opened:
    """A pickle that leaves a trace when it is opened."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (self.trace,)  # type: ignore[return-value]


@pytest.mark.parametrize("settings", BOTH_ENGINES, ids=lambda settings: settings.engine)
def test_pickled_weights_are_never_opened(tmp_path: Path, settings: EngineSettings) -> None:
    folder, trace = save_tiny("bert", Task.FILL_MASK, tmp_path / "pickled"), tmp_path / "opened"
    (folder / "model.safetensors").unlink()
    torch.save(Opened(trace), folder / "pytorch_model.bin")
    torch.load(folder / "pytorch_model.bin", weights_only=False)
    assert trace.exists(), "the trap does not work"
    trace.unlink()
    with pytest.raises((OSError, CheckpointUnavailable), match=r"safetensors|could not be prepared"):
        wrap(tiny_checkpoint("bert", Task.FILL_MASK), folder, "0" * 40, settings)
    with pytest.raises(CheckpointUnavailable, match="missing"):
        bundled_revision(folder)
    assert not trace.exists()


@pytest.mark.parametrize("settings", BOTH_ENGINES, ids=lambda settings: settings.engine)
def test_code_in_a_folder_is_never_run(tmp_path: Path, settings: EngineSettings) -> None:
    folder, trace = save_tiny("bert", Task.FILL_MASK, tmp_path / "code"), tmp_path / "ran"
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(
        config.replace("{", '{"auto_map": {"AutoConfig": "own.Own", "AutoModelForMaskedLM": "own.Own"},', 1)
    )
    (folder / "own.py").write_text(f"open({str(trace)!r}, 'w')\nclass Own: pass\n")
    assert wrap(tiny_checkpoint("bert", Task.FILL_MASK), folder, "0" * 40, settings)(text="[MASK]").predictions
    assert not trace.exists()


def test_a_missing_bundled_folder_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("models.registry.BUNDLED", tmp_path)
    with pytest.raises(CheckpointUnavailable, match="clearhead-stories is missing"):
        assemble(REGISTRY["clearhead-stories"], silent, "float32")


def test_an_unknown_name_is_unavailable() -> None:
    from models import load_model

    with pytest.raises(CheckpointUnavailable, match="no such model"):
        load_model("no-such-model")
