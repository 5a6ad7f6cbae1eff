"""What the training tests share."""

import pytest
from transformers import PreTrainedTokenizerBase

from training.adapters import trunk_tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return trunk_tokenizer()
