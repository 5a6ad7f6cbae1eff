"""Teaching equals plain scikit-learn and transformers, and is never tested on what was taught."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from demo.teaching import SETS, ready_set
from models.errors import InputError
from models.loading.assembly import as_task
from models.registry import Task
from models.tasks import teach
from models.tasks.base import AnyTaskModel
from models.tasks.teach import BAG_OF_WORDS, BERT, RANDOM_WEIGHTS, Teach, classifier, with_random_weights
from tests.models.architectures import FITTING
from tests.models.conftest import BundledModel, TinyModel
from tests.models.plain import plain_tokenizer

POLITE = ("Would you mind?", "Thank you so much.", "After you, I insist.")
RUDE = ("Shut up.", "Get out of my way!", "Nobody asked you.")
EXAMPLES = (*((text, "polite") for text in POLITE), *((text, "rude") for text in RUDE))
TEXTS = ("Could I trouble you for the salt?", "Hurry up, lazybones, we have not got all day for this!")


@pytest.fixture(scope="session")
def model(bundled: BundledModel) -> AnyTaskModel:
    return as_task(bundled("clearhead-minilm"), Task.TEACH)


def plain_vectors(model: AnyTaskModel, texts: Sequence[str]) -> np.ndarray:
    """Each text alone through transformers: the middle layer's mean over the tokens, as long as one."""
    found = []
    for text in texts:
        with torch.inference_mode():
            read = model.network.base_model(
                **plain_tokenizer(model)(text, return_tensors="pt"), output_hidden_states=True
            )
        layers = read.hidden_states
        mean = layers[len(layers) // 2][0].mean(dim=0).numpy()
        found.append(mean / np.linalg.norm(mean))
    return np.array(found)


@pytest.mark.parametrize("which", [*FITTING[Task.FILL_MASK], "clearhead-minilm"])
def test_vectors_equal_transformers_run_plainly(which: str, tiny: TinyModel, bundled: BundledModel) -> None:
    plain = bundled(which) if which.startswith("clearhead") else tiny(which, Task.FILL_MASK)
    model = as_task(plain, Task.TEACH)
    inputs = model.inputs_type(EXAMPLES, TEXTS)
    vectors = model.forward(model.preprocess(inputs))[BERT]
    expected = plain_vectors(model, [*(text for text, _ in EXAMPLES), *TEXTS])
    np.testing.assert_allclose(vectors, expected, atol=2e-5)


def test_the_classifier_is_scikit_learns_logistic_regression_on_these_vectors(model: AnyTaskModel) -> None:
    plain = LogisticRegression(C=10.0, max_iter=1000)
    plain.fit(plain_vectors(model, [text for text, _ in EXAMPLES]), [label for _, label in EXAMPLES])
    shares = plain.predict_proba(plain_vectors(model, TEXTS))
    predictions = model(examples=EXAMPLES, texts=TEXTS).predictions
    assert [each.label for each in predictions] == plain.predict(plain_vectors(model, TEXTS)).tolist()
    found = [[score.score for score in each.scores] for each in predictions]
    np.testing.assert_allclose(found, shares, atol=1e-3)


def test_a_bag_of_words_is_tf_idf_over_the_words_and_marks_that_were_taught() -> None:
    texts, labels = [*POLITE, *RUDE], [label for _, label in EXAMPLES]
    words = TfidfVectorizer(token_pattern=r"\w+|[^\w\s]")  # noqa: S106
    plain = LogisticRegression(C=10.0).fit(words.fit_transform(texts), labels)
    ours = classifier(BAG_OF_WORDS).fit(texts, labels)
    np.testing.assert_allclose(ours.predict_proba(TEXTS), plain.predict_proba(words.transform(TEXTS)), atol=1e-6)


def test_random_weights_are_of_the_same_shape_and_drawn_from_a_seed(model: AnyTaskModel) -> None:
    trained, first, again = model.network.base_model, *(with_random_weights(model.network) for _ in range(2))
    shapes = [(name, each.shape) for name, each in trained.named_parameters()]
    assert [(name, each.shape) for name, each in first.named_parameters()] == shapes
    for own, same, other in zip(first.parameters(), again.parameters(), trained.parameters(), strict=True):
        assert torch.equal(own, same)
        if own.dim() > 1:
            assert own.std() == pytest.approx(0.02, rel=0.1)
            assert not torch.equal(own, other)


@pytest.mark.parametrize("name", ["spam", "question", "topic", "polite"])
def test_with_a_few_examples_bert_beats_words_and_random_weights_on_what_was_kept(
    model: AnyTaskModel, name: str
) -> None:
    given = ready_set(name)
    output = model(**given)
    assert (output.measured_on, output.measured) == ("kept", 20)
    assert output.accuracy == 1 - len(output.mistakes) / 20 >= 0.85
    assert {each.text for each in output.mistakes} <= {text for text, _ in given["kept_out"]}
    bert, words, random = output.curve
    assert [each.representation for each in output.curve] == [BERT, BAG_OF_WORDS, RANDOM_WEIGHTS]
    place = bert.examples_per_class.index(4)
    for other in (words, random):
        assert bert.accuracy[place] > other.accuracy[place]
        assert bert.accuracy[-1] > other.accuracy[-1] + 0.1
    assert bert.accuracy[-1] == pytest.approx(output.accuracy, abs=0.06)


def test_irony_is_not_seen(model: AnyTaskModel) -> None:
    assert model(**ready_set("sarcasm")).accuracy < 0.7


def test_cross_validation_never_sees_what_it_judges(model: AnyTaskModel) -> None:
    texts = [text for text, _ in (pair for part in ready_set("spam").values() for pair in part)]
    found, ends = [], []
    for seed in range(4):
        labels = np.random.default_rng(seed).permutation(["a", "b"] * 30)
        output = model(examples=tuple(zip(texts, labels.tolist(), strict=True)))
        assert (output.measured_on, output.measured, output.chance) == ("cross-validation", 60, 0.5)
        found.append(output.accuracy)
        ends += [curve.accuracy[-1] for curve in output.curve]
    assert 0.35 < np.mean(found) < 0.65
    assert 0.35 < np.mean(ends) < 0.65


@pytest.mark.parametrize("kept", [0, 3])
def test_a_draw_tests_on_nothing_that_it_teaches(kept: int) -> None:
    classes = np.array([0, 1, 1, 0, 0, 1, 1, 2, 2, 0, 1, 2])
    for seed in teach.SEEDS:
        pools, tested = teach._draw(classes, len(classes) - kept, seed)
        assert [set(classes[pool]) for pool in pools] == [{0}, {1}, {2}]
        assert not {*np.concatenate(pools)} & {*tested}
        assert set(classes[tested]) == {0, 1, 2}


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"examples": ()}, "examples", "Two to five classes can be taught, and there is none."),
        ({"examples": EXAMPLES[:3]}, "examples", "Two to five classes can be taught, and there is one."),
        (
            {"examples": tuple((f"{label} {number}", label) for label in "abcdef" for number in "12")},
            "examples",
            "Two to five classes can be taught, and there are 6.",
        ),
        (
            {"examples": EXAMPLES[:4]},
            "examples",
            "The class “rude” has one example. Please give each class at least two.",
        ),
        (
            {"examples": (*EXAMPLES[:4], ("shut  UP.", "rude"))},
            "examples",
            "The class “rude” has one example. Please give each class at least two.",
        ),
        (
            {"examples": (*EXAMPLES, ("Shut up.", "polite"))},
            "examples",
            "“Shut up.” stands in two classes, “rude” and “polite”. Keep it in one.",
        ),
        ({"examples": (*EXAMPLES, (" ", "rude"))}, "examples", "An example is empty. Please type something first."),
        (
            {"examples": (*EXAMPLES, ("Go away.", ""))},
            "examples",
            "The name of a class is empty. Please type something first.",
        ),
        ({"examples": (*EXAMPLES, (7, "rude"))}, "examples", "An example must be text."),
        ({"texts": ("",)}, "texts", "A text to judge is empty. Please type something first."),
        (
            {"kept_out": (("Shut up.", "rude"),)},
            "kept_out",
            "“Shut up.” is taught and tested as well. Please keep it in one place.",
        ),
        (
            {"kept_out": (("Hello.", "warm"),)},
            "kept_out",
            "The class “warm” is tested but has no example to teach it.",
        ),
        (
            {"kept_out": (("Shut up.", "polite"),)},
            "kept_out",
            "“Shut up.” stands in two classes, “rude” and “polite”. Keep it in one.",
        ),
    ],
)
def test_what_cannot_be_taught_is_told_in_one_sentence(
    model: AnyTaskModel, fields: dict[str, Any], field: str, sentence: str
) -> None:
    with pytest.raises(InputError) as refused:
        model(**{"examples": EXAMPLES, **fields})
    assert (refused.value.field, refused.value.sentence) == (field, sentence)


