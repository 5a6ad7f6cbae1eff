"""The likeliest fillings of several masks, against trying them all."""

import itertools
import math
import random

import pytest

from models.fill_mask import best_fillings


@pytest.mark.parametrize("seed", range(20))
def test_the_best_fillings_are_those_of_trying_them_all(seed: int) -> None:
    chance = random.Random(seed)
    masks, width = chance.randint(1, 4), chance.randint(1, 5)
    candidates = [
        [(100 * mask + rank, score) for rank, score in enumerate(sorted(chance.random() for _ in range(width))[::-1])]
        for mask in range(masks)
    ]
    tried = sorted((math.prod(score for _, score in choice) for choice in itertools.product(*candidates)), reverse=True)
    found = best_fillings(candidates, 7)
    assert [math.prod(score for _, score in each) for each in found] == pytest.approx(tried[:7])
    assert len(set(found)) == len(found)


def test_many_masks_cost_little() -> None:
    # Twenty candidates at each of thirty masks are more fillings than can be tried.
    candidates = [[(rank, 0.5 ** (rank + 1)) for rank in range(20)] for _ in range(30)]
    found = best_fillings(candidates, 20)
    assert len(found) == 20
    assert found[0] == tuple(each[0] for each in candidates)


def test_a_probability_of_zero_is_a_candidate_like_any_other() -> None:
    assert best_fillings([[(1, 1.0), (2, 0.0)]], 2) == [((1, 1.0),), ((2, 0.0),)]
