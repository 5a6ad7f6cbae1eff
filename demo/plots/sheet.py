"""All heads at once: one picture with a thumbnail for each, layers as rows and heads as columns."""

import base64
import io
import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor

from demo.plots.template import AMBER, INK
from models.outputs.attention import Attention

Number = TypeVar("Number", bound=np.generic)

_LARGEST_SIDE = 96
_ENLARGED_SIDE = 48
# The pixels of 144 heads at the largest side: at four bits each 660 kB, even if the weights do not compress.
_MOST_PIXELS = 144 * _LARGEST_SIDE**2
_HATCH_STEP = 6
# The share of cells with less weight than the darkest colour stands for.
_UNSATURATED = 0.98

# Four bits a pixel: 13 colours for weights, and one each for masked cells, hatching and the ground.
_BITS = 4
_WEIGHT_COLOURS = 13
_MASKED, _HATCHED, _GROUND = 13, 14, 15
# No weight, most weight, masked cells, their hatching, and the ground between thumbnails.
_LIGHT = ("#fafaf8", INK, "#ececea", "#c4c5c6", "#d5d6d8")
_DARK = ("#131417", "#9fb6f2", "#24262a", "#44474d", "#3a3e46")


@dataclass(frozen=True)
class SheetGeometry:
    """The places of the heads' thumbnails in the picture, in pixels; layers and heads are counted from 0.

    A pixel shows the greatest weight of `pooled` x `pooled` cells, or a cell takes `enlarged` x `enlarged` pixels.
    """

    layers: int
    heads: int
    cell_width: int
    cell_height: int
    pooled: int
    enlarged: int
    gap: int = 4

    @property
    def width(self) -> int:
        """The picture's width."""
        return self.gap + self.heads * (self.cell_width + self.gap)

    @property
    def height(self) -> int:
        """The picture's height."""
        return self.gap + self.layers * (self.cell_height + self.gap)

    def box(self, layer: int, head: int) -> tuple[int, int, int, int]:
        """The left, top, right and bottom of a thumbnail, right and bottom exclusive."""
        left = self.gap + head * (self.cell_width + self.gap)
        top = self.gap + layer * (self.cell_height + self.gap)
        return left, top, left + self.cell_width, top + self.cell_height


def sheet_geometry(attention: Attention) -> SheetGeometry:
    """The layout of the sheet of `attention`; a thumbnail's longer side has at most 96 pixels."""
    queries, keys = attention.masked.shape
    side = min(_LARGEST_SIDE, math.isqrt(_MOST_PIXELS // (attention.layers * attention.heads)))
    longest = max(queries, keys)
    pooled = math.ceil(longest / side)
    enlarged = max(1, min(_ENLARGED_SIDE, side) // longest)
    width, height = math.ceil(keys / pooled) * enlarged, math.ceil(queries / pooled) * enlarged
    return SheetGeometry(attention.layers, attention.heads, width, height, pooled, enlarged)


def attention_sheet(attention: Attention, dark: bool = False) -> bytes:
    """The sheet as a PNG: rows of a thumbnail are queries, columns keys, darker (in the dark: lighter) is more weight.

    All heads share one scale, from nothing to the weight that one cell in fifty exceeds, so that they can be compared.
    Where there are more tokens than pixels, a pixel shows the greatest weight of its square of tokens: a single
    strong link is seen, never averaged away. A pixel is masked when all of its tokens are; those are hatched.
    """
    geometry = sheet_geometry(attention)
    pooled = _pooled_maximum(attention.weights, geometry.pooled)
    hidden = ~_pooled_maximum(~attention.masked, geometry.pooled)
    seen = pooled[..., ~hidden]
    top = float(np.quantile(seen, _UNSATURATED)) or float(seen.max(initial=0.0)) or 1.0
    levels = np.rint(np.minimum(pooled / top, 1) * (_WEIGHT_COLOURS - 1)).astype(np.uint8)
    levels = levels.repeat(geometry.enlarged, axis=-2).repeat(geometry.enlarged, axis=-1)
    hidden = hidden.repeat(geometry.enlarged, axis=-2).repeat(geometry.enlarged, axis=-1)
    rows, columns = np.indices(hidden.shape)
    levels[..., hidden] = np.where((rows + columns) % _HATCH_STEP == 0, _HATCHED, _MASKED)[hidden]

    pixels = np.full((geometry.height, geometry.width), _GROUND, dtype=np.uint8)
    for layer, head in np.ndindex(geometry.layers, geometry.heads):
        left, upper, right, lower = geometry.box(layer, head)
        pixels[upper:lower, left:right] = levels[layer, head]

    none, most, *others = (np.array(ImageColor.getrgb(colour)) for colour in (_DARK if dark else _LIGHT))
    shares = np.linspace(0, 1, _WEIGHT_COLOURS)[:, None]
    image = Image.fromarray(pixels)
    image.putpalette(np.array([*np.rint(none + shares * (most - none)), *others]).astype(np.uint8).tobytes())
    return _png(image, bits=_BITS)


def ink_image(shares: NDArray[np.floating[Any]]) -> str:
    """The PNG of `shares` of one, `[row, column]`, as a data URI: each pixel is ink, as opaque as its share."""
    pixels = np.full((*shares.shape, 4), ImageColor.getcolor(INK, "RGBA"), dtype=np.uint8)
    pixels[..., 3] = np.rint(255 * np.clip(shares, 0, 1))
    return data_uri(_png(Image.fromarray(pixels)))


def signed_image(numbers: NDArray[np.floating[Any]], **options: Any) -> str:
    """The PNG of `numbers` from -1 to 1, `[row, column]`, as a data URI: amber below zero, ink above, 0 transparent."""
    below, above = (np.array(ImageColor.getcolor(colour, "RGBA"), np.uint8) for colour in (AMBER, INK))
    pixels = np.where((numbers < 0)[..., None], below, above)
    pixels[..., 3] = np.rint(255 * np.clip(np.abs(numbers), 0, 1))
    return data_uri(_png(Image.fromarray(pixels), **options))


def data_uri(png: bytes) -> str:
    """A PNG as a data URI, the address of a picture that needs no further request."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def _pooled_maximum(values: NDArray[Number], side: int) -> NDArray[Number]:
    """The greatest value of each `side` x `side` square in the last two axes; squares at the end may be smaller."""
    for axis in (-2, -1):
        values = np.maximum.reduceat(values, range(0, values.shape[axis], side), axis=axis)
    return values


def _png(image: Image.Image, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format="PNG", **options)
    return file.getvalue()
