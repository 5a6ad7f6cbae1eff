"""The choice of a model: bundled, or published and loaded on demand."""

import html
from typing import Any

import gradio as gr
from huggingface_hub.constants import HF_HUB_OFFLINE

from demo.defaults import Defaults
from demo.events import QUICK
from models.errors import CheckpointUnavailable
from models.loading.prepared import packaged
from models.registry import Checkpoint, Task, checkpoints_for, find


def create_checkpoint_picker(task: Task, defaults: Defaults) -> gr.Dropdown:
    """A picker for the checkpoints of `task`, the default one chosen, with a line on the one that is chosen."""
    with gr.Column(elem_classes="picker", min_width=240):
        picker = gr.Dropdown(
            choices=_choices(task, defaults),
            value=defaults.of(task).name,
            label="Model",
            filterable=False,
            elem_classes="picker-list",
        )
        about = gr.HTML(_about(defaults.of(task)), elem_classes="picker-about")

    def describe(name: str) -> str:
        try:
            return _about(find(name, task))
        except CheckpointUnavailable as error:
            return html.escape(error.sentence)

    picker.change(describe, picker, about, **QUICK)
    return picker


def _choices(task: Task, defaults: Defaults) -> list[Any]:
    """What the picker offers, each with its name."""
    return [(_offer(each, each is defaults.of(task)), each.name) for each in offered_for(task)]


def offered_for(task: Task) -> tuple[Checkpoint, ...]:
    """The checkpoints of `task`; where the host asks nothing of the Hub, only those that are on its disk."""
    if not HF_HUB_OFFLINE:
        return checkpoints_for(task)
    from models.loading.hub import is_downloaded

    return tuple(each for each in checkpoints_for(task) if not each.hub_id or is_downloaded(each))


def _offer(checkpoint: Checkpoint, is_default: bool) -> str:
    if checkpoint.hub_id and is_default:
        # One that is not here would not be the default.
        return f"{checkpoint.title} · downloaded"
    size_mb = checkpoint.size_mb
    size = f"{size_mb / 1000:.1f} GB" if size_mb >= 1000 else f"{size_mb} MB"
    where = "installed" if packaged(checkpoint) else f"{size} download" if checkpoint.hub_id else "bundled"
    return f"{checkpoint.title} · {where}"


def _about(checkpoint: Checkpoint) -> str:
    millions = checkpoint.parameters / 1e6
    return (
        f"<p><strong>{html.escape(checkpoint.family)}</strong>, {millions:,.0f} million parameters (learned numbers). "
        f"{html.escape(checkpoint.summary)}</p>"
    )
