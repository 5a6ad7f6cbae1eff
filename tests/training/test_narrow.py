"""Adapters in 8 bits: how near the rounded ones are, and that plain PEFT reads them."""

from pathlib import Path

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from transformers import BertConfig, BertForSequenceClassification

from training.narrow import NARROW, WEIGHTS, narrow, narrow_adapter, narrow_factors


def test_the_wide_factor_makes_up_for_what_the_thin_one_lost() -> None:
    torch.manual_seed(0)
    thin, wide = torch.randn(30, 40) / 200, torch.randn(60, 30)
    change = wide @ thin
    narrow_thin, narrow_wide = narrow_factors(thin, wide)
    assert narrow_thin.dtype == narrow_wide.dtype == NARROW
    off = torch.dist(narrow_wide.float() @ narrow_thin.float() / 1024, change) / change.norm()
    alone = torch.dist(wide.to(NARROW).float() @ narrow_thin.float() / 1024, change) / change.norm()
    assert off < 0.04 and off < alone


def test_numbers_beyond_the_range_are_refused() -> None:
    assert narrow(torch.tensor([-448.0, 1.0])).float().tolist() == [-448.0, 1.0]
    with pytest.raises(ValueError, match="ends at 448"):
        narrow(torch.tensor([1.0, -500.0]))


def test_plain_peft_reads_a_narrow_adapter_and_answers_nearly_the_same(tmp_path: Path) -> None:
    config = BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )  # fmt: skip
    torch.manual_seed(1)
    trunk = BertForSequenceClassification(config).eval()
    untouched = {name: tensor.clone() for name, tensor in trunk.state_dict().items()}
    lora = LoraConfig(r=8, lora_alpha=8, target_modules=["intermediate.dense"], modules_to_save=["query", "classifier"])
    adapter = get_peft_model(trunk, lora).eval()
    with torch.no_grad():
        for name, parameter in adapter.named_parameters():
            if "lora_" in name:
                parameter.copy_(torch.randn_like(parameter) / (50 if "lora_A" in name else 5))
            elif "modules_to_save" in name and parameter.ndim == 2:
                parameter.copy_(torch.randn_like(parameter) / 10)
    ids = torch.randint(0, 50, (4, 9))
    expected = adapter(input_ids=ids).logits
    adapter.save_pretrained(tmp_path)
    wide_bytes = (tmp_path / WEIGHTS).stat().st_size
    narrow_adapter(tmp_path)

    assert (tmp_path / WEIGHTS).stat().st_size < wide_bytes / 2
    saved = load_file(tmp_path / WEIGHTS)
    assert {tensor.dtype for name, tensor in saved.items() if ".encoder." in name and tensor.ndim == 2} == {NARROW}
    assert {tensor.dtype for name, tensor in saved.items() if "classifier" in name} == {torch.float32}
    again = BertForSequenceClassification(config).eval()
    again.load_state_dict(untouched)
    loaded = PeftModel.from_pretrained(again, tmp_path).eval()
    with torch.inference_mode():
        assert torch.allclose(loaded(input_ids=ids).logits, expected, atol=0.03 * expected.abs().max().item())
