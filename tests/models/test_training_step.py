"""One step of training equals transformers' own loss and plain autograd, and the shared network stays as it is."""

import numpy as np
import pytest
import torch

from models.engine.gradient_step import part_of_each
from models.errors import InputError
from models.loading.assembly import as_task
from models.outputs.training import BLANKED, EXCHANGED, LEFT, MASKED, NEXT, TrainingStepOutput
from models.registry import Task
from models.tasks.training_step import RATE, TrainingStep
from tests.models.architectures import FITTING
from tests.models.conftest import BundledModel, TinyModel

TEXT = "The old keeper lit the lamp at seven, and a storm came over the hills. Ada’s boats turned home!"
CASES = [
    *((MASKED, each) for each in FITTING[Task.FILL_MASK]),
    *((NEXT, each) for each in FITTING[Task.COMPLETION]),
]


def learning(tiny: TinyModel, objective: str, architecture: str) -> TrainingStep:
    masked, causal = (architecture, "gpt2") if objective == MASKED else ("bert", architecture)
    model = as_task(tiny(masked, Task.FILL_MASK), Task.TRAINING_STEP)
    assert isinstance(model, TrainingStep)
    model.writer = tiny(causal, Task.COMPLETION)  # type: ignore[assignment]
    return model


@pytest.mark.parametrize(("objective", "architecture"), CASES, ids=str)
def test_loss_gradients_and_step_are_those_of_transformers_and_plain_autograd(
    tiny: TinyModel, objective: str, architecture: str
) -> None:
    model = learning(tiny, objective, architecture)
    inputs = model.inputs_type(text=TEXT, objective=objective, seed=3)
    output, lesson = model.answer(inputs), model.preprocess(inputs)
    network = model.network if objective == MASKED else model.writer.network
    before = {name: each.clone() for name, each in network.named_parameters()}
    ids = torch.tensor([lesson.ids])
    labels = ids.clone()
    if objective == MASKED:
        labels = torch.full_like(ids, -100)
        labels[0, list(lesson.places)] = torch.tensor(lesson.targets)
    network.requires_grad_(True)
    try:
        with torch.enable_grad():
            loss = network(input_ids=ids, labels=labels).loss
            loss.backward()
        assert output.loss == pytest.approx(float(loss.detach()), abs=1e-5)
        parts, squares = part_of_each(network), dict[str, float]()
        for name, each in network.named_parameters():
            if each.grad is not None:
                squares[parts[name]] = squares.get(parts[name], 0) + float(each.grad.square().sum())
        assert {each.part: each.norm for each in output.gradients} == pytest.approx(
            {part: square**0.5 for part, square in squares.items()}, rel=1e-4, abs=1e-6
        )
        torch.optim.SGD(network.parameters(), lr=RATE).step()
        after = network(input_ids=ids, labels=labels).loss
        assert output.loss_after == pytest.approx(float(after.detach()), abs=1e-4)
    finally:
        network.zero_grad()
        network.requires_grad_(False)
        with torch.no_grad():
            for name, each in network.named_parameters():
                each.copy_(before[name])
    assert output == model.answer(inputs)


@pytest.mark.parametrize("objective", [MASKED, NEXT])
def test_the_shared_networks_answer_as_before(bundled: BundledModel, objective: str) -> None:
    model = as_task(bundled("clearhead-minilm"), Task.TRAINING_STEP)
    model.writer = bundled("clearhead-stories")  # type: ignore[attr-defined]
    learner = bundled("clearhead-minilm" if objective == MASKED else "clearhead-stories")
    before = {name: each.clone() for name, each in learner.network.named_parameters()}
    output: TrainingStepOutput = model(text=TEXT, objective=objective)
    assert output.loss_after < output.loss
    assert output.checkpoint.name == learner.checkpoint.name and output.shared
    for name, each in learner.network.named_parameters():
        assert torch.equal(each, before[name]) and not each.requires_grad and each.grad is None


def test_every_token_is_counted_in_one_part_of_the_network(bundled: BundledModel) -> None:
    network = bundled("clearhead-minilm").network
    parts = part_of_each(network)
    assert list(dict.fromkeys(parts.values())) == ["embeddings", *(f"layer {n}" for n in range(1, 7)), "head"]
    assert parts["bert.encoder.layer.2.output.dense.weight"] == "layer 3"
    assert parts["cls.predictions.bias"] == "head"


def test_the_chosen_are_15_percent_and_fare_as_in_berts_paper(tiny: TinyModel) -> None:
    model, fates, chosen, total = learning(tiny, MASKED, "bert"), list[str](), 0, 0
    for seed in range(400):
        lesson = model.preprocess(model.inputs_type(text=TEXT, seed=seed))
        words = sum(not token.is_mark for token in lesson.tokens)
        total, chosen, fates = total + words, chosen + len(lesson.places), [*fates, *lesson.fates]
        for place, target, fate in zip(lesson.places, lesson.targets, lesson.fates, strict=True):
            read = lesson.ids[place]
            mask = model.tokenizer.settings.mask_token_id
            assert {BLANKED: read == mask, EXCHANGED: read not in (mask, target), LEFT: read == target}[fate]
        others = set(range(len(lesson.ids))) - set(lesson.places)
        assert all(lesson.ids[place] == lesson.tokens[place].id for place in others)
    assert chosen / total == pytest.approx(0.15, abs=0.02)
    shares = [np.mean([each == fate for each in fates]) for fate in (BLANKED, EXCHANGED, LEFT)]
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.03)


def test_one_word_is_enough_and_blanks_alone_are_not(tiny: TinyModel) -> None:
    model = learning(tiny, MASKED, "bert")
    assert len(model(text="lamp").places) == 1
    for fields, field, said in (
        ({"text": "[MASK] [MASK]"}, "text", "nothing but blanks"),
        ({"text": " "}, "text", "empty"),
        ({"text": "lamp " * 200}, "text", "worked out for at most"),
        ({"text": TEXT, "objective": "both"}, "objective", "masked or next"),
        ({"text": TEXT, "seed": -1}, "seed", "from 0 to"),
    ):
        with pytest.raises(InputError, match=said) as refused:
            model(**fields)
        assert refused.value.field == field


@pytest.mark.parametrize("objective", [MASKED, NEXT])
@pytest.mark.parametrize("text", ["🦊 fox", "שלום", "a\u0000b", "[MASK] </s> <pad> x", "ﬁne", "x" * 90, "1 2\n3"])
def test_any_text_is_learned_from_and_its_attention_can_be_had(
    bundled: BundledModel, objective: str, text: str
) -> None:
    model = as_task(bundled("clearhead-minilm"), Task.TRAINING_STEP)
    model.writer = bundled("clearhead-stories")  # type: ignore[attr-defined]
    output = model(text=text, objective=objective)
    assert output.places and all(np.isfinite(each.loss) for each in output.places)
    (attention,) = model.attend(model.inputs_type(text=text, objective=objective)).values()
    assert len(attention.query_tokens) == len(output.tokens)
