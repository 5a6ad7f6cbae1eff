"""The points of growth are of the sizes that they say, and the words are what the points say."""

import pytest

from benchmarks.growth import Growth, Point, figure, text_of, written
from models import load_model
from models.decoding.generate import DecoderState
from models.tasks.text_generation import TextGeneration

GROWTH = Growth("tokens", "time", "memory", (Point(16, 10.0, 1.0), Point(32, 20.0, 2.0), Point(64, 90.0, 8.0)))


def test_the_words_say_what_a_doubling_costs() -> None:
    # Two doublings make nine times of it: three times each; the last one four and a half times.
    assert GROWTH.words() == (
        "Twice the tokens: 3.00 times the time on the average, 4.50 times at the end; memory goes from 1 to 8 MB."
    )


@pytest.mark.parametrize("size", [16, 100, 512])
def test_the_text_has_as_many_tokens_as_it_says(size: int) -> None:
    assert len(load_model("fill_mask")(text=text_of(size)).tokens) == size


def test_as_many_tokens_are_written_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model("completion")
    assert isinstance(model, TextGeneration)
    asked = []
    next_logits = DecoderState.next_logits
    monkeypatch.setattr(DecoderState, "next_logits", lambda state: asked.append(1) or next_logits(state))
    written(model, 20)
    assert len(asked) == 20


def test_the_figure_shows_every_point() -> None:
    drawn = figure([GROWTH, GROWTH])
    assert [tuple(trace.y) for trace in drawn.data] == [(10, 20, 90), (1, 2, 8)] * 2
    assert all(tuple(trace.x) == (16, 32, 64) for trace in drawn.data)
