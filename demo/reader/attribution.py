"""Attribution of the answer to each token, as coloured words."""

import html
from collections.abc import Callable, Sequence

import gradio as gr
from gradio.components import Component

from demo.events import for_visitors, in_line
from demo.language import N_, _
from demo.plots.reading import decimals
from demo.plots.template import label
from demo.plots.view import AttentionView
from demo.runs import DemoService, Finished
from demo.widgets.bars import direction
from demo.widgets.notice import alert
from demo.widgets.tables import fold_out, table
from models.errors import InputError
from models.explain.aggregation import agreement
from models.outputs.attention import Attribution
from models.registry import Task
from models.text.words import word_text, words_of

_STEPS = 7
_NUMBERED = 8
_SPANS = {
    "answer": N_("the answer it chose"),
    "start": N_("the start of the answer it chose"),
    "end": N_("the end of the answer it chose"),
}
_HELP = N_(
    "Attention shows where numbers flow. <em>Attribution</em> asks another question: how far did "
    "each word push the score of the answer up or down? (Integrated gradients: the text is faded in from blanks in "
    "small steps, and the pushes of each word are added up; Sundararajan and others, 2017.)"
)
_DECISIONS = [(N_("The whole answer"), "answer"), (N_("Where it starts"), "start"), (N_("Where it ends"), "end")]
# For each task the label of the field for the target, and what an empty field stands for.
_ASKED = {
    Task.SENTIMENT: (N_("For which label"), N_("empty: the likeliest one")),
    Task.NAMES: (N_("For which label"), N_("empty: that of the first name; #2 is the second name")),
    Task.SENTENCE_PAIR: (
        N_("For which label"),
        N_("empty: the likeliest of entailment, neutral and contradiction; or follows, random, paraphrase, different"),
    ),
    Task.FILL_MASK: (N_("For which word in the blank"), N_("empty: the likeliest one; #2 is the second blank")),
    Task.COMPLETION: (N_("For which next word"), N_("empty: the first that was written; #5 is the fifth token")),
}


def create_attribution(
    service: DemoService,
    task: Task,
    finished: gr.State,
    chosen: Sequence[Component],
    see: Callable[[Finished, str, str, int, int], AttentionView],
) -> list[Component]:
    """Create a folded section and return its result; none for tasks like translation, where each word is a decision.

    `chosen` are the reader's controls for kind, way of reading heads, layer, head and whole words; `see` returns the
    view for the values of the first four.
    """
    if task not in _ASKED and task is not Task.QUESTION_ANSWERING:
        return []
    with gr.Accordion(_("A second opinion: which words counted (attribution)"), open=False, elem_classes="tool"):
        gr.HTML(f'<p class="quiet">{_(_HELP)}</p>')
        with gr.Row(elem_classes="tool-row"):
            target: gr.Radio | gr.Textbox
            if task is Task.QUESTION_ANSWERING:
                decisions = [(_(name), decision) for name, decision in _DECISIONS]
                target = gr.Radio(decisions, value="answer", label=_("For which decision"))
            else:
                name, empty = _ASKED[task]
                target = gr.Textbox("", label=_(name), info=_(empty), max_lines=1)
            button = gr.Button(_("Work it out"), scale=0, min_width=140, elem_classes="tool-button")
        result = gr.HTML("", elem_classes="tool-result", label=_("Attribution"))

    def work_out(target: str, finished: Finished, kind: str, how: str, layer: int, head: int, words: bool) -> str:
        try:
            attribution = service.attribution(finished.source, target)
            view = see(finished, kind, how, layer, head)
        except InputError as error:
            return alert(_(error.sentence))
        return attribution_text(attribution, agreement(attribution, view.weights, view.masked), words)

    gr.on(
        [button.click, *([target.submit] if isinstance(target, gr.Textbox) else [])],
        for_visitors(work_out),
        [target, finished, *chosen],
        result,
        show_progress_on=result,
        **in_line(service.settings),
    )
    return [result]


