"""The endpoint that looks inside a model while it reads."""

import time
from typing import TypedDict

from demo.api.contract import CheckpointUsed, checkpoint_used
from demo.api.endpoint import add_endpoint, short_text
from demo.limits import INSIDE_FIELDS, clean_fields, whole_number
from demo.runs import DemoService
from demo.settings import MODEL_QUEUE
from demo.walk.view import InsideRequest, look
from models.inside.outputs import Look
from models.registry import Task, find


class GuessedToken(TypedDict):
    """A guess, the logit that the model gives it, and its probability, the softmax of that."""

    token: str
    probability: float
    logit: float


class GuessesOfLayer(TypedDict):
    """The likeliest guesses if the model stopped after `layer` layers, best first; 0 is before the first one."""

    layer: int
    guesses: list[GuessedToken]


class InsideNumbers(TypedDict):
    """One head over one text, for the token at `position`: its query against every key, and what comes of it.

    `scores` are query times key, `scaled` the same divided by `divisor` (√d_k), `weights` their softmax over the tokens
    that are not `masked`, `output` the sum of the `values` by these weights. `guesses_by_layer` is empty where nothing
    is guessed; `guesses_about` says what is.
    """

    checkpoint: CheckpointUsed
    duration_ms: float
    kind: str
    kinds: list[str]
    layers: int
    heads: int
    layer: int
    head: int
    position: int
    tokens: list[str]
    segments: list[int]
    query: list[float]
    keys: list[list[float]]
    values: list[list[float]]
    scores: list[float]
    divisor: float
    scaled: list[float]
    masked: list[bool]
    weights: list[float]
    output: list[float]
    guesses_about: str
    guesses_by_layer: list[GuessesOfLayer]


def add_inside_endpoints(service: DemoService) -> None:
    """Add the endpoint of the tab Inside; it answers about any checkpoint, and logs nothing."""

    def inside(
        text: str, layer: int = 0, head: int = 0, position: int = -1, checkpoint: str = "", kind: str = ""
    ) -> InsideNumbers:
        """Look inside a model while it reads: one attention head step by step, and the guess after every layer.

        Args:
            text: The text; an encoder reads "[CLS] one [SEP] another [SEP]" as a pair and fills [MASK].
            layer: The layer, counted from 0.
            head: The head, counted from 0.
            position: The token to follow, from 0; -1 for the one that the guess is about, or else the last word.
            checkpoint: The name of a checkpoint of any task; empty for the bundled one that fills blanks.
            kind: encoder or decoder, for a translator; its decoder, in front, reads the translation it wrote.
        """
        started = time.perf_counter()
        kind, checkpoint = short_text(kind, "The kind", "kind"), short_text(checkpoint, "The checkpoint", "checkpoint")
        text = str(clean_fields(INSIDE_FIELDS, {"text": text}, service.settings.limits)["text"])
        request = InsideRequest(
            step="",
            text=text,
            checkpoint=find(checkpoint or Task.FILL_MASK.endpoint).name,
            layer=whole_number(layer, "The layer", "layer"),
            head=whole_number(head, "The head", "head"),
            position=whole_number(position, "The position", "position"),
        )
        return _numbers(look(service.inside, request, kind), started)

    add_endpoint(inside, concurrency_id=MODEL_QUEUE, concurrency_limit=service.settings.concurrency)


def _numbers(seen: Look, started: float) -> InsideNumbers:
    """The row of the token that is followed; `started` is when the question came, in seconds of the same clock."""
    head, place, used = seen.numbers, seen.position, seen.checkpoint
    return {
        "checkpoint": checkpoint_used(used),
        "duration_ms": round((time.perf_counter() - started) * 1000, 1),
        "kind": seen.kind,
        "kinds": list(seen.kinds),
        "layers": seen.layers,
        "heads": seen.heads,
        "layer": seen.layer,
        "head": seen.head,
        "position": place,
        "tokens": [token.text for token in seen.tokens],
        "segments": list(seen.segments),
        "query": head.queries[place].tolist(),
        "keys": head.keys.tolist(),
        "values": head.values.tolist(),
        "scores": head.scores[place].tolist(),
        "divisor": head.divisor,
        "scaled": head.scaled[place].tolist(),
        "masked": head.masked[place].tolist(),
        "weights": head.weights[place].tolist(),
        "output": head.outputs[place].tolist(),
        "guesses_about": seen.lens.about if seen.lens else "",
        "guesses_by_layer": [
            {
                "layer": each.layer,
                "guesses": [
                    {"token": guess.text, "probability": guess.probability, "logit": guess.logit}
                    for guess in each.guesses
                ],
            }
            for each in (seen.lens.layers if seen.lens else ())
        ],
    }
