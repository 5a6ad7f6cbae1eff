"""Recorded examples: what the page shows before any model is loaded. `python -m demo.recorded` records them anew."""

import base64
import json
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from demo.log.run import Run, load_answer
from demo.looks import AttentionSource, source_of
from demo.plots.view import AttentionView, view_of
from demo.runs import Attempt
from demo.teaching import expanded
from demo.walk.view import InsideRequest
from models.backend import LocalBackend
from models.explain.opening import opening
from models.inside.outputs import TokenizedText
from models.loading.store import ModelStore
from models.outputs.base import TaskOutput, Token
from models.outputs.before import GenerationsReading, Part, Reach, Reading, Strip
from models.registry import Task, find
from models.wording import numbered

if TYPE_CHECKING:
    from models.tasks.generations import Generations
    from models.tasks.text_generation import TextGeneration


EXAMPLES = Path(__file__).resolve().parent.parent / "assets" / "examples"

_RUN = TypeAdapter(Run)
_TOKENS = TypeAdapter(tuple[Token, ...])
_TOKENIZED = TypeAdapter(tuple[TokenizedText, ...])
_OF_VIEW = ("kind", "layer", "head", "kinds", "layers", "heads", "token", "key")
_WALK = "inside"


@dataclass(frozen=True)
class Example:
    """An input to try: a short `label`, the fields it sets, and the words that its masks hide, if it has masks."""

    label: str
    fields: dict[str, Any]
    masked_words: tuple[str, ...] = ()


@dataclass(frozen=True)
class InsideExample:
    """A view of the tab Inside to try, with a short label."""

    label: str
    request: InsideRequest


_EXAMPLES = TypeAdapter(tuple[Example, ...])
_INSIDE_EXAMPLES = TypeAdapter(tuple[InsideExample, ...])


@dataclass(frozen=True, eq=False)
class Recorded:
    """A run with its answer and the view of its attention that a reader opens on, if any, as they were when recorded.

    `decided` has, for each token of a completion, the layer that decided it, as `models.inside.lens` finds it;
    `reading` says how the models before Transformers read the text.
    """

    run: Run
    output: TaskOutput
    attention: AttentionView | None
    decided: tuple[int | None, ...] = ()
    reading: GenerationsReading | None = None

    @property
    def view(self) -> AttentionView:
        """The view of its attention, which only a Transformer has."""
        assert self.attention is not None  # noqa: S101
        return self.attention

    @property
    def source(self) -> AttentionSource:
        """The source from which the rest of its attention can be captured, once the model is loaded."""
        return source_of(self.run, self.output)


@cache
def examples_of(task: Task) -> tuple[Example, ...]:
    """The inputs to try, the recorded one first."""
    found = _EXAMPLES.validate_python(_read(task.endpoint)["examples"])
    if task is Task.TEACH:
        return tuple(replace(example, fields=expanded(example.fields)) for example in found)
    return found


@cache
def recorded(task: Task) -> Recorded:
    """The recorded example of `task`."""
    document = _read(task.endpoint)["recorded"]
    run = _RUN.validate_python(document["run"])
    view = _load_view(document["view"]) if "view" in document else None
    decided = tuple(document.get("decided", ()))
    reading = _load_reading(document["reading"]) if "reading" in document else None
    return Recorded(run, load_answer(task, run.answer or {}), view, decided, reading)


@cache
def inside_examples() -> tuple[InsideExample, ...]:
    """The views of the tab Inside to try; the tab opens on the first."""
    return _INSIDE_EXAMPLES.validate_python(_read(_WALK)["examples"])


@cache
def recorded_tokens() -> tuple[TokenizedText, ...]:
    """The recorded first step, the tokens, of the first example of the tab Inside."""
    return _TOKENIZED.validate_python(_read(_WALK)["recorded"])


