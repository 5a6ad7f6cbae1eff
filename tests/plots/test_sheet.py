"""All heads in one picture: small enough to send, laid out as it says, and true to the weights."""

import io
import time

import numpy as np
import pytest
from PIL import Image

from demo.plots.sheet import attention_sheet, data_uri, sheet_geometry
from models.outputs.attention import Attention
from models.outputs.base import Token
from tests.plots.made_up import attention_over

KB = 1_000


def tokens(count: int) -> tuple[Token, ...]:
    return tuple(Token("a", "a", 1) for _ in range(count))


def random_heads(length: int, layers: int = 12, heads: int = 12) -> Attention:
    """Uniform weights: nothing compresses them."""
    return attention_over(tokens(length), layers=layers, heads=heads)


def lifelike_heads(length: int, layers: int = 12, heads: int = 12) -> Attention:
    """Softmax over random logits, with a diagonal and two columns that draw most of the weight, as real heads have."""
    random = np.random.default_rng(1)
    logits = random.normal(size=(layers, heads, length, length)).astype(np.float32) * 2
    logits[..., 0] += random.uniform(0, 8, (layers, heads, 1))
    logits[..., -1] += random.uniform(0, 8, (layers, heads, 1))
    logits += np.eye(length, k=-1, dtype=np.float32) * random.uniform(0, 8, (layers, heads, 1, 1)).astype(np.float32)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return Attention("encoder", weights, tokens(length), tokens(length), np.zeros((length, length), dtype=bool))


def drawn(attention: Attention, dark: bool = False) -> np.ndarray:
    """The picture's pixels `[y, x, channel]`."""
    return np.array(Image.open(io.BytesIO(attention_sheet(attention, dark))).convert("RGB"))


def one_link(queries: int, keys: int, query: int, key: int) -> Attention:
    """Two layers of three heads; in layer 1, head 2, one query gives everything to one key, and all others nothing."""
    weights = np.zeros((2, 3, queries, keys), dtype=np.float32)
    weights[1, 2, query, key] = 1
    return Attention("cross", weights, tokens(queries), tokens(keys), np.zeros((queries, keys), dtype=bool))


@pytest.mark.parametrize("made", [random_heads, lifelike_heads])
@pytest.mark.parametrize(("length", "most"), [(64, 500), (128, 1_200), (512, 4_000)])
def test_all_heads_of_a_base_model_are_small_and_quick(made, length: int, most: int) -> None:
    attention = made(length)
    started = time.process_time()
    sheet = attention_sheet(attention)
    assert time.process_time() - started < 1.0
    assert len(data_uri(sheet)) <= most * KB
    assert data_uri(sheet).startswith("data:image/png;base64,iVBOR")


@pytest.mark.parametrize("length", [1, 5, 48, 64, 96, 97, 300])
def test_a_thumbnail_stands_where_the_geometry_says(length: int) -> None:
    attention = random_heads(length, layers=2, heads=3)
    geometry = sheet_geometry(attention)
    assert drawn(attention).shape == (geometry.height, geometry.width, 3)
    assert max(geometry.cell_width, geometry.cell_height) <= 96
    found = set()
    for layer in range(2):
        for head in range(3):
            left, top, right, bottom = geometry.box(layer, head)
            assert (right - left, bottom - top) == (geometry.cell_width, geometry.cell_height)
            found.add((left, top))
    assert len(found) == 6


@pytest.mark.parametrize(("queries", "keys", "query", "key"), [(4, 9, 3, 2), (300, 500, 299, 499), (300, 500, 7, 250)])
def test_a_single_strong_link_is_seen_in_its_place_however_many_tokens(
    queries: int, keys: int, query: int, key: int
) -> None:
    attention = one_link(queries, keys, query, key)
    geometry = sheet_geometry(attention)
    pixels = drawn(attention)
    left, top, right, bottom = geometry.box(1, 2)
    x = left + key // geometry.pooled * geometry.enlarged
    y = top + query // geometry.pooled * geometry.enlarged
    assert pixels[y, x].tolist() == [0x1F, 0x4B, 0xB8]
    ink = (pixels == [0x1F, 0x4B, 0xB8]).all(axis=-1)
    assert ink.sum() == geometry.enlarged**2
    assert ink[top:bottom, left:right].sum() == geometry.enlarged**2


def test_masked_cells_have_a_colour_that_no_weight_has() -> None:
    attention = attention_over(tokens(8), causal=True, layers=1, heads=1)
    geometry = sheet_geometry(attention)
    left, top, right, bottom = geometry.box(0, 0)
    cells = drawn(attention)[top:bottom, left:right]
    size = geometry.enlarged
    masked = attention.masked.repeat(size, axis=0).repeat(size, axis=1)
    hidden = {tuple(colour) for colour in cells[masked].tolist()}
    shown = {tuple(colour) for colour in cells[~masked].tolist()}
    assert len(hidden) == 2
    assert not hidden & shown


def test_the_scale_goes_from_the_ground_to_ink_in_light_and_in_dark() -> None:
    attention = one_link(4, 4, 1, 1)
    light, dark = drawn(attention), drawn(attention, dark=True)
    left, top, _, _ = sheet_geometry(attention).box(0, 0)
    assert light[top, left].tolist() == [0xFA, 0xFA, 0xF8]
    assert dark[top, left].tolist() == [0x13, 0x14, 0x17]
    assert dark.max() == 0xF2
