"""Pieces become words by the convention of their vocabulary, and attention over words still sums to one."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from transformers import PreTrainedTokenizerBase

from models.loading.description import tokenizer_of
from models.outputs import Token
from models.text.characters import inside_words
from models.text.tokenizer import read_tokens
from models.text.words import merge_words, word_text, words_of
from tests.models.conftest import BundledModel
from tests.models.tiny_tokenizers import tiny_tokenizer


def word_piece(*texts: str) -> tuple[Token, ...]:
    return tuple(Token(text, text, 1, special=text.startswith("[")) for text in texts)


def with_bytes(*pieces: str) -> tuple[Token, ...]:
    """SentencePiece where it spells in bytes what it has no piece for."""
    return tuple(Token(piece.replace("▁", " "), piece, 1, special=piece.startswith("</")) for piece in pieces)


def spaced(*texts: str) -> tuple[Token, ...]:
    """SentencePiece and byte-level vocabularies: a word begins with its space."""
    return tuple(Token(text, text.replace(" ", "▁"), 1, special=text.startswith("<")) for text in texts)


def ended(*pieces: str) -> tuple[Token, ...]:
    """The first GPT's vocabulary: a word ends with a mark."""
    return tuple(Token(piece.removesuffix("</w>"), piece, 1) for piece in pieces)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (word_piece("[CLS]", "un", "##believ", "##ably", "loud", ".", "[SEP]"),
         ["[CLS]", "unbelievably", "loud", ".", "[SEP]"]),
        (word_piece("the", "cat"), ["the", "cat"]),
        (spaced(" The", " par", "rot", " sleeps", ".", "</s>"), ["The", "parrot", "sleeps", ".", "</s>"]),
        (spaced("Once", " upon", " a", " well", "-", "known", " time", ",", " don", "'t"),
         ["Once", "upon", "a", "well", "-", "known", "time", ",", "don't"]),
        (spaced(" ", "Z", "ebra", " x"), ["Zebra", "x"]),
        (spaced("<s>", "Hel", "lo", " you", "\n", "\n", "there"), ["<s>", "Hello", "you", "\n", "\n", "there"]),
        (with_bytes("▁I", "▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "▁so", "<0xC3>", "<0xA9>", "</s>"),
         ["I", "😀", "soé", "</s>"]),
        (with_bytes("▁a", "<0xE6>", "<0x97>", "▁b"), ["a", "\ufffd", "b"]),
        (ended("un", "real</w>", "cats</w>", "slee", "p</w>"), ["unreal", "cats", "sleep"]),
        (spaced("The", " cat\u200d", " sat", " می\u200c", "خواهم", " 👩\u200d", "👧"),
         ["The", "cat\u200d", "sat", "می\u200cخواهم", "👩\u200d👧"]),
        ((), []),
    ],
)  # fmt: skip
def test_words_are_what_a_reader_sees(tokens: tuple[Token, ...], words: list[str]) -> None:
    places = words_of(tokens)
    assert [word_text(tokens, word) for word in places] == words
    assert [place for word in places for place in word] == list(range(len(tokens)))


def piece_by_piece(tokenizer: PreTrainedTokenizerBase, text: str) -> tuple[Token, ...]:
    own = tokenizer_of(tokenizer)
    return read_tokens(own, own.encode(text).ids)


ACCENTS, EMOJI, CJK, MIXED = (
    "Zoë hat café crème",
    "so good 🙂 👩🏽‍🚀 🤿 yes",
    "我爱北京 very much",
    "שלום naïve мир 中文 e\u0301t ok",
)


@pytest.mark.parametrize("text", [ACCENTS, EMOJI, CJK, MIXED, "🙂", "a🙂b", "don't stop", "中"])
@pytest.mark.parametrize("model_type", ["gpt2", "roberta"])
def test_byte_level_words_are_those_between_spaces_whatever_the_script(
    model_type: str, text: str, tmp_path: Path
) -> None:
    tokens = piece_by_piece(tiny_tokenizer(model_type, tmp_path), text)
    words = [word_text(tokens, word) for word in words_of(tokens) if not tokens[word[0]].special]
    # What is no letter stands alone: an emoji within a word, an apostrophe before what it belongs to.
    expected = {"a🙂b": ["a", "🙂", "b"], "don't stop": ["don", "'", "t", "stop"]}.get(text, text.split(" "))
    assert words == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ACCENTS, ["zoe", "hat", "cafe", "creme"]),
        ("lamp 🙂 train", ["lamp", "[UNK]", "train"]),
        # As BERT reads it: every Chinese character is a word of its own.
        ("我爱 lamp", ["[UNK]", "[UNK]", "lamp"]),
    ],
)
def test_word_piece_words(text: str, words: list[str], tmp_path: Path) -> None:
    tokens = piece_by_piece(tiny_tokenizer("bert", tmp_path), text)
    assert [word_text(tokens, word) for word in words_of(tokens)] == ["[CLS]", *words, "[SEP]"]


