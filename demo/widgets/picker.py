"""The choice of a model: bundled, or published and loaded on demand."""

import html
from typing import Any

import gradio as gr
from huggingface_hub.constants import HF_HUB_OFFLINE

from demo.defaults import Defaults
from demo.events import QUICK
from demo.language import _
from models.errors import CheckpointUnavailable
from models.loading.prepared import packaged
from models.registry import Checkpoint, Task, checkpoints_for, find


def create_checkpoint_picker(task: Task, defaults: Defaults) -> gr.Dropdown:
    """Create a dropdown of the checkpoints of `task`, its default one chosen, with a line about the chosen one."""
    with gr.Column(elem_classes="picker", min_width=240):
        picker = gr.Dropdown(
            choices=_choices(task, defaults),
            value=defaults.of(task).name,
            label=_("Model"),
            filterable=False,
            elem_classes="picker-list",
        )
        about = gr.HTML(_about(defaults.of(task)), elem_classes="picker-about")

    def describe(name: str) -> str:
        try:
            return _about(find(name, task))
        except CheckpointUnavailable as error:
            return html.escape(_(error.sentence))

    picker.change(describe, picker, about, **QUICK)
    return picker


def _choices(task: Task, defaults: Defaults) -> list[Any]:
    """The dropdown's choices, as (label, checkpoint name)."""
    return [(_offer(each, each is defaults.of(task)), each.name) for each in offered_for(task)]


def offered_for(task: Task) -> tuple[Checkpoint, ...]:
    """The checkpoints of `task`; on a host without access to the Hub, only those on its disk."""
    if not HF_HUB_OFFLINE:
        return checkpoints_for(task)
    from models.loading.hub import is_downloaded

    return tuple(each for each in checkpoints_for(task) if not each.hub_id or is_downloaded(each))


def _offer(checkpoint: Checkpoint, is_default: bool) -> str:
    if checkpoint.hub_id and is_default:
        # A published checkpoint is only a default where it is already downloaded.
        return _("{model} · downloaded", model=_(checkpoint.title))
    if packaged(checkpoint):
        return _("{model} · installed", model=_(checkpoint.title))
    if not checkpoint.hub_id:
        return _("{model} · bundled", model=_(checkpoint.title))
    if checkpoint.size_mb >= 1000:
        return _("{model} · {size:.1f} GB download", model=_(checkpoint.title), size=checkpoint.size_mb / 1000)
    return _("{model} · {size} MB download", model=_(checkpoint.title), size=checkpoint.size_mb)


def _about(checkpoint: Checkpoint) -> str:
    size = _(
        "<strong>{family}</strong>, {millions:,.0f} million parameters (learned numbers).",
        family=html.escape(_(checkpoint.family)),
        millions=checkpoint.parameters / 1e6,
    )
    return f"<p>{size} {html.escape(_(checkpoint.summary))}</p>"
