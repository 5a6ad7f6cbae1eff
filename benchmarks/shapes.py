"""Models of the published shapes with random weights: what they say is nonsense, what they cost is real."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    MarianConfig,
    MarianMTModel,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from models.engine.choice import DEFAULT_SETTINGS
from models.loading.assembly import wrap
from models.registry import find
from models.tasks.base import AnyTaskModel

# What is not news on a page is none between two rows either.
transformers_logging.disable_progress_bar()

COMMON = (
    "the", "old", "keeper", "went", "up", "to", "a", "lamp", "and", "many", "boats", "came", "home", "at", "night",
)  # fmt: skip


def _bert(kind: type[PreTrainedModel]) -> PreTrainedModel:
    return kind(BertConfig())


def _marian() -> PreTrainedModel:
    """Opus-mt-en-fr's shape (Tiedemann & Thottingal, 2020); its padding comes last, where ours comes first."""
    last = 59_513
    config = MarianConfig(
        vocab_size=last + 1, decoder_vocab_size=last + 1, d_model=512, encoder_layers=6, decoder_layers=6,
        encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048,
        max_position_embeddings=512, activation_function="swish", scale_embedding=True,
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, forced_eos_token_id=None,
    )  # fmt: skip
    return MarianMTModel(config)


SHAPES: dict[str, Callable[[], PreTrainedModel]] = {
    "fill_mask": lambda: _bert(BertForMaskedLM),
    "sentiment": lambda: DistilBertForSequenceClassification(DistilBertConfig()),
    "question_answering": lambda: _bert(BertForQuestionAnswering),
    "translation": _marian,
    "completion": lambda: GPT2LMHeadModel(GPT2Config(bos_token_id=0, eos_token_id=0)),
}
"""BERT base, DistilBERT, BERT base, Opus-MT and GPT-2 small, by the endpoint that they would answer."""


@cache
def _folder(endpoint: str) -> tuple[tempfile.TemporaryDirectory[str], Path]:
    """A checkpoint's folder with random weights and a tokenizer; the first of the two deletes it at the end."""
    kept = tempfile.TemporaryDirectory()
    folder = Path(kept.name)
    torch.manual_seed(0)
    network = SHAPES[endpoint]()
    network.save_pretrained(folder)
    bundled = find(endpoint)
    tokenizer = AutoTokenizer.from_pretrained(bundled.folder)
    tokenizer.save_pretrained(folder)
    _widen(folder / "tokenizer.json", network.config.vocab_size)
    return kept, folder


def _widen(file: Path, size: int) -> None:
    """Give the tokenizer names for all ids that a network of `size` may write."""
    written = json.loads(file.read_text(encoding="utf-8"))
    vocabulary = written["model"]["vocab"]
    vocabulary |= {f"word{number}": number for number in range(len(vocabulary), size)}
    file.write_text(json.dumps(written), encoding="utf-8")


def ours(endpoint: str) -> AnyTaskModel:
    """The shape as the page would run it."""
    checkpoint = replace(find(endpoint), base="")
    return wrap(checkpoint, _folder(endpoint)[1], "", DEFAULT_SETTINGS)


def plain(endpoint: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The same weights as transformers loads them, in float32, and their tokenizer."""
    folder = _folder(endpoint)[1]
    network = type(SHAPES[endpoint]()).from_pretrained(folder, dtype=torch.float32)
    network.eval()
    return network, AutoTokenizer.from_pretrained(folder)


def text_of(tokenizer: PreTrainedTokenizerBase, tokens: int, start: str = "") -> str:
    """A text that begins with `start` and makes exactly this many tokens, special ones included."""
    text = start or COMMON[0]
    for number in range(tokens):
        if len(tokenizer(text)["input_ids"]) == tokens:
            return text
        text += " " + COMMON[number % len(COMMON)]
    raise ValueError(f"{text!r} never makes {tokens} tokens")
