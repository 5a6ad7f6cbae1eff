import subprocess
import sys

import pytest

from demo.log.export import answer_in_words
from demo.recorded import examples_of, recorded
from models.registry import Task, checkpoints_for


@pytest.mark.parametrize("task", Task)
def test_every_task_has_a_recorded_example_of_its_bundled_checkpoint(task: Task) -> None:
    example = recorded(task)
    assert example.run.task == task
    assert example.run.checkpoint == checkpoints_for(task)[0].name
    assert example.run.fields == examples_of(task)[0].fields, "the page opens on its first example"
    assert answer_in_words(example.output)
    assert example.source.checkpoint == example.run.checkpoint
    assert (example.attention is not None) == bool(task.kinds)
    if not task.kinds:
        return
    assert example.view.weights.sum(axis=1) == pytest.approx(1, abs=1e-3)
    assert not example.view.weights[example.view.masked].any()


@pytest.mark.parametrize("task", Task)
def test_there_are_a_few_examples_each_with_a_label_of_its_own(task: Task) -> None:
    labels = [example.label for example in examples_of(task)]
    assert 3 <= len(labels) == len(set(labels))


def test_words_behind_the_masks_of_an_example_are_as_many_as_its_masks() -> None:
    for example in examples_of(Task.FILL_MASK):
        assert len(example.masked_words) == example.fields["text"].count("[MASK]")


def test_the_page_is_built_without_loading_what_models_need() -> None:
    code = "import sys, app; sys.exit(any(name in sys.modules for name in ('torch', 'transformers')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603
