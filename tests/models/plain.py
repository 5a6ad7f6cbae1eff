"""Oracles: a model's tokenizer as transformers loads it, and our rules of writing as its logits processors."""

from collections.abc import Callable, Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoTokenizer, LogitsProcessor, LogitsProcessorList

from models.decoding.generate import byte_rule
from models.decoding.sampling import barred
from models.loading.description import generation_settings
from models.tasks.base import AnyTaskModel


def plain_tokenizer(model: AnyTaskModel) -> Any:
    """The tokenizer of a model as transformers loads it."""
    return _tokenizer(model.folder)


@cache
def _tokenizer(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder)


class Barred(LogitsProcessor):
    """A logits processor for `generate` that bars the tokens of `rule`, unless no other token is left."""

    def __init__(self, rule: Callable[[Sequence[int]], Collection[int]]) -> None:
        self.rule = rule

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        left = scores.clone()
        for row, written in zip(left, input_ids.tolist(), strict=True):
            row[list(self.rule(written))] = float("-inf")
        return torch.where(left.isfinite().any(dim=-1, keepdim=True), left, scores)


def loop_guard(size: int) -> Barred:
    """A logits processor that keeps any run of `size` tokens from standing three times."""
    return Barred(lambda written: barred(written, size))


def whole_characters(model: AnyTaskModel) -> LogitsProcessorList:
    """The logits processors that keep a byte-level vocabulary from writing broken characters."""
    rule = byte_rule(model.tokenizer, model.settings.vocabulary)
    return LogitsProcessorList([Barred(rule.barred)] if rule else [])


def set_generation(model: AnyTaskModel, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
    """Change a checkpoint's generation settings, both ours and transformers'."""
    config = model.network.generation_config
    for name, value in settings.items():
        monkeypatch.setattr(config, name, value)
    monkeypatch.setattr(model, "generation", generation_settings(config))
