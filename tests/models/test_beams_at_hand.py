"""Beams weigh the best tokens at hand as they would the whole vocabulary."""

from typing import Any

import pytest
import torch
from transformers import GenerationConfig

from models.beam_search import NO_SCORE, _weighed
from models.decoding import banned_ids, processors_of
from models.scores import best_of

BEAMS = 4


@pytest.mark.parametrize("kept", [8, 24])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("banned", [(), (5,), (5, 17, 200)])
def test_the_same_candidates_are_weighed(banned: tuple[int, ...], first: bool, kept: int) -> None:
    # Those that may not be written are the likeliest.
    logits = 2 * torch.randn(BEAMS, 300, generator=torch.Generator().manual_seed(kept))
    logits[:, list(banned)] += 20
    scores = torch.tensor([0.0, -0.3, -0.9, -2.0])
    if first:
        scores[1:] = NO_SCORE
    config = GenerationConfig(bad_words_ids=[[token] for token in banned] or None, eos_token_id=1)
    processors, written = processors_of(config, 50), torch.ones(BEAMS, 3, dtype=torch.long)
    said = best_of(logits)
    at_hand = _weighed(said, scores, processors, banned_ids(config), written, kept)
    of_all = _weighed(said, scores, processors, None, written, kept)
    assert banned_ids(config) is not None and not set(at_hand.ids.tolist()) & set(banned)
    for mine, other in ((at_hand.beams, of_all.beams), (at_hand.ids, of_all.ids)):
        assert torch.equal(mine, other)
    torch.testing.assert_close(at_hand.totals, of_all.totals, rtol=0, atol=1e-6)
    torch.testing.assert_close(at_hand.own, of_all.own, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ()),
        ({"bad_words_ids": [[7]]}, (7,)),
        ({"bad_words_ids": [[7], [1]]}, (7,)),
        ({"bad_words_ids": [[7, 8]]}, None),
        ({"no_repeat_ngram_size": 2}, None),
        ({"forced_eos_token_id": 1}, None),
        ({"forced_bos_token_id": 0}, None),
        ({"renormalize_logits": True}, None),
    ],
)
def test_only_single_tokens_can_be_left_out(settings: dict[str, Any], expected: tuple[int, ...] | None) -> None:
    assert banned_ids(GenerationConfig(eos_token_id=1, **settings)) == expected