def test_two_classes_of_two_examples_are_enough_and_no_text_need_be_judged(model: AnyTaskModel) -> None:
    output = model(examples=(*EXAMPLES[:2], *EXAMPLES[3:5]))
    assert output.predictions == ()
    assert (output.measured_on, output.measured) == ("cross-validation", 4)
    assert [curve.examples_per_class for curve in output.curve] == [(1,)] * 3
    assert isinstance(model, Teach)
    attention = model.attend(model.inputs_type(EXAMPLES))["encoder"]
    assert next(token.text for token in attention.query_tokens if not token.special) == "would"


@pytest.mark.parametrize("name", [path.stem for path in SETS.glob("*.tsv")])
def test_a_ready_set_has_each_text_once_and_every_class_to_teach_and_to_test(name: str) -> None:
    given = ready_set(name)
    sizes = (24, 12) if name == "sarcasm" else (40, 20)
    assert (len(given["examples"]), len(given["kept_out"])) == sizes
    texts = [text.casefold() for part in given.values() for text, _ in part]
    assert len(texts) == len(set(texts)) == sum(sizes)
    counts = [{label: sum(each == label for _, each in part) for _, label in part} for part in given.values()]
    assert counts[0].keys() == counts[1].keys()
    assert all(max(each.values()) - min(each.values()) <= 1 for each in counts)
    lines = (SETS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    assert all(line.split("\t")[2] in ("teach", "test") and line.count("\t") == 2 for line in lines)
