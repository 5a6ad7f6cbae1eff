"""Step 4 of the tab Inside: the reach of a token is that of explicit attention masks, layer by layer."""

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from demo.walk.memory import memory_picture
from models.inside.formulas import reach

TOKENS = 56


def reached(window: int, layers: int, cached: bool) -> list[NDArray[np.bool_]]:
    """Whether a token (column) reaches another (row), through 0, 1, … `layers` layers, by products of the mask."""
    mask = np.zeros((TOKENS, TOKENS), dtype=int)
    for query in range(TOKENS):
        for key in range(query + 1):
            apart = query // window - key // window
            mask[query, key] = apart == 0 or (cached and apart == 1)
    ways = [np.eye(TOKENS, dtype=int)]
    for _ in range(layers):
        ways.append(np.minimum(ways[-1] @ mask, 1))
    return [way.astype(bool) for way in ways]


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("layers", [1, 2, 6])
@pytest.mark.parametrize("window", range(2, 9))
def test_the_reach_is_that_of_attention_masks_of_all_layers(window: int, layers: int, cached: bool) -> None:
    ways = reached(window, layers, cached)
    for token in range(TOKENS):
        first = reach(window, layers, token, cached=cached)
        assert len(first) == layers + 1
        for start, way in zip(first, ways, strict=True):
            assert np.flatnonzero(way[token]).tolist() == list(range(start, token + 1))


@pytest.mark.parametrize(("window", "layers", "token"), [(4, 6, 43), (8, 6, 56), (5, 2, 10), (3, 1, 1), (8, 6, 20)])
def test_the_picture_and_its_sentence_say_the_same(window: int, layers: int, token: int) -> None:
    drawn = memory_picture(window, layers, token)
    counts = []
    for cached, rows in zip((False, True), drawn.split("<h4>")[1:], strict=True):
        places = [tuple(map(int, each)) for each in re.findall(r"--from:(\d+);--own:(\d+);--to:(\d+)", rows)]
        ways = reached(window, layers, cached)
        for (start, own, end), way in zip(places, ways, strict=True):
            assert np.flatnonzero(way[token - 1]).tolist() == list(range(start, end))
            assert own == max(start, (token - 1) // window * window)
        counts.append(int(ways[-1][token - 1].sum()) - 1)
    said = re.sub("<[^>]+>", "", drawn.split("</p>")[0])
    within, further = counts[0], counts[1] - counts[0]
    assert f"the {within} token{'' if within == 1 else 's'} before it in its window" in said
    assert f"= {window * layers} more come within reach" in said
    assert said.endswith("reach." if further == window * layers else f"of which the text has {further}.")
