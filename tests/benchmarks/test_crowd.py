"""The crowd asks the plain app and ours the same, and counts what it is answered."""

import asyncio

import pytest

from benchmarks import crowd
from benchmarks.crowd import PLAIN_PAGE, UNHURRIED, Crowd, gathered, our_arguments
from benchmarks.inputs import INPUTS
from benchmarks.plain_app import page
from benchmarks.processes import OUR_PAGE, started


def test_a_crowd_counts_answers_and_the_longest_waits() -> None:
    seen = Crowd(tuple(hundredth / 100 for hundredth in range(101)), 10.1)
    assert seen.pace_ms == pytest.approx(100)
    assert seen.p95_s == pytest.approx(0.95)


def test_the_plain_app_has_the_five_tasks() -> None:
    assert set(INPUTS) <= {each.api_name for each in page().fns.values()}


@pytest.mark.parametrize(
    ("command", "arguments"),
    [(PLAIN_PAGE, crowd.plain_arguments), (OUR_PAGE, our_arguments)],
    ids=["plain", "ours"],
)
def test_every_task_is_answered_to_a_crowd(command: list[str], arguments: crowd.Arguments) -> None:
    asked, typed = [], []

    def noted(task: str, texts: list[str]) -> list[object]:
        asked.append(task)
        typed.extend(texts)
        return arguments(task, texts)

    with started(command, **UNHURRIED) as url:
        # Whoever is answered after the end goes home: each asks once, and one that is not answered raises.
        late = asyncio.run(gathered(url, noted, 0.0, visitors=10))
        asyncio.run(gathered(url, noted, 0.0, visitors=10))
    assert late.waits_s == () and len(asked) == 20 and set(asked) == set(INPUTS)
    assert len(set(typed)) == len(typed), "what is asked twice is answered from memory"
