"""Write on: a text that grows token by token, with a causal language model."""

import html
from collections.abc import Iterator, Sequence
from typing import Any

import gradio as gr

from demo.events import PROGRESS, QUICK, for_visitors, in_line
from demo.language import N_, _
from demo.runs import DemoService, Finished
from demo.tabs.columns import left_column, result
from demo.tabs.task_tab import TaskTab
from demo.widgets import Updates
from demo.writing.steps import DecoderSteps
from demo.writing.text import decided_strip, several_texts, written_text
from demo.writing.tree import create_strategy_tree
from models.errors import CheckpointUnavailable, InputError
from models.outputs.writing import CompletionOutput
from models.registry import Task, find

_LEAD = N_(
    "GPT-2 writes one token after another (a word or a piece of one); each time it gives every token it knows a "
    "probability, and one is chosen. An empty beginning is allowed."
)
_STRATEGIES = [
    (N_("Sampling: draw the next token by chance"), "sample"),
    (N_("Greedy: always take the likeliest token"), "greedy"),
    (N_("Beam search: keep several drafts, take the likeliest"), "beam"),
]
_HINT = N_(
    "Begin a text, or leave it empty. <span class='keys'>Enter goes on with it; Shift+Enter starts a new line.</span>"
)
_FEW_SHOT = N_(
    "The last three examples are <em>few-shot prompts</em>: they show a few solved cases and leave the last one open "
    "(Brown et al., 2020)."
)
_AT_ONCE = 3
_SEEDS = 2**32


def create_completion_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    tab = TaskTab(
        service, session, Task.COMPLETION, lambda run, output, step: written_text(run.fields["prompt"], output, step)
    )
    with tab.page():
        with left_column():
            with tab.asking(_("Write on"), _(_HINT)):
                tab.create_text(
                    "prompt",
                    _("The beginning of your text"),
                    placeholder=_("Leave it empty and the model begins by itself."),
                )
            with tab.settings(_(_LEAD)):
                strategy = tab.create_radio("strategy", _("How the next token is chosen"), _STRATEGIES)
                tab.create_slider("max_new_tokens")
                beams = tab.create_slider("num_beams", visible=False)
                drawing = [tab.create_slider(name) for name in ("temperature", "top_k", "top_p")]
                seed = tab.create_seed(_("same seed, same text"))
                loop_guard = tab.create_slider("loop_guard")
                tab.create_picker()
                few_shot = gr.HTML(few_shot_note(service.defaults.of(tab.task).name))
        with result():
            tab.create_answer(_("The text so far"))
            with gr.Row(elem_classes="history-actions") as more:
                another = gr.Button(_("Another one"), scale=0, min_width=150)
                three = gr.Button(_("Three at once"), scale=0, min_width=150)
            beside = gr.HTML("", visible=False, label=_("More texts"), elem_classes="parted")
            strip = decided_strip(tab.example.output, tab.example.decided)
            decided = gr.HTML(strip, label=_("Decided in which layer"))
            tab.create_reader(decided)
            tab.steps = DecoderSteps(service, tab.task)
            create_strategy_tree(service, tab.picker, tab.fields)
    tab.below[beside] = lambda _finished: _shown_beside([])

    def write_another(
        request: gr.Request, session_id: str, before: Finished, checkpoint: str, *values: Any
    ) -> Iterator[Updates]:
        fields = _next_seed(tab.named(values))
        for updates in tab.write(request, PROGRESS, session_id, checkpoint, *fields.values()):
            after = updates.get(tab.reader.finished)
            if after and before.run.fields.get("prompt") == after.run.fields.get("prompt"):
                updates |= {beside: _shown_beside([before, after])}
            yield {seed: fields["seed"], **updates}

    def write_three(session_id: str, checkpoint: str, *values: Any) -> Updates:
        session_id, runs = tab.session_of(session_id), []
        fields = tab.named(values)
        try:
            for _time in range(_AT_ONCE):
                runs.append(service.run(session_id, tab.task, fields, checkpoint))
                fields = _next_seed(fields)
        except InputError as error:
            return {session: session_id, **tab.refuse(error)}
        return {session: session_id, **tab.clear(), beside: _shown_beside(runs)}

    of_sampling = [*drawing, seed, loop_guard]

    def settings_of(chosen: str) -> Updates:
        samples = chosen == "sample"
        return {
            **{each: gr.update(visible=samples) for each in (*of_sampling, more)},
            beams: gr.update(visible=chosen == "beam"),
        }

    tab.connect()
    tab.reader.follow(
        another.click(
            for_visitors(write_another),
            [session, tab.reader.finished, *tab.inputs],
            [session, seed, *tab.outputs, *tab.buttons(writing=False)],
            show_progress_on=tab.answer,
            **in_line(service.settings),
        )
    )
    three.click(
        for_visitors(write_three),
        [session, *tab.inputs],
        [session, beside, *tab.clear(), tab.picker],
        show_progress_on=beside,
        **in_line(service.settings),
    )
    strategy.change(settings_of, strategy, [*of_sampling, beams, more], **QUICK)
    tab.picker.change(few_shot_note, tab.picker, few_shot, **QUICK)
    return tab


def few_shot_note(name: str) -> str:
    """A note on few-shot prompts and on how well the checkpoint `name` follows them, as HTML."""
    try:
        checkpoint = find(name, Task.COMPLETION)
    except CheckpointUnavailable:
        return f'<p class="quiet">{_(_FEW_SHOT)}</p>'
    title = html.escape(checkpoint.title)
    if not checkpoint.hub_id:
        said = _(
            "{title} has read only stories, film reviews and short everyday texts and does not learn from them: it "
            "goes on as if they were part of one. gpt2, which has read the web, follows them a little.",
            title=title,
        )
    elif checkpoint.family == "GPT":
        said = _("{title} has read only novels: expect a page of prose rather than an answer.", title=title)
    else:
        said = _(
            "{title} has read the web and follows them a little: more often their form than their meaning. "
            "Reliable answers take far larger models.",
            title=title,
        )
    return f'<p class="quiet">{_(_FEW_SHOT)} {said}</p>'


def _next_seed(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with the next seed; the last one is followed by 0."""
    return {**fields, "seed": (int(fields["seed"] or 0) + 1) % _SEEDS}


def _shown_beside(runs: Sequence[Finished]) -> dict[str, Any]:
    """The update that shows the texts of the runs side by side; nothing if there are none, or one is empty."""
    texts = [run.output for run in runs if isinstance(run.output, CompletionOutput) and run.output.generated]
    names = [_("Seed {seed}", seed=run.run.seed) for run in runs]
    shown = several_texts(texts, names) if runs and len(texts) == len(runs) else ""
    return gr.update(value=shown, visible=bool(shown))
