"""The probes are well formed and judged as described, and models pass the share that their cards state."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from evaluation.probes import (
    FILES,
    JUDGED,
    OF_CARDS,
    UNSURE,
    Verdict,
    _about_the_same,
    passed_share,
    probes_of,
    verdicts,
)
from evaluation.probes.__main__ import lines
from models import load_model
from models.registry import Task, find


@pytest.mark.parametrize("task", list(FILES))
def test_no_probe_is_tried_twice_and_a_third_of_each_kind_of_text_is_kept_for_the_end(task: Task) -> None:
    found = probes_of(task)
    asked = ["".join(probe.get(name, "") for name in ("context", "question", "text", "a", "b")) for probe in found]
    assert len(asked) == len(set(asked)) and all(probe["kind"] for probe in found)
    kept = probes_of(task, "kept")
    assert len(kept) == pytest.approx(len(found) / 3, abs=2)
    assert probes_of(task, "open") == [probe for probe in found if probe not in kept]


def test_every_accepted_word_is_one_piece_of_the_vocabulary() -> None:
    vocabulary = json.loads((find("", Task.FILL_MASK).folder / "tokenizer.json").read_text())["model"]["vocab"]
    for probe in probes_of(Task.FILL_MASK):
        assert probe["text"].count("[MASK]") == 1
        assert probe["accepted"] and set(probe["accepted"]) <= set(vocabulary)


def test_a_sentiment_has_one_of_three_labels() -> None:
    assert Counter(probe["label"] for probe in probes_of(Task.SENTIMENT)).keys() == {"positive", "negative", "neutral"}


def test_every_acceptable_span_stands_in_its_text() -> None:
    for probe in probes_of(Task.QUESTION_ANSWERING):
        assert all(answer in probe["context"] for answer in probe["answers"])
        assert (probe["answers"] == []) == (probe["kind"] == "unanswerable")


def test_every_name_stands_in_its_text_after_the_one_before_it() -> None:
    for probe in probes_of(Task.NAMES):
        end = 0
        for name, kind in probe["names"]:
            end = probe["text"].index(name, end) + len(name)
            assert kind in {"person", "organisation", "place", "other"}
        assert (probe["names"] == []) == (probe["kind"] == "no names")


@pytest.mark.parametrize("task", JUDGED)
def test_the_bundled_checkpoint_passes_the_share_that_its_card_states(task: Task) -> None:
    share = passed_share(verdicts(task, load_model(task.endpoint)))
    card = (find("", task).folder / "README.md").read_text(encoding="utf-8")
    stated = re.search(re.escape(OF_CARDS) + r" \| ([\d.]+) \|", card)
    assert stated is not None and float(stated[1]) == pytest.approx(share, abs=0.06)


class _Says:
    """A model that gives the same answer to everything."""

    def __init__(self, output: Any) -> None:
        self.output = output

    def __call__(self, **_fields: Any) -> Any:
        return self.output


def test_each_split_is_counted_and_what_failed_is_listed_with_what_was_said() -> None:
    found = [
        Verdict("colour", "open", "Owls are [MASK].", "late", False),
        Verdict("animal", "open", "An [MASK] hoots.", "owl", True),
        Verdict("animal", "kept", "An owl [MASK].", "hoots", True),
    ]
    assert lines(Task.FILL_MASK, found, failed=True) == [
        "blanks.json        open     1/2     50.0 %",
        "blanks.json        kept     1/1    100.0 %",
        "    colour: Owls are [MASK]. -> late",
    ]


def test_a_model_that_always_says_positive_passes_positive_probes_alone() -> None:
    always = load_model("sentiment")(text="A joy from beginning to end.")
    assert always.label == "positive" and always.scores[1].score > UNSURE  # type: ignore[attr-defined]
    found: list[Verdict] = verdicts(Task.SENTIMENT, _Says(always), "all")  # type: ignore[arg-type]
    labels = [probe["label"] for probe in probes_of(Task.SENTIMENT)]
    assert [verdict.passed for verdict in found] == [label == "positive" for label in labels]


@pytest.mark.parametrize(
    ("given", "wanted", "right"),
    [
        ("The red house.", "red house", True),
        ("in an old brick red house", "the red house", False),
        ("in the red house", "red house", True),
        ("the house", "a red house by lake", False),
        ("Anna", "Anna Berg", True),
        ("", "Anna", False),
        ("Hanna", "Anna", False),
    ],
)
def test_an_answer_may_hold_two_words_more_or_less_than_the_span(given: str, wanted: str, right: bool) -> None:
    assert _about_the_same(given, wanted) is right
