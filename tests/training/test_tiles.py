"""The completion model's gradients and Muon's steps in tiles: those of plain torch, but for rounding."""

import copy
import math

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from training import tiles
from training.answers import Answers

needs_tiles = pytest.mark.skipif(tiles.compiler() is None, reason="nothing multiplies bfloat16, or nothing compiles")
SHAPE = {
    "vocab_size": 2048,
    "n_positions": 512,
    "n_embd": 128,
    "n_layer": 2,
    "n_head": 2,
    "activation_function": "gelu_pytorch_tanh",
    "resid_pdrop": 0.0,
    "embd_pdrop": 0.0,
    "attn_pdrop": 0.0,
}


@pytest.fixture(scope="module")
def model() -> GPT2LMHeadModel:
    torch.manual_seed(3)
    model = GPT2LMHeadModel(GPT2Config(**SHAPE))
    with torch.no_grad():
        for parameter in model.parameters():
            # As large as in a trained model, and no vector is all zeros or ones.
            parameter.add_(torch.randn_like(parameter) * 0.08)
    return model


@needs_tiles
@pytest.mark.parametrize("window", [32, 256, 512])
@pytest.mark.parametrize("threads", [1, 2])
def test_loss_and_gradients_are_those_of_plain_transformers(model: GPT2LMHeadModel, window: int, threads: int) -> None:
    model = copy.deepcopy(model)
    pieces = torch.randint(0, SHAPE["vocab_size"], (4096 // window, window + 1), generator=torch.manual_seed(window))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        tiled = tiles.next_piece_loss(model, pieces)
    finally:
        torch.set_num_threads(before)
    assert tiled is not None
    (3 * tiled).backward()
    found = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    logits = model(input_ids=pieces[:, :-1], use_cache=False).logits
    plain = torch.nn.functional.cross_entropy(logits.flatten(0, 1), pieces[:, 1:].flatten())
    (3 * plain).backward()
    assert tiled.item() == pytest.approx(plain.item(), rel=1e-3)
    for name, parameter in model.named_parameters():
        assert (found[name] - parameter.grad).norm() <= 0.03 * parameter.grad.norm(), name


@needs_tiles
@pytest.mark.parametrize("sign", [1, -1])
def test_scores_of_hundreds_count_only_by_how_far_apart_they_are(model: GPT2LMHeadModel, sign: int) -> None:
    model, shifted = copy.deepcopy(model), copy.deepcopy(model)
    width = SHAPE["n_embd"]
    with torch.no_grad():
        for of_models, signs in ((model, None), (shifted, (40, 40 * sign))):
            for block in of_models.transformer.h:
                for at, value in zip((0, width), signs or (0, 0), strict=True):
                    # One number of the first head's queries and keys: their product is the same for all.
                    block.attn.c_attn.weight[:, at] = 0
                    block.attn.c_attn.bias[at] = value
    pieces = torch.randint(0, SHAPE["vocab_size"], (8, 257), generator=torch.manual_seed(4))
    expected = model(input_ids=pieces[:, :-1], use_cache=False).logits
    plain = torch.nn.functional.cross_entropy(expected.flatten(0, 1), pieces[:, 1:].flatten())
    plain.backward()
    tiled = tiles.next_piece_loss(shifted, pieces)
    assert tiled is not None
    tiled.backward()
    assert tiled.item() == pytest.approx(plain.item(), rel=1e-3)
    for (name, one), (_, other) in zip(model.named_parameters(), shifted.named_parameters(), strict=True):
        if "c_attn" not in name:
            assert (one.grad - other.grad).norm() <= 0.03 * one.grad.norm(), name


@needs_tiles
@pytest.mark.parametrize("sign", [1, -1])
def test_scores_beyond_what_is_told_apart_are_refused(model: GPT2LMHeadModel, sign: int) -> None:
    model = copy.deepcopy(model)
    with torch.no_grad():
        model.transformer.ln_f.weight.zero_()
        model.transformer.ln_f.bias.zero_()[0] = 1
        model.transformer.wte.weight[:, 0] = 59.5 * sign
    pieces = torch.randint(0, SHAPE["vocab_size"], (8, 257), generator=torch.manual_seed(4))
    loss = tiles.next_piece_loss(model, pieces)
    assert loss is not None
    assert loss.item() == pytest.approx(math.log(SHAPE["vocab_size"]), rel=1e-3)
    with torch.no_grad():
        model.transformer.wte.weight[:, 0] = 61 * sign
    with pytest.raises(ArithmeticError, match="too large"):
        tiles.next_piece_loss(model, pieces)


@needs_tiles
def test_several_answers_for_each_place_are_learnt_by_their_shares(model: GPT2LMHeadModel) -> None:
    model, words = copy.deepcopy(model), SHAPE["vocab_size"]
    torch.manual_seed(5)
    pieces, answers = torch.randint(0, words, (8, 257)), torch.randint(0, words, (8, 256, 7))
    shares = torch.rand(8, 256, 7).softmax(dim=-1)
    # Some places have one answer, and what fills the row counts for nothing; others name one twice.
    shares[:, ::3] = torch.tensor([1.0, 0, 0, 0, 0, 0, 0])
    answers[:, 1::3, 1] = answers[:, 1::3, 0]
    tiled = tiles.next_piece_loss(model, pieces, Answers(answers, shares))
    assert tiled is not None
    tiled.backward()
    found = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    whole = torch.zeros(8 * 256, words).scatter_add_(1, answers.flatten(0, 1), shares.flatten(0, 1))
    logits = model(input_ids=pieces[:, :-1], use_cache=False).logits
    plain = torch.nn.functional.cross_entropy(logits.flatten(0, 1), whole)
    plain.backward()
    assert tiled.item() == pytest.approx(plain.item(), rel=1e-3)
    for name, parameter in model.named_parameters():
        assert (found[name] - parameter.grad).norm() <= 0.03 * parameter.grad.norm(), name


@needs_tiles
def test_a_batch_after_another_starts_from_nothing(model: GPT2LMHeadModel) -> None:
    library = tiles.compiled("network", width=SHAPE["n_embd"], layers=SHAPE["n_layer"], words=SHAPE["vocab_size"])
    assert library is not None
    network = tiles.Network(model, library, 2048)
    pieces, others = torch.randint(0, SHAPE["vocab_size"], (2, 8, 257), generator=torch.manual_seed(0))
    loss, gradients = network.run(pieces)
    network.run(others)
    again, the_same = network.run(pieces)
    assert again == loss
    assert all(torch.equal(one, other) for one, other in zip(gradients, the_same, strict=True))


@needs_tiles
def test_a_batch_that_does_not_part_evenly_is_refused(model: GPT2LMHeadModel) -> None:
    library = tiles.compiled("network", width=SHAPE["n_embd"], layers=SHAPE["n_layer"], words=SHAPE["vocab_size"])
    assert library is not None
    for tokens in (0, 1000, 1500):
        with pytest.raises(ValueError, match="multiple of 1024"):
            tiles.Network(model, library, tokens)
    network = tiles.Network(model, library, 2048)
    for rows, window in ((4, 256), (2, 1024), (32, 64 + 1), (128, 16)):
        with pytest.raises(ValueError, match="not 2048 pieces"):
            network.run(torch.zeros(rows, window + 1, dtype=torch.long))


@needs_tiles
def test_muon_steps_as_torchs_does() -> None:
    generator = torch.manual_seed(0)
    shapes = [(128, 128), (128, 512), (512, 128), (384, 128), (128, 128)]
    ours, plain = ([torch.randn(shape, generator=torch.manual_seed(7)) for shape in shapes] for _ in range(2))
    steppers = tiles.Muon(ours, 0.02, 0.05), torch.optim.Muon(plain, 0.02, 0.05, adjust_lr_fn="original")
    assert steppers[0]._muons is not None
    start = [matrix.clone() for matrix in plain]
    for _ in range(3):
        for one, other in zip(ours, plain, strict=True):
            one.grad = torch.randn(one.shape, generator=generator)
            other.grad = one.grad.clone()
        for stepper in steppers:
            stepper.step()
    for one, other, before in zip(ours, plain, start, strict=True):
        assert (one - other).norm() <= 0.03 * (other - before).norm()
        momenta = (stepper.state[each]["momentum_buffer"] for stepper, each in zip(steppers, (one, other), strict=True))
        assert torch.allclose(*momenta, atol=1e-6)


def test_matrices_of_other_shapes_are_stepped_by_torch() -> None:
    ours, plain = ([torch.ones(100, 128), torch.ones(128, 128)] for _ in range(2))
    steppers = tiles.Muon(ours, 0.1, 0.1), torch.optim.Muon(plain, 0.1, 0.1)
    for matrices, stepper in zip((ours, plain), steppers, strict=True):
        for matrix in matrices:
            matrix.grad = torch.arange(matrix.numel()).reshape(matrix.shape).float()
        stepper.step()
    assert all(torch.equal(one, other) for one, other in zip(ours, plain, strict=True))


def test_without_a_compiler_that_knows_tiles_torch_trains(
    model: GPT2LMHeadModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix = torch.ones(128, 128, requires_grad=True)
    for found in (None, "/bin/false"):
        monkeypatch.setattr(tiles, "compiler", lambda found=found: found)
        tiles.compiled.cache_clear()
        assert tiles.next_piece_loss(model, torch.zeros(8, 257, dtype=torch.long)) is None
        assert tiles.Muon([matrix], 0.1, 0.1)._muons is None
    assert "without tiles" in capsys.readouterr().out
    tiles.compiled.cache_clear()


@pytest.mark.parametrize(
    "change",
    [
        {"n_head": 4},
        {"vocab_size": 2000},
        {"n_positions": 256},
        {"n_inner": 256},
        {"activation_function": "relu"},
        {"tie_word_embeddings": False},
        {"attn_pdrop": 0.1},
    ],
)
def test_another_architecture_is_left_to_torch(change: dict[str, object]) -> None:
    assert tiles.suits(GPT2Config(**SHAPE))
    assert not tiles.suits(GPT2Config(**SHAPE | change))