def record(task: Task, store: ModelStore) -> None:
    """Run the first example of `task` with the bundled checkpoint and write it beside the examples."""
    first, checkpoint = examples_of(task)[0], find("", task)
    model = store.load(checkpoint, task=task)
    inputs = model.inputs_type(**first.fields)
    # The first run of a network is slower than any later one, and would be shown as the time that a run takes.
    model.answer(inputs)
    attempt = Attempt("", task, first.fields, checkpoint.name)
    attempt.accepted(first.fields, checkpoint)
    attempt.starts(inputs)
    finished = attempt.finished(model.answer(inputs))
    found = {"run": _RUN.dump_python(finished.run, mode="json") | {"id": ""}}
    if task.kinds:
        attentions = model.attend(inputs, finished.source.written)
        opened = opening(finished.output, next(iter(attentions.values())))
        found["view"] = _dump_view(view_of(attentions, layer=opened.layer, head=opened.head, opened=opened))
    if task is Task.COMPLETION:
        from models.inside.lens import decided_layers

        found["decided"] = decided_layers(cast("TextGeneration", model), inputs, finished.source.written)
    if task is Task.GENERATIONS:
        found["reading"] = _dump_reading(cast("Generations", model).read(inputs))
    _write(task.endpoint, found)


def record_walk(store: ModelStore) -> None:
    """Compute the first step of the first example of the tab Inside and write it beside the examples."""
    from demo.settings import Settings
    from demo.walk.view import Inside

    inside = Inside(Settings(), LocalBackend(store))
    request, _ = inside.checked(inside_examples()[0].request)
    _write(_WALK, _TOKENIZED.dump_python(inside.tokens(request), mode="json"))


def _dump_view(view: AttentionView) -> dict[str, Any]:
    return {name: getattr(view, name) for name in _OF_VIEW} | {
        "query_tokens": [asdict(token) for token in view.query_tokens],
        "key_tokens": [asdict(token) for token in view.key_tokens],
        "weights": base64.b64encode(view.weights.astype("<f4").tobytes()).decode("ascii"),
        "masked": base64.b64encode(np.packbits(view.masked).tobytes()).decode("ascii"),
    }


def _load_view(document: dict[str, Any]) -> AttentionView:
    queries, keys = (_TOKENS.validate_python(document[name]) for name in ("query_tokens", "key_tokens"))
    shape = (len(queries), len(keys))
    weights = np.frombuffer(base64.b64decode(document["weights"]), "<f4").reshape(shape)
    bits = np.frombuffer(base64.b64decode(document["masked"]), np.uint8)
    masked = np.unpackbits(bits, count=weights.size).astype(bool).reshape(shape)
    own = {name: document[name] for name in _OF_VIEW} | {"kinds": tuple(document["kinds"])}
    return AttentionView(
        **own, query_tokens=queries, key_tokens=keys, weights=weights, masked=masked, how="head", telling=True
    )


def _dump_reading(reading: GenerationsReading) -> dict[str, Any]:
    return {
        "words": reading.words,
        "reaches": [asdict(each) for each in reading.reaches],
        "untrained": [asdict(each) for each in reading.untrained],
        "readings": [
            {
                "key": each.key,
                "bias": each.bias,
                "parts": json.dumps([(part.text, part.adds) for part in each.parts], ensure_ascii=False),
                "strips": [(strip.name, len(strip.rows), _packed(strip.rows)) for strip in each.strips],
            }
            for each in reading.readings
        ],
    }


def _packed(rows: NDArray[np.float32]) -> str:
    return base64.b64encode(rows.astype("<f2").tobytes()).decode("ascii")


def _load_reading(document: dict[str, Any]) -> GenerationsReading:
    readings = []
    for each in document["readings"]:
        strips = tuple(
            Strip(numbered(name), np.frombuffer(base64.b64decode(packed), "<f2").reshape(count, -1).astype(np.float32))
            for name, count, packed in each["strips"]
        )
        parts = tuple(Part(text, adds) for text, adds in json.loads(each["parts"]))
        readings.append(Reading(each["key"], each["bias"], parts, strips))
    reaches, untrained = (
        tuple(Reach(each["key"], tuple(each["lengths"])) for each in document[name])
        for name in ("reaches", "untrained")
    )
    return GenerationsReading(tuple(document["words"]), tuple(readings), reaches, untrained)


@cache
def _read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))
    return document


def _write(name: str, found: Any) -> None:
    text = json.dumps(_read(name) | {"recorded": found}, ensure_ascii=False, indent=1)
    (EXAMPLES / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Record the example of every task and of the tab Inside."""
    store = ModelStore()
    for task in Task:
        record(task, store)
    record_walk(store)


if __name__ == "__main__":
    main()
