"""The tree as a picture: nothing overlaps, nothing is markup, and lines say who took what."""

import json
from itertools import pairwise
from typing import Any

import pytest

from demo.plots.decode_tree import decode_tree_figure, lanes_of
from demo.writing.tree import tree_finding, tree_table, tree_text
from models.outputs import DecodeTree, LoadedCheckpoint, StrategyText, TreeNode

NASTY = "<b onclick=x>$a$"
USED = LoadedCheckpoint("clearhead-stories", "0" * 12, "Apache-2.0")


def node(number: int, parent: int, depth: int, token: str, total: float, *strategies: str, **said: Any) -> TreeNode:
    fields = {"kept": True, "weighed": True, "ended": False} | said
    return TreeNode(number, parent, depth, token, number, -0.5, total, strategies=strategies, **fields)


def tree(beam: float = -1.0, greedy: float = -1.4, beam_ids: tuple[int, ...] = (2, 5)) -> DecodeTree:
    return DecodeTree(
        USED,
        "Once " + NASTY,
        2,
        (
            node(0, -1, 0, "", 0.0),
            node(1, 0, 1, " cat", -0.2, "greedy"),
            node(2, 0, 1, NASTY, -0.6, "beam", "sample"),
            node(3, 0, 1, " fox", -2.0, kept=False),
            node(4, 1, 2, " ran", -1.4, "greedy"),
            node(5, 2, 2, " sat", -1.0, "beam"),
            node(6, 2, 2, " lay", -3.0, "sample", kept=False, weighed=False),
        ),
        (
            StrategyText("greedy", " cat ran", (1, 4), greedy),
            StrategyText("beam", NASTY + " sat", beam_ids, beam),
            StrategyText("sample", NASTY + " lay", (2, 6), -3.0),
        ),
    )


def test_lines_between_neighbouring_columns_never_cross() -> None:
    grown = tree()
    lanes = lanes_of(grown.nodes)
    for depth in (1, 2):
        column = sorted((each for each in grown.nodes if each.depth == depth), key=lambda each: lanes[each.id])
        assert all(lanes[above.id] < lanes[below.id] for above, below in pairwise(column))
        assert all(lanes[above.parent] <= lanes[below.parent] for above, below in pairwise(column))


def test_every_token_is_a_point_and_every_strategy_a_line() -> None:
    figure = decode_tree_figure(tree())
    names = [trace.name for trace in figure.data]
    assert names == ["dropped", "kept for a while", "beam search", "greedy search", "sampling", "tokens"]
    assert len(figure.data[-1].x) == 7
    assert [each for each in figure.data[2].x if each is not None] == [0, 0.5, 0.5, 1, 1, 1.5, 1.5, 2]
    assert len([each for each in figure.data[0].x if each is not None]) == 4, "one token was dropped"


def test_nothing_that_a_model_wrote_is_markup() -> None:
    written = json.dumps(decode_tree_figure(tree()).to_plotly_json(), default=list)
    assert "onclick" in written and "<b onclick" not in written and "$a$" not in written
    assert "<b onclick" not in tree_text(tree()) + tree_table(tree())


@pytest.mark.parametrize(
    ("grown", "finding"),
    [
        (tree(), "found a likelier text than greedy search"),
        (tree(beam_ids=(1, 4)), "ended with the same text as greedy search"),
        (tree(beam=-2.0), "a better average per token"),
    ],
)
def test_the_title_says_what_was_found(grown: DecodeTree, finding: str) -> None:
    assert finding in tree_finding(grown) and "chance drew another text" in tree_finding(grown)
    assert tree_finding(grown) in tree_text(grown)


def test_the_table_says_what_became_of_each_token() -> None:
    table = tree_table(tree())
    assert table.count("<tr>") == 7
    assert "dropped at once" in table and "in the text of beam search, sampling" in table
