"""Alignment: the diagonal, the share of agreement and IBM model 1, worked out by hand."""

import numpy as np
import pytest

from evaluation.alignment import WordAttention, agreement, by_ibm_model_1, diagonal, word_attention
from models.outputs import Attention, Token


def test_the_diagonal_is_the_word_at_the_same_relative_place() -> None:
    assert diagonal(3, 3) == [0, 1, 2]
    assert diagonal(4, 2) == [0, 0, 1, 1]
    assert diagonal(2, 5) == [1, 3]


def test_agreement_counts_words_that_are_aligned_and_hold_letters() -> None:
    # Right, wrong, not aligned by the reference, and a full stop: one of two.
    assert agreement([[0, 2, 1, 3]], [[0, 1, None, 3]], [["le", "chat", "dort", "."]]) == 50.0


def test_ibm_model_1_learns_which_words_go_together() -> None:
    pairs = [
        (["the", "cat"], ["le", "chat"]),
        (["the", "dog"], ["le", "chien"]),
        (["a", "cat"], ["un", "chat"]),
        (["a", "dog"], ["un", "chien"]),
    ]
    turned = WordAttention(["chien", "un"], ["a", "dog"], np.zeros((1, 1, 2, 2), np.float32))
    assert by_ibm_model_1(pairs, [turned]) == [[1, 0]]


def test_attention_of_pieces_becomes_attention_of_words_without_the_end_token() -> None:
    end = Token("</s>", "</s>", 0, special=True)
    source = (Token(" cats", "▁cats", 1), Token(" sleep", "▁sleep", 2), end)
    target = (Token(" cha", "▁cha", 3), Token("ts", "ts", 4), Token(" dorment", "▁dorment", 5), end)
    weights = np.array([[0.8, 0.1, 0.1], [0.6, 0.2, 0.2], [0.1, 0.7, 0.2], [0, 0, 1]], np.float32)[None, None]
    words = word_attention(Attention("cross", weights, target, source, np.zeros((4, 3), bool)))
    assert (words.target, words.source) == (["chats", "dorment"], ["cats", "sleep"])
    assert words.weights[0, 0] == pytest.approx(np.array([[0.7, 0.15], [0.1, 0.7]]))
