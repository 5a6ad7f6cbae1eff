"""What the reader shows, as visitors take it away: what made it, and its numbers as CSV and JSON."""

import csv
import io
import json
from dataclasses import dataclass
from typing import Any

from demo.attempt import Finished
from demo.log.export import safe_cell
from demo.plots.reading import read_out
from demo.plots.template import label
from demo.plots.view import AttentionView
from demo.share import Place
from models.outputs import MEAN, HeadRole, Token


@dataclass(frozen=True, eq=False)
class Taken:
    """The picture on screen: `view` as it is `shown`, the setting of the controls, and the run that it is from.

    The run's id is empty for a recorded example, and for a run of somebody else.
    """

    finished: Finished
    view: AttentionView
    place: Place
    role: HeadRole | None

    @property
    def stem(self) -> str:
        """A file name without its ending: the task, and which attention."""
        view = self.view
        layer = "" if view.layer == MEAN else f"-layer-{view.layer + 1}"
        head = f"-head-{view.head + 1}" if view.of_one_head else f"-{view.how}"
        return f"clearhead-{self.finished.run.task.endpoint.replace('_', '-')}-{view.kind}{layer}{head}"

    @property
    def made_by(self) -> dict[str, Any]:
        """What made the numbers and which they are; layers and heads count from 1, and all of them are `None`."""
        run, view = self.finished.run, self.view
        return {
            "run_id": run.id or None,
            "task": run.task.value,
            "checkpoint": run.checkpoint,
            "revision": run.revision,
            "license": run.license,
            "created_utc": run.created_utc.isoformat(),
            "kind": view.kind,
            "how": view.how,
            "layer": None if view.layer == MEAN else view.layer + 1,
            "head": None if view.head == MEAN else view.head + 1,
            "layers": view.layers,
            "heads": view.heads,
            "words": self.place.words,
            "specials": self.place.specials,
            "step": self.place.step or None,
            "read_out": read_out(view),
        }


def as_csv(taken: Taken) -> str:
    """What made the numbers, line by line, then the table: a row per query, a column per key, masked cells empty."""
    file = io.StringIO(newline="")
    lines = csv.writer(file)
    for name, value in taken.made_by.items():
        lines.writerow([name, safe_cell(value)])
    lines.writerow([])
    lines.writerow(["from \\ to", *map(_name, taken.view.key_tokens)])
    for token, weights in zip(taken.view.query_tokens, _rows(taken.view), strict=True):
        lines.writerow([_name(token), *weights])
    return file.getvalue()


def as_json(taken: Taken) -> str:
    """What made the numbers, the tokens, and `weights` as rows of queries over keys, `null` where masked."""
    view = taken.view
    head = json.dumps(
        taken.made_by
        | {
            "query_tokens": [token.text for token in view.query_tokens],
            "key_tokens": [token.text for token in view.key_tokens],
        },
        ensure_ascii=False,
        indent=1,
    )
    rows = ",\n  ".join(f"[{', '.join(weight or 'null' for weight in weights)}]" for weights in _rows(view))
    return f'{head.removesuffix("}").rstrip()},\n "weights": [\n  {rows}\n ]\n}}\n'


def _name(token: Token) -> str:
    """A token as the picture has it, but whole."""
    return safe_cell(token.text.strip() or label(token))


def _rows(view: AttentionView) -> list[list[str]]:
    """Every weight in the fewest digits that give back the very number on screen, nothing where it is masked."""
    return [
        ["" if hidden else str(weight) for weight, hidden in zip(weights, masked, strict=True)]
        for weights, masked in zip(view.weights.astype("<f4"), view.masked, strict=True)
    ]
