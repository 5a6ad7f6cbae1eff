"""One head, computed step by step, has the lecture's numbers and every architecture's own weights and outputs."""

import numpy as np
import pytest

from models.errors import InputError
from models.inside.formulas import shares
from models.inside.look import look_inside
from models.inside.reading import read
from models.outputs.writing import generated_ids
from models.registry import Task
from models.tasks.base import AnyTaskModel
from tests.models.conftest import BundledModel, TinyModel
from tests.models.inside_cases import ANIMAL, BUNDLED, PAIR, SECOND_LAW, TAKEN_APART, TEXTS, fields_of, over_cases

WITHIN = 1e-4
MASKED_SCORES = np.array(
    [[0.11, 0.00, 0.81, 0.79], [0.19, 0.50, 0.30, 0.48], [0.53, 0.98, 0.95, 0.14], [0.81, 0.86, 0.38, 0.90]],
    dtype=np.float32,
)
MASKED_SHARES = [[1], [0.48, 0.52], [0.31, 0.35, 0.34], [0.25, 0.26, 0.23, 0.26]]
LATER = np.triu(np.ones((4, 4), dtype=bool), k=1)


@over_cases(*BUNDLED, *TAKEN_APART)
def test_every_head_is_as_the_model_has_it(looked_at: tuple[AnyTaskModel, str, str]) -> None:
    """Every layer and every head against the model's own weights, captured by the way that the tabs take."""
    model, text, kind = looked_at
    captured = None
    # The tabs read no pair of texts, and the tokens that a translator writes are asked for in another way there.
    if text != PAIR and (model.checkpoint.task, kind) != (Task.TRANSLATION, "decoder"):
        inputs = model.inputs_type(**fields_of(model.checkpoint.task, text))
        written = generated_ids(model.answer(inputs)) if kind == "encoder" else ()
        captured = model.attend(inputs, written)[kind]
    first = look_inside(model, text, kind=kind)
    for number in range(max(first.layers, first.heads)):
        layer, head = number % first.layers, (number + 1) % first.heads
        look = look_inside(model, text, layer, head, kind=kind)
        numbers = look.numbers
        assert numbers.deviation < WITHIN
        if captured is not None:
            np.testing.assert_allclose(numbers.weights, captured.weights[layer, head], atol=WITHIN)
        np.testing.assert_allclose(numbers.weights.sum(axis=-1), 1, atol=1e-5)
        np.testing.assert_allclose(numbers.outputs, numbers.weights @ numbers.values, atol=1e-6)
        assert numbers.divisor == pytest.approx(np.sqrt(numbers.width))
        assert (numbers.weights[numbers.masked] == 0).all()
        ahead = kind == "decoder" and len(look.tokens) > 1
        assert numbers.masked.any() == (ahead or numbers.reach is not None)


def test_thinking_machines() -> None:
    scaled, weights = shares(np.array([112.0, 96.0], dtype=np.float32), np.sqrt(64))
    assert scaled.tolist() == [14, 12]
    assert weights.round(2).tolist() == pytest.approx([0.88, 0.12])


def test_masked_scores_are_divided_by_four_before_the_softmax() -> None:
    _, weights = shares(MASKED_SCORES, 4, LATER)
    for place, row in enumerate(MASKED_SHARES):
        assert weights[place, : place + 1].round(2).tolist() == pytest.approx(row)
        assert not weights[place, place + 1 :].any()


@pytest.mark.parametrize(
    ("task", "architecture"),
    [(Task.FILL_MASK, "albert"), (Task.SENTIMENT, "xlnet"), (Task.TRANSLATION, "t5"), (Task.COMPLETION, "openai-gpt")],
)
def test_other_architectures_are_refused_in_one_sentence(task: Task, architecture: str, tiny: TinyModel) -> None:
    with pytest.raises(InputError, match="cannot be taken apart here") as refused:
        look_inside(tiny(architecture, task), TEXTS[task])
    assert refused.value.field == "checkpoint"


@pytest.mark.parametrize(("text", "word", "greatest"), [(SECOND_LAW, "robot", 0.4), (ANIMAL, "animal", 0.25)])
def test_it_looks_at_what_it_stands_for(text: str, word: str, greatest: float, bundled: BundledModel) -> None:
    model = bundled("clearhead-minilm")
    tokens = [token.text for token in read(model, text).tokens]
    look = look_inside(model, text, layer=3, head=1, position=tokens.index("it"))
    # What no word gets falls to [CLS] and [SEP], the first token and the last.
    words = look.numbers.weights[look.position][1:-1]
    assert tokens[1:-1][int(words.argmax())] == word
    assert words.max() > greatest


def test_a_pair_has_two_segments_and_the_same_tokens_with_and_without_its_marks(bundled: BundledModel) -> None:
    model = bundled("clearhead-minilm")
    pair = read(model, PAIR)
    assert [token.text for token in pair.tokens][:3] == ["[CLS]", "the", "man"]
    assert pair.segments == (0,) * 8 + (1,) * 7
    assert pair.network_inputs["token_type_ids"][0].tolist() == list(pair.segments)
    assert pair.guess_at == 3
    bare = read(model, "the man [MASK] to the store [SEP] penguin [MASK] are flightless birds")
    assert bare.tokens == pair.tokens
    assert not any(read(model, "the man [MASK] to the store").segments)
