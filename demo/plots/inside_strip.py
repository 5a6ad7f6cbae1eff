"""A vector as a picture one pixel high: orange below zero, blue above, and nothing at zero."""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from demo.plots.sheet import data_uri

_MINUS, _PLUS = (180, 83, 9), (31, 75, 184)
_UNSATURATED = 0.99


def strip_top(*vectors: NDArray[np.float32]) -> float:
    """The number that gets the full colour, so that few greater ones do not make all others pale."""
    return float(np.quantile(np.abs(np.concatenate([vector.ravel() for vector in vectors])), _UNSATURATED)) or 1.0


def strip_image(vector: NDArray[np.float32], top: float) -> str:
    """A pixel for each number of `vector`, in full colour from ±`top` on, as the address of a PNG."""
    pixels = np.zeros((1, len(vector), 4), dtype=np.uint8)
    pixels[0, :, :3] = np.where(vector[:, None] < 0, _MINUS, _PLUS)
    pixels[0, :, 3] = np.rint(255 * np.minimum(np.abs(vector) / top, 1))
    file = io.BytesIO()
    Image.fromarray(pixels, "RGBA").save(file, "PNG")
    return data_uri(file.getvalue())
