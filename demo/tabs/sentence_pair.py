"""Two sentences: four questions on a pair, with a fine-tuned encoder."""

import html
from collections.abc import Iterable, Sequence

import gradio as gr
import numpy as np

from demo.language import N_, _
from demo.plots.reading import decimals, percent
from demo.plots.sheet import signed_image
from demo.plots.template import label
from demo.runs import DemoService
from demo.tabs.columns import left_column, result
from demo.tabs.task_tab import TaskTab
from demo.widgets.bars import bars
from demo.widgets.tables import framed
from models.outputs.base import Prediction, TaskOutput
from models.outputs.encoders import SentencePairOutput
from models.registry import Task

_LEAD = N_(
    "BERT was built to read two texts at once: <code>[CLS] first [SEP] second [SEP]</code>, every token marked with "
    "its <em>segment</em>. One reading answers three questions. For the fourth each text is read alone, and the means "
    "of their tokens’ <em>vectors</em> are compared (Sentence-BERT; Reimers and Gurevych, 2019)."
)
_HINT = N_("Write two sentences. <span class='keys'>Enter compares them; Shift+Enter starts a new line.</span>")
_IMPLIED = {
    N_("entailment"): N_("If the first is true, the model takes the second to be true as well."),
    N_("neutral"): N_("The first neither implies the second nor rules it out, says the model."),
    N_("contradiction"): N_("Both cannot be true at once, says the model."),
}
_UNSURE = N_("None of the three has more than half of the probability: the model cannot tell.")
_AS_READ = N_("As BERT reads the pair")


def create_sentence_pair_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    tab = TaskTab(service, session, Task.SENTENCE_PAIR, lambda _run, output, _step: draw_answer(output))
    with tab.page():
        with left_column():
            with tab.asking(_("Compare them"), _(_HINT)):
                tab.create_text("a", _("The first text, A"), max_lines=4)
                tab.create_text("b", _("The second text, B"), max_lines=4)
            with tab.settings(_(_LEAD)):
                tab.create_picker()
        with result():
            tab.create_answer(_("Four questions"))
            tab.create_reader()
    tab.connect()
    return tab


def draw_answer(output: TaskOutput) -> str:
    """Each question with its probabilities and a sentence, and the pair as the model reads it."""
    assert isinstance(output, SentencePairOutput)  # noqa: S101
    implied = max(output.entailment, key=lambda each: each.score)
    follows = [Prediction(_("follows"), output.follows), Prediction(_("random"), 1 - output.follows)]
    implies = [Prediction(_(each.text), each.score) for each in output.entailment]
    same = [Prediction(_("the same"), output.paraphrase), Prediction(_("different"), 1 - output.paraphrase)]
    comes = _("The model gives {share} to the second coming right after the first.", share=percent(output.follows))
    says = _("The model gives {share} to both saying the same.", share=percent(output.paraphrase))
    parts = (
        _question(_("Does the second follow?"), comes, follows),
        _question(
            _("Does the first imply it?"), _(_IMPLIED[implied.text] if implied.score > 0.5 else _UNSURE), implies
        ),
        _question(_("Do they say the same?"), says, same),
        _likeness(output),
    )
    return f'<div class="columns pair-answers">{"".join(parts)}</div>{_as_read(output)}'


def _question(asked: str, said: str, shares: Sequence[Prediction]) -> str:
    winner = max(shares, key=lambda each: each.score).text
    return f"<section><h3>{asked}</h3>{bars(shares, asked, winner=winner)}<p class='quiet'>{said}</p></section>"


def _likeness(output: SentencePairOutput) -> str:
    """The cosine of both vectors, and the vectors as strips on one scale."""
    vectors = np.array(output.vectors)
    top = float(np.abs(vectors).max()) or 1.0
    strips = "".join(
        f'<li><span class="bar-name">{name}</span>'
        f'<img class="vector-strip" alt="" src="{signed_image(vector / top)}"></li>'
        for name, vector in zip((_("first"), _("second")), vectors[:, None], strict=True)
    )
    about = _(
        "The <em>cosine</em> of two vectors of {count} numbers, drawn as strips (blue above zero, orange below): 1 if "
        "they point the same way.",
        count=vectors.shape[1],
    )
    return (
        f"<section><h3>{_('How alike are they?')}</h3><p class='cosine'>{decimals(output.similarity)}</p>"
        f'<ol class="bars strips" aria-label="{_("The two vectors")}">{strips}</ol>'
        f"<p class='quiet'>{about}</p></section>"
    )


def _as_read(output: SentencePairOutput) -> str:
    """The tokens, segments and positions that the network is given, folded away."""
    names = [f"<bdi>{html.escape(label(token))}</bdi>" for token in output.tokens]
    rows: list[tuple[str, Iterable[object]]] = [
        (_("token"), names), (_("segment"), output.segments), (_("position"), range(len(names))),
    ]  # fmt: skip
    body = "".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(
            f'<td class="segment-{segment}">{cell}</td>' for segment, cell in zip(output.segments, cells, strict=True)
        )
        + "</tr>"
        for name, cells in rows
    )
    caption = f'<caption class="sr-only">{_("One column for each token")}</caption>'
    shown = f"<table>{caption}<tbody>{body}</tbody></table>"
    about = _(
        "Each token is a sum of three vectors: its own, its segment’s (0 for the first text, 1 for the second) and its "
        "position’s."
    )
    return (
        f'<details class="as-table"><summary>{_(_AS_READ)}</summary>{framed(shown, _(_AS_READ), "input-format")}'
        f"<p class='quiet'>{about}</p></details>"
    )
