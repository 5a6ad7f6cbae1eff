"""Names: labels become names as in seqeval, however they are spelt; windows are worked out by hand."""

import random

import numpy as np
import pytest
from seqeval.metrics import f1_score
from seqeval.metrics.sequence_labeling import get_entities

from evaluation.metrics import names_f1
from models.outputs.base import Token
from models.tasks.token_classification import EncodedText, class_of, spans_of
from tests.models.conftest import BundledModel

LABELS = ["O", *(f"{prefix}-{kind}" for kind in ("person", "place", "other") for prefix in "BI")]


def random_labels(seed: int, lengths: random.Random) -> list[list[str]]:
    chance = random.Random(seed)
    return [chance.choices(LABELS, k=lengths.randint(1, 12)) for _ in range(20)]


@pytest.mark.parametrize("seed", range(20))
def test_names_and_their_f1_are_seqevals_on_random_labels(seed: int) -> None:
    ours, theirs = (random_labels(each, random.Random(seed)) for each in (seed, seed + 100))
    # Half of each row agrees, so that the figure is not always near zero.
    theirs = [row[: len(row) // 2] + other[len(row) // 2 :] for row, other in zip(ours, theirs, strict=True)]
    for row in ours:
        assert spans_of(row) == [(kind, first, last + 1) for kind, first, last in get_entities(row)]
    figure = names_f1([spans_of(row) for row in ours], [spans_of(row) for row in theirs])
    assert figure == pytest.approx(100 * f1_score(theirs, ours))


@pytest.mark.parametrize(
    ("label", "called"),
    [
        ("o", "O"), ("O", "O"), ("b-per", "B-person"), ("I-ORG", "I-organisation"), ("i-loc", "I-place"),
        ("B-MISC", "B-other"), ("LOC", "I-place"), ("S-PER", "B-person"), ("E-PER", "I-person"), ("B-GPE", "B-place"),
        ("B-WORK_OF_ART", "B-other"),
    ],
)  # fmt: skip
def test_labels_are_understood_however_a_checkpoint_spells_them(label: str, called: str) -> None:
    assert class_of(label) == called


def test_a_token_is_read_in_the_window_where_it_stands_furthest_from_an_edge() -> None:
    # Ten tokens between two marks, in windows of six, the last of which ends with the text.
    tokens = tuple(Token(str(place), str(place), place) for place in range(12))
    encoded = EncodedText(np.zeros((3, 8), np.int64), tokens, np.array([1, 4, 5]), 1, 1)
    # Tokens 1 to 6 are in the first window, 4 to 9 in the second, 5 to 10 in the last.
    assert encoded.read_in.tolist() == [0, 0, 0, 0, 0, 1, 1, 2, 2, 2]
    assert [token.id for token in encoded.tokens_of(1)] == [0, 4, 5, 6, 7, 8, 9, 11]


def test_a_long_text_has_the_names_of_its_parts(bundled: BundledModel) -> None:
    model = bundled("clearhead-names")
    story = "Anna Berg took the train from Milan to Zurich. The weather was fine, and nobody spoke for an hour. "
    once = [(each.text, each.label) for each in model(text=story).entities]
    output = model(text=story * 40)
    assert output.windows > 1
    assert [(each.text, each.label) for each in output.entities] == once * 40
    assert once == [("Anna Berg", "person"), ("Milan", "place"), ("Zurich", "place")]
