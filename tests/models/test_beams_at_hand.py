"""Beams weigh the best tokens at hand as they would the whole vocabulary."""

from typing import Any

import pytest
import torch
from transformers import GenerationConfig

from models.decoding.beam_search import NO_SCORE, _best_at_hand, _best_of_all
from models.decoding.generate import banned_ids, processors_of
from models.decoding.scores import best_of

BEAMS = 4


@pytest.mark.parametrize("kept", [8, 24])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("banned", [(), (5,), (5, 17, 200)])
def test_the_same_candidates_are_weighed(banned: tuple[int, ...], first: bool, kept: int) -> None:
    # Those that may not be written are the likeliest.
    logits = 2 * torch.randn(BEAMS, 300, generator=torch.Generator().manual_seed(kept))
    logits[:, list(banned)] += 20
    scores = [0.0] + ([NO_SCORE] * 3 if first else [-0.3, -0.9, -2.0])
    config = GenerationConfig(bad_words_ids=[[token] for token in banned] or None, eos_token_id=1)
    processors, written = processors_of(config, 50), torch.ones(BEAMS, 3, dtype=torch.long)
    said = best_of(logits)
    assert set(banned_ids(config) or ()) == set(banned)
    broken = [frozenset([3, 299]), frozenset[int](), frozenset([7]), frozenset[int]()]
    at_hand = _best_at_hand(said, scores, [each | set(banned) for each in broken], kept, broken)
    of_all = _best_of_all(said, scores, processors, written, kept, broken, broken, None)
    assert at_hand is not None
    assert not set(at_hand.ids) & set(banned)
    assert (at_hand.beams, at_hand.ids, at_hand.others) == (of_all.beams, of_all.ids, of_all.others)
    assert at_hand.totals == pytest.approx(of_all.totals, rel=0, abs=1e-6)
    assert at_hand.own == pytest.approx(of_all.own, rel=0, abs=1e-5)
    for beam, token in zip(at_hand.beams, at_hand.ids, strict=True):
        assert token not in broken[beam] and not set(at_hand.others[beam]) & broken[beam]


def test_where_too_few_at_hand_are_free_the_whole_vocabulary_is_weighed() -> None:
    said = best_of(torch.arange(300.0).repeat(2, 1))
    barred = [frozenset(range(240, 300)), frozenset[int]()]
    assert _best_at_hand(said, [0.0, 0.0], barred, 4, barred) is not None
    assert _best_at_hand(said, [0.0, 0.0], barred, 5, barred) is None


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, set()),
        ({"bad_words_ids": [[7]]}, {7}),
        ({"bad_words_ids": [[7], [1]]}, {7}),
        ({"bad_words_ids": [[7, 8]]}, None),
        ({"no_repeat_ngram_size": 2}, None),
        ({"forced_eos_token_id": 1}, None),
        ({"forced_bos_token_id": 0}, None),
        ({"renormalize_logits": True}, None),
    ],
)
def test_only_single_tokens_can_be_left_out(settings: dict[str, Any], expected: set[int] | None) -> None:
    assert banned_ids(GenerationConfig(eos_token_id=1, **settings)) == expected
