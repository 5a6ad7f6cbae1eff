"""The best choices, against trying them all."""

import itertools
import random

import pytest

from models.decoding.sampling import best_choices


@pytest.mark.parametrize("seed", range(20))
def test_the_best_choices_are_those_of_trying_them_all(seed: int) -> None:
    chance = random.Random(seed)
    places, width = chance.randint(1, 4), chance.randint(1, 5)
    scores = [sorted((-chance.random() for _ in range(width)), reverse=True) for _ in range(places)]

    def worth(choice: tuple[int, ...]) -> float:
        return sum(scores[place][rank] for place, rank in enumerate(choice))

    tried = sorted(map(worth, itertools.product(range(width), repeat=places)), reverse=True)
    found = best_choices(scores, 7)
    assert [worth(each) for each in found] == pytest.approx(tried[:7])
    assert len(set(found)) == len(found)


def test_many_places_cost_little() -> None:
    # Twenty candidates at each of thirty places are more choices than can be tried.
    found = best_choices([[-float(rank) for rank in range(20)]] * 30, 20)
    assert len(found) == 20
    assert found[0] == (0,) * 30


def test_places_may_have_different_numbers_of_candidates() -> None:
    assert best_choices([[0.0], [0.0, -3.0]], 5) == [(0, 0), (0, 1)]
