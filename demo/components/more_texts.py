"""More texts after the same beginning: another one with the next seed, or three at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from demo.attempt import Finished
from demo.components import Updates
from demo.components.samples import beside
from models.outputs import CompletionOutput

_AT_ONCE = 3
_LAST_SEED = 2**32 - 1


@dataclass(frozen=True, eq=False)
class MoreTexts:
    """The buttons in their row, and the texts beside one another once there are several."""

    row: gr.Row
    another: gr.Button
    three: gr.Button
    beside: gr.HTML

    def show(self, texts: str) -> Updates:
        """The updates that show `texts`, or nothing."""
        return {self.beside: gr.update(value=texts, visible=bool(texts))}


def create_more_texts() -> MoreTexts:
    """The buttons, and no text but the answer."""
    with gr.Row(elem_classes="history-actions") as row:
        another = gr.Button("Another one", scale=0, min_width=150)
        three = gr.Button("Three at once", scale=0, min_width=150)
    texts = gr.HTML("", visible=False, label="More texts", elem_classes="parted")
    return MoreTexts(row, another, three, texts)


def next_seed(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with the seed after theirs; after the last one, the first."""
    return {**fields, "seed": (int(fields["seed"] or 0) + 1) % (_LAST_SEED + 1)}


def seeds_from(fields: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields with their own seed and with the ones after it."""
    some = [fields]
    while len(some) < _AT_ONCE:
        some.append(next_seed(some[-1]))
    return some


def another(before: Finished, after: Finished) -> str:
    """The earlier text and the new one beside it; nothing where one of them wrote no text or began otherwise."""
    if before.run.fields.get("prompt") != after.run.fields.get("prompt"):
        return ""
    return _beside([before, after])


def three(runs: Sequence[Finished]) -> str:
    """The texts of all `runs` beside one another."""
    return _beside(runs)


def _beside(runs: Sequence[Finished]) -> str:
    texts = [run.output for run in runs if isinstance(run.output, CompletionOutput) and run.output.generated]
    if len(texts) < len(runs):
        return ""
    return beside(texts, [f"Seed {run.run.seed}" for run in runs])
