"""The benchmark of kills on a small scale: a few kills of the real app under load."""

from benchmarks.kills import kill_and_compare


def test_every_answer_that_was_seen_before_a_kill_is_in_the_log() -> None:
    found = kill_and_compare(kills=2, runs=60, callers=4)
    assert found.seen >= 60
    assert (found.missing, found.wrong) == (0, 0)
