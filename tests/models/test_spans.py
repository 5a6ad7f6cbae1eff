"""Answer spans, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from models.tasks.question_answering import Window, best_spans, read_windows

LOG2, LOG3, LOG4 = np.log([2.0, 3.0, 4.0])


def window(starts: list[float], ends: list[float], context: range, offsets: list[tuple[int, int]]) -> Window:
    """A window whose first token is CLS and whose `context` tokens may hold the answer."""
    in_context = np.array([position in context for position in range(len(starts))])
    whole = np.ones(len(starts), bool)
    return Window(np.array(starts, np.float32), np.array(ends, np.float32), in_context, whole, whole, 0, tuple(offsets))


def small() -> Window:
    """CLS, one question token, two tokens of context; weights of the three spans: 2·1, 2·4, 3·4 and of none: 1."""
    return window([0, 9, LOG2, LOG3], [0, 9, 0, LOG4], range(2, 4), [(-1, -1), (-1, -1), (0, 3), (4, 9)])


def test_probabilities_of_spans_and_of_none_are_one_distribution() -> None:
    reading = read_windows((small(),))
    # start 2 end 2: 2; start 2 end 3: 8; start 3 end 3: 12; none: 1; together 23.
    assert reading.no_answer_probability == pytest.approx(1 / 23)
    (probabilities,) = reading.probabilities
    assert probabilities[2, 0] == pytest.approx(2 / 23)
    assert probabilities[2, 1] == pytest.approx(8 / 23)
    assert probabilities[3, 0] == pytest.approx(12 / 23)
    assert probabilities.sum() + reading.no_answer_probability == pytest.approx(1)


def test_an_answer_neither_ends_before_it_starts_nor_stands_in_the_question() -> None:
    (probabilities,) = read_windows((small(),)).probabilities
    # The token after the last one is no end, and the question's two tokens are no starts.
    assert probabilities[3, 1] == 0
    assert (probabilities[:2] == 0).all()
    question_last = window([0, LOG2, LOG3, 9], [0, 0, LOG4, 9], range(1, 3), [(-1, -1), (0, 3), (4, 9), (-1, -1)])
    (probabilities,) = read_windows((question_last,)).probabilities
    assert probabilities[2, 1] == probabilities[1, 2] == probabilities[3, 0] == 0 < probabilities[1, 1]


def test_an_answer_begins_and_ends_with_a_word() -> None:
    # CLS and the pieces "lamp" and "##s": only both together are a word.
    offsets = ((-1, -1), (0, 4), (4, 5))
    begins, ends, inside = np.array([[True, True, False], [True, False, True], [False, True, True]])
    words = Window(np.zeros(3, np.float32), np.zeros(3, np.float32), inside, begins, ends, 0, offsets)
    (probabilities,) = read_windows((words,)).probabilities
    assert probabilities[1, 1] == pytest.approx(0.5) and probabilities.sum() == pytest.approx(0.5)


def test_the_best_spans_come_first_and_do_not_overlap() -> None:
    # (4, 9) with 12 is best; (0, 9) with 8 overlaps it; (0, 3) with 2 does not.
    spans = best_spans(read_windows((small(),)), 3)
    assert [(span.start, span.end) for span in spans] == [(4, 9), (0, 3)]
    assert [span.probability for span in spans] == pytest.approx([12 / 23, 2 / 23])


def test_the_window_with_the_best_answer_wins_and_no_answer_needs_all_of_them() -> None:
    offsets = [(-1, -1), (0, 4)]
    unsure = window([LOG4, 0], [LOG4, 0], range(1, 2), offsets)  # span 1, none 16
    sure = window([0, LOG3], [0, LOG3], range(1, 2), [(-1, -1), (10, 14)])  # span 9, none 1
    reading = read_windows((unsure, sure))
    assert reading.best_window == 1
    # The smallest of both null scores counts: 1 + 9 + 1 = 11.
    assert reading.no_answer_probability == pytest.approx(1 / 11)
    best = best_spans(reading, 2)
    assert [(span.start, span.end) for span in best] == [(10, 14), (0, 4)]
    assert [span.probability for span in best] == pytest.approx([9 / 11, 1 / 11])


def test_the_same_answer_seen_in_two_windows_is_given_once_with_both_probabilities() -> None:
    # Weights: (5, 8) has 2 + 3 in two windows, (20, 24) has 4 in one, none has 1; together 10.
    first = window([0, LOG2, LOG4], [0, 0, 0], range(1, 3), [(-1, -1), (5, 8), (20, 24)])
    alone = [replace(first, in_context=np.array([False, place == 1, place == 2])) for place in (1, 2)]
    second = window([0, LOG3], [0, 0], range(1, 2), [(-1, -1), (5, 8)])
    reading = read_windows((alone[1], alone[0], second))
    spans = best_spans(reading, 3)
    assert [(span.start, span.end) for span in spans] == [(5, 8), (20, 24)]
    assert [span.probability for span in spans] == pytest.approx([5 / 10, 4 / 10])
    assert reading.no_answer_probability == pytest.approx(1 / 10)
    assert reading.best_window == 2, "the window that adds most to the likeliest place, not the likeliest span's"


def test_spans_of_one_window_that_are_the_same_characters_are_added_up() -> None:
    # Two tokens of one e-mail address: three spans of tokens, all of the characters (0, 9).
    address = window([0, 0, 0], [0, 0, 0], range(1, 3), [(-1, -1), (0, 9), (0, 9)])
    (span,) = best_spans(read_windows((address,)), 3)
    assert (span.start, span.end, span.probability) == (0, 9, pytest.approx(3 / 4))
