"""One token gives way to another word, and nothing else of the text changes."""

from typing import Any

import pytest

from models.errors import InputError
from models.explain.what_if import replaced
from models.registry import Task
from models.tasks.base import AnyTaskModel
from models.text.words import words_of
from tests.models.architectures import FITTING
from tests.models.conftest import BundledModel, TinyModel

CASES = [(task, architecture) for task in Task for architecture in FITTING[task]]
FIELDS: dict[Task, dict[str, Any]] = {
    Task.FILL_MASK: {"text": "The keeper [MASK] the lamp."},
    Task.SENTIMENT: {"text": "The old keeper climbed the stairs."},
    Task.QUESTION_ANSWERING: {"question": "Who lit the lamp?", "context": "The old keeper lit the lamp. It burned."},
    Task.TRANSLATION: {"text": "The rain falls on the garden.", "num_beams": 1},
    Task.COMPLETION: {"prompt": "The boats turned", "max_new_tokens": 3},
}


def place_of(model: AnyTaskModel, fields: dict[str, Any], word: str) -> int:
    """The place of the last token that reads `word`."""
    texts = [token.text.strip().lower() for token in model(**fields).tokens]
    return len(texts) - 1 - texts[::-1].index(word)


def with_word(model: AnyTaskModel, fields: dict[str, Any], place: int, word: str) -> Any:
    return replaced(model, model.inputs_type(**fields), model(**fields).tokens, place, word)


@pytest.mark.parametrize(("task", "architecture"), CASES, ids=str)
def test_a_word_gives_way_to_another_in_every_architecture(task: Task, architecture: str, tiny: TinyModel) -> None:
    model, fields = tiny(architecture, task), FIELDS[task]
    old, name = {
        Task.FILL_MASK: ("lamp", "text"),
        Task.SENTIMENT: ("keeper", "text"),
        Task.QUESTION_ANSWERING: ("keeper", "context"),
        Task.TRANSLATION: ("rain", "text"),
        Task.COMPLETION: ("boats", "prompt"),
    }[task]
    place = next(
        (
            place
            for place, token in enumerate(model(**fields).tokens)
            if old.startswith(token.text.strip().lower()) and len(token.text.strip()) > 1
        ),
        None,
    )
    assert place is not None
    piece = model(**fields).tokens[place].text.strip()
    changed = with_word(model, fields, place, "bread")
    expected = fields[name].replace("[MASK]", str(model.tokenizer.mask_token))
    at = expected.lower().index(piece.lower(), expected.index(old))
    assert getattr(changed, name) == expected[:at] + "bread" + expected[at + len(piece) :]
    unchanged = [each for each in fields if each != name]
    assert [getattr(changed, each) for each in unchanged] == [fields[each] for each in unchanged]


@pytest.mark.parametrize("architecture", FITTING[Task.QUESTION_ANSWERING])
def test_a_token_of_the_question_is_found_there(architecture: str, tiny: TinyModel) -> None:
    model, fields = tiny(architecture, Task.QUESTION_ANSWERING), FIELDS[Task.QUESTION_ANSWERING]
    place = next(place for place, token in enumerate(model(**fields).tokens) if token.text.strip() == "?")
    changed = with_word(model, fields, place, "!")
    assert (changed.question, changed.context) == ("Who lit the lamp!", fields["context"])


def test_spaces_accents_and_emoji_around_it_stay(bundled: BundledModel) -> None:
    model, text = bundled("clearhead-sentiment"), "  Un  café 🙂 was\tgood , naïve!\n"
    place = place_of(model, {"text": text}, "good")
    assert with_word(model, {"text": text}, place, " bad ").text == "  Un  café 🙂 was\tbad , naïve!\n"
    place = place_of(model, {"text": text}, "cafe")
    assert with_word(model, {"text": text}, place, "thé").text == "  Un  thé 🙂 was\tgood , naïve!\n"


def test_the_marks_on_a_word_go_with_it(bundled: BundledModel) -> None:
    model, text = bundled("clearhead-sentiment"), "Un cafe\u0301 noir."
    assert with_word(model, {"text": text}, place_of(model, {"text": text}, "cafe"), "tea").text == "Un tea noir."


def test_a_line_break_gives_way_to_what_replaces_it(bundled: BundledModel) -> None:
    model, fields = bundled("clearhead-stories"), {"prompt": "Hello.\nThe cat", "max_new_tokens": 1}
    place = next(place for place, token in enumerate(model(**fields).tokens) if "\n" in token.text)
    assert with_word(model, fields, place, "so").prompt == "Hello.soThe cat"


