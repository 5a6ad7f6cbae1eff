"""The benchmark of Ray Serve's workers for a short time: one worker, four, and two of which one is killed."""

import pytest


def test_workers_answer_more_together_and_one_that_is_killed_takes_no_answer_with_it() -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    from benchmarks.workers import measure

    found = measure(times=5, seconds=2)
    assert found.answers_a_second_of_4 > found.answers_a_second_of_1 > 0
    assert found.answers > 0
    assert found.other == 0
