"""The parts of a pair's attention: each shows what it says, and no weight is lost."""

import numpy as np
import pytest

from demo.plots.reading import read_out
from demo.plots.view import NOT_SHOWN, PARTS, shown, view_of
from demo.reader.sentence import coloured_sentence, said
from tests.plots.made_up import attention_over, tokens_of

PAIR = tokens_of("[CLS] the man went [SEP] he bought milk [SEP]")
SENTENCES = (PAIR[:5], PAIR[5:])
ATTENTION = attention_over(PAIR)


@pytest.mark.parametrize("part", [part for part in PARTS if part])
def test_a_part_has_the_rows_of_one_sentence_and_the_columns_of_one(part: str) -> None:
    whole, view = (shown(view_of({"encoder": ATTENTION}, layer=0, head=1), part=each) for each in ("", part))
    of_queries, of_keys = PARTS[part]
    assert view.query_tokens == SENTENCES[of_queries]
    assert view.key_tokens == (*SENTENCES[of_keys], NOT_SHOWN)
    np.testing.assert_allclose(view.weights.sum(axis=1), 1, atol=1e-5)
    rows, columns = ((slice(0, 5), slice(5, 9))[place] for place in (of_queries, of_keys))
    np.testing.assert_array_equal(view.weights[:, :-1], whole.weights[rows, columns])
    assert view.two_texts == (of_queries != of_keys)
    assert read_out(view)
    assert f'data-columns="{len(view.key_tokens)}"' in coloured_sentence(view)


def test_what_crosses_stays_and_rests_is_all_that_words_give() -> None:
    view = shown(view_of({"encoder": ATTENTION}, layer=1, head=2), part="")
    words, weights = [1, 2, 3, 5, 6, 7], ATTENTION.weights[1, 2]
    crosses = sum(weights[one, other] for one in words for other in words if (one < 4) != (other < 4)) / len(words)
    assert view.crossing is not None and view.crossing[0] == pytest.approx(float(crosses), abs=1e-5)
    assert sum(view.crossing) == pytest.approx(1, abs=1e-5)
    assert "crosses to words of the other sentence" in said(view, None)


def test_a_text_that_is_no_pair_has_no_parts() -> None:
    view = shown(view_of({"encoder": ATTENTION}, layer=0, head=1))
    assert view.crossing is None and view.query_tokens == PAIR
    assert "crosses" not in said(view, None)
