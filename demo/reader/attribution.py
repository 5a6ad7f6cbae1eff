"""Attribution of the answer to each token, as coloured words."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import gradio as gr
from gradio.components import Component

from demo.events import for_visitors, in_line
from demo.plots.template import label
from demo.plots.view import AttentionView
from demo.runs import DemoService, Finished
from demo.widgets.bars import direction
from models.errors import InputError
from models.explain.aggregation import agreement
from models.outputs import Attribution, Token
from models.registry import Task
from models.text.words import word_text, words_of

_STEPS = 7
_NUMBERED = 8
_SPANS = {
    "answer": "the answer it chose",
    "start": "the start of the answer it chose",
    "end": "the end of the answer it chose",
}
_MINUS = "\u2212"


def attribution_text(attribution: Attribution, agreement: float | None, words: bool = True) -> str:
    """The tokens (or `words`, whose scores are the sums of their pieces') with their scores, in colours and in words.

    `agreement` is the rank correlation with the attention in the picture, if there is one.
    """
    named = _named(attribution, words)
    greatest = max((abs(score) for _, score in named), default=0.0) or 1.0
    order = sorted(range(len(named)), key=lambda place: -abs(named[place][1]))
    numbered = set(order[:_NUMBERED])
    spans = "".join(
        f'<span class="word" data-step="{round(_STEPS * score / greatest)}"'
        f"{f' data-share={chr(34)}{signed(score)}{chr(34)}' if place in numbered and round(score, 2) else ''}>"
        f"<bdi>{html.escape(text)}</bdi></span>"
        for place, (text, score) in enumerate(named)
    )
    most = html.escape(_most(attribution, named))
    way = direction("".join(text for text, _ in named))
    return (
        f'{_legend(greatest)}<div class="words" dir="{way}" role="img" aria-label="{most}" tabindex="0">{spans}</div>'
        f'<p class="read-out" role="status">{most}</p>'
        f"<p>{_value(attribution)}</p><p>{_agreement(agreement)}</p>{_table(named, order)}"
    )


def signed(score: float) -> str:
    """A score with its sign: `+0.52`, `−1.30`."""
    return f"{score:+.2f}".replace("-", _MINUS)


def _named(attribution: Attribution, words: bool) -> list[tuple[str, float]]:
    """The words to show, each with its score; the model's own marks are left out."""
    tokens: Sequence[Token] = attribution.tokens
    places = words_of(tokens) if words else tuple((place,) for place in range(len(tokens)))
    return [
        (word_text(tokens, word) if len(word) > 1 else label(tokens[word[0]]), sum(attribution.scores[k] for k in word))
        for word in places
        if not tokens[word[0]].is_mark
    ]


def _target(attribution: Attribution) -> str:
    return _SPANS.get(attribution.target, f"“{attribution.target.strip()}”")


def _most(attribution: Attribution, named: list[tuple[str, float]]) -> str:
    """The strongest push up and the strongest push down."""
    if not named:
        return "There is no word here that could count."
    up, down = max(named, key=lambda each: each[1]), min(named, key=lambda each: each[1])
    parts = []
    if up[1] > 0:
        parts.append(f"“{up[0]}” counts most for {_target(attribution)} ({signed(up[1])})")
    if down[1] < 0:
        parts.append(f"“{down[0]}” counts most against {'it' if parts else _target(attribution)} ({signed(down[1])})")
    return f"{', and '.join(parts)}." if parts else "No word counts for or against it."


def _value(attribution: Attribution) -> str:
    difference = attribution.value - attribution.baseline_value
    return (
        f"The score behind {html.escape(_target(attribution))} (its logit: the higher, the likelier) is "
        f"{_plain(attribution.value)} with this text and {_plain(attribution.baseline_value)} with every word blank. "
        f"The words share out the difference of {signed(difference)} among them."
    )


def _plain(value: float) -> str:
    return f"{value:.2f}".replace("-", _MINUS)


def _agreement(agreement: float | None) -> str:
    if agreement is None:
        return "There are too few words to compare this with the attention in the picture."
    how = "hardly agrees with" if abs(agreement) < 0.2 else "agrees somewhat with" if agreement < 0.5 else "agrees with"
    if agreement <= -0.2:
        how = "goes against"
    return (
        f"This order of words {how} the order by attention received in the picture above: "
        f"{_plain(agreement)} (rank correlation: 1 is the same order, 0 no relation, {_MINUS}1 the reverse)."
    )


def _legend(greatest: float) -> str:
    steps = "".join(f'<i data-step="{step}"></i>' for step in range(-_STEPS, _STEPS + 1))
    return (
        f'<p class="legend"><span>against {signed(-greatest)}</span><span aria-hidden="true">{steps}</span>'
        f"<span>{signed(greatest)} for it</span></p>"
    )


def _table(named: list[tuple[str, float]], order: list[int]) -> str:
    rows = "".join(
        f'<tr><th scope="row"><bdi>{html.escape(named[place][0])}</bdi></th><td>{signed(named[place][1])}</td></tr>'
        for place in order
    )
    return (
        '<details class="as-table"><summary>The same as a table</summary><div class="table-frame" role="region" '
        'aria-label="Attribution as a table" tabindex="0"><table><thead><tr><th scope="col">Word</th>'
        f'<th scope="col">Score</th></tr></thead><tbody>{rows}</tbody></table></div></details>'
    )


See = Callable[[Finished, str, str, int, int], AttentionView]
"""The view of a run that has this kind, way of reading heads, layer and head."""

_HELP = """<p class="quiet">Attention shows where numbers flow. <em>Attribution</em> asks another question: how far did
each word push the score of the answer up or down? (Integrated gradients: the text is faded in from blanks in small
steps, and the pushes of each word are added up; Sundararajan and others, 2017.)</p>"""
_SPANS_ATTRIBUTION_PANEL = [("The whole answer", "answer"), ("Where it starts", "start"), ("Where it ends", "end")]
# What can be asked: the label of the field, and what an empty one stands for.
_ASKED = {
    Task.SENTIMENT: ("For which label", "empty: the likeliest one"),
    Task.FILL_MASK: ("For which word in the blank", "empty: the likeliest one; #2 is the second blank"),
    Task.COMPLETION: ("For which next word", "empty: the first that was written; #5 is the fifth token"),
}


@dataclass(frozen=True, eq=False)
class AttributionPanel:
    """The field for the decision to explain, the button, and the result."""

    target: gr.Radio | gr.Textbox
    button: gr.Button
    result: gr.HTML

    def connect(self, service: DemoService, finished: gr.State, chosen: Sequence[Component], see: See) -> None:
        """Let the button work it out; `chosen` are the reader's kind, way of reading heads, layer, head and words."""

        def work_out(target: str, finished: Finished, kind: str, how: str, layer: int, head: int, words: bool) -> str:
            try:
                attribution = service.attribution(finished.source, target)
                view = see(finished, kind, how, layer, head)
            except InputError as error:
                return f'<p role="alert">{html.escape(error.sentence)}</p>'
            return attribution_text(attribution, agreement(attribution, view.weights, view.masked), words)

        gr.on(
            [self.button.click, *([self.target.submit] if isinstance(self.target, gr.Textbox) else [])],
            for_visitors(work_out),
            [self.target, finished, *chosen],
            self.result,
            show_progress_on=self.result,
            **in_line(service.settings),
        )


def create_attribution_panel(task: Task) -> AttributionPanel | None:
    """A folded section; none for translation, where every word is a decision of its own."""
    if task not in _ASKED and task is not Task.QUESTION_ANSWERING:
        return None
    with gr.Accordion("A second opinion: which words counted (attribution)", open=False, elem_classes="tool"):
        gr.HTML(_HELP)
        with gr.Row(elem_classes="tool-row"):
            target: gr.Radio | gr.Textbox
            if task is Task.QUESTION_ANSWERING:
                target = gr.Radio(_SPANS_ATTRIBUTION_PANEL, value="answer", label="For which decision")
            else:
                name, empty = _ASKED[task]
                target = gr.Textbox("", label=name, info=empty, max_lines=1)
            button = gr.Button("Work it out", scale=0, min_width=140, elem_classes="tool-button")
        result = gr.HTML("", elem_classes="tool-result", label="Attribution")
    return AttributionPanel(target, button, result)