def test_cased_word_piece_letters_are_no_bytes() -> None:
    """Letters that GPT-2's alphabet has as signs for bytes are letters here."""
    tokens = word_piece("[CLS]", "é", "##t", "##é", "ł", "Ġ", "[SEP]")
    assert [word_text(tokens, word) for word in words_of(tokens)] == ["[CLS]", "été", "ł", "Ġ", "[SEP]"]


@pytest.mark.parametrize("model_type", ["albert", "xlnet", "t5", "marian"])
@pytest.mark.parametrize("text", [ACCENTS, EMOJI, CJK, MIXED])
def test_sentence_piece_words_are_those_between_spaces(model_type: str, text: str, tmp_path: Path) -> None:
    """Characters that the vocabulary does not have are unknown tokens; they stay in the words they were in."""
    tokens = piece_by_piece(tiny_tokenizer(model_type, tmp_path), text)
    words = [word_text(tokens, word) for word in words_of(tokens) if not _mark(tokens[word[0]])]
    known = [word for word in text.split(" ") if word.isascii()]
    lower = [word.lower() for word in words]
    assert [word for word in lower if word in known] == known
    assert len(words) == len(text.split(" "))


def _mark(token: Token) -> bool:
    return token.special and "unk" not in token.piece


def test_a_text_that_ends_within_a_character_still_has_its_words(tmp_path: Path) -> None:
    tokens = piece_by_piece(tiny_tokenizer("gpt2", tmp_path), "so 🙂")[:-1]
    assert next(word_text(tokens, word) for word in words_of(tokens)) == "so"
    assert sum(len(word) for word in words_of(tokens)) == len(tokens)


@pytest.mark.parametrize("model_type", ["bert", "gpt2", "roberta", "albert", "marian", "openai-gpt"])
@pytest.mark.parametrize("text", [ACCENTS, EMOJI, CJK, MIXED])
def test_rows_over_the_words_of_any_text_sum_to_one(model_type: str, text: str, tmp_path: Path) -> None:
    tokens = piece_by_piece(tiny_tokenizer(model_type, tmp_path), text)
    weights = np.random.default_rng(0).random((len(tokens), len(tokens))).astype(np.float32)
    weights /= weights.sum(axis=1, keepdims=True)
    words = words_of(tokens)
    assert [place for word in words for place in word] == list(range(len(tokens)))
    np.testing.assert_allclose(merge_words(weights, words, words).sum(axis=1), 1, atol=1e-5)


def test_attention_to_a_word_is_the_sum_and_attention_from_it_the_mean() -> None:
    matrix = np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5], [0.0, 1.0, 0.0]], dtype=np.float32)
    merged = merge_words(matrix, [(0,), (1, 2)], [(0,), (1, 2)])
    np.testing.assert_allclose(merged, [[0.5, 0.5], [0.125, 0.875]])


def test_rows_over_words_sum_to_one() -> None:
    weights = np.random.default_rng(0).random((7, 5)).astype(np.float32)
    weights /= weights.sum(axis=1, keepdims=True)
    merged = merge_words(weights, [(0, 1, 2), (3,), (4, 5, 6)], [(0,), (1, 2, 3), (4,)])
    assert merged.shape == (3, 3)
    np.testing.assert_allclose(merged.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("context", "answer"),
    [
        ("It was Rene\u0301.", "Rene\u0301"),
        ("The book was written by نجيب محفوظ in Cairo.", "نجيب"),
        ("The book was written by प्रेमचंद in India.", "प्रेमचंद"),
        ("The book was written by חיים in Odessa.", "חיים"),
        ("The book was written by 박경리 in Seoul.", "박경리"),
    ],
)
def test_an_answer_in_any_script_is_made_of_whole_words(context: str, answer: str, bundled: BundledModel) -> None:
    best = bundled("clearhead-qa")(question="Who wrote the book?", context=context).answers[0]
    assert best.text == context[best.start : best.end]
    assert best.text.startswith(answer) and best.text[len(answer) :][:1] in ("", " ")


def test_words_end_where_a_reader_sees_them_end() -> None:
    for text, words in (
        ("cat\u200d sat", ["cat\u200d", "sat"]),
        ("می\u200cخواهم بروم", ["می\u200cخواهم", "بروم"]),
        ("น้ำ", ["น้", "ำ"]),
        ("村上e\u0301a1 👩\u200d👧", ["村", "上", "e\u0301a1", "👩\u200d👧"]),
    ):
        places = [0, *(place for place in range(1, len(text)) if not inside_words(text)[place]), len(text)]
        found = [text[start:end] for start, end in pairwise(places)]
        assert [each for each in found if each.strip()] == words, text
