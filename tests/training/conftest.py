"""The tokenizer that the training tests share."""

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from training.cards import CHECKPOINTS


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(CHECKPOINTS / "clearhead-minilm")
