"""Paragraphs are translated sentence by sentence, joined as they stood, and their alignment kept."""

from typing import cast

import numpy as np
import pytest

from models.errors import InputError
from models.outputs import TranslationOutput, generated_ids
from models.tasks.base import AnyTaskModel
from tests.models.conftest import BundledModel

FIRST, SECOND, THIRD = "It is cold today.", "The lake is frozen.", "Where are the children?"


@pytest.fixture
def model(bundled: BundledModel) -> AnyTaskModel:
    return bundled("clearhead-en-fr")


def translated(model: AnyTaskModel, text: str, **fields: object) -> TranslationOutput:
    return cast(TranslationOutput, model(text=text, **fields))


def test_a_paragraph_reads_as_its_sentences_do_alone(model: AnyTaskModel) -> None:
    alone = [translated(model, each).translations[0] for each in (FIRST, SECOND, THIRD)]
    together = translated(model, f"  {FIRST} {SECOND}\n\n{THIRD}\n")
    assert together.translations[0].text == f"{alone[0].text} {alone[1].text}\n\n{alone[2].text}"
    assert len(together.translations) == 4 and len({each.text for each in together.translations}) == 4
    scores = [each.score for each in together.translations]
    assert min(each.score for each in alone) <= scores[0] <= max(each.score for each in alone)


def test_a_paragraph_can_be_gone_on_with_from_a_token_of_its_second_sentence(model: AnyTaskModel) -> None:
    whole = translated(model, f"{FIRST} {SECOND} {THIRD}", num_beams=1)
    first = generated_ids(translated(model, FIRST, num_beams=1))
    kept = generated_ids(whole)[: len(first) + 2]
    assert generated_ids(translated(model, f"{FIRST} {SECOND} {THIRD}", num_beams=1, kept=kept)) == generated_ids(whole)
    with pytest.raises(InputError, match="longer than the translation"):
        model(text=FIRST, kept=generated_ids(whole))


def test_source_tokens_stand_where_the_visitor_wrote_them(model: AnyTaskModel) -> None:
    text = f"{FIRST}  {SECOND}"
    output = translated(model, text)
    spelt = [
        (text[token.start : token.end].strip(), token.text.strip()) for token in output.tokens if not token.special
    ]
    assert all(shown == read for shown, read in spelt)
    assert sum(token.special for token in output.tokens) == 2


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_no_sentence_looks_into_another_and_each_looks_as_it_does_alone(model: AnyTaskModel, kind: str) -> None:
    text = f"{FIRST} {SECOND}"
    inputs = model.inputs_type(text=text)
    both = model.attend(inputs, generated_ids(model.answer(inputs)))[kind]
    np.testing.assert_allclose(both.weights.sum(-1), 1, atol=1e-5)
    row = column = 0
    for sentence in (FIRST, SECOND):
        one = model.inputs_type(text=sentence)
        alone = model.attend(one, generated_ids(model.answer(one)))[kind]
        rows, columns = slice(row, row + len(alone.query_tokens)), slice(column, column + len(alone.key_tokens))
        np.testing.assert_allclose(both.weights[:, :, rows, columns], alone.weights, atol=1e-5)
        assert (both.masked[rows, columns] == alone.masked).all()
        row, column = rows.stop, columns.stop
    assert both.masked[: both.masked.shape[0] // 3, column - 1].all() and both.weights[:, :, 0, column - 1].max() == 0


@pytest.mark.parametrize("text", [f"{'a' * 300} {FIRST} {SECOND}", f"{FIRST} {'a' * 300} b. {THIRD}"])
def test_a_sentence_that_runs_out_of_room_leaves_the_others_theirs(model: AnyTaskModel, text: str) -> None:
    inputs = model.inputs_type(text=text, num_beams=1)
    written = generated_ids(model.answer(inputs))
    sentences = sum(token.is_mark for token in translated(model, text, num_beams=1).tokens)
    ends = [place for place, each in enumerate(written) if each == model.tokenizer.eos_token_id]
    assert sentences > len(ends) > 0, "one of them has no end"
    cross = model.attend(inputs, written)["cross"]
    assert len(cross.query_tokens) == len(written)
    assert cross.masked.any(axis=1).all(), "no sentence looks into another"


def test_a_run_from_before_sentences_were_parted_still_shows_its_attention(model: AnyTaskModel) -> None:
    # One end token for a text of two sentences: it was written in one go.
    written = generated_ids(translated(model, FIRST))
    cross = model.attend(model.inputs_type(text=f"{FIRST} {SECOND}"), written)["cross"]
    assert len(cross.query_tokens) == len(written) and not cross.masked.any()
