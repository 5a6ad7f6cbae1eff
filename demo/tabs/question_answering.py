"""Questions: extractive question answering with a fine-tuned encoder."""

import html

import gradio as gr
from gradio.components.plot import PlotData

from demo.language import N_, _
from demo.log.run import Run
from demo.plots.reading import percent
from demo.plots.spans import span_probabilities
from demo.runs import DemoService, Finished
from demo.tabs.columns import left_column, result
from demo.tabs.task_tab import TaskTab
from demo.widgets.bars import bars
from demo.widgets.figure import drawn
from models.outputs.base import Prediction, TaskOutput
from models.outputs.encoders import QuestionAnsweringOutput
from models.registry import Task

_LEAD = N_(
    "Ask about a text. The model does not write an answer: it points at the words of the text where an answer "
    "starts and ends (<em>extractive</em> question answering), or says that there is none."
)
_HINT = N_(
    "Ask, or paste a text of your own. <span class='keys'>Enter looks it up; Shift+Enter starts a new line.</span>"
)
_SPANS_TITLE = N_("Where the answer starts and ends")
_SPANS = N_(
    "Upwards: the probability that the answer starts at a token (a word or a piece of one); downwards: that it ends "
    "there. The first token, [CLS], stands for “no answer”."
)


def create_question_answering_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""

    def draw(run: Run, output: TaskOutput, _step: int) -> str:
        return draw_answer(str(run.fields["context"]), output)

    tab = TaskTab(service, session, Task.QUESTION_ANSWERING, draw)
    with tab.page():
        with left_column():
            with tab.asking(_("Look it up"), _(_HINT)):
                tab.create_text("question", _("Your question"), max_lines=3)
                tab.create_text("context", _("The text to look in"), max_lines=14, elem_classes="long-text")
            with tab.settings(_(_LEAD)):
                tab.create_slider("top_k")
                tab.create_picker()
        with result():
            tab.create_answer(_("Answer"))
            tab.create_reader()
            with gr.Column(elem_classes="more"):
                about = f"<h2>{_(_SPANS_TITLE)}</h2><p class='quiet'>{_(_SPANS)}</p>"
                gr.HTML(about, label=_(_SPANS_TITLE))
                tab.show_figure(_spans, _("Start and end probabilities"), "span-frame")
    tab.connect()
    return tab


def draw_answer(context: str, output: TaskOutput) -> str:
    """The answer in a sentence, the text with the answer marked in it, and the next best answers."""
    output = _typed(output)
    no_answer, no_answer_share = _("No answer in this text"), percent(output.no_answer_score)
    if output.answered:
        best = output.answers[0]
        headline = _(
            "“<bdi>{answer}</bdi>” has {share} of the probability",
            answer=html.escape(best.text),
            share=percent(best.score),
        )
        shown = (
            f"{html.escape(context[: best.start])}<mark>{html.escape(context[best.start : best.end])}</mark>"
            f"{html.escape(context[best.end :])}"
        )
    else:
        headline = _("No answer in this text: it has {share} of the probability", share=no_answer_share)
        shown = html.escape(context)
    candidates = [Prediction(each.text, each.score) for each in output.answers]
    candidates.append(Prediction(no_answer, output.no_answer_score))
    candidates.sort(key=lambda each: -each.score)
    winner = output.answers[0].text if output.answered else no_answer
    together = _(
        "All places of the text together have {share} of the probability, and “no answer” has {no_answer_share}. That "
        "decides whether an answer is shown; the likeliest place is then the answer.",
        share=percent(1 - output.no_answer_score),
        no_answer_share=no_answer_share,
    )
    notes = f"<p class='quiet'>{together}</p>"
    if output.windows > 1:
        windows = _(
            "The text is longer than the model’s window, so it was read in {count} overlapping parts; the best answer "
            "of all of them is shown, and the pictures below show the part that holds it.",
            count=output.windows,
        )
        notes += f"<p class='quiet'>{windows}</p>"
    shown_candidates = bars(candidates, _("Answers and their probability"), winner=winner, long=True)
    name, title = html.escape(_("The text")), _("All candidates, best first")
    context = f'<p class="context" dir="auto" tabindex="0" role="group" aria-label="{name}">{shown}</p>'
    return f"<h3>{headline}</h3>{context}{notes}<h3>{title}</h3>{shown_candidates}"


def _spans(finished: Finished) -> PlotData:
    """The figure of the probabilities that the answer starts and ends at each token."""
    return drawn(span_probabilities(_typed(finished.output)))


def _typed(output: TaskOutput) -> QuestionAnsweringOutput:
    assert isinstance(output, QuestionAnsweringOutput)  # noqa: S101
    return output
