"""Ablating a head equals zeroing its columns of the output projection, for a while and in one thread alone."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from models import load_model
from models.engine import TORCH, EngineSettings
from models.explain.what_if import without
from models.loading.assembly import wrap
from models.outputs.attention import SwitchedOff
from models.outputs.writing import generated_ids
from models.registry import Task
from models.tasks.base import AnyTaskModel
from tests.models.architectures import FITTING
from tests.models.conftest import TinyModel, tiny_checkpoint

Folder = Callable[[str, Task, int], Path]
FIELDS: dict[Task, dict[str, Any]] = {
    Task.FILL_MASK: {"text": "The keeper [MASK] the lamp."},
    Task.SENTIMENT: {"text": "She reads a quiet book."},
    Task.QUESTION_ANSWERING: {"question": "Who lit the lamp?", "context": "The old keeper lit the lamp. It burned."},
    Task.NAMES: {"text": "Ada lit the lamp in Lisbon."},
    Task.SENTENCE_PAIR: {"a": "She reads a quiet book.", "b": "The old keeper lit the lamp."},
    Task.ENDINGS: {"beginning": "It grew dark.", "endings": ("The keeper lit the lamp.", "Bread is sold at noon.")},
    Task.TRANSLATION: {"text": "The rain falls on the garden.", "num_beams": 2},
    Task.COMPLETION: {"prompt": "The boats turned", "max_new_tokens": 6, "strategy": "greedy"},
    Task.WORD_IN_CONTEXT: {"word": "lamp", "sentences": "The keeper lit the lamp.\nA lamp stands on the table."},
    Task.TEACH: {
        "examples": (
            ("The rain falls on the garden.", "weather"),
            ("A storm came over the hills.", "weather"),
            ("Bread is sold at noon.", "food"),
            ("She eats an apple.", "food"),
        ),
        "texts": ("The wind is cold.",),
    },
    Task.SURPRISE: {"text": "The keeper lit the lamp."},
    Task.WRITTEN_BY: {"text": "The keeper lit the lamp, " * 8},
    Task.GENERATIONS: {"text": "A quiet and generous film."},
}
# Where each architecture brings its heads together, spelt out: `{}` is the layer.
MAPS = {
    ("bert", "encoder"): "bert.encoder.layer.{}.attention.output.dense",
    ("roberta", "encoder"): "roberta.encoder.layer.{}.attention.output.dense",
    ("electra", "encoder"): "electra.encoder.layer.{}.attention.output.dense",
    ("distilbert", "encoder"): "distilbert.transformer.layer.{}.attention.out_lin",
    ("gpt2", "decoder"): "transformer.h.{}.attn.c_proj",
    ("openai-gpt", "decoder"): "transformer.h.{}.attn.c_proj",
    ("llama", "decoder"): "model.layers.{}.self_attn.o_proj",
    ("modernbert", "encoder"): "model.layers.{}.attn.Wo",
    ("marian", "encoder"): "model.encoder.layers.{}.self_attn.out_proj",
    ("marian", "decoder"): "model.decoder.layers.{}.self_attn.out_proj",
    ("marian", "cross"): "model.decoder.layers.{}.encoder_attn.out_proj",
    ("bart", "encoder"): "model.encoder.layers.{}.self_attn.out_proj",
    ("bart", "decoder"): "model.decoder.layers.{}.self_attn.out_proj",
    ("bart", "cross"): "model.decoder.layers.{}.encoder_attn.out_proj",
    ("t5", "encoder"): "encoder.block.{}.layer.0.SelfAttention.o",
    ("t5", "decoder"): "decoder.block.{}.layer.0.SelfAttention.o",
    ("t5", "cross"): "decoder.block.{}.layer.1.EncDecAttention.o",
}
# ALBERT has one layer for all: no copy of it can lack a head in one layer only. It has a test of its own.
CASES = [
    (task, architecture, kind)
    for task in Task
    for architecture in FITTING[task]
    for kind in task.kinds
    if (architecture, kind) in MAPS
]


def numbers_of(model: AnyTaskModel, fields: dict[str, Any]) -> tuple[list[Any], np.ndarray]:
    """What the answer says, and every number in it and in the attention behind it."""
    output = model(**fields)
    said, numbers = [], []

    def collect(part: Any) -> None:
        if isinstance(part, float):
            numbers.append(part)
        elif isinstance(part, dict | tuple | list):
            for each in part.values() if isinstance(part, dict) else part:
                collect(each)
        else:
            said.append(part)

    collect({name: part for name, part in asdict(output).items() if name != "checkpoint"})
    attentions = model.attend(model.inputs_type(**fields), generated_ids(output))
    weights = [attention.weights.ravel() for attention in attentions.values()]
    return said, np.concatenate([np.array(numbers), *weights])


def close(ours: tuple[list[Any], np.ndarray], theirs: tuple[list[Any], np.ndarray]) -> bool:
    return ours[0] == theirs[0] and np.allclose(ours[1], theirs[1], atol=1e-5)


def zero_columns(projection: Any, columns: slice) -> None:
    """Nothing of these inputs comes out; the bias stays."""
    with torch.no_grad():
        if isinstance(projection, nn.Linear):
            projection.weight[:, columns] = 0
        else:
            # GPT-2's Conv1D has its weight the other way round.
            projection.weight[columns] = 0


@pytest.mark.parametrize(("layer", "head"), [(0, 1), (1, -1)])
@pytest.mark.parametrize(("task", "architecture", "kind"), CASES, ids=str)
def test_it_is_as_if_the_heads_slice_of_the_output_map_were_zero(
    task: Task, architecture: str, kind: str, layer: int, head: int, tiny: TinyModel, tiny_folder: Folder
) -> None:
    model = tiny(architecture, task, engine=TORCH)
    before = numbers_of(model, FIELDS[task])
    maimed = wrap(
        tiny_checkpoint(architecture, task), tiny_folder(architecture, task, 0), "0" * 40, EngineSettings(TORCH)
    )
    projection = maimed.network.get_submodule(MAPS[architecture, kind].format(layer))
    config = model.network.config
    width = projection.weight.shape[1 if isinstance(projection, nn.Linear) else 0]
    heads = config.num_attention_heads
    if kind != "encoder" and architecture in ("marian", "bart"):
        heads = config.decoder_attention_heads
    size = width // heads
    zero_columns(projection, slice(None) if head == -1 else slice(head * size, (head + 1) * size))

    with without(model, SwitchedOff(kind, layer, head)):
        changed = numbers_of(model, FIELDS[task])
    assert close(changed, numbers_of(maimed, FIELDS[task]))
    assert not close(changed, before)
    assert close(numbers_of(model, FIELDS[task]), before)


@pytest.mark.parametrize("task", FIELDS)
def test_the_answers_of_the_bundled_models_change_and_come_back(task: Task) -> None:
    model = load_model(task.endpoint).exact
    before = asdict(model(**FIELDS[task]))
    for kind in task.kinds:
        with without(model, SwitchedOff(kind, 0)):
            assert asdict(model(**FIELDS[task])) != before
    assert asdict(model(**FIELDS[task])) == before


@contextmanager
def held_open(model: AnyTaskModel, off: SwitchedOff) -> Iterator[None]:
    """Another thread that has something switched off all the while."""
    ready, done = threading.Event(), threading.Event()

    def hold() -> None:
        with without(model, off):
            ready.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    ready.wait(30)
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_other_threads_never_notice(tiny: TinyModel) -> None:
    model = tiny("bert", Task.SENTIMENT, engine=TORCH)
    fields = FIELDS[Task.SENTIMENT]
    whole = asdict(model(**fields))
    parts = {}
    for layer in (0, 1):
        with without(model, SwitchedOff("encoder", layer)):
            parts[layer] = asdict(model(**fields))
    with held_open(model, SwitchedOff("encoder", 0)):
        assert asdict(model(**fields)) == whole

    def visit(number: int) -> bool:
        if number % 3 == 2:
            return asdict(model(**fields)) == whole
        with without(model, SwitchedOff("encoder", number % 3)):
            return asdict(model(**fields)) == parts[number % 3]

    with ThreadPoolExecutor(6) as visitors:
        assert all(visitors.map(visit, range(90)))
