"""The probes: what a visitor might try, judged as it says, and as many passed as the cards claim."""

import re
from typing import Any

import pytest

from benchmarks.quality import probed
from evaluation.probes import OF_CARDS, Verdict, bundled_share, probes_of, verdicts
from models import load_model
from models.registry import Task, find

ENCODERS = (Task.FILL_MASK, Task.SENTIMENT, Task.QUESTION_ANSWERING)
EXPECTED = {
    Task.FILL_MASK: "sensible",
    Task.SENTIMENT: "label",
    Task.QUESTION_ANSWERING: "answers",
    Task.TRANSLATION: "acceptable",
    Task.COMPLETION: "subject",
}


def test_there_are_enough_probes_and_each_is_tried_once() -> None:
    assert sum(len(probes_of(task)) for task in ENCODERS) >= 40
    assert len(probes_of(Task.TRANSLATION)) >= 20 and len(probes_of(Task.COMPLETION)) >= 10
    for task in Task:
        asked = [tuple(map(str, probe.values())) for probe in probes_of(task)]
        assert len(asked) == len(set(asked))


@pytest.mark.parametrize("task", list(Task))
def test_every_probe_says_its_kind_and_what_is_sensible(task: Task) -> None:
    for probe in probes_of(task):
        assert probe["kind"]
        assert probe[EXPECTED[task]] or probe["kind"] == "unanswerable"


@pytest.mark.parametrize("task", list(Task))
def test_the_bundled_checkpoint_passes_the_share_that_its_card_states(task: Task) -> None:
    share = bundled_share(task)
    card = (find("", task).folder / "README.md").read_text(encoding="utf-8")
    stated = re.search(re.escape(OF_CARDS) + r" \| ([\d.]+) \|", card)
    assert stated is not None and float(stated[1]) == pytest.approx(share, abs=0.06)


class _Says:
    """A model that gives the same answer to everything."""

    def __init__(self, output: Any) -> None:
        self.output = output

    def __call__(self, **_fields: Any) -> Any:
        return self.output


def test_failed_probes_are_listed_with_what_was_said() -> None:
    figures = {
        "task": "fill-mask", "checkpoint": "owl", "probes": 2, "passed": 1, "share": 50.0,
        "verdicts": [
            {"kind": "colour", "asked": "Owls are [MASK].", "answer": "late", "passed": False},
            {"kind": "animal", "asked": "An [MASK] hoots.", "answer": "owl", "passed": True},
        ],
    }  # fmt: skip
    assert probed(figures).splitlines() == [
        "fill-mask, owl: 1 of 2 probes pass, 50.0 %",
        "  failed (colour): Owls are [MASK]. -> late",
    ]


def test_a_model_that_always_says_positive_fails_every_negative_probe() -> None:
    always = load_model("sentiment")(text="A joy from beginning to end.")
    assert always.label == "positive"  # type: ignore[attr-defined]
    found: list[Verdict] = verdicts(Task.SENTIMENT, _Says(always))  # type: ignore[arg-type]
    labels = [probe["label"] for probe in probes_of(Task.SENTIMENT)]
    assert [verdict.passed for verdict in found] == [label == "positive" for label in labels]
