"""Integrated gradients are complete and equal a plain sum along the path, for each architecture and task with them."""

import copy
from typing import Any

import pytest
import torch

from models.errors import InputError
from models.explain.attribution import COMPLETE_WITHIN, attribute
from models.outputs.attention import Attribution
from models.outputs.encoders import FillMaskOutput, SentimentOutput
from models.outputs.writing import generated_ids
from models.registry import Task, find
from models.tasks.base import AnyTaskModel
from tests.models.architectures import FITTING
from tests.models.conftest import BundledModel, TinyModel

TASKS = (Task.FILL_MASK, Task.SENTIMENT, Task.QUESTION_ANSWERING, Task.NAMES, Task.COMPLETION)
CASES = [(task, architecture) for task in TASKS for architecture in FITTING[task]]
FIELDS: dict[Task, dict[str, Any]] = {
    Task.FILL_MASK: {"text": "The keeper [MASK] the old [MASK]."},
    Task.SENTIMENT: {"text": "She reads a quiet book."},
    Task.QUESTION_ANSWERING: {"question": "Who lit the lamp?", "context": "The old keeper lit the lamp. It burned."},
    Task.NAMES: {"text": "Ada Quist lit the lamp in Lisbon."},
    Task.COMPLETION: {"prompt": "The boats turned home", "max_new_tokens": 4, "strategy": "greedy"},
}
TEXTS: dict[Task, list[dict[str, Any]]] = {
    Task.FILL_MASK: [
        {"text": "She turned the [MASK] and opened the door."},
        {"text": "The capital of France is [MASK]."},
        {"text": "[MASK]s are [MASK] than cats, said the vet 🙂."},
    ],
    Task.SENTIMENT: [
        {"text": "A quiet, generous film that never once raises its voice."},
        {"text": "I expected a masterpiece and got a long, boring, badly acted mess."},
        {"text": "Not bad at all, though I would not see it twice. " * 6},
    ],
    Task.QUESTION_ANSWERING: [
        {"question": "What is on the table?", "context": "There is a 🍎 on the table."},
        {"question": "Where does Maria live?", "context": "Maria is a baker. She lives in Lisbon with two cats."},
        {"question": "When did it open?", "context": "The bridge opened in 1894 after eight years of work. " * 3},
        {"question": "Who wrote it?", "context": "The weather was fine, and nobody wrote anything."},
    ],
    Task.NAMES: [
        {"text": "Jim Henson was a puppeteer."},
        {"text": "We took the train from Milan to Zurich and met Anna there."},
        {"text": "They say that Siemens builds trains in Munich. " * 6},
    ],
    Task.COMPLETION: [
        {"prompt": "Once upon a time there was a little", "max_new_tokens": 3},
        {"prompt": "The king said to the", "max_new_tokens": 3},
        {"prompt": "She was very sad because her brother", "max_new_tokens": 3},
    ],
}


def attributed(model: AnyTaskModel, fields: dict[str, Any], target: str = "") -> Attribution:
    return attribute(model, model.inputs_type(**fields), generated_ids(model(**fields)), target)


def check_complete(found: Attribution) -> None:
    difference = found.value - found.baseline_value
    assert abs(difference) > 0.001
    assert sum(found.scores) == pytest.approx(difference, abs=COMPLETE_WITHIN * abs(difference))
    assert found.delta == pytest.approx(sum(found.scores) - difference, abs=1e-6)


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("task", TASKS)
def test_the_scores_of_every_bundled_checkpoint_sum_to_the_difference_of_the_logits(
    task: Task, number: int, bundled: BundledModel
) -> None:
    check_complete(attributed(bundled(find("", task).name), TEXTS[task][number]))


@pytest.mark.parametrize(("task", "architecture"), CASES, ids=str)
def test_every_architecture_has_one_score_for_each_token_and_none_for_its_marks(
    task: Task, architecture: str, tiny: TinyModel
) -> None:
    model = tiny(architecture, task)
    found = attributed(model, FIELDS[task])
    check_complete(found)
    assert len(found.scores) == len(found.tokens)
    assert found.tokens == model(**FIELDS[task]).tokens
    marks = [score for token, score in zip(found.tokens, found.scores, strict=True) if token.special]
    assert not any(marks)
    assert any(found.scores)
    assert found.baseline == (model.tokenizer.settings.mask_token or "")


