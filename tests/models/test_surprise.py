"""Surprise equals plain transformers: every token's probability, texts beyond the window, the masked model."""

import math

import numpy as np
import pytest
import torch

from evaluation.perplexity import losses
from models.architectures import architecture as known
from models.engine import OPENVINO, TORCH
from models.errors import InputError
from models.loading.assembly import as_task
from models.registry import Task
from models.tasks import surprise
from models.tasks.surprise import LONGEST_PSEUDO, Surprise
from tests.models.architectures import FITTING
from tests.models.conftest import TinyModel
from tests.models.plain import plain_tokenizer

SHORT = "The old keeper lit the lamp at seven, and a storm came over the hills. 😀 Ada’s boats turned home!"
LONG = " ".join(f"The {number % 7} boats of the old keeper turned home over hill {number}." for number in range(30))
CAUSAL = [
    (each, engine)
    for each in FITTING[Task.COMPLETION]
    for engine in (OPENVINO, TORCH)
    if engine == TORCH or known(each).converts
]


def measuring(tiny: TinyModel, architecture: str, engine: str = TORCH) -> Surprise:
    model = as_task(tiny(architecture, Task.COMPLETION, engine=engine), Task.SURPRISE)
    assert isinstance(model, Surprise)
    model.masked = tiny("bert", Task.FILL_MASK)
    return model


@torch.inference_mode()
def plain_logs(model: Surprise, ids: list[int]) -> torch.Tensor:
    """Natural log-probabilities `[token, vocabulary]` of what comes after each of `ids`."""
    return model.network(input_ids=torch.tensor([ids])).logits[0].double().log_softmax(dim=-1)


@pytest.mark.parametrize(("architecture", "engine"), CAUSAL, ids=str)
def test_every_token_has_the_probability_rank_and_bits_of_one_plain_pass(
    tiny: TinyModel, architecture: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surprise, "_TOKENS_AT_ONCE", 7)
    model = measuring(tiny, architecture, engine)
    output, tokenizer = model(text=SHORT), plain_tokenizer(model)
    start = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
    ids = start + tokenizer(SHORT, add_special_tokens=False)["input_ids"]
    assert [each.token.id for each in output.text.tokens] == ids[1:]
    assert bool(output.start) == bool(start)
    logs = plain_logs(model, ids)
    for place, each in enumerate(output.text.tokens):
        own = float(logs[place, ids[place + 1]])
        assert each.probability == pytest.approx(math.exp(own), abs=1e-6, rel=1e-4)
        assert each.bits == pytest.approx(-own / math.log(2), abs=1e-4)
        surer = int((logs[place] > own + 1e-5).sum())
        assert surer < each.rank <= int((logs[place] >= own - 1e-5).sum())
        assert each.context == place + 1
        best = logs[place].topk(3).values.exp().tolist()
        assert [other.score for other in each.rather] == pytest.approx(best, abs=1e-6, rel=1e-4)
    count = len(ids) - 1
    total = sum(float(logs[place, ids[place + 1]]) for place in range(count))
    assert output.text.log_probability == pytest.approx(total, abs=1e-4 * count)
    assert output.text.perplexity == pytest.approx(math.exp(-total / count), rel=1e-4)


@pytest.mark.parametrize(("architecture", "engine"), CAUSAL, ids=str)
def test_a_long_text_counts_every_token_once_with_half_a_window_before_it(
    tiny: TinyModel, architecture: str, engine: str
) -> None:
    model = measuring(tiny, architecture, engine)
    tokenizer, window = plain_tokenizer(model), model.settings.window
    ids = tokenizer(LONG, add_special_tokens=False, verbose=False)["input_ids"]
    found = model(text=LONG).text
    counted = ids if tokenizer.bos_token_id is not None else ids[1:]
    assert len(counted) > 2 * window
    assert [each.token.id for each in found.tokens] == counted
    assert min(each.context for each in found.tokens[window:]) > window // 2
    assert max(each.context for each in found.tokens) <= window
    if tokenizer.bos_token_id is not None:
        total, count = losses(model.network, tokenizer, LONG, window)
        assert count == len(counted)
        assert found.log_probability == pytest.approx(-total, abs=1e-4 * count)


def test_without_a_start_token_the_first_token_is_not_counted(tiny: TinyModel) -> None:
    model = measuring(tiny, "openai-gpt")
    output = model(text="The lamp.")
    assert output.start == ""
    assert len(output.text.tokens) == len(output.tokens) - 1
    with pytest.raises(InputError, match="no start token") as refused:
        model(text="a")
    assert refused.value.field == "text"


@pytest.mark.parametrize("architecture", FITTING[Task.FILL_MASK])
def test_pseudo_perplexity_masks_each_token_in_turn(tiny: TinyModel, architecture: str) -> None:
    model = measuring(tiny, "gpt2")
    model.masked = masked = tiny(architecture, Task.FILL_MASK)
    text = "The keeper lit the lamp, and the old boats turned home over the hills before the storm came."
    tokenizer, logs = plain_tokenizer(masked), []
    ids = tokenizer(text)["input_ids"]
    for place, token_id in enumerate(ids):
        if token_id not in tokenizer.all_special_ids:
            blank = torch.tensor([[*ids[:place], tokenizer.mask_token_id, *ids[place + 1 :]]])
            with torch.inference_mode():
                logs.append(float(masked.network(input_ids=blank).logits[0, place].log_softmax(-1)[token_id]))
    found = model(text=text).text.pseudo_perplexity
    assert found and found.tokens == len(logs) > 16
    assert found.value == pytest.approx(math.exp(-np.mean(logs)), rel=1e-4)
    assert model(text="lamp " * (LONGEST_PSEUDO + 1)).text.pseudo_perplexity is None