def test_a_piece_of_a_word_is_replaced_within_it(bundled: BundledModel) -> None:
    model, text = bundled("clearhead-sentiment"), "An unwatchable film."
    pieces = [token.text for token in model(text=text).tokens]
    place = next(place for place, piece in enumerate(pieces) if piece.startswith("##"))
    changed = with_word(model, {"text": text}, place, "##known").text
    assert changed.startswith("An ")
    assert "known" in changed
    assert changed.endswith(" film.")


def test_a_token_can_be_masked_where_the_model_knows_a_mask(bundled: BundledModel, tiny: TinyModel) -> None:
    model = bundled("clearhead-sentiment")
    changed = with_word(model, {"text": "A lovely film."}, 2, "[MASK]")
    assert changed.text == with_word(model, {"text": "A lovely film."}, 2, " ").text == "A [MASK] film."
    assert model.answer(changed).tokens[2].piece == "[MASK]"
    roberta = tiny("roberta", Task.FILL_MASK)
    place = place_of(roberta, FIELDS[Task.FILL_MASK], "lamp")
    assert with_word(roberta, FIELDS[Task.FILL_MASK], place, "[MASK]").text == "The keeper <mask> the <mask>."
    for task, architecture in ((Task.COMPLETION, "gpt2"), (Task.TRANSLATION, "marian")):
        with pytest.raises(InputError, match="knows no blank"):
            with_word(tiny(architecture, task), FIELDS[task], 0, "[MASK]")


def test_a_word_of_several_pieces_gives_way_as_a_whole(bundled: BundledModel) -> None:
    model, fields = bundled("clearhead-sentiment"), {"text": "An unputdownable book."}
    pieces = [place for place, token in enumerate(model(**fields).tokens) if token.start == 3 or "##" in token.text]
    inputs, tokens = model.inputs_type(**fields), model(**fields).tokens
    assert len(pieces) > 1
    assert replaced(model, inputs, tokens, pieces[0], "dull", pieces[-1]).text == "An dull book."
    with pytest.raises(InputError, match="is not there"):
        replaced(model, inputs, tokens, pieces[0], "dull", 99)


@pytest.mark.parametrize(("task", "architecture"), [(Task.COMPLETION, "gpt2"), (Task.TRANSLATION, "marian")])
def test_nothing_in_place_of_a_word_leaves_it_out_where_the_model_knows_no_blank(
    task: Task, architecture: str, tiny: TinyModel
) -> None:
    model, fields = tiny(architecture, task), FIELDS[task]
    name = "prompt" if task is Task.COMPLETION else "text"
    tokens, inputs = model(**fields).tokens, model.inputs_type(**fields)
    words = [word for word in words_of(tokens) if not tokens[word[0]].is_mark]
    changed = getattr(replaced(model, inputs, tokens, words[1][0], "", words[1][-1]), name)
    first, _, *others = fields[name].split(" ")
    assert changed == " ".join([first, *others])


def test_the_blank_itself_can_be_filled(bundled: BundledModel) -> None:
    model, fields = bundled("clearhead-minilm"), {"text": "The [MASK] sat on the [MASK]."}
    assert with_word(model, fields, 2, "cat").text == "The cat sat on the [MASK]."


@pytest.mark.parametrize(
    ("position", "word", "field"),
    [(-1, "x", "position"), (99, "x", "position"), (0, "x", "position")],
)
def test_what_cannot_be_replaced_is_refused(position: int, word: str, field: str, tiny: TinyModel) -> None:
    model = tiny("bert", Task.SENTIMENT)
    with pytest.raises(InputError) as refused:
        with_word(model, FIELDS[Task.SENTIMENT], position, word)
    assert refused.value.field == field


def test_an_empty_prompt_has_no_token_of_the_visitors(tiny: TinyModel) -> None:
    model = tiny("gpt2", Task.COMPLETION)
    with pytest.raises(InputError, match="mark of the model"):
        with_word(model, {"prompt": "", "max_new_tokens": 2}, 0, "x")


def test_the_prefix_that_a_model_wants_cannot_be_replaced(tiny: TinyModel) -> None:
    from models.registry import REGISTRY

    model = tiny("t5", Task.TRANSLATION, 0, REGISTRY["t5-small"])
    fields = FIELDS[Task.TRANSLATION]
    with pytest.raises(InputError, match="mark of the model"):
        with_word(model, fields, 0, "x")
    place = place_of(model, fields, "rain")
    assert with_word(model, fields, place, "storm").text == "The storm falls on the garden."
