"""The registry: complete, consistent, and found by the names that visitors use."""

import re

import pytest

from models.errors import CheckpointUnavailable
from models.registry import REGISTRY, Checkpoint, Task, checkpoints_for, find
from tests.models.architectures import FAMILIES

EVERY = pytest.mark.parametrize("checkpoint", REGISTRY.values(), ids=REGISTRY)
OFFERED = {
    Task.FILL_MASK: {
        "bert-base-uncased",
        "distilbert-base-uncased",
        "roberta-base",
        "albert-base-v2",
        "ModernBERT-base",
    },
    Task.SENTIMENT: {"distilbert-base-uncased-finetuned-sst-2-english"},
    Task.QUESTION_ANSWERING: {"distilbert-base-cased-distilled-squad", "roberta-base-squad2"},
    Task.NAMES: {"bert-base-NER", "bert-large-cased-finetuned-conll03-english"},
    Task.SENTENCE_PAIR: set(),
    Task.TRANSLATION: {"opus-mt-en-fr", "opus-mt-en-de", "t5-small"},
    Task.COMPLETION: {"distilgpt2", "gpt2", "gpt2-medium", "openai-gpt", "SmolLM2-135M", "SmolLM2-135M-Instruct"},
    Task.TEACH: {"bert-base-uncased", "ModernBERT-base"},
    Task.CELLS: set(),
    Task.TINY_MODEL: set(),
}


@EVERY
def test_an_entry_is_complete(checkpoint: Checkpoint) -> None:
    assert REGISTRY[checkpoint.name] is checkpoint
    for text in (checkpoint.title, checkpoint.family, checkpoint.license, checkpoint.summary):
        assert text == text.strip()
        assert text
    assert checkpoint.parameters > 0
    assert checkpoint.size_mb > 0
    assert checkpoint.languages
    assert all(re.fullmatch("[a-z]{2}", language) for language in checkpoint.languages)
    assert checkpoint.family in FAMILIES, "the contract covers its architecture"


@pytest.mark.parametrize("task", Task)
def test_every_task_offers_the_bundled_checkpoint_first(task: Task) -> None:
    first, *others = checkpoints_for(task)
    assert not first.hub_id
    # A detector knows how this model ranks tokens, and earlier translators have its vocabulary.
    offered = set() if task in (Task.WRITTEN_BY, Task.TRANSLATORS) else OFFERED[task.answered_by]
    assert {other.name for other in others if other.hub_id} >= offered
    assert all(each.task is task.answered_by for each in (first, *others))


@pytest.mark.parametrize("task", Task)
def test_a_task_is_found_by_its_names(task: Task) -> None:
    assert find(task.endpoint) is find(task.value) is find("", task) is checkpoints_for(task)[0]


@EVERY
def test_a_checkpoint_is_found_by_its_name(checkpoint: Checkpoint) -> None:
    assert find(checkpoint.name) is find(checkpoint.name, checkpoint.task) is checkpoint


@pytest.mark.parametrize("name", ["nobody", "../../etc", "google-bert/bert-base-uncased", "\0", "GPT2"])
def test_an_unknown_name_is_unavailable_and_the_sentence_offers_others(name: str) -> None:
    with pytest.raises(CheckpointUnavailable, match="clearhead-sentiment") as refused:
        find(name, Task.SENTIMENT)
    assert refused.value.field == "checkpoint"
    assert "gpt2" not in refused.value.sentence.removeprefix(name)
    with pytest.raises(CheckpointUnavailable):
        find(name)
