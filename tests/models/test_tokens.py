"""Tokens as readable text, in each kind of vocabulary."""

from itertools import accumulate, pairwise
from typing import Any

import pytest

from demo.writing.text import chunks
from models.registry import REGISTRY, Task
from models.tasks.base import AnyTaskModel
from models.text.characters import fallback_byte
from models.text.tokenizer import read_tokens
from tests.models.conftest import BundledModel, TinyModel
from tests.models.contract import bare
from tests.models.plain import plain_tokenizer

KINDS = {
    "bert": Task.FILL_MASK,
    "roberta": Task.FILL_MASK,
    "albert": Task.FILL_MASK,
    "marian": Task.TRANSLATION,
    "t5": Task.TRANSLATION,
    "gpt2": Task.COMPLETION,
    "openai-gpt": Task.COMPLETION,
    "llama": Task.COMPLETION,
    "modernbert": Task.FILL_MASK,
}


@pytest.mark.parametrize(
    ("architecture", "text", "tokens"),
    [
        ("bert", "the lamps", ["[CLS]", "the", "lamp", "##s", "[SEP]"]),
        ("roberta", "The lamp", ["<s>", "The", " lamp", "</s>"]),
        ("albert", "the lamp", ["[CLS]", " the", " lamp", "[SEP]"]),
        ("t5", "the lamp", [" the", " lamp", "</s>"]),
        ("gpt2", "The lamp", ["The", " lamp"]),
        ("openai-gpt", "The lamp", ["the", "lamp"]),
    ],
)
def test_tokens_read_as_text(architecture: str, text: str, tokens: list[str], tiny: TinyModel) -> None:
    tokenizer = tiny(architecture, KINDS[architecture]).tokenizer
    ids = tokenizer.encode(text).ids
    assert [token.text for token in read_tokens(tokenizer, ids)] == tokens


PLAIN = (
    "The old lighthouse keeper lit the lamp.",
    "rain, rain … isn't 3.5% of €1,250 — “quoted”",
    "Ça va ? 日本 🦊 e\u0301\u00a0x\ty\nz",
    "word" * 40,
    "  spaces   here ",
    "",
)


def assert_reads_as_transformers(model: AnyTaskModel) -> None:
    """Ids, types, offsets, and the way back, of texts without special tokens in them."""
    own, plain = model.tokenizer, plain_tokenizer(model)
    for text in PLAIN:
        for special in (True, False):
            found = own.encode(text, special=special)
            expected = plain(text, add_special_tokens=special, return_offsets_mapping=plain.is_fast)
            assert found.ids == expected["input_ids"]
            if plain.is_fast:
                assert found.offsets == expected["offset_mapping"]
            for skip in (True, False):
                decoded = plain.decode(found.ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False)
                assert own.decode(found.ids, skip_special_tokens=skip) == decoded
        assert own.convert_ids_to_tokens(found.ids) == plain.convert_ids_to_tokens(found.ids)
    assert len(own) == len(plain)


@pytest.mark.parametrize("architecture", [*KINDS, "xlnet", "electra", "distilbert", "bart"])
def test_a_tokenizer_reads_as_transformers_does(architecture: str, tiny: TinyModel) -> None:
    task = Task.TRANSLATION if architecture == "bart" else KINDS.get(architecture, Task.SENTIMENT)
    assert_reads_as_transformers(tiny(architecture, task))


@pytest.mark.parametrize("name", [each.name for each in REGISTRY.values() if not each.hub_id])
def test_a_bundled_tokenizer_reads_as_transformers_does(name: str, bundled: BundledModel) -> None:
    assert_reads_as_transformers(bundled(name))


@pytest.mark.parametrize("architecture", ["bert", "roberta", "albert", "xlnet"])
def test_windows_of_a_long_text_are_those_of_transformers(architecture: str, tiny: TinyModel) -> None:
    model = tiny(architecture, Task.QUESTION_ANSWERING)
    plain, question, context = plain_tokenizer(model), "Who lit the lamp?", " ".join(PLAIN[:1] * 12)
    expected = plain(
        question, context, truncation="only_second", max_length=40, stride=10, return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )  # fmt: skip
    found = model.tokenizer.windows(question, context, 40, 10)
    assert [each.ids for each in found] == expected["input_ids"] and len(found) > 3
    assert [each.offsets for each in found] == expected["offset_mapping"]
    assert [each.parts for each in found] == [expected.sequence_ids(row) for row in range(len(found))]


@pytest.mark.parametrize("architecture", [*KINDS, "xlnet"])
def test_marks_in_a_text_are_spelt_like_any_other_text(architecture: str, tiny: TinyModel) -> None:
    model = tiny(architecture, KINDS.get(architecture, Task.SENTIMENT))
    tokenizer = model.tokenizer
    mask = tokenizer.settings.mask_token or ""
    marks = " ".join(mark for mark in plain_tokenizer(model).all_special_tokens if mark != mask)
    ids = tokenizer.encode(f"the {marks}{mask} lamp").ids
    specials = [token.piece for token in read_tokens(tokenizer, ids) if token.special]
    around = [token.piece for token in read_tokens(tokenizer, tokenizer.encode("the lamp").ids) if token.special]
    assert sorted(specials) == sorted([*around, *([mask] if mask else [])])
    assert bare(marks) in bare("".join(token.text for token in read_tokens(tokenizer, ids)))


def test_a_byte_that_is_a_character_reads_as_one_and_a_part_of_one_keeps_its_spelling(bundled: BundledModel) -> None:
    tokenizer = bundled("clearhead-en-fr").tokenizer
    pieces = read_tokens(tokenizer, tokenizer.encode("<é☃").ids)
    assert [token.text for token in pieces if not token.special] == [" ", "<", "é", "<0xE2>", "<0x98>", "<0x83>"]
    assert fallback_byte("<0xE2>") == 0xE2 and fallback_byte("<0xE2") is fallback_byte("<s>") is None


@pytest.mark.parametrize(
    ("name", "fields", "parts"),
    [
        (
            "clearhead-en-fr",
            {"text": "Hello.\n        The cat sleeps."},
            ["Bonjour.", "\n        Le", " chat", " dort."],
        ),
        (
            "clearhead-en-fr",
            {"text": "The family 👨‍👩‍👧 is here."},
            ["La", " famille", "👨", "👩", "👧", " est", " ici."],
        ),
        ("clearhead-stories", {"prompt": "She went to the", "max_new_tokens": 9}, []),
    ],
)
def test_a_written_token_stands_where_decoding_up_to_it_ends(
    name: str, fields: dict[str, Any], parts: list[str], bundled: BundledModel
) -> None:
    model = bundled(name)
    output = model(**fields)
    text, found = (output.translations[0].text if parts else output.text), chunks(output)
    assert "".join(found) == text
    assert [(each.token.start, each.token.end) for each in output.generated] == list(
        pairwise([0, *accumulate(map(len, found))])
    )
    # The chunks break at every part's end, so that no token has another one's numbers.
    ends = set(accumulate(map(len, found)))
    assert all(text.index(part) + len(part) in ends for part in parts)
    if not parts:
        *_, streamed = model.stream(model.inputs_type(**fields))
        assert streamed == output
