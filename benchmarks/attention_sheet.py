"""Rows for all heads at once, against BertViz' view of them (Vig, 2019): the bytes sent, and the time to make them.

BertViz is measured where it can be imported: pip install --no-deps -r benchmarks/requirements-bertviz.txt
"""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch

from benchmarks.work import NotHere, Sides, Work, in_turns
from demo.reader.heads import sheet
from models.outputs import Attention, Token

LAYERS, HEADS, TOKENS = 12, 12, 128
HOW_TO_GET_IT = "BertViz is not here: pip install --no-deps -r benchmarks/requirements-bertviz.txt"


def random_attention() -> Attention:
    """Attention of which no part is like another, so that nothing of it can be left out."""
    weights = np.random.default_rng(0).dirichlet(np.ones(TOKENS), (LAYERS, HEADS, TOKENS)).astype(np.float32)
    tokens = tuple(Token(f"t{place}", f"t{place}", place) for place in range(TOKENS))
    return Attention("self", weights, tokens, tokens, np.zeros((TOKENS, TOKENS), dtype=bool))


def both() -> tuple[Callable[[], str], Callable[[], str]]:
    """BertViz and ours over the same attention: each makes the HTML that a browser is sent."""
    attention, head_view = random_attention(), _head_view()
    given = [torch.from_numpy(layer)[None] for layer in attention.weights]
    words = [token.text for token in attention.query_tokens]

    def bertviz() -> str:
        return str(head_view(given, list(words), html_action="return").data)

    return bertviz, lambda: sheet(attention)


def megabytes() -> Sides:
    """What each of them sends."""
    bertviz, ours = both()
    while True:
        yield len(bertviz().encode()) / 1e6, len(ours().encode()) / 1e6


def times() -> Sides:
    """How long each of them takes."""
    return in_turns(*both())


def _head_view() -> Callable[..., Any]:
    """BertViz' function; raises `NotHere`. Where IPython is not, a box for HTML is all it needs."""
    try:
        importlib.import_module("IPython.display")
    except ImportError:
        display = ModuleType("IPython.display")
        vars(display).update(dict.fromkeys(("display", "HTML", "Javascript"), lambda data: SimpleNamespace(data=data)))
        sys.modules.update({"IPython": ModuleType("IPython"), "IPython.display": display})
    try:
        function: Callable[..., Any] = importlib.import_module("bertviz").head_view
    except ImportError as error:
        raise NotHere(HOW_TO_GET_IT) from error
    return function


_NAME = f"attention sheet, {LAYERS * HEADS} heads, {TOKENS} tokens"
WORKS = (
    Work(f"{_NAME}: bytes sent", "MB", 1 / 80, megabytes, runs=1),
    Work(f"{_NAME}: time to make", "ms", 1 / 10, times, runs=7),
)
