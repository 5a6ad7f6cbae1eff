"""Both engines answer as plain transformers does, and damaged graphs are made anew."""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from models.architectures import architecture as known
from models.cancellation import only_while
from models.decoding.generate import DecoderState
from models.engine import FLOAT32, OPENVINO, TORCH, EngineSettings, uses_openvino
from models.errors import CheckpointUnavailable, Stopped
from models.loading import prepared
from models.loading.assembly import wrap
from models.registry import REGISTRY, Task
from models.tasks.base import AnyTaskModel
from tests.models.architectures import FITTING
from tests.models.conftest import IN_A_CHILD, BundledModel, TinyModel, tiny_checkpoint

# Sentence pairs put out vectors as well, and have an oracle of their own.
ENCODERS = (Task.FILL_MASK, Task.SENTIMENT, Task.QUESTION_ANSWERING, Task.NAMES)
BY_OPENVINO = [(task, each) for task in Task for each in FITTING[task] if known(each).converts]
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
        ids = chance.integers(5, model.settings.vocabulary, (rows, tokens))
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
    source = np.array([[5, 9, 7, 3]]) if task is Task.TRANSLATION else None
    state = DecoderState(model.engine, np.array([[3, 4, 5]]), source)
    state.next_logits()
    state.reorder([0] * 4)
    for step in range(12):
        state.append([7] * 4 if step % 5 < 2 else chance.integers(1, 50, 4).tolist())
        ids = torch.tensor(state.rows)
        inputs = {"input_ids": ids}
        if source is not None:
            inputs = {"input_ids": torch.from_numpy(source).expand(4, -1), "decoder_input_ids": ids}
        with torch.inference_mode():
            expected = model.network(**inputs).logits[:, -1]
        np.testing.assert_allclose(state.next_logits(), expected.numpy(), atol=1e-4, rtol=1e-4)
        state.reorder([0] * 4 if step % 5 == 4 else chance.integers(0, 4, 4).tolist())


@pytest.mark.parametrize("name", [each.name for each in REGISTRY.values() if not each.hub_id])
def test_every_bundled_checkpoint_is_answered_by_openvino(bundled: BundledModel, name: str) -> None:
    engine = bundled(name).engine
    assert (engine.name, engine.precision) == (OPENVINO, FLOAT32)
    assert 1e7 < engine.bytes < 2e8


@pytest.mark.parametrize(("task", "architecture"), [(task, each) for task in Task for each in FITTING[task]], ids=str)
def test_what_was_not_compared_is_left_to_pytorch(tiny: TinyModel, task: Task, architecture: str) -> None:
    assert (tiny(architecture, task).engine.name == OPENVINO) == known(architecture).converts
    assert not uses_openvino(architecture, EngineSettings(TORCH))


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
        (folder / "sums.json").write_text("{")


@pytest.mark.parametrize("how", ["short", "other", "gone", "no sums"])
def test_damaged_graphs_are_made_anew_and_whole_ones_are_kept(
    how: str, tiny_folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "kept_folder", lambda: tmp_path)
    monkeypatch.setattr(prepared, "writable_folder", lambda: tmp_path)
    weights = tiny_folder("bert", Task.SENTIMENT, 0)
    folder = prepared.prepared_folder(Task.SENTIMENT, weights, None, half=False)
    sums = json.loads((folder / "sums.json").read_text())
    assert set(sums) == {"encoder.xml", "encoder.bin", "description.json", "tokenizer.json"}
    damaged(folder, how)
    assert prepared.prepared_folder(Task.SENTIMENT, weights, None, half=False) == folder
    assert prepared.sums_of(folder).keys() == sums.keys()
    monkeypatch.setattr(prepared, "_run", lambda _command: pytest.fail("made although it is there"))
    assert prepared.prepared_folder(Task.SENTIMENT, weights, None, half=False) == folder


def test_what_was_prepared_is_read_where_nothing_can_be_written(
    tiny_folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, writable = tmp_path / "kept", tmp_path / "writable"
    kept.mkdir()
    writable.mkdir()
    weights = tiny_folder("bert", Task.SENTIMENT, 0)
    monkeypatch.setattr(prepared, "kept_folder", lambda: kept)
    monkeypatch.setattr(prepared, "writable_folder", lambda: kept)
    folder = prepared.prepared_folder(Task.SENTIMENT, weights, None, half=False)
    monkeypatch.setattr(prepared, "writable_folder", lambda: writable)
    assert prepared.prepared_folder(Task.SENTIMENT, weights, None, half=False) == folder
    damaged(folder, "other")
    anew = prepared.prepared_folder(Task.SENTIMENT, weights, None, half=False)
    assert anew == writable / folder.name


def test_a_visitor_is_told_while_a_checkpoint_is_prepared_and_only_then(
    tiny_folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cache in ("kept_folder", "writable_folder"):
        monkeypatch.setattr(prepared, cache, lambda: tmp_path)
    checkpoint, weights = tiny_checkpoint("bert", Task.SENTIMENT), tiny_folder("bert", Task.SENTIMENT, 0)
    told: list[str] = []
    for _ in range(2):
        wrap(checkpoint, weights, "0" * 40, progress=lambda _fraction, message: told.append(message))
    assert len(told) == 1 and told[0].startswith("Preparing Tiny")


def test_a_checkpoint_that_cannot_be_prepared_is_refused_in_a_sentence(
    tiny_folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cache in ("kept_folder", "writable_folder"):
        monkeypatch.setattr(prepared, cache, lambda: tmp_path / "graphs")
    monkeypatch.setattr(prepared, "_run", IN_A_CHILD)
    (tmp_path / "graphs").mkdir()
    broken = tmp_path / "broken"
    shutil.copytree(tiny_folder("bert", Task.SENTIMENT, 0), broken)
    (broken / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(CheckpointUnavailable, match="could not be prepared"):
        prepared.prepared_folder(Task.SENTIMENT, broken, None, half=False)
    assert list((tmp_path / "graphs").iterdir()) == []


def test_graphs_of_other_weights_have_other_names(tiny_folder: Callable[..., Path]) -> None:
    first, second = (tiny_folder("bert", Task.SENTIMENT, seed) for seed in (0, 1))
    keys = {prepared._key(folder, None, half) for folder in (first, second) for half in (False, True)}
    assert len(keys) == 4
    assert prepared._key(first, second, False) not in keys
