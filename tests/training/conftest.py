"""What the training tests share."""

from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from training.adapters import trunk_tokenizer
from training.bpe import byte_level_tokenizer

DOCUMENTS = ["The cat sleeps on the old chair.", "Where is my friend's house?\n\nWe have seen 12 birds. Café 😀!"]
STORY = ["The cat sleeps on the old chair.", "Where is my friend's house?", "We have seen 12 birds."]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return trunk_tokenizer()


def byte_level(folder: Path, texts: list[str], size: int) -> PreTrainedTokenizerFast:
    byte_level_tokenizer(texts, vocab_size=size).save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def storyteller(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    return byte_level(tmp_path_factory.mktemp("storyteller"), STORY, 300)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    return byte_level(tmp_path_factory.mktemp("ours"), DOCUMENTS[:1] * 2, 280)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    return byte_level(tmp_path_factory.mktemp("theirs"), DOCUMENTS * 2, 330)


@pytest.fixture
def larger(theirs: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """A model that might teach, were it trained."""
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=len(theirs), tie_word_embeddings=True, **shape)).eval()
