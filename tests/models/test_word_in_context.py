"""One word in several sentences equals transformers and NumPy's own decompositions, and bad lists are refused."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from models.engine import TORCH
from models.errors import InputError
from models.loading.assembly import as_task
from models.outputs.base import softmax
from models.registry import Task
from models.tasks.word_in_context import FITTING, WordInContext, cosines, find_word, lines_of, planes
from models.text.word_vectors import WordVectors, word_vectors
from tests.models.architectures import FITTING as ARCHITECTURES
from tests.models.conftest import BundledModel, TinyModel
from tests.models.plain import plain_tokenizer

SENTENCES = ("The old keeper lit the lamp.", "A lamp, and no other!", "Lamp oil is sold in town, and the lamp is lit.")
WORD = "lamp"


def asked(model: Any, *sentences: str, word: str = WORD) -> Any:
    return model(word=word, sentences="\n".join(sentences or SENTENCES))


@pytest.fixture
def bank(bundled: BundledModel) -> WordInContext:
    model = as_task(bundled("clearhead-minilm"), Task.WORD_IN_CONTEXT)
    assert isinstance(model, WordInContext)
    return model


@pytest.mark.parametrize("architecture", [*ARCHITECTURES[Task.FILL_MASK], "clearhead-minilm"])
def test_hidden_states_and_fitting_words_equal_transformers_run_plainly(
    architecture: str, tiny: TinyModel, bundled: BundledModel
) -> None:
    is_bundled = architecture == "clearhead-minilm"
    model = bundled(architecture) if is_bundled else tiny(architecture, Task.FILL_MASK, engine=TORCH)
    model = as_task(model, Task.WORD_IN_CONTEXT)
    tokenizer = plain_tokenizer(model)
    encoded = model.preprocess(model.inputs_type(word=WORD, sentences="\n".join(SENTENCES)))
    read = model.forward(encoded)
    for place, sentence in enumerate(SENTENCES):
        start = sentence.lower().index(WORD)
        given = tokenizer(sentence, return_tensors="pt", return_offsets_mapping=True)
        pieces = [
            position
            for position, (first, last) in enumerate(given.pop("offset_mapping")[0].tolist())
            if first < start + len(WORD) and start < last
        ]
        blanked = sentence[:start] + tokenizer.mask_token + sentence[start + len(WORD) :]
        masked = tokenizer(blanked, return_tensors="pt")
        with torch.inference_mode():
            states = model.network(**given, output_hidden_states=True).hidden_states
            logits = model.network(**masked).logits[masked.input_ids == tokenizer.mask_token_id][0]
        plain = np.stack([state[0, pieces].mean(dim=0).numpy() for state in states])
        assert len(states) == len(read.vectors)
        np.testing.assert_allclose(read.vectors[:, place], plain, atol=1e-5)
        np.testing.assert_allclose(softmax(read.logits[place]), logits.softmax(-1).numpy(), atol=1e-5)
        best = logits.topk(FITTING).indices.tolist()
        fitting = model.postprocess(model.inputs_type(WORD, "\n".join(SENTENCES)), encoded, read).occurrences
        assert [each.score for each in fitting[place].fitting] == pytest.approx(
            logits.softmax(-1)[best].tolist(), abs=1e-5
        )


def test_cosines_are_symmetric_with_ones_on_the_diagonal(bank: WordInContext) -> None:
    output = asked(bank)
    assert len(output.layers) == len(output.planes) == bank.network.config.num_hidden_layers + 1
    for layer in output.layers:
        matrix = np.array(layer)
        assert matrix.shape == (3, 3)
        assert (matrix == matrix.T).all() and (np.diagonal(matrix) == 1).all() and (np.abs(matrix) <= 1).all()
    # Without its sentence a word differs from itself by its place alone.
    same = asked(bank, "The bank is closed.", "The bank was robbed.", word="bank").layers
    assert same[0][0][1] == pytest.approx(1, abs=1e-5) and same[-1][0][1] < 0.95


def test_cosines_are_those_of_numpy() -> None:
    vectors = np.random.default_rng(0).normal(size=(4, 9)).astype(np.float32)
    found = cosines(vectors)
    for one in range(4):
        for other in range(4):
            expected = vectors[one] @ vectors[other] / np.linalg.norm(vectors[one]) / np.linalg.norm(vectors[other])
            assert found[one, other] == pytest.approx(expected, abs=1e-6)


def test_planes_are_numpys_principal_components_and_do_not_flip_between_layers() -> None:
    chance = np.random.default_rng(1)
    layers, static = chance.normal(size=(5, 6, 12)).astype(np.float32), chance.normal(size=12).astype(np.float32)
    found = planes(layers, static)
    flat = [np.array([*plane.points, plane.static]) for plane in found]
    for layer, plane, points in zip(layers, found, flat, strict=True):
        rows = np.vstack([layer, static]).astype(np.float64)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        rows -= rows.mean(axis=0)
        _, sizes, directions = np.linalg.svd(rows)
        np.testing.assert_allclose(np.abs(points), np.abs(rows @ directions[:2].T), atol=1e-9)
        np.testing.assert_allclose(plane.shares, sizes[:2] ** 2 / (sizes**2).sum(), atol=1e-9)
        np.testing.assert_allclose(points.var(axis=0).sum(), sum(plane.shares) * rows.var(axis=0).sum(), atol=1e-9)
    assert all(((one * other).sum(axis=0) >= 0).all() for one, other in pairwise(flat))


@pytest.mark.parametrize(
    ("word", "sentence", "found"),
    [
        ("bank", "The Bank of the river, the BANK.", [(4, 8), (27, 31)]),
        ("bank", "Bankers embank; a databank, banks.", []),
        ("ça", "Et ça va, Ça!", [(3, 5), (10, 12)]),
        ("e", "e\u0301 e", [(3, 4)]),
        ("spring", "In spring-time the spring's cold.", [(3, 9), (19, 25)]),
        ("a.b", "axb a.b", [(4, 7)]),
    ],
)
def test_a_word_is_found_whole_in_any_case(word: str, sentence: str, found: list[tuple[int, int]]) -> None:
    assert find_word(word, sentence) == found


def test_a_word_that_stands_twice_is_taken_at_its_first_place(bank: WordInContext) -> None:
    third = asked(bank).occurrences[2]
    assert (third.times, third.sentence[third.start : third.end]) == (2, "Lamp")


def test_a_word_of_several_pieces_has_the_mean_of_their_vectors(bank: WordInContext) -> None:
    word = "unbelievably"
    encoded = bank.preprocess(bank.inputs_type(word, f"It is {word} loud.\nHow {word} good!"))
    assert len(encoded[0].places) > 1
    assert bank.forward(encoded).vectors.shape[1] == 2


MANY = "\n".join(f"Lamp number {number}." for number in range(7))


@pytest.mark.parametrize(
    ("word", "sentences", "field", "sentence"),
    [
        ("lamp", "The lamp.", "sentences", "There is 1 sentence: please give 2 to 6, one a line."),
        ("lamp", MANY, "sentences", "There are 7 sentences: please give 2 to 6, one a line."),
        ("lamp", "A lamp.\nThe sea.", "sentences", "The word “lamp” does not stand in sentence 2: “The sea.”."),
        ("lamp", "A lamp.\nThe lamp.\n A lamp. ", "sentences", "Sentence 3 is the same as sentence 1: “A lamp.”."),
        (" ", "A lamp.\nThe lamp.", "word", "The word is empty. Please type something first."),
        ("lamp", " \n", "sentences", "The list of sentences is empty. Please type something first."),
    ],
)
def test_a_bad_list_is_refused_in_one_sentence(
    bank: WordInContext, word: str, sentences: str, field: str, sentence: str
) -> None:
    with pytest.raises(InputError) as refused:
        bank(word=word, sentences=sentences)
    assert (refused.value.sentence, refused.value.field) == (sentence, field)


def test_lines_stand_where_they_say() -> None:
    text = "  One.\n\n Two. \nThree."
    found = lines_of(text)
    assert [line for line, _ in found] == ["One.", "Two.", "Three."]
    assert all(text[begin:].startswith(line) for line, begin in found)


def made_up() -> WordVectors:
    vectors = np.random.default_rng(2).normal(size=(30, 5)).astype(np.float32)
    return WordVectors(
        tuple(f"word{number}" for number in range(30)), vectors / np.linalg.norm(vectors, axis=1)[:, None]
    )


def test_neighbours_and_sums_are_those_of_numpy() -> None:
    known = made_up()
    similar = known.vectors @ known.vectors[3]
    order = [place for place in np.argsort(-similar) if place != 3][:4]
    found = known.neighbours("WORD3 ", 4)
    assert [each.text for each in found] == [f"word{k}" for k in order]
    assert [each.score for each in found] == pytest.approx(similar[order].tolist(), abs=1e-6)
    assert known.neighbours("nothing", 4) == ()
    summed = known.combined("word1", "word2", "word3")
    np.testing.assert_allclose(summed, known.vectors[1] - known.vectors[2] + known.vectors[3], atol=1e-6)
    away = known.vectors @ (summed / np.linalg.norm(summed))
    given = {"word1", "word2", "word3"}
    best = next(k for k in np.argsort(-away) if f"word{k}" not in given)
    (nearest,) = known.nearest(summed, 1, given)
    assert nearest.text == f"word{best}" and nearest.score == pytest.approx(away[best], abs=1e-6)
    with pytest.raises(InputError, match="“moon” has no static vector here") as refused:
        known.combined("word1", "moon", "word3")
    assert refused.value.field == "minus"


def test_the_bundled_vectors_are_small_and_know_common_words(bank: WordInContext) -> None:
    known = word_vectors()
    assert len(known.words) == len(set(known.words)) >= 20_000 and known.vectors.shape[1] == 100
    np.testing.assert_allclose(np.linalg.norm(known.vectors, axis=1), 1, atol=1e-2)
    output = asked(bank)
    assert output.static_neighbours == known.neighbours(WORD, len(output.static_neighbours)) and not output.static_note
    unknown = asked(bank, "A zxqv sleeps.", "The zxqv eats.", word="zxqv")
    assert unknown.static_neighbours == () and "“zxqv” is not among the" in unknown.static_note