@pytest.mark.parametrize(("task", "architecture"), CASES, ids=str)
def test_value_is_the_logit_that_the_answer_came_from(task: Task, architecture: str, tiny: TinyModel) -> None:
    model = tiny(architecture, task)
    encoded = model.preprocess(model.inputs_type(**FIELDS[task]))
    with torch.inference_mode():
        raw = model.forward(encoded)
        match task:
            case Task.QUESTION_ANSWERING:
                output = model(**FIELDS[task])
                start = max(range(len(output.tokens)), key=lambda place: _within(output, place, "start"))
                end = max(range(len(output.tokens)), key=lambda place: _within(output, place, "end"))
                expected = float(raw[0][0][start] + raw[1][0][end])
            case Task.COMPLETION:
                expected = float(model.network(input_ids=torch.from_numpy(encoded.ids)).logits[0, -1].max())
            case Task.NAMES:
                tokens = encoded.tokens[encoded.before : len(encoded)]
                expected = float(raw[tokens.index(model(**FIELDS[task]).decisive.token)].max())
            case Task.FILL_MASK:
                expected = float(raw[0].max())
            case _:
                expected = float(raw.max())
    assert attributed(model, FIELDS[task]).value == pytest.approx(expected, abs=1e-4)


def _within(output: Any, place: int, edge: str) -> bool:
    """Whether the best answer's first (or last) character is in this token."""
    best, token = output.answers[0], output.tokens[place]
    character = best.start if edge == "start" else best.end - 1
    return bool(token.start <= character < token.end)


def test_it_is_the_integral_of_the_gradient_along_the_straight_way(tiny: TinyModel) -> None:
    """The definition, as a sum over 2,000 points, with nothing of Captum in it."""
    model = tiny("bert", Task.SENTIMENT)
    output: SentimentOutput = model(**FIELDS[Task.SENTIMENT])
    label = [each.text for each in output.scores].index(output.label)
    embed, ids = model.network.get_input_embeddings(), torch.tensor([[token.id for token in output.tokens]])
    blank = torch.tensor(
        [[token.id if token.special else model.tokenizer.settings.mask_token_id for token in output.tokens]]
    )
    text, start = embed(ids), embed(blank)
    total = torch.zeros_like(text)
    for part in torch.arange(0.5, 2000).div(2000).split(200):
        points = (start + part[:, None, None] * (text - start)).requires_grad_()
        logits = model.network(inputs_embeds=points).logits[:, label]
        total += torch.autograd.grad(logits.sum(), points)[0].sum(dim=0)
    expected = (total / 2000 * (text - start)).sum(dim=-1)[0].tolist()
    assert attributed(model, FIELDS[Task.SENTIMENT]).scores == pytest.approx(expected, abs=2e-2)


def test_a_network_first_asked_for_while_only_looking_can_still_give_gradients(bundled: BundledModel) -> None:
    model = copy.copy(bundled("clearhead-sentiment"))
    model._network = None
    with torch.inference_mode():
        assert not next(model.network.parameters()).is_inference()
    check_complete(attributed(model, TEXTS[Task.SENTIMENT][0]))


def test_a_target_names_a_label_a_word_a_blank_or_an_end(bundled: BundledModel) -> None:
    sentiment = bundled("clearhead-sentiment")
    negative = attributed(sentiment, {"text": "A lovely film."}, "Negative")
    assert negative.target == "negative"
    assert negative.value < attributed(sentiment, {"text": "A lovely film."}).value

    names, fields = bundled("clearhead-names"), {"text": "Anna lives in Lisbon."}
    for target, expected in (("", "B-person"), ("#2", "B-place"), ("#2 b-Person", "B-person"), ("o", "O")):
        assert attributed(names, fields, target).target == expected
    for target in ("#3", "B-planet"):
        with pytest.raises(InputError, match="There is no"):
            attributed(names, fields, target)
    assert attributed(names, {"text": "The weather was nice."}).target == "O"

    masks, fields = bundled("clearhead-minilm"), {"text": "The [MASK] sat on the [MASK]."}
    output: FillMaskOutput = masks(**fields)
    for target, expected in (("", output.predictions[0][0].text), ("#2", output.predictions[1][0].text)):
        assert attributed(masks, fields, target).target == expected
    assert attributed(masks, fields, "dog").target == attributed(masks, fields, "#2 dog").target == "dog"
    assert attributed(masks, fields, "dog").value != attributed(masks, fields, "#2 dog").value

    answers, fields = bundled("clearhead-qa"), TEXTS[Task.QUESTION_ANSWERING][1]
    ends = [attributed(answers, fields, target) for target in ("start", "end", "answer")]
    assert ends[0].value + ends[1].value == pytest.approx(ends[2].value, abs=1e-3)
    for one, other, both in zip(*(each.scores for each in ends), strict=True):
        assert one + other == pytest.approx(both, abs=0.3)
