"""Both engines answer as transformers does, run plainly; damaged files are made anew; torch stays out."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from models.cancellation import only_while
from models.decoding.state import DecoderState
from models.engine import saved
from models.engine.choice import CONVERTIBLE, FLOAT32, OPENVINO, TORCH, EngineSettings, trunk_of, uses_openvino
from models.errors import CheckpointUnavailable, Stopped
from models.loading.network import load_network
from models.registry import REGISTRY, Task
from models.tasks.base import AnyTaskModel
from tests.models.architectures import FITTING
from tests.models.conftest import BundledModel, TinyModel

ENCODERS = (Task.FILL_MASK, Task.SENTIMENT, Task.QUESTION_ANSWERING)
BY_OPENVINO = [(task, each) for task in Task for each in FITTING[task] if each in CONVERTIBLE[task]]
READ = [(task, each, engine) for engine in (OPENVINO, TORCH) for task, each in BY_OPENVINO if task in ENCODERS]
WRITTEN = [(task, each, engine) for engine in (OPENVINO, TORCH) for task, each in BY_OPENVINO if task.writes]


def logits_of(output: Any) -> list[torch.Tensor]:
    return [output.logits] if "logits" in output else [output.start_logits, output.end_logits]


@pytest.mark.parametrize(("task", "architecture", "engine"), READ, ids=str)
def test_an_encoder_answers_as_transformers_does(tiny: TinyModel, task: Task, architecture: str, engine: str) -> None:
    model = tiny(architecture, task, engine=engine)
    assert model.engine.name == engine
    chance = np.random.default_rng(0)
    for rows, tokens in ((1, 3), (2, 9), (1, 30)):
        ids = chance.integers(5, model.config.vocab_size, (rows, tokens))
        mask = np.ones_like(ids)
        mask[-1, tokens - 1 :] = 0
        with torch.inference_mode():
            plain = logits_of(model.network(input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask)))
        places = [1, rows * tokens - 2] if task is Task.FILL_MASK else None
        found = model.engine.encode({"input_ids": ids, "attention_mask": mask}, places)
        for own, exact in zip(found, plain, strict=True):
            expected = exact.flatten(0, 1)[places] if places else exact
            seen = mask.astype(bool) if own.shape == mask.shape else ...
            np.testing.assert_allclose(own[seen], expected.numpy()[seen], atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize(("task", "architecture", "engine"), WRITTEN, ids=str)
def test_rows_that_exchange_their_places_go_on_as_if_read_at_once(
    tiny: TinyModel, task: Task, architecture: str, engine: str
) -> None:
    model = tiny(architecture, task, engine=engine)
    chance = np.random.default_rng(0)
    source = torch.tensor([[5, 9, 7, 3]]) if task is Task.TRANSLATION else None
    state = DecoderState(model.engine, torch.tensor([[3, 4, 5]]), source)
    state.next_best()
    state.reorder([0] * 4)
    for step in range(12):
        state.append([7] * 4 if step % 5 < 2 else chance.integers(1, 50, 4).tolist())
        inputs = {"input_ids": state.ids}
        if source is not None:
            inputs = {"input_ids": source.expand(4, -1), "decoder_input_ids": state.ids}
        with torch.inference_mode():
            expected = model.network(**inputs).logits[:, -1]
        torch.testing.assert_close(state.next_best().logits, expected, atol=1e-4, rtol=1e-4)
        state.reorder([0] * 4 if step % 5 == 4 else chance.integers(0, 4, 4).tolist())


@pytest.mark.parametrize("name", [each.name for each in REGISTRY.values() if not each.hub_id])
def test_every_bundled_checkpoint_is_answered_by_openvino(bundled: BundledModel, name: str) -> None:
    engine = bundled(name).engine
    assert (engine.name, engine.precision) == (OPENVINO, FLOAT32)
    assert 1e7 < engine.bytes < 2e8


@pytest.mark.parametrize(("task", "architecture"), [(task, each) for task in Task for each in FITTING[task]], ids=str)
def test_what_was_not_compared_is_left_to_pytorch(
    tiny_folder: Callable[..., Path], task: Task, architecture: str
) -> None:
    folder = tiny_folder(architecture, task, 0)
    assert uses_openvino(task, folder, EngineSettings()) == (architecture in CONVERTIBLE[task])
    assert not uses_openvino(task, folder, EngineSettings(TORCH))


def test_visitors_at_once_are_answered_as_each_alone(bundled: BundledModel) -> None:
    reads, writes = bundled("clearhead-sentiment"), bundled("clearhead-stories")
    texts = [f"Film {number} was {'lovely' if number % 3 else 'dull'}, " * (1 + number % 4) for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        read = list(pool.map(lambda text: reads(text=text), texts))
        written = list(pool.map(lambda text: writes(prompt=text, max_new_tokens=8, strategy="greedy"), texts))
    assert read == [reads(text=text) for text in texts]
    assert written == [writes(prompt=text, max_new_tokens=8, strategy="greedy") for text in texts]


@pytest.mark.parametrize("engine", [OPENVINO, TORCH])
@pytest.mark.parametrize(("task", "architecture"), [(Task.SENTIMENT, "bert"), (Task.COMPLETION, "gpt2")], ids=str)
def test_nothing_is_computed_for_a_visitor_who_has_left(
    tiny: TinyModel, task: Task, architecture: str, engine: str
) -> None:
    model: AnyTaskModel = tiny(architecture, task, engine=engine)
    field = "text" if task is Task.SENTIMENT else "prompt"
    with only_while(lambda: False), pytest.raises(Stopped):
        model(**{field: "The boats turned"})


def damaged(folder: Path, how: str) -> None:
    weights = next(folder.glob("*.bin"))
    if how == "short":
        weights.write_bytes(weights.read_bytes()[:-1])
    elif how == "other":
        whole = bytearray(weights.read_bytes())
        whole[len(whole) // 2] ^= 1
        weights.write_bytes(whole)
    elif how == "gone":
        weights.unlink()
    elif how == "no sums":
        next(folder.glob("*.json")).write_text("{")


@pytest.mark.parametrize("how", ["short", "other", "gone", "no sums"])
def test_damaged_graphs_are_made_anew_and_whole_ones_are_kept(
    how: str, tiny_folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "cache_folder", lambda: tmp_path)
    weights = tiny_folder("bert", Task.SENTIMENT, 0)
    monkeypatch.setattr(saved, "_run", lambda command: write_in_this_process(command))
    folder = saved.saved_graphs(Task.SENTIMENT, weights, None, half=False)
    sums = json.loads((folder / "sums.json").read_text())
    assert set(sums) == {"encoder.xml", "encoder.bin"}
    damaged(folder, how)
    assert saved.saved_graphs(Task.SENTIMENT, weights, None, half=False) == folder
    assert saved.sums_of(folder).keys() == sums.keys()
    monkeypatch.setattr(saved, "_run", lambda _command: pytest.fail("made although it is there"))
    assert saved.saved_graphs(Task.SENTIMENT, weights, None, half=False) == folder


def write_in_this_process(command: list[str]) -> None:
    from models.engine.convert import save_graphs

    task, weights, to = Task(command[3]), Path(command[4]), Path(command[5])
    save_graphs(load_network(task, weights), to, half="--half" in command)


def test_a_checkpoint_that_cannot_be_prepared_is_refused_in_a_sentence(
    tiny_folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "cache_folder", lambda: tmp_path / "graphs")
    (tmp_path / "graphs").mkdir()
    broken = tmp_path / "broken"
    shutil.copytree(tiny_folder("bert", Task.SENTIMENT, 0), broken)
    (broken / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(CheckpointUnavailable, match="could not be prepared"):
        saved.saved_graphs(Task.SENTIMENT, broken, None, half=False)
    assert list((tmp_path / "graphs").iterdir()) == []


def test_graphs_of_other_weights_have_other_names(tiny_folder: Callable[..., Path]) -> None:
    first, second = (tiny_folder("bert", Task.SENTIMENT, seed) for seed in (0, 1))
    keys = {saved._key(folder, None, half) for folder in (first, second) for half in (False, True)}
    assert len(keys) == 4
    assert saved._key(first, second, False) not in keys


def test_the_openvino_engine_needs_no_torch() -> None:
    checkpoint = REGISTRY["clearhead-sentiment"]
    folder = saved.saved_graphs(checkpoint.task, checkpoint.folder, trunk_of(checkpoint), half=False)
    script = (
        "import sys, pathlib, numpy as np; from models.engine.openvino import OpenVINOEncoder;"
        f"engine = OpenVINOEncoder(pathlib.Path({str(folder / 'encoder.xml')!r}), 'float32');"
        "print(engine.encode({'input_ids': np.array([[101, 2023, 102]])})[0].shape, 'torch' in sys.modules,"
        "'openvino_telemetry' in sys.modules)"
    )
    said = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=Path(saved.__file__).parents[2],
        env=dict(os.environ),
    ).stdout  # fmt: skip
    assert said.strip() == "(1, 2) False False"
