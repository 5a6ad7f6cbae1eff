"""What prompts that show solved cases need from a model, said for the model that is chosen."""

import html

import gradio as gr

from demo.components.checkpoint_picker import CheckpointPicker
from models.errors import CheckpointUnavailable
from models.registry import Checkpoint, Task, find

_WHAT = (
    "The last three examples are <em>few-shot prompts</em>: they show a few solved cases and leave the last one open "
    "(Brown et al., 2020)."
)


def create_few_shot_note(picker: CheckpointPicker) -> gr.HTML:
    """The note, which follows the picker."""
    note = gr.HTML(few_shot_note(picker.bundled))
    picker.dropdown.change(
        few_shot_note, picker.dropdown, note, queue=False, show_progress="hidden", api_visibility="private"
    )
    return note


def few_shot_note(name: str) -> str:
    """What the checkpoint called `name` makes of such a prompt."""
    try:
        said = _said(find(name, Task.COMPLETION))
    except CheckpointUnavailable:
        said = ""
    return f'<p class="quiet">{_WHAT} {said}</p>'


def _said(checkpoint: Checkpoint) -> str:
    title = html.escape(checkpoint.title)
    if not checkpoint.hub_id:
        return (
            f"{title} has read only stories and film reviews and does not learn from them: it goes on as if they were "
            "part of one. "
            "gpt2, which has read the web, follows them a little."
        )
    if checkpoint.family == "GPT":
        return f"{title} has read only novels: expect a page of prose rather than an answer."
    return (
        f"{title} has read the web and follows them a little: more often their form than their meaning. "
        "Reliable answers take far larger models."
    )
