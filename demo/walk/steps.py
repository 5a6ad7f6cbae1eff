"""The walk's steps in order, and how one is saved: as a part of an HTML page and as JSON."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
from gradio.components import Component

from demo.language import _
from demo.walk.attention import HEAD, MASKING
from demo.walk.counting import COUNTING
from demo.walk.input import TOKENS, VECTORS
from demo.walk.layers import BLOCK, GUESS
from demo.walk.step import WalkStep
from demo.walk.translation import TRANSLATION
from demo.walk.view import InsideRequest
from demo.widgets import Updates
from demo.widgets.saved import of_updates

STEPS: tuple[WalkStep, ...] = (TOKENS, VECTORS, HEAD, MASKING, BLOCK, GUESS, TRANSLATION, COUNTING)


def step_part(
    step: WalkStep, request: InsideRequest, outputs: Sequence[Component], updates: Updates
) -> tuple[str, list[str]]:
    """A step's heading, text and pictures as HTML to save, and the plotly figures in it as JSON."""
    pictures, figures = of_updates(outputs, updates)
    said = f'<p class="given"><bdi>{html.escape(request.text)}</bdi></p>'
    title = html.escape(_(step.title))
    return f'<section class="prose inside-step"><h1>{title}</h1>{said}{pictures}</section>', figures


def as_json(step: WalkStep, request: InsideRequest, numbers: Any, turned: Mapping[str, Any] | None = None) -> str:
    """The request and the typed result that the step shows, as JSON; layer, head and token count from 1.

    `turned` has the values and results of the step's controls (`Turn`), by their names.
    """
    asked: dict[str, Any] = {"step": step.key, "text": request.text, "checkpoint": request.checkpoint}
    for name in ("layer", "head", "position"):
        asked[name] = getattr(request, name) + 1 if name in step.uses else None
    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
    # orjson refuses arrays that are not contiguous in memory: `default` converts them.
    return orjson.dumps(
        asked | {"numbers": numbers, "turned": turned or {}}, default=np.ndarray.tolist, option=options
    ).decode()
