"""Greedy search, beam search and sampling as one tree, as a figure and as text."""

import html
from collections.abc import Mapping
from typing import Any

import gradio as gr
from gradio.components import Component

from demo.events import PROGRESS, for_visitors, in_line, told
from demo.language import N_, _, ngettext, number
from demo.plots.decode_tree import NAMES, decode_tree_figure, token_name
from demo.runs import DemoService
from demo.widgets import Updates
from demo.widgets.figure import drawn, figure_place
from demo.widgets.notice import create_notice, noticed
from demo.widgets.tables import fold_out, table
from models.errors import InputError
from models.outputs.writing import DecodeTree, StrategyText, TreeNode

_WORDS_OF_PROMPT = 4
_HEADINGS = {"greedy": N_("Greedy search"), "beam": N_("Beam search"), "sample": N_("Sampling")}


def tree_finding(tree: DecodeTree) -> str:
    """A sentence that compares the three texts, as the picture's title."""
    greedy, beam, sample = tree.texts
    if tree.num_beams == 1 or beam.ids == greedy.ids:
        found = _("Beam search ended with the same text as greedy search")
    elif beam.log_probability > greedy.log_probability:
        found = _("Beam search found a likelier text than greedy search")
    else:
        found = _("Beam search preferred a text with a better average per token than greedy search’s")
    same = sample.ids in (greedy.ids, beam.ids)
    return f"{found}; {_('chance drew the same text') if same else _('chance drew another text')}."


def tree_text(tree: DecodeTree) -> str:
    """The finding, the texts with their log-probabilities, and what the numbers mean."""
    rows = "".join(
        f"<li><b>{_(_HEADINGS[each.strategy])}</b> <span class='quiet'>{_worth(each)}</span><br>"
        f"<bdi>{_end_of(tree.prompt)}<mark>{html.escape(each.text)}</mark></bdi></li>"
        for each in sorted(tree.texts, key=lambda each: -each.log_probability)
    )
    dropped = sum(not node.kept and node.weighed for node in tree.nodes)
    meaning = _(
        "A text’s probability is the product of its tokens’, a tiny number; its <em>log-probability</em> adds up their "
        "logarithms instead: 0 would be certain, and nearer to 0 is likelier."
    )
    kept = ngettext(
        "Beam search kept {count} draft at each step and dropped {dropped} others on the way.",
        "Beam search kept {count} drafts at each step and dropped {dropped} others on the way.",
        tree.num_beams,
        dropped=dropped,
    )
    return f"<h3>{tree_finding(tree)}</h3><ul class='texts strategies'>{rows}</ul><p class='quiet'>{meaning} {kept}</p>"


def _worth(text: StrategyText) -> str:
    return _(
        "log-probability {total:.2f}, {mean:.2f} per token",
        total=text.log_probability,
        mean=text.log_probability / max(1, len(text.ids)),
    )


def tree_table(tree: DecodeTree) -> str:
    """Every token of the tree as a folded table, for visitors who do not see the picture."""
    rows = [
        (
            f"<td>{node.depth}</td>",
            f"<bdi>{html.escape(token_name(tree.nodes[node.parent]))}</bdi>",
            f"<th scope='row'><bdi>{html.escape(token_name(node))}</bdi></th>",
            number(node.log_probability, ".2f"),
            number(node.total, ".2f"),
            _fate(node),
        )
        for node in tree.nodes[1:]
    ]
    heads = (
        _("step"), _("after"), _("token"), _("log-probability"), _("of the draft"), _("what became of it")
    )  # fmt: skip
    summary = ngettext("The tree as a table ({count} token)", "The tree as a table ({count} tokens)", len(rows))
    return fold_out(summary, table(heads, rows), _("The tree as a table"))


def _end_of(prompt: str) -> str:
    """The last words of the prompt."""
    words = prompt.split(" ")
    end = " ".join(words[-_WORDS_OF_PROMPT:])
    return html.escape(f"… {end}" if len(words) > _WORDS_OF_PROMPT else end)


def _fate(node: TreeNode) -> str:
    chosen = ", ".join(_(NAMES[each]) for each in node.strategies)
    if chosen:
        return _("in the text of {strategies}", strategies=chosen)
    if not node.kept:
        return _("dropped at once")
    return _("a finished draft that lost") if node.ended else _("kept for a while")


_FIELDS = ("prompt", "temperature", "top_k", "top_p", "seed", "loop_guard")
_LEAD = N_(
    "Three ways to choose, from the beginning above: <em>greedy search</em> takes the likeliest token each time, "
    "<em>beam search</em> keeps several drafts and drops the worst, <em>sampling</em> throws dice with the settings "
    "above."
)


def create_strategy_tree(service: DemoService, checkpoint: Component, fields: Mapping[str, Component]) -> None:
    """Create the folded section, which draws the tree for the chosen `checkpoint` and the tab's `fields` on request."""
    with gr.Accordion(_("Three strategies in one picture"), open=False, elem_classes="tool"):
        gr.HTML(f'<p class="quiet">{_(_LEAD)}</p>')
        with gr.Row(elem_classes="settings"):
            beams = gr.Slider(1, 8, 4, step=1, label=_("Drafts that beam search keeps"))
            steps = gr.Slider(1, 40, 12, step=1, label=_("Steps to draw"))
        draw = gr.Button(_("Draw the tree"), scale=0, min_width=160)
        notice = create_notice()
        text = gr.HTML("", visible=False, label=_("What the tree shows"))
        plot = figure_place(None, _("Tree of drafts"), "tree-frame", visible=False)
        numbers = gr.HTML("", visible=False, label=_("The tree as a table"))

    asked = {**{name: fields[name] for name in _FIELDS}, "num_beams": beams, "max_new_tokens": steps}

    def grow(progress: gr.Progress = PROGRESS, checkpoint: str = "", *values: Any) -> Updates:
        given = dict(zip(asked, values, strict=True))
        try:
            tree = service.decode_tree(given, checkpoint, told(progress))
        except InputError as error:
            return {notice: noticed(_(error.sentence))}
        return {
            notice: noticed(""),
            text: gr.update(value=tree_text(tree), visible=True),
            plot: gr.update(value=drawn(decode_tree_figure(tree), zoom=True), visible=True),
            numbers: gr.update(value=tree_table(tree), visible=True),
        }

    draw.click(
        for_visitors(grow),
        [checkpoint, *asked.values()],
        [notice, text, plot, numbers],
        show_progress_on=draw,
        **in_line(service.settings),
    )
