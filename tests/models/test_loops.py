"""The guard against loops bars what would say the same tokens a third time, and nothing else."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as some

from models.decoding.sampling import LOOP_GUARD, barred
from models.loading.store import ModelStore
from models.outputs import CompletionOutput, generated_ids
from models.registry import find

BALL = "What is it? It's a ball. It's a ball."
LOOPING = {"temperature": 0.1, "top_k": 5, "max_new_tokens": 60}
"""So sure of itself a small model soon says the same again and again."""


def runs(written: list[int], size: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(written[start : start + size]) for start in range(len(written) - size + 1))


@given(some.lists(some.integers(0, 3), max_size=60), some.integers(1, 5))
def test_what_is_barred_would_be_said_a_third_time(written: list[int], size: int) -> None:
    expected = {token for token in range(4) if runs([*written, token], size)[tuple([*written, token][-size:])] > 2}
    # A text as short as a run has none but the one that its next token ends.
    assert set(barred(written, size)) == (expected if len(written) >= size else set())


def test_runs_may_overlap() -> None:
    assert barred([7, 7, 7, 7, 7], 4) == [7]
    assert barred([7, 7, 7, 7], 4) == []


@pytest.mark.parametrize("size", [2, LOOP_GUARD])
def test_no_drawn_run_stands_three_times_in_a_text(size: int) -> None:
    model = ModelStore().load(find("completion"))

    def drawn(guard: int) -> CompletionOutput:
        return model(prompt=BALL, seed=2, loop_guard=guard, **LOOPING)  # type: ignore[return-value]

    free, guarded = drawn(0), drawn(size)
    whole = [[token.id for token in output.tokens] + list(generated_ids(output)) for output in (free, guarded)]
    assert max(runs(whole[0], size).values()) > 2 >= max(runs(whole[1], size).values())
    assert not any(each.barred for each in free.generated)
    told = [each for each in guarded.generated if each.barred]
    assert told
    for each in told:
        shares = {other.id: other.drawn for other in each.alternatives}
        assert each.token.id not in each.barred and not any(shares.get(token, 0) for token in each.barred)


def test_what_nobody_draws_is_not_guarded() -> None:
    model = ModelStore().load(find("completion"))
    free, guarded = (
        model(prompt=BALL, strategy="greedy", max_new_tokens=40, loop_guard=guard).text for guard in (0, 2)
    )
    assert free == guarded
