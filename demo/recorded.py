"""Recorded examples: what the page shows before any model is loaded. `python -m demo.recorded` records them anew."""

import base64
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from pydantic import TypeAdapter

from demo.log.run import Run, load_answer
from demo.looks import AttentionSource, source_of
from demo.plots.view import AttentionView, view_of
from demo.runs import Attempt
from demo.walk.view import InsideRequest
from models.explain.opening import opening
from models.inside.outputs import TokenizedText
from models.loading.store import ModelStore
from models.outputs import TaskOutput, Token
from models.registry import Task, find

if TYPE_CHECKING:
    from models.tasks.text_generation import TextGeneration


EXAMPLES = Path(__file__).resolve().parent.parent / "assets" / "examples"

_RUN = TypeAdapter(Run)
_TOKENS = TypeAdapter(tuple[Token, ...])


@dataclass(frozen=True)
class Example:
    """An input to try: a short `label`, the fields it sets, and the words behind its masks where it has masks."""

    label: str
    fields: dict[str, Any]
    masked_words: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Recorded:
    """A run with its answer and the view of its attention that a reader opens on, as they were when recorded.

    `decided` has, for each token of a completion, the layer that decided it, as `models.inside.lens` finds it.
    """

    run: Run
    output: TaskOutput
    view: AttentionView
    decided: tuple[int | None, ...] = ()

    @property
    def source(self) -> AttentionSource:
        """Where the rest of its attention can be had, once the model is loaded."""
        return source_of(self.run, self.output)


@cache
def examples_of(task: Task) -> tuple[Example, ...]:
    """The inputs to try, the recorded one first."""
    return tuple(TypeAdapter(list[Example]).validate_python(_read(task)["examples"]))


@cache
def recorded(task: Task) -> Recorded:
    """The recorded example of `task`."""
    document = _read(task)["recorded"]
    run = _RUN.validate_python(document["run"])
    assert run.answer is not None, "a run that failed is no example"  # noqa: S101
    decided = tuple(document.get("decided", ()))
    return Recorded(run, load_answer(task, run.answer), _load_view(document["view"]), decided)


def record(task: Task) -> None:
    """Run the first example of `task` with the bundled checkpoint and write it beside the examples."""
    document = _read(task)
    first = TypeAdapter(Example).validate_python(document["examples"][0])
    checkpoint = find("", task)
    model = ModelStore().load(checkpoint)
    inputs = model.inputs_type(**first.fields)
    # The first run of a network is slower than any later one, and would be shown as the time that a run takes.
    model.answer(inputs)
    attempt = Attempt("", task, first.fields, checkpoint.name)
    attempt.accepted(first.fields, checkpoint)
    attempt.starts(inputs)
    finished = attempt.finished(model.answer(inputs))
    attentions = model.attend(inputs, finished.source.written)
    opened = opening(finished.output, next(iter(attentions.values())))
    view = view_of(attentions, layer=opened.layer, head=opened.head, opened=opened)
    run = _RUN.dump_python(finished.run, mode="json") | {"id": ""}
    document["recorded"] = {"run": run, "view": _dump_view(view)}
    if task is Task.COMPLETION:
        from models.inside.lens import decided_layers

        document["recorded"]["decided"] = decided_layers(cast("TextGeneration", model), inputs, finished.source.written)
    _path(task).write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _dump_view(view: AttentionView) -> dict[str, Any]:
    return {
        "kind": view.kind,
        "layer": view.layer,
        "head": view.head,
        "kinds": view.kinds,
        "layers": view.layers,
        "heads": view.heads,
        "token": view.token,
        "key": view.key,
        "query_tokens": [asdict(token) for token in view.query_tokens],
        "key_tokens": [asdict(token) for token in view.key_tokens],
        "weights": base64.b64encode(view.weights.astype("<f4").tobytes()).decode("ascii"),
        "masked": base64.b64encode(np.packbits(view.masked).tobytes()).decode("ascii"),
    }


def _load_view(document: dict[str, Any]) -> AttentionView:
    queries = _TOKENS.validate_python(document["query_tokens"])
    keys = _TOKENS.validate_python(document["key_tokens"])
    shape = (len(queries), len(keys))
    masked = np.unpackbits(np.frombuffer(base64.b64decode(document["masked"]), np.uint8), count=shape[0] * shape[1])
    return AttentionView(
        document["kind"],
        document["layer"],
        document["head"],
        np.frombuffer(base64.b64decode(document["weights"]), "<f4").reshape(shape),
        masked.astype(bool).reshape(shape),
        queries,
        keys,
        tuple(document["kinds"]),
        document["layers"],
        document["heads"],
        "head",
        document["token"],
        document["key"],
        telling=True,
    )


def _path(task: Task) -> Path:
    return EXAMPLES / f"{task.endpoint}.json"


@cache
def _read(task: Task) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(_path(task).read_text(encoding="utf-8"))
    return document


_WALK = EXAMPLES / "inside.json"
_REQUEST = TypeAdapter(InsideRequest)
_TOKENIZED = TypeAdapter(tuple[TokenizedText, ...])


@dataclass(frozen=True)
class InsideExample:
    """A view to try, under a short label."""

    label: str
    request: InsideRequest


@cache
def inside_examples() -> tuple[InsideExample, ...]:
    """The views to try, the one that the tab opens on first."""
    return tuple(
        InsideExample(each["label"], _REQUEST.validate_python(each["request"])) for each in _read_walk()["examples"]
    )


@cache
def recorded_tokens() -> tuple[TokenizedText, ...]:
    """The first step of the first example."""
    return _TOKENIZED.validate_python(_read_walk()["recorded"])


def record_walk() -> None:
    """Compute the first step of the first example and write it beside the examples."""
    from demo.settings import Settings
    from demo.walk.view import Inside
    from models.loading.store import ModelStore

    document = _read_walk()
    inside = Inside(Settings(), ModelStore())
    request, _ = inside.checked(_REQUEST.validate_python(document["examples"][0]["request"]))
    document["recorded"] = _TOKENIZED.dump_python(inside.tokens(request), mode="json")
    _WALK.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _read_walk() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(_WALK.read_text(encoding="utf-8"))
    return document


def main() -> None:
    """Record every task's example and the walk's."""
    for task in Task:
        record(task)
    record_walk()


if __name__ == "__main__":
    main()
