"""The pictures of the tab Inside show the numbers they are given."""

import math

import numpy as np
import pytest

from demo.plots.walk import costs_figure, position_grid, vector_strips
from demo.walk.counting import costs_said, costs_table
from demo.walk.embeddings import positions_numbers
from demo.walk.tokens import input_picture, tokens_picture
from models.inside.formulas import layer_costs, sinusoidal
from models.inside.outputs import Piece, TokenizedText


def test_strips_share_a_scale_but_for_the_one_that_has_its_own() -> None:
    rng = np.random.default_rng(0)
    strips = {name: rng.normal(size=50).astype(np.float32) for name in ("token", "<b>$sum$", "normed")}
    strips["normed"] *= 100
    cells = vector_strips(strips, own_scale="normed").data[0]
    assert np.allclose(cells.z[:2], np.stack(list(strips.values()))[:2], atol=1e-4)
    assert np.abs(cells.z[2]).max() < 10 * cells.zmax
    assert np.allclose(cells.customdata[2], strips["normed"], atol=1e-3), "pointing at a cell tells its own number"
    assert list(cells.y) == ["token", "&lt;b&gt;&#36;sum&#36;", "normed"]
    assert cells.zmin == -cells.zmax


def test_positions_are_drawn_downwards_with_their_words() -> None:
    figure = position_grid(sinusoidal(4, 4, 100), ("I", "am", "a", "robot"))
    assert np.allclose(figure.data[0].z, sinusoidal(4, 4, 100), atol=1e-4)
    assert figure.layout.yaxis.autorange == "reversed"
    assert figure.layout.yaxis.ticktext == ("I", "am", "a", "robot")


def test_the_lectures_robot_stands_in_the_table_to_eight_digits() -> None:
    table = positions_numbers(4, 4, 100)
    for number in ("0.84147098", "-0.41614684", "0.19866933", "-0.98999250", "0.95533649"):
        assert f"<td>{number}</td>" in table
    assert '<th scope="row">3 robot</th>' in table


@pytest.mark.parametrize("length", [16, 384, 1000])
def test_costs_are_lines_over_n_with_the_visitors_text_marked(length: int) -> None:
    figure = costs_figure(length, 384)
    for place, line in enumerate(figure.data):
        assert list(line.y) == [layer_costs(n, 384)[place].operations for n in line.x]
        assert line.name in ("self-attention", "recurrence", "convolution")
    assert [shape.x0 for shape in figure.layout.shapes] == [length, 384]
    assert figure.layout.annotations[0].x == pytest.approx(math.log10(length))


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (16, "24 times fewer multiplications than"),
        (768, "2 times more multiplications than"),
        (384, "as many multiplications as"),
    ],
)
def test_the_sentence_says_which_layer_costs_less(length: int, said: str) -> None:
    assert said in costs_said(length, 384)
    assert f"{length**2 * 384:,}" in costs_table(length, 384)


def test_berts_input_has_a_column_for_each_token_and_nothing_is_run() -> None:
    pieces = (
        Piece("[CLS]", 101, 0, True, True, 0, 0),
        Piece("<script>", 7, 0, True, False, 0, 8),
        Piece("[SEP]", 102, 1, True, True, 0, 0),
        Piece("[PAD]", 0, 0, False, True, 0, 0),
    )
    text = TokenizedText("clearhead-minilm", "wordpiece", 30_522, pieces)
    picture = input_picture(text)
    for row in ('id</th><td class="segment-0">101</td>', 'attention mask</th><td class="segment-0">1</td>'):
        assert row in picture
    assert '<td class="padding">0</td></tr>' in picture
    assert "<script>" not in picture + tokens_picture([text])


def test_the_pieces_of_a_word_have_one_shade() -> None:
    spelt = (("[CLS]", 0, 0), ("una", 0, 3), ("##ffa", 3, 6), ("##ble", 6, 9), ("robot", 10, 15))
    pieces = tuple(Piece(piece, 1, 0, True, piece == "[CLS]", start, end) for piece, start, end in spelt)
    picture = tokens_picture([TokenizedText("clearhead-minilm", "wordpiece", 30_522, pieces)])
    shades = [part[0] for part in picture.split('data-shade="')[1:]]
    assert shades[1] == shades[2] == shades[3] != shades[4]
    assert shades[0] != shades[1]
