import numpy as np
import pytest

from demo.plots.heatmap import attention_heatmap
from demo.plots.view import shown, view_of
from models.outputs.attention import MEAN
from tests.plots.made_up import attention_over, tokens_of

SENTENCE = tokens_of("[CLS] the cat saw the dog [SEP]")


@pytest.mark.parametrize(("layer", "head"), [(MEAN, MEAN), (1, MEAN), (MEAN, 2), (0, 1)])
def test_the_cells_are_the_weights_of_the_chosen_layer_and_head(layer: int, head: int) -> None:
    attention = attention_over(SENTENCE)
    figure = attention_heatmap(view_of({"encoder": attention}, "encoder", layer, head))
    np.testing.assert_array_equal(figure.data[0].z, attention.matrix(layer, head))


def test_what_is_left_out_has_a_column_in_grey_that_takes_nothing_from_the_scale() -> None:
    view = shown(view_of({"encoder": attention_over(SENTENCE)}, layer=0, head=1), specials=False)
    cells, left_out = attention_heatmap(view).data
    np.testing.assert_array_equal(np.hstack([cells.z, left_out.z]), view.weights)
    assert list(left_out.x) == ["not shown"]
    assert cells.zmax <= cells.z.max() < left_out.z.max()


def test_a_token_that_stands_twice_has_two_rows_and_two_columns() -> None:
    figure = attention_heatmap(view_of({"encoder": attention_over(SENTENCE)}))
    (heatmap,) = figure.data
    assert len(set(heatmap.x)) == len(set(heatmap.y)) == len(SENTENCE)
    assert [name.rstrip("\u200b\u200c\u2060") for name in heatmap.x] == [token.text for token in SENTENCE]


def test_masked_cells_are_empty_and_hatched_and_the_others_are_not() -> None:
    attention = attention_over(SENTENCE, causal=True)
    figure = attention_heatmap(view_of({"decoder": attention}))
    np.testing.assert_array_equal(np.isnan(figure.data[0].z), attention.masked)
    ground, lines = figure.layout.shapes
    assert ground.path.count("M") == len(SENTENCE) - 1, "every row but the last has masked cells"
    assert lines.path.count("L") > 0
    assert not attention_heatmap(view_of({"encoder": attention_over(SENTENCE)})).layout.shapes


def test_the_darkest_cell_is_a_link_between_words_and_not_a_special_token() -> None:
    attention = attention_over(SENTENCE, layers=1, heads=1)
    attention.weights[0, 0, :, 0] = 0.9
    attention.weights[0, 0, :, 1:] *= 0.1
    figure = attention_heatmap(view_of({"encoder": attention}))
    assert figure.data[0].zmax < 0.9
    assert figure.data[0].colorbar.ticktext[-1].endswith("+"), "the scale says that some cells are beyond it"
