"""Tokens as a reader reads them, in each kind of vocabulary."""

import pytest

from models.tasks import Task
from models.tokens import read_tokens, readable
from tests.models.conftest import TinyModel

KINDS = {
    "bert": Task.FILL_MASK,
    "roberta": Task.FILL_MASK,
    "albert": Task.FILL_MASK,
    "marian": Task.TRANSLATION,
    "t5": Task.TRANSLATION,
    "gpt2": Task.COMPLETION,
    "openai-gpt": Task.COMPLETION,
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
    ids = tokenizer(text)["input_ids"]
    assert [token.text for token in read_tokens(tokenizer, ids)] == tokens


@pytest.mark.parametrize("architecture", KINDS)
def test_special_tokens_are_marked_and_stand_nowhere(architecture: str, tiny: TinyModel) -> None:
    tokenizer = tiny(architecture, KINDS[architecture]).tokenizer
    ids = tokenizer("the lamp")["input_ids"]
    tokens = read_tokens(tokenizer, ids, [(0, 1)] * len(ids))
    for token in tokens:
        assert token.special == (token.id in tokenizer.all_special_ids)
        assert (token.start, token.end) == ((-1, -1) if token.special else (0, 1))


def test_a_piece_of_a_character_keeps_its_spelling(tiny: TinyModel) -> None:
    tokenizer = tiny("gpt2", Task.COMPLETION).tokenizer
    ids = tokenizer("🦊")["input_ids"]
    assert len(ids) > 1, "the tiny vocabulary holds no foxes"
    for token_id in ids:
        text = readable(tokenizer, token_id)
        assert text == tokenizer.convert_ids_to_tokens(token_id)
        assert "\ufffd" not in text


def test_a_byte_level_space_is_a_space(tiny: TinyModel) -> None:
    tokenizer = tiny("gpt2", Task.COMPLETION).tokenizer
    pieces = [token.text for token in read_tokens(tokenizer, tokenizer("a\nb\tc  d")["input_ids"])]
    assert "".join(pieces) == "a\nb\tc  d"
