"""A checkpoint's generation settings change scores as transformers' logits processors do."""

from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    ForcedBOSTokenLogitsProcessor,
    ForcedEOSTokenLogitsProcessor,
    GenerationConfig,
    LogitNormalization,
    LogitsProcessor,
    LogitsProcessorList,
    NoBadWordsLogitsProcessor,
    NoRepeatNGramLogitsProcessor,
)

from models.loading.description import generation_settings

MAX_LENGTH = 12
WRITTEN = ([3], [3, 4, 5, 3, 4], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7], [1, 2, 1, 2, 1, 2, 1, 2])


@pytest.mark.parametrize(
    ("settings", "processor"),
    [
        ({}, None),
        ({"no_repeat_ngram_size": 1}, NoRepeatNGramLogitsProcessor(1)),
        ({"no_repeat_ngram_size": 2}, NoRepeatNGramLogitsProcessor(2)),
        ({"no_repeat_ngram_size": 3}, NoRepeatNGramLogitsProcessor(3)),
        ({"bad_words_ids": [[5], [3, 4, 6], [7, 7], [9]]},
         NoBadWordsLogitsProcessor([[5], [3, 4, 6], [7, 7], [9]], torch.tensor([9]))),
        ({"forced_bos_token_id": 6}, ForcedBOSTokenLogitsProcessor(6)),
        ({"forced_eos_token_id": 9}, ForcedEOSTokenLogitsProcessor(MAX_LENGTH, 9)),
        ({"forced_eos_token_id": [8, 9]}, ForcedEOSTokenLogitsProcessor(MAX_LENGTH, [8, 9])),
        ({"renormalize_logits": True}, LogitNormalization()),
    ],
    ids=lambda each: str(each) if isinstance(each, dict) else "",
)  # fmt: skip
def test_scores_are_those_of_the_processors(settings: dict[str, Any], processor: LogitsProcessor | None) -> None:
    ours = generation_settings(GenerationConfig(eos_token_id=9, **settings))
    theirs = LogitsProcessorList([processor] if processor else [])
    for written in WRITTEN:
        scores = torch.randn(2, 10, generator=torch.Generator().manual_seed(len(written)))
        expected = theirs(torch.tensor([written, written[::-1]]), scores.clone()).numpy()
        found = ours.processed([written, written[::-1]], scores.numpy(), MAX_LENGTH)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_one_end_or_several_and_the_start_are_read() -> None:
    found = generation_settings(GenerationConfig(eos_token_id=[2, 3], bos_token_id=1))
    assert (found.end_ids, found.start_id, found.length_penalty) == ((2, 3), 1, 1.0)
    assert generation_settings(GenerationConfig(decoder_start_token_id=0, bos_token_id=1)).start_id == 0
