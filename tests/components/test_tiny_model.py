"""The sentences about what a tiny model has learned agree with its numbers."""

import re

import pytest

from demo.tabs.tiny_model import draw_learning
from models.outputs.base import LoadedCheckpoint
from models.outputs.training import Learned, Sample, TinyModelOutput


def learned(*course: Learned, finished: bool = True) -> str:
    """What stands below the curve of a model that has come this way."""
    checkpoint = LoadedCheckpoint("tiny-model", "", "Apache-2.0")
    sample = Sample(course[-1].step, "the wind")
    return draw_learning(
        TinyModelOutput(checkpoint, (), 109_000, "abc", 624, 69, course[-1].step, course, (sample,), 8, finished)
    )


@pytest.mark.parametrize(
    ("right", "kept_out", "said", "unsaid"),
    [
        (0.95, 2.1, ("95 % of the 624 characters", "by heart", "is 2.10, from 3.59."), ("overfitting",)),
        (0.72, 2.1, ("72 % of the 624 characters", "is 2.10, from 3.59."), ("by heart", "overfitting")),
        (0.95, 3.2, ("by heart", "worse than the 2.50 after 40 steps. That is overfitting."), ("from 3.59",)),
    ],
)
def test_by_heart_is_what_it_foresees_and_overfitting_what_it_has_lost(
    right: float, kept_out: float, said: tuple[str, ...], unsaid: tuple[str, ...]
) -> None:
    text = learned(Learned(0, 3.5, 3.59, 0.03), Learned(40, 1.9, 2.5, 0.4), Learned(150, 0.3, kept_out, right))
    assert "The loss went from 3.50 to 0.30 in 150 steps" in text
    (read_out,) = re.findall(r'<p class="read-out">(.*?)</p>', text)
    read_out = read_out.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert all(each in read_out for each in (*said, "8 characters in a row")), read_out
    assert not any(each in read_out for each in unsaid), read_out


def test_who_stops_it_reads_that_it_was_stopped() -> None:
    assert "You stopped it here." in learned(Learned(0, 3.5, 3.59, 0.03), Learned(9, 3.0, 3.1, 0.1), finished=False)
