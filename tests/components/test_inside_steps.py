"""What the steps of the tab Inside say and show of numbers that were made up."""

from dataclasses import replace

import numpy as np
import pytest

from demo.plots.walk import cosines_figure, norms_figure, scores_matrix, shares_matrix
from demo.walk.block import block_picture, block_said, block_table, path_table
from demo.walk.guess import lens_picture, lens_said, lens_table
from demo.walk.head import head_picture, head_said, head_table, scores_of, worked_row, worked_square
from demo.walk.masking import masking_said, masking_table
from demo.walk.step import distance, number
from models.errors import InputError
from models.inside.formulas import shares
from models.inside.outputs import BlockNumbers, Guess, HeadNumbers, LayerGuesses, Lens, Look, Stage, Station, VectorPath
from models.outputs import LoadedCheckpoint, Token

TOKENS = tuple(Token(text, text, place) for place, text in enumerate(("<i>the", "robot", "waits")))
ORDER = (
    Station.INPUT, Station.CONCATENATED, Station.PROJECTED, Station.ATTENTION_ADDED, Station.ATTENTION_NORMED,
    Station.WIDENED, Station.ACTIVATED, Station.NARROWED, Station.FEED_FORWARD_ADDED, Station.OUTPUT_NORMED,
)  # fmt: skip


def made_up(masked: bool = False) -> Look:
    rng = np.random.default_rng(0)
    queries, keys, values = rng.normal(size=(3, 3, 4)).astype(np.float32)
    hidden = np.triu(np.ones((3, 3), dtype=bool), k=1) if masked else np.zeros((3, 3), dtype=bool)
    scores = queries @ keys.T
    scaled, weights = shares(scores, 2.0, hidden)
    head = HeadNumbers(queries, keys, values, scores, 2.0, scaled, hidden, weights, weights @ values, 3e-7)
    wide = {Station.WIDENED, Station.ACTIVATED}
    stages = tuple(Stage(name, rng.normal(size=32 if name in wide else 8).astype(np.float32)) for name in ORDER)
    path = VectorPath(np.array([[1, 2, 3], [4, 5, 6]], np.float32), np.array([[1, 1, 1], [0.5, 0.25, 0]], np.float32))
    layers = (
        LayerGuesses(0, (Guess(" robot", 0.75, 2.0), Guess("<b>", 0.25, 0.9))),
        LayerGuesses(1, (Guess("<b>", 0.9, 3.0), Guess(" robot", 0.1, 0.8))),
    )
    return Look(
        LoadedCheckpoint("made-up", "0", "CC0-1.0"), TOKENS, (0, 0, 0), "decoder" if masked else "encoder",
        ("decoder" if masked else "encoder",), 1, 2, 0, 1, 1, head,
        BlockNumbers(stages, False, 2, 4, 8, 32, "GELU", 2e-6), path,
        Lens("next word", 1, 9, np.ones(8, np.float32), layers),
    )  # fmt: skip


def test_a_head_says_what_its_token_looks_at_and_lists_every_number() -> None:
    seen = made_up()
    row = seen.numbers.weights[1]
    best = TOKENS[int(row.argmax())].text.replace("<", "&lt;").replace(">", "&gt;")
    assert f"“<bdi>{best}</bdi>”" in head_said(seen)
    assert "less than 0.000001" in head_said(seen)
    listed = head_table(seen)
    for key in range(3):
        for value, digits in ((seen.numbers.scores[1, key], 3), (seen.numbers.scaled[1, key], 3), (row[key], 4)):
            assert number(float(value), digits) in listed
    picture = head_picture(seen)
    assert picture.count("<li") == 3
    assert picture.count("<img") == 2 * 3 + 2
    assert "<i>" not in picture + listed


def test_what_is_masked_is_minus_infinity_and_hatched() -> None:
    seen = made_up(masked=True)
    assert head_picture(seen).count("hidden-key") == 1
    assert head_table(seen).count("−∞") == 1
    assert "3 of 9 places are −∞" in masking_said(seen)
    assert masking_table(seen, "GPT-2").count("−∞ → 0") == 3
    assert "goes to tokens that come later" in masking_said(made_up())
    for figure in (scores_matrix(seen), shares_matrix(seen)):
        assert int(np.isnan(np.array(figure.data[0].z, dtype=float)).sum()) == 3
        assert len(figure.layout.shapes) == 2
    assert not scores_matrix(made_up()).layout.shapes


def test_the_block_has_its_sizes_on_its_arrows_and_two_ways_past() -> None:
    seen = made_up()
    picture = block_picture(seen)
    for size in ("2 × 4 = 8 numbers", "8 → 2 heads of 4", "8 × 8", "8 × 32", "32 × 8"):
        assert size in picture
    assert picture.count("passes by") == 2
    assert picture.count('class="station"') == len(ORDER)
    assert "behind each part" in block_said(seen)
    assert "in front of each part" in block_said(replace(seen, block=replace(seen.block, norm_first=True)))
    assert block_table(seen).count("<tr>") == len(ORDER) + 1
    assert "0.250" in path_table(seen)


def test_the_followed_token_is_the_thick_line() -> None:
    for figure, last in ((norms_figure(made_up()), 5), (cosines_figure(made_up()), 0.25)):
        widths = [trace.line.width for trace in figure.data]
        assert widths == [1, 1, 3]
        assert figure.data[-1].y[-1] == last


def test_the_lens_says_when_the_last_guess_came_to_the_front() -> None:
    seen = made_up()
    assert seen.lens is not None
    said = lens_said(seen, seen.lens)
    assert "“<bdi>&lt;b&gt;</bdi>”, with 90" in said
    assert "Only the last layer" in said
    assert lens_picture(seen.lens).count("final-guess") == 2
    assert "3.00 → 0.9000" in lens_table(seen.lens)
    assert "leads from the input" in lens_said(seen, replace(seen.lens, layers=seen.lens.layers[1:]))


def test_the_lectures_numbers_are_worked_out() -> None:
    thinking = worked_row("112 96", 64)
    for cell in ("14.00", "12.00", "0.88", "0.12", "÷ √64 = 8.00"):
        assert cell in thinking
    square = worked_square("0.11 0.00 0.81 0.79\n.19 .5 .3 .48\n.53 .98 .95 .14\n.81 .86 .38 .90", 4)
    for cells in ("<td>0.48</td><td>0.52</td>", "<td>0.31</td><td>0.35</td><td>0.34</td>",
                  "<td>0.25</td><td>0.26</td><td>0.23</td><td>0.26</td>"):  # fmt: skip
        assert cells in square
    assert square.count("<td>−∞</td>") == 6


@pytest.mark.parametrize(
    ("text", "square", "sentence"),
    [
        ("", False, "the same number of scores in each line"),
        ("a b", False, "Please write numbers"),
        ("1 2\n3 4", False, "in one line"),
        ("1 2 3", True, "make a square"),
        ("1 2\n3", True, "the same number of scores in each line"),
        ("1 " * 9, False, "at most 8"),
        ("nan 1", False, "from −10,000 to 10,000"),
        ("1e9 1", False, "from −10,000 to 10,000"),
    ],
)
def test_scores_that_cannot_be_used_are_refused(text: str, square: bool, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as refused:
        scores_of(text, square)
    assert refused.value.field == "scores"


def test_distances_and_numbers_are_easy_to_read() -> None:
    assert distance(3e-7) == "less than 0.000001"
    assert distance(0.5) == "0.50"
    assert number(-1.5, 1) == "−1.5"
    assert number(float("-inf"), 2) == "−∞"
