"""The page's calls for courses: each line of Python answers, and transformers has its pipeline or not, as said."""

import pytest
from transformers.pipelines import SUPPORTED_TASKS, TASK_ALIASES

from demo.log.run import OUTPUT_TYPES
from demo.tabs.course import CHAPTER, call
from models import load_model


@pytest.mark.parametrize("name", CHAPTER)
def test_its_line_of_python_answers_and_transformers_has_the_pipeline_or_not_as_the_page_says(name: str) -> None:
    task, lasts = CHAPTER[name]
    assert (TASK_ALIASES.get(name, name) in SUPPORTED_TASKS) == lasts
    assert isinstance(eval(call(task), {"load_model": load_model}), OUTPUT_TYPES[task])  # noqa: S307
