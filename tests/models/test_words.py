"""Pieces become words by the convention of their vocabulary, and attention over words still sums to one."""

import numpy as np
import pytest

from models.outputs import Token
from models.words import merge_words, word_text, words_of


def word_piece(*texts: str) -> tuple[Token, ...]:
    return tuple(Token(text, text, 1, special=text.startswith("[")) for text in texts)


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
        (ended("un", "real</w>", "cats</w>", "slee", "p</w>"), ["unreal", "cats", "sleep"]),
        ((), []),
    ],
)  # fmt: skip
def test_words_are_what_a_reader_sees(tokens: tuple[Token, ...], words: list[str]) -> None:
    places = words_of(tokens)
    assert [word_text(tokens, word) for word in places] == words
    assert [place for word in places for place in word] == list(range(len(tokens)))


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
