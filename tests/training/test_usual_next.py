"""What usually stands behind pieces, counted by hand."""

import pytest
import torch

from training.usual_next import SURE_ENOUGH, usual_behind


def test_the_likeliest_piece_and_its_share_behind_two_pieces_and_behind_one() -> None:
    # Behind 2 stands 3 three times and 4 twice, behind 1 and 2 only 4, behind 5 and 2 only 3.
    runs = [torch.tensor([1, 2, 4, 1, 2, 4, 5, 2]), torch.tensor([3, 5, 2, 3, 5, 2, 3])]
    usual = usual_behind(runs, 10)
    assert usual.behind_one[[1, 2, 3, 5, 6]].tolist() == [2, 3, 5, 2, 0]
    assert usual.shares_of_one[[1, 2, 3, 5, 6]].tolist() == pytest.approx([1, 0.6, 1, 1, 0])
    kept = dict(zip(usual.pairs.tolist(), usual.behind_pairs.tolist(), strict=True))
    assert kept[12] == 4
    assert kept[52] == 3


def test_the_most_useful_pairs_are_kept_in_order() -> None:
    run = torch.randint(0, 6, (600,), generator=torch.Generator().manual_seed(0))
    usual = usual_behind([run], 6, most=5)
    assert len(usual.pairs) == len(usual.behind_pairs) == len(usual.shares_of_pairs) == 5
    assert usual.pairs.tolist() == sorted(usual.pairs.tolist())

    def times(pair: int) -> list[int]:
        before = (run[:-2] * 6 + run[1:-1]) == pair
        return [int((before & (run[2:] == third)).sum()) for third in range(6)]

    useful = {pair: max(times(pair)) for pair in range(36) if max(times(pair)) >= SURE_ENOUGH * sum(times(pair))}
    assert 5 < len(useful) < 36
    assert min(useful[pair] for pair in usual.pairs.tolist()) >= sorted(useful.values())[-5]
    for pair, third, share in zip(*(each.tolist() for each in usual[:3]), strict=True):
        assert times(pair)[third] == useful[pair]
        assert share == pytest.approx(useful[pair] / sum(times(pair)))