def attribution_text(attribution: Attribution, agreement: float | None, words: bool = True) -> str:
    """The scores of the tokens, or of `words` as sums over their tokens, as HTML: coloured text, sentences and a table.

    `agreement` is the rank correlation with the attention in the picture, `None` where it is undefined.
    """
    named = _named(attribution, words)
    greatest = max((abs(score) for _word, score in named), default=0.0) or 1.0
    order = sorted(range(len(named)), key=lambda place: -abs(named[place][1]))
    numbered = [place for place in order[:_NUMBERED] if round(named[place][1], 2)]
    spans = "".join(
        f'<span class="word" data-step="{round(_STEPS * score / greatest)}"'
        f"{f' data-share={chr(34)}{_signed(score)}{chr(34)}' if place in numbered else ''}>"
        f"<bdi>{html.escape(text)}</bdi></span>"
        for place, (text, score) in enumerate(named)
    )
    steps = "".join(f'<i data-step="{step}"></i>' for step in range(-_STEPS, _STEPS + 1))
    span = _SPANS.get(attribution.target)
    target = _(span) if span else _("“{word}”", word=attribution.target.strip())
    most = html.escape(_most(target, named))
    way = direction("".join(text for text, _score in named))
    values = {
        "target": html.escape(target),
        "score": decimals(attribution.value),
        "blank": decimals(attribution.baseline_value),
        "difference": _signed(attribution.value - attribution.baseline_value),
    }
    if attribution.first_kept:
        shared_out = _(
            "The score behind {target} (its logit: the higher, the likelier) is {score} with this text and {blank} "
            "with every word but the first, on which such a model rests, blank. The words share out the difference of "
            "{difference} among them.",
            **values,
        )
    else:
        shared_out = _(
            "The score behind {target} (its logit: the higher, the likelier) is {score} with this text and {blank} "
            "with every word blank. The words share out the difference of {difference} among them.",
            **values,
        )
    rows = [(f"<bdi>{html.escape(named[place][0])}</bdi>", _signed(named[place][1])) for place in order]
    return (
        f'<p class="legend"><span>{_("against {score}", score=_signed(-greatest))}</span>'
        f'<span aria-hidden="true">{steps}</span>'
        f"<span>{_('{score} for it', score=_signed(greatest))}</span></p>"
        f'<div class="words" dir="{way}" role="img" aria-label="{most}" tabindex="0">{spans}</div>'
        f'<p class="read-out" role="status">{most}</p>'
        f"<p>{shared_out}</p><p>{_agreement(agreement)}</p>"
        + fold_out(_("The same as a table"), table((_("Word"), _("Score")), rows), _("Attribution as a table"))
    )


def _signed(score: float) -> str:
    return decimals(score, "+")


def _named(attribution: Attribution, words: bool) -> list[tuple[str, float]]:
    """The words (or tokens) to show, each with its score; special tokens such as [CLS] are left out."""
    tokens = attribution.tokens
    places = words_of(tokens) if words else tuple((place,) for place in range(len(tokens)))
    return [
        (word_text(tokens, word) if len(word) > 1 else label(tokens[word[0]]), sum(attribution.scores[k] for k in word))
        for word in places
        if not tokens[word[0]].is_mark
    ]


def _most(target: str, named: list[tuple[str, float]]) -> str:
    """A sentence on the words with the greatest and the least score."""
    if not named:
        return _("There is no word here that could count.")
    up, down = max(named, key=lambda each: each[1]), min(named, key=lambda each: each[1])
    if up[1] > 0 and down[1] < 0:
        return _(
            "“{helper}” counts most for {target} ({most}), and “{opponent}” counts most against it ({least}).",
            helper=up[0],
            target=target,
            most=_signed(up[1]),
            opponent=down[0],
            least=_signed(down[1]),
        )
    if up[1] > 0:
        return _("“{word}” counts most for {target} ({score}).", word=up[0], target=target, score=_signed(up[1]))
    if down[1] < 0:
        return _(
            "“{word}” counts most against {target} ({score}).", word=down[0], target=target, score=_signed(down[1])
        )
    return _("No word counts for or against it.")


def _agreement(agreement: float | None) -> str:
    if agreement is None:
        return _("There are too few words to compare this with the attention in the picture.")
    if agreement <= -0.2:
        said = N_(
            "This order of words goes against the order by attention received in the picture above: {correlation} "
            "(rank correlation: 1 is the same order, 0 no relation, \u22121 the reverse)."
        )
    elif agreement < 0.2:
        said = N_(
            "This order of words hardly agrees with the order by attention received in the picture above: "
            "{correlation} (rank correlation: 1 is the same order, 0 no relation, \u22121 the reverse)."
        )
    elif agreement < 0.5:
        said = N_(
            "This order of words agrees somewhat with the order by attention received in the picture above: "
            "{correlation} (rank correlation: 1 is the same order, 0 no relation, \u22121 the reverse)."
        )
    else:
        said = N_(
            "This order of words agrees with the order by attention received in the picture above: {correlation} "
            "(rank correlation: 1 is the same order, 0 no relation, \u22121 the reverse)."
        )
    return _(said, correlation=decimals(agreement))
