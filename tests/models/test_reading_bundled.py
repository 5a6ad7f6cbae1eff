"""Reading bundled checkpoints ourselves: to the last bit what transformers and PEFT make of them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
)

from models.assembly import plain_network
from models.bundled import read_bundled
from models.checkpoints import BUNDLED, REGISTRY, Checkpoint
from models.tasks import Task

OURS = [checkpoint for checkpoint in REGISTRY.values() if not checkpoint.hub_id]
AUTO_MODELS = {
    Task.FILL_MASK: AutoModelForMaskedLM,
    Task.SENTIMENT: AutoModelForSequenceClassification,
    Task.QUESTION_ANSWERING: AutoModelForQuestionAnswering,
    Task.TRANSLATION: AutoModelForSeq2SeqLM,
    Task.COMPLETION: AutoModelForCausalLM,
}


def numbers(network: nn.Module) -> dict[str, Tensor]:
    """All parameters and all buffers by name."""
    return {**dict(network.named_parameters()), **dict(network.named_buffers())}


@pytest.mark.parametrize("checkpoint", OURS, ids=lambda checkpoint: checkpoint.name)
def test_it_is_the_network_that_transformers_and_peft_load(checkpoint: Checkpoint) -> None:
    plain: Any = plain_network(checkpoint)
    trunk = BUNDLED / checkpoint.base if checkpoint.base else None
    ours: Any = read_bundled(AUTO_MODELS[checkpoint.task], checkpoint.folder, trunk)
    expected, read = numbers(plain), numbers(ours)
    assert read.keys() == expected.keys()
    for name, tensor in expected.items():
        assert read[name].dtype == tensor.dtype
        assert torch.equal(read[name], tensor), name
    assert [type(module) for module in ours.modules()] == [type(module) for module in plain.modules()]
    shared = {network: len({parameter.data_ptr() for parameter in network.parameters()}) for network in (plain, ours)}
    assert shared[plain] == shared[ours]
    assert ours.config._attn_implementation == plain.config._attn_implementation
    assert getattr(ours, "generation_config", None) == getattr(plain, "generation_config", None)


def test_weights_that_nobody_gives_are_not_made_up() -> None:
    with pytest.raises(ValueError, match=r"no weights for .*classifier"):
        read_bundled(AutoModelForSequenceClassification, BUNDLED / "clearhead-minilm", None)


@pytest.mark.parametrize("told", [{"use_dora": True}, {"peft_type": "IA3"}, {"rank_pattern": {"query": 4}}])
def test_an_adapter_of_another_kind_is_refused(told: dict[str, Any], tmp_path: Path) -> None:
    folder = shutil.copytree(BUNDLED / "clearhead-sentiment", tmp_path / "adapter")
    config = folder / "adapter_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text(encoding="utf-8")), **told}), encoding="utf-8")
    with pytest.raises(ValueError, match="another kind"):
        read_bundled(AutoModelForSequenceClassification, folder, BUNDLED / "clearhead-minilm")
