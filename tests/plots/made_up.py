"""Attention and outputs made up for figures, so that no model is needed to draw one."""

from dataclasses import replace

import numpy as np

from demo.plots.reading import role_of
from demo.plots.view import AttentionView
from demo.reader.export import Taken
from demo.reader.link import ReaderSettings
from demo.recorded import recorded
from demo.runs import Finished
from models.inside.formulas import shares
from models.inside.outputs import BlockNumbers, Guess, HeadNumbers, LayerGuesses, Lens, Look, Stage, Station, VectorPath
from models.outputs.attention import Attention
from models.outputs.base import LoadedCheckpoint, Token
from models.registry import Task

CHECKPOINT = LoadedCheckpoint("clearhead-qa", "0123456789ab", "Apache-2.0")


def tokens_of(text: str) -> tuple[Token, ...]:
    """A token for each word between spaces; those in square brackets are special."""
    return tuple(Token(word, word, index, special=word[:1] == "[") for index, word in enumerate(text.split(" ")))


def attention_over(
    tokens: tuple[Token, ...], *, causal: bool = False, layers: int = 2, heads: int = 3, seed: int = 0
) -> Attention:
    """Random attention with rows that sum to one, and zeros above the diagonal if `causal`."""
    length = len(tokens)
    weights = np.random.default_rng(seed).random((layers, heads, length, length), dtype=np.float32)
    masked = np.triu(np.ones((length, length), dtype=bool), k=1) if causal else np.zeros((length, length), dtype=bool)
    weights = np.where(masked, 0, weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    return Attention("decoder" if causal else "encoder", weights.astype(np.float32), tokens, tokens, masked)


def taken(view: AttentionView, task: Task = Task.SENTIMENT, **changes: object) -> Taken:
    """The export of `view`, as if its run were the recorded example."""
    example = recorded(task)
    finished = Finished(replace(example.run, id="0123456789abcdef", **changes), example.output, example.source)
    return Taken(
        finished, view, ReaderSettings(view.kind, view.how, view.layer + 1, max(1, view.head + 1)), role_of(view)
    )


TOKENS = tuple(Token(text, text, place) for place, text in enumerate(("<i>the", "robot", "waits")))
ORDER = (
    Station.INPUT, Station.CONCATENATED, Station.PROJECTED, Station.ATTENTION_ADDED, Station.ATTENTION_NORMED,
    Station.WIDENED, Station.ACTIVATED, Station.NARROWED, Station.FEED_FORWARD_ADDED, Station.OUTPUT_NORMED,
)  # fmt: skip


def made_up_look(masked: bool = False) -> Look:
    rng = np.random.default_rng(0)
    queries, keys, values = rng.normal(size=(3, 3, 4)).astype(np.float32)
    hidden = np.triu(np.ones((3, 3), dtype=bool), k=1) if masked else np.zeros((3, 3), dtype=bool)
    scores = queries @ keys.T
    scaled, weights = shares(scores, 2.0, hidden)
    head = HeadNumbers(queries, keys, values, scores, 2.0, scaled, hidden, weights, weights @ values, 3e-7, 2)
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
