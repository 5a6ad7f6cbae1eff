"""More texts of the same settings, side by side."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from demo.events import QUICK
from demo.plots.reading import percent
from demo.runs import Finished
from demo.widgets import Updates
from demo.widgets.picker import CheckpointPicker
from demo.writing.table import token_name
from demo.writing.text import chunks
from models.errors import CheckpointUnavailable
from models.outputs import CompletionOutput, GeneratedToken
from models.registry import Checkpoint, Task, find

_WHAT = (
    "The last three examples are <em>few-shot prompts</em>: they show a few solved cases and leave the last one open "
    "(Brown et al., 2020)."
)


def create_few_shot_note(picker: CheckpointPicker) -> gr.HTML:
    """The note, which follows the picker."""
    note = gr.HTML(few_shot_note(picker.bundled))
    picker.dropdown.change(few_shot_note, picker.dropdown, note, **QUICK)
    return note


def few_shot_note(name: str) -> str:
    """A sentence on what the checkpoint called `name` makes of such a prompt."""
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


def beside(texts: Sequence[CompletionOutput], names: Sequence[str]) -> str:
    """The texts in columns, each up to the token where it parts from the others as they have it."""
    alike = _alike(texts)
    own = [_own(texts, number) for number in range(len(texts))]
    columns = "".join(
        f"<section><h4>{html.escape(name)}</h4><p class='written'>{_marked(text, {alike, place})}</p></section>"
        for text, name, place in zip(texts, names, own, strict=True)
    )
    return (
        f'<div class="forked samples" role="status"><h3>{_finding(texts, alike)}</h3>'
        f'<div class="columns columns-{len(texts)}">{columns}</div></div>'
    )


def _ids(text: CompletionOutput) -> list[int]:
    return [each.token.id for each in text.generated]


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """With how many tokens both begin."""
    shorter = min(len(first), len(second))
    return next((place for place in range(shorter) if first[place] != second[place]), shorter)


def _alike(texts: Sequence[CompletionOutput]) -> int:
    """With how many tokens all of them begin."""
    return min(_common(_ids(texts[0]), _ids(each)) for each in texts)


def _own(texts: Sequence[CompletionOutput], number: int) -> int:
    """At which token the text at `number` parts from the one that it has most in common with."""
    return max(_common(_ids(texts[number]), _ids(each)) for place, each in enumerate(texts) if place != number)


def _marked(text: CompletionOutput, places: set[int]) -> str:
    """The text with the tokens at `places` marked."""
    return "".join(
        f"<mark>{html.escape(part)}</mark>" if place in places else html.escape(part)
        for place, part in enumerate(chunks(text))
    )


def _finding(texts: Sequence[CompletionOutput], alike: int) -> str:
    """Where the texts part and with which tokens, in a sentence."""
    parting = [each.generated[alike] for each in texts if alike < len(each.generated)]
    number = "Both" if len(texts) == 2 else f"All {len(texts)}"
    if not parting:
        return f"{number} are the same text, token for token"
    begin = f"{number} begin with the same {alike} tokens" if alike > 1 else f"{number} begin with the same token"
    start = f"{begin}, then they part: " if alike else "They part at the first token: "
    ends = ["the end"] if len(parting) < len(texts) else []
    return start + ", ".join([*dict.fromkeys(map(_token, parting)), *ends])


def _token(each: GeneratedToken) -> str:
    return f"“<bdi>{html.escape(token_name(each.token.text))}</bdi>” ({percent(each.probability)})"


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
