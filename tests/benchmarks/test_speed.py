"""The speed benchmark measures what it says: its arithmetic, its table and its baselines."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.inputs import INPUTS
from benchmarks.plain_transformers import plain
from benchmarks.processes import until_first_page
from benchmarks.speed import WORKS
from benchmarks.work import Work, in_turns, measure
from models import load_model
from models.registry import Task


def pairs(*measured: tuple[float, float]) -> Iterator[tuple[float, float]]:
    yield from [(1e9, 1e9)] * 3
    yield from measured


def test_a_row_holds_medians_and_the_median_ratio_without_the_warm_up() -> None:
    work = Work("walk", "ms", 1.0, lambda: pairs((10, 8), (10, 9), (100, 50)))
    row = measure(work, runs=3)
    assert (row.baseline, row.ours, row.ratio, row.met) == (10, 9, 0.8, True)


@pytest.mark.parametrize(("ours", "met"), [(10.0, True), (10.04, True), (10.2, False)])
def test_a_row_says_whether_it_is_met(ours: float, met: bool) -> None:
    assert measure(Work("walk", "ms", 1.0, lambda: pairs(*[(10.0, ours)] * 5)), runs=5).met is met


@pytest.mark.parametrize(("ours", "met"), [(1.2, True), (1.4, False)])
def test_a_small_share_is_not_rounded_to_what_it_needs(ours: float, met: bool) -> None:
    assert measure(Work("send", "MB", 1 / 80, lambda: pairs(*[(100.0, ours)] * 5)), runs=5).met is met


def test_a_row_whose_baseline_is_not_installed_says_how_to_get_it() -> None:
    command = [sys.executable, "-m", "benchmarks.speed", "--only", "attention sheet", "--runs", "1"]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603
    assert "MB" in printed or "pip install" in printed


def test_each_side_is_the_first_of_a_pair_half_of_the_time() -> None:
    order: list[str] = []
    sides = in_turns(lambda: order.append("plain"), lambda: order.append("ours"))
    next(sides), next(sides)
    assert order == ["plain", "ours", "ours", "plain"]


@pytest.mark.parametrize("task", Task)
def test_the_baseline_does_the_same_work(task: Task) -> None:
    """Same weights, same input, same answer."""
    model, fields = load_model(task.endpoint), INPUTS[task.endpoint]
    theirs, ours = plain(model.checkpoint)(**fields), model(**fields)
    match task:
        case Task.FILL_MASK:
            assert [each["token_str"] for each in theirs] == [each.text for each in ours.predictions[0]]
        case Task.SENTIMENT:
            (scores,) = theirs
            assert max(scores, key=lambda each: each["score"])["label"].lower() == ours.label
        case Task.QUESTION_ANSWERING:
            assert theirs[0] == ours.answers[0].text
        case Task.TRANSLATION:
            assert theirs == [each.text for each in ours.translations]
        case Task.COMPLETION:
            assert theirs == str(fields["prompt"]) + ours.text


def test_a_server_that_ends_is_no_first_page() -> None:
    with pytest.raises(RuntimeError, match="no page here"):
        until_first_page([sys.executable, "-c", "raise SystemExit('no page here')"])


def test_the_command_lists_its_rows_and_writes_them_as_json(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.speed"]
    listed = subprocess.run(  # noqa: S603
        [*command, "--list"], capture_output=True, text=True, check=True
    ).stdout
    assert listed.split("\n")[:-1] == [work.name for work in WORKS]
    file = tmp_path / "speed.json"
    subprocess.run(  # noqa: S603
        [*command, "--only", "fill mask", "--runs", "1", "--json", str(file)], capture_output=True, check=False
    )
    (row,) = json.loads(file.read_text())
    assert set(row) == {"work", "baseline", "ours", "unit", "ratio", "needs", "met"}
