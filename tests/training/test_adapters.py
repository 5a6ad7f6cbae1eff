"""Adapters: what is trained, averaged and cut, and that a saved one makes the trained model of the trunk again."""

from pathlib import Path

import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import BertConfig, BertForSequenceClassification

from training.adapters import (
    adapter_of,
    freeze_but,
    input_moments,
    low_rank,
    save_adapter,
    shuffled_batches,
)
from training.averaging import mean_of, mean_of_runs


def test_every_example_is_in_one_batch_an_epoch_with_examples_of_like_length() -> None:
    lengths = torch.randint(1, 60, (500,)).tolist()
    batches = shuffled_batches(lengths, 16, seed=0)
    assert sorted(index for batch in batches for index in batch) == list(range(500))
    assert max(max(lengths[i] for i in batch) - min(lengths[i] for i in batch) for batch in batches) < 15


def test_the_mean_of_states_weighs_each_and_leaves_whole_numbers() -> None:
    first, last = ({"w": torch.tensor([w]), "step": torch.tensor(step)} for w, step in ((1.0, 3), (5.0, 4)))
    mean = mean_of([first, last], (0.25, 0.75))
    assert mean["w"].item() == 4.0 and mean["step"].item() == 4


def test_runs_start_alike_and_leave_the_model_at_the_mean_of_their_ends() -> None:
    model = torch.nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(1.0)
    seen = []

    def run(step: float) -> None:
        seen.append(model.weight.item())
        model.weight.data += step

    mean_of_runs(model, [lambda: run(2.0), lambda: run(4.0)])
    assert seen == [1.0, 1.0] and model.weight.item() == 4.0


def test_the_cut_to_a_rank_is_exact_for_a_change_of_that_rank_and_closer_the_higher_it_is() -> None:
    change, inputs = torch.randn(12, 3) @ torch.randn(3, 20), torch.randn(100, 20).double()
    thin, wide = low_rank(change, 3, inputs.T @ inputs)
    assert thin.shape == (3, 20) and wide.shape == (12, 3)
    assert torch.allclose(wide @ thin, change, atol=1e-4)
    cuts = [low_rank(change, rank, inputs.T @ inputs) for rank in (1, 2)]
    errors = [torch.dist(change, wide @ thin).item() for thin, wide in cuts]
    assert errors[0] > errors[1] > 0.1


def test_the_cut_keeps_what_the_inputs_bring_out() -> None:
    # A large part of the change that no input meets, and a small one that all do.
    unmet, met = torch.zeros(4, 6), torch.zeros(4, 6)
    unmet[0, 0], met[1, 1] = 10.0, 1.0
    inputs = torch.randn(50, 6).double() * torch.tensor([0, 1, 0, 0, 0, 0])
    thin, wide = low_rank(unmet + met, 1, inputs.T @ inputs)
    assert torch.allclose((wide @ thin)[1], met[1], atol=1e-2)


HEADS = ["pooler", "classifier"]


def _trunk() -> BertForSequenceClassification:
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        id2label={0: "negative", 1: "positive"}, label2id={"negative": 0, "positive": 1},
    )  # fmt: skip
    return BertForSequenceClassification(config).eval()


def test_blocks_and_heads_are_trained_and_nothing_else() -> None:
    model = _trunk()
    freeze_but(model, HEADS)
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert "bert.encoder.layer.1.attention.self.query.weight" in trained and "classifier.bias" in trained
    assert not [name for name in trained if "embeddings" in name]


def test_a_saved_adapter_makes_the_trained_model_of_the_trunk_again(tmp_path: Path) -> None:
    model = _trunk()
    freeze_but(model, HEADS)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data += 0.2 * torch.randn_like(parameter)
    ids = torch.randint(0, 50, (2, 7))
    expected = model(input_ids=ids).logits
    moments = input_moments(model, [{"input_ids": torch.randint(0, 50, (16, 7))}])
    assert model(input_ids=ids).logits.equal(expected)
    save_adapter(adapter_of(model, _trunk(), 16, HEADS, moments), tmp_path)

    again = _trunk()
    assert not torch.allclose(again(input_ids=ids).logits, expected, atol=1e-3)
    loaded = PeftModel.from_pretrained(again, tmp_path).eval()
    assert torch.allclose(loaded(input_ids=ids).logits, expected, atol=3e-3)
    assert torch.allclose(loaded.merge_and_unload()(input_ids=ids).logits, expected, atol=3e-3)
    assert BertConfig.from_pretrained(tmp_path).id2label == {0: "negative", 1: "positive"}
    assert "assets/checkpoints/clearhead-minilm" in (tmp_path / "adapter_config.json").read_text()
    assert not [name for name in load_file(tmp_path / "adapter_model.safetensors") if "embeddings" in name]
