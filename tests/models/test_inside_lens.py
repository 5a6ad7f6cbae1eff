"""The logit lens, a guess after every layer: the last is the model's answer, whatever its task and architecture."""

import math

import pytest

from models.inside.look import look_inside
from models.inside.outputs import Lens
from models.outputs.base import TaskOutput
from models.outputs.encoders import FillMaskOutput, NamesOutput, QuestionAnsweringOutput, SentimentOutput
from models.outputs.writing import CompletionOutput, TranslationOutput
from models.registry import Task
from models.tasks.base import AnyTaskModel
from tests.models.conftest import BundledModel, TinyModel
from tests.models.inside_cases import BUNDLED, PAIR, TAKEN_APART, TEXTS, fields_of, over_cases

WITHIN = 1e-4


def answered(output: TaskOutput) -> tuple[str, list[tuple[str, float]]]:
    """What a task's answer says is guessed, and the likeliest choices with their probabilities."""
    match output:
        case FillMaskOutput():
            return "word here", [(each.text, each.score) for each in output.predictions[0]]
        case SentimentOutput():
            best = sorted(output.scores, key=lambda each: each.score, reverse=True)
            return "label", [(each.text, each.score) for each in best]
        case QuestionAnsweringOutput():
            named = zip([token.text for token in output.tokens], output.start_probabilities, strict=True)
            return "first token of the answer", sorted(named, key=lambda each: each[1], reverse=True)[:5]
        case NamesOutput():
            last = [each for each in output.labels if any(map(str.isalnum, each.token.piece))][-1]
            named = zip(output.classes, last.shares, strict=True)
            return "label here", sorted(named, key=lambda each: each[1], reverse=True)[:5]
        case CompletionOutput() | TranslationOutput():
            written = output.generated[0]
            return "next word", [(written.token.text, written.probability)]
        case _:
            raise TypeError(type(output).__name__)


def lens_of(model: AnyTaskModel, text: str) -> Lens:
    look = look_inside(model, text, position=0 if model.checkpoint.task is Task.TRANSLATION else -1)
    assert look.lens is not None
    assert [each.layer for each in look.lens.layers] == list(range(look.layers + 1))
    for each in look.lens.layers:
        scores = [guess.probability for guess in each.guesses]
        assert scores == sorted(scores, reverse=True)
        assert 0 < sum(scores) <= 1 + WITHIN
        # Softmax keeps the differences of the logits.
        first, last = each.guesses[0], each.guesses[-1]
        assert first.logit - last.logit == pytest.approx(math.log(first.probability / last.probability), abs=0.01)
    return look.lens


@over_cases(
    *(each for each in BUNDLED if each[2] != PAIR and each[:2] != ("clearhead-en-fr", "encoder")),
    *(each for each in TAKEN_APART if each[0] is not Task.TRANSLATION),
)
def test_the_last_guess_is_the_answer(looked_at: tuple[AnyTaskModel, str, str]) -> None:
    model, text, _ = looked_at
    about, expected = answered(model(**fields_of(model.checkpoint.task, text)))
    lens = lens_of(model, text)
    assert lens.about == about
    last = lens.layers[-1].guesses
    assert [each.text.strip() for each in last[: len(expected)]] == [text.strip() for text, _ in expected]
    assert [each.probability for each in last[: len(expected)]] == pytest.approx(
        [score for _, score in expected], abs=WITHIN
    )


@pytest.mark.parametrize("architecture", ["marian", "bart"])
def test_a_translators_guess_is_its_next_word(architecture: str, tiny: TinyModel) -> None:
    """A random model's beams differ in nothing but chance, and its forced end changes what is written."""
    assert lens_of(tiny(architecture, Task.TRANSLATION), TEXTS[Task.TRANSLATION]).about == "next word"


def test_a_translators_encoder_guesses_nothing(bundled: BundledModel) -> None:
    assert look_inside(bundled("clearhead-en-fr"), "A dog.", kind="encoder").lens is None


def test_both_blanks_of_the_pair_are_read_with_their_segments(bundled: BundledModel) -> None:
    model = bundled("clearhead-minilm")
    guesses = {}
    for position in (3, 9):
        look = look_inside(model, PAIR, position=position)
        assert look.tokens[position].text == "[MASK]"
        assert look.lens is not None
        guesses[position] = [each.text for each in look.lens.layers[-1].guesses]
    assert {"goes", "came"} <= set(guesses[3])
    assert not set(guesses[3]) & set(guesses[9])


def test_the_guess_is_read_at_the_token_that_is_followed(bundled: BundledModel) -> None:
    model = bundled("clearhead-stories")
    for position, expected in ((2, "time"), (3, ","), (4, "was")):
        look = look_inside(model, "Once upon a time there", position=position)
        assert look.lens is not None
        assert look.lens.position == position
        assert look.lens.layers[-1].guesses[0].text.strip() == expected
        # Before the first layer the vector is the word's own and its place's, which may outweigh it at the first two:
        # behind them the word itself is what is read off it.
        assert look.lens.layers[0].guesses[0].text.strip() == look.tokens[position].text.strip()
