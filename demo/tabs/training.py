"""Training: one step of it on the visitor's own text, and pre-training and fine-tuning in one picture."""

import html
from typing import Any

import gradio as gr

from demo.events import PROGRESS, QUICK, for_visitors, in_line
from demo.language import N_, _, number
from demo.plots.pretraining import pretraining_picture
from demo.plots.reading import percent
from demo.plots.training import FATES, gradient_bars, text_as_read
from demo.runs import DemoService
from demo.tabs.columns import left_column, result
from demo.tabs.task_tab import TaskTab
from demo.widgets import Updates
from demo.widgets.tables import framed, table
from models.outputs.base import TaskOutput
from models.outputs.training import MASKED, NEXT, LearnedPlace, TrainingStepOutput
from models.registry import REGISTRY, Task
from models.tasks.training_step import LONGEST, MOST_SEED

_LEAD = N_(
    "A model learns by guessing what it is not shown. How wrong it was is the <em>loss</em>; the <em>gradient</em> "
    "says for each of its numbers which way the loss grows, and each moves a little the other way: by the "
    "<em>learning rate</em> times its gradient. Training is this step, many thousand times."
)
_HINT = N_("A sentence or two, at most {longest} tokens. <span class='keys'>Enter takes one step.</span>")
_OBJECTIVES = [(N_("Fill blanks, as BERT does"), MASKED), (N_("Foresee the next token, as GPT does"), NEXT)]
_HEADS = (N_("word"), N_("what it read"), N_("it expected"), N_("p before"), N_("loss"), N_("p after"))


def create_training_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events; `create_pretraining` adds the picture of pre-training and fine-tuning below."""
    tab = TaskTab(service, session, Task.TRAINING_STEP, lambda _run, output, _step: draw_step(output))
    with tab.page():
        with left_column():
            with tab.asking(_("Take one step"), _(_HINT, longest=LONGEST)):
                tab.create_text("text", max_lines=6)
                objective = tab.create_radio("objective", _("What it learns"), _OBJECTIVES)
            with tab.settings(_(_LEAD)):
                seed = tab.create_seed(_("same seed, same words chosen"))
                tab.create_picker()
        with result():
            tab.create_answer(_("One step of training"))
            others = gr.Button(_("Choose others"), size="sm", scale=0, min_width=150)
            tab.create_header()
    tab.connect()

    def choose_others(session_id: str, checkpoint: str, *values: Any) -> Updates:
        """Take a step with the next seed, which chooses other tokens and what is done to each."""
        fields = tab.named(values)
        fields["seed"] = (int(fields["seed"] or 0) + 1) % (MOST_SEED + 1)
        return {seed: fields["seed"], **tab.run(PROGRESS, session_id, checkpoint, *fields.values())}

    others.click(
        for_visitors(choose_others),
        [session, *tab.inputs],
        [session, seed, *tab.outputs],
        show_progress_on=tab.answer,
        **in_line(service.settings),
    )
    objective.change(lambda chosen: gr.update(visible=chosen == MASKED), objective, others, **QUICK)
    return tab


def create_pretraining(training: TaskTab) -> None:
    """Add the picture of pre-training and fine-tuning at the end of the tab `training`."""
    with training.tab:
        gr.HTML(pretraining_picture(), label=_("Pre-training and fine-tuning"))


def draw_step(output: TaskOutput) -> str:
    """The text as the model reads it, its loss at each place, the gradient by layer and what the step changes."""
    assert isinstance(output, TrainingStepOutput)  # noqa: S101
    worst = max(output.places, key=lambda each: each.loss)
    title = REGISTRY[output.checkpoint.name].title if output.checkpoint.name in REGISTRY else _("The model")
    copied = _("The step was taken on a copy of {model}: the model here stays as it is.", model=html.escape(title))
    return (
        f'<div class="training-step"><h3>{_said(output, worst)}</h3>'
        f"{text_as_read(output.tokens, output.places)}<p class='quiet'>{_chosen(output)}</p>"
        f"{_table(output)}"
        f"<p class='read-out'>{_mean(output)}</p><p class='quiet'>{copied}</p>"
        f"<h3>{_('Which part would change most')}</h3>{gradient_bars(output.gradients)}"
        f"<p class='quiet'>{_about_bars(output)}</p></div>"
    )


def _word(output: TrainingStepOutput, place: LearnedPlace) -> str:
    return f"<bdi>{html.escape(output.tokens[place.position].text.strip()) or '␣'}</bdi>"


def _said(output: TrainingStepOutput, worst: LearnedPlace) -> str:
    word, expected = _word(output, worst), f"<bdi>{html.escape(worst.expected.text.strip()) or '␣'}</bdi>"
    share = percent(worst.probability)
    if expected == word:
        return _(
            "It was hardest to find “{word}”: the model gave it {share}, so the loss there is {loss:.2f}",
            word=word,
            share=share,
            loss=worst.loss,
        )
    return _(
        "Where “{word}” stands the model expected “{expected}”. It gave “{word}” {share}, so the loss there is "
        "{loss:.2f}",
        word=word,
        expected=expected,
        share=share,
        loss=worst.loss,
    )


def _mean(output: TrainingStepOutput) -> str:
    count, loss, rate, after = len(output.places), output.loss, output.rate, output.loss_after
    mean = (
        _(
            "The mean of the {count} chosen is the loss of this step: <strong>{loss:.2f}</strong>.",
            count=count,
            loss=loss,
        )
        if output.objective == MASKED
        else _(
            "The mean of the {count} places is the loss of this step: <strong>{loss:.2f}</strong>.",
            count=count,
            loss=loss,
        )
    )
    then = _(
        "After one step with a learning rate of {rate:g} it would be <strong>{loss:.2f}</strong>.",
        rate=rate,
        loss=after,
    )
    return f"{mean} {then}"


def _chosen(output: TrainingStepOutput) -> str:
    """Sentences on how the places at which the loss is taken were chosen."""
    if output.objective == NEXT:
        return _("The model is asked at each place for the next token; the stronger the colour, the larger its loss.")
    words = sum(not token.is_mark and not token.is_blank for token in output.tokens)
    counts = [(sum(each.fate == fate for each in output.places), name) for fate, name in FATES.items()]
    drawn = ", ".join(_("{count} {fate}", count=count, fate=_(name)) for count, name in counts if count)
    return _(
        "15 % of your {tokens} tokens were chosen by chance: {chosen}. Of these, 80 % are blanked, 10 % exchanged for "
        "another token and 10 % left as they are; here {drawn}. (Devlin et al., 2019, section 3.1 and appendix A.1.)",
        tokens=words,
        chosen=len(output.places),
        drawn=drawn,
    )


def _table(output: TrainingStepOutput) -> str:
    rows = [
        (
            _word(output, each),
            f"{'' if each.fate else '… '}<bdi>{html.escape(each.shown.strip())}</bdi>",
            f"<bdi>{html.escape(each.expected.text.strip()) or '␣'}</bdi> {percent(each.expected.score)}",
            percent(each.probability),
            number(each.loss, ".2f"),
            percent(each.after),
        )
        for each in output.places
    ]
    note = _("p is the probability that the model gives to the right word; the loss is −ln p.")
    shown = framed(table([_(head) for head in _HEADS], rows), _("Loss at each place"))
    return f"{shown}<p class='quiet'>{note}</p>"


def _about_bars(output: TrainingStepOutput) -> str:
    said = _("The length (L2 norm) of the loss’s gradient over all numbers of a part.")
    if not output.shared:
        return said
    return said + " " + _("The output layer uses the table of the embeddings, so its gradient counts there.")
