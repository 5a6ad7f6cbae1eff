"""What of a view is shown: whole words, no special tokens, what was written so far; no weight is lost."""

import numpy as np
import pytest

from demo.plots.view import MOST_SHOWN, NOT_SHOWN, AttentionView, own_keys, shown, view_of
from models.explain.opening import Opening
from models.outputs import Attention, Token
from tests.plots.made_up import attention_over, tokens_of

PIECES = tokens_of("[CLS] the par ##rot sleeps [SEP]")


def texts(tokens: tuple[Token, ...]) -> list[str]:
    return [token.text for token in tokens]


def view(**options: object) -> AttentionView:
    return view_of({"encoder": attention_over(PIECES)}, layer=1, head=2, **options)  # type: ignore[arg-type]


def test_pieces_become_words_and_rows_still_sum_to_one() -> None:
    whole, words = view(), shown(view())
    assert texts(words.query_tokens) == texts(words.key_tokens) == ["[CLS]", "the", "parrot", "sleeps", "[SEP]"]
    assert words.weights.sum(axis=1) == pytest.approx(1)
    assert words.weights[1, 2] == pytest.approx(whole.weights[1, 2] + whole.weights[1, 3]), "what it gets is the sum"
    assert words.weights[2, 1] == pytest.approx(whole.weights[2:4, 1].mean()), "what it gives is the mean"


def test_a_view_in_pieces_is_the_view_itself() -> None:
    assert shown(view(), words=False).weights is view().weights or np.array_equal(
        shown(view(), words=False).weights, view().weights
    )


def test_of_maxima_a_word_has_the_greatest_of_its_pieces() -> None:
    whole = view(how="maximum")
    assert shown(whole).weights[1, 2] == pytest.approx(whole.weights[1, 2:4].max())


def test_what_goes_to_marks_and_full_stops_can_stand_in_a_column_of_its_own() -> None:
    whole = view_of({"encoder": attention_over(tokens_of("[CLS] it went . [SEP]"))}, layer=1, head=2)
    text = shown(whole, specials=False)
    assert texts(text.query_tokens) == texts(whole.query_tokens), "a mark may still be looked from"
    assert texts(text.key_tokens) == ["it", "went", "not shown"]
    assert text.key_tokens[-1] is NOT_SHOWN and text.left_out == "[CLS], “.” and [SEP]"
    assert text.weights[:, -1] == pytest.approx(whole.weights[:, [0, 3, 4]].sum(axis=1))
    np.testing.assert_array_equal(text.weights[:, :-1], whole.weights[:, 1:3])
    assert own_keys(text) == [None, 0, 1, None, None]
    assert own_keys(whole) == [0, 1, 2, 3, 4]


def test_the_token_to_begin_with_is_found_again_among_words_and_in_a_text_so_far() -> None:
    whole = view_of({"encoder": attention_over(PIECES)}, opened=Opening(4, 0, 0, 1))
    assert shown(whole).token == 3, "“sleeps”, behind a word of two pieces"
    assert shown(whole, words=False, specials=False).token == 4
    causal = view_of({"decoder": attention_over(PIECES, causal=True)}, opened=Opening(4, 0, 0, 1))
    assert shown(causal, words=False, not_yet=3).token == 2, "the token that was written last"


def test_what_stands_for_a_part_of_the_text_stays_when_special_tokens_go() -> None:
    masked = view_of({"encoder": attention_over(tokens_of("[CLS] a [MASK] [UNK] [SEP]"))})
    assert texts(shown(masked, specials=False).key_tokens) == ["a", "[MASK]", "[UNK]", "not shown"]


def test_a_text_of_special_tokens_alone_stays_as_it_is() -> None:
    alone = view_of({"encoder": attention_over(tokens_of("[CLS] [SEP]"))})
    assert texts(shown(alone, specials=False).key_tokens) == ["[CLS]", "[SEP]"]


def test_beyond_the_limit_the_rest_is_counted_but_not_shown() -> None:
    long = view_of({"encoder": attention_over(tokens_of(" ".join(["w"] * 600)), layers=1, heads=1)})
    first = shown(long)
    assert first.weights.shape == (MOST_SHOWN, MOST_SHOWN + 1)
    assert first.weights.sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_the_picture_grows_with_the_text() -> None:
    causal = view_of({"decoder": attention_over(tokens_of("once there was a fox"), causal=True)})
    early = shown(causal, not_yet=2)
    assert texts(early.query_tokens) == texts(early.key_tokens) == ["once", "there", "was"]
    assert early.weights.sum(axis=1) == pytest.approx(1), "no one looks at what was not there yet"


def test_between_two_texts_only_the_written_one_grows() -> None:
    weights = np.full((1, 1, 3, 2), 0.5, dtype=np.float32)
    cross = Attention("cross", weights, tokens_of("le chat noir"), tokens_of("black cat"), np.zeros((3, 2), dtype=bool))
    early = shown(view_of({"cross": cross}), not_yet=2)
    assert texts(early.query_tokens) == ["le"] and texts(early.key_tokens) == ["black", "cat"]


def test_a_word_is_masked_only_where_all_of_its_pieces_are() -> None:
    tokens = tokens_of("a par ##rot sleeps")
    words = shown(view_of({"decoder": attention_over(tokens, causal=True)}))
    np.testing.assert_array_equal(words.masked, np.triu(np.ones((3, 3), dtype=bool), k=1))
