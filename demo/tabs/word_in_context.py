"""One word: its vectors in several sentences, layer by layer, beside the one vector that word2vec has for it."""

import html
import json
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import gradio as gr
from gradio.components.plot import PlotData

from demo.events import QUICK, for_visitors
from demo.language import N_, _, number
from demo.log.export import word_finding
from demo.plots.reading import decimals, percent
from demo.plots.word_plane import word_plane
from demo.runs import DemoService, Finished
from demo.tabs.columns import left_column, result
from demo.tabs.task_tab import TaskTab
from demo.widgets import Updates
from demo.widgets.figure import drawn
from demo.widgets.notice import alert
from demo.widgets.tables import framed, table
from models.errors import InputError
from models.outputs.base import Prediction, TaskOutput
from models.outputs.vectors import Occurrence, WordInContextOutput
from models.registry import Task
from models.text.word_vectors import FOLDER, word_vectors

_LEAD = N_(
    "A word means different things in different sentences. word2vec gives it one vector (a list of numbers) for all of "
    "them; BERT gives it another in each, which every layer works on. The <em>cosine</em> says how alike two vectors "
    "are: 1 is the same direction, 0 none in common."
)
_HINT = N_("Two to six sentences, one a line, each with your word. <span class='keys'>Shift+Enter compares.</span>")
_WHICH_LAYER = FOLDER / "which_layer.json"
"""The file of F1 by layer that `training/which_layer.py` writes."""
_STEPS = 7
_SHOWN = 6
_ARITHMETIC = N_(
    "With static vectors one can calculate: from “king” take away “man”, add “woman”, and look which word is nearest "
    "to the result. Often that works, often it does not; what comes out is shown as it is."
)
_WHICH = N_(
    "Which vectors stand best for a word? Devlin and others (2019, table 7) took BERT-base as it is, trained only what "
    "reads its vectors, and measured how well that marks names in newspaper texts. We did the same with {layers} "
    "layers of {checkpoint}."
)
_CLASSIFIER = N_(
    "F1 of whole names on CoNLL-2003’s development texts: of the names that it marks and of those that are there, the "
    "share that both have, in percent. Our classifier: {classifier}. Theirs: a network that reads the whole sentence "
    "(a BiLSTM) over a larger model that sees capital letters; so compare the order of the rows, not the numbers."
)


def create_word_in_context_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    tab = TaskTab(service, session, Task.WORD_IN_CONTEXT, lambda _run, output, _step: draw_answer(output))
    first = _typed(tab.example.output)
    with tab.page():
        with left_column():
            with tab.asking(_("Compare the sentences"), _(_HINT)):
                tab.create_text("word", _("The word"), max_lines=1)
                tab.create_text("sentences", _("Sentences, one a line"), lines=5, max_lines=12)
            with tab.settings(_(_LEAD)):
                tab.create_picker()
        with result():
            tab.create_answer(_("The word in its sentences"))
            tab.create_header()
            with gr.Column(elem_classes="more word-layers"):
                gr.HTML(f"<h2>{_('The word’s vectors, layer by layer')}</h2>", label=_("The word’s vectors"))
                slider = gr.Slider(
                    0, first.depth - 1, first.telling, step=1, label=_("Layer"), elem_classes="word-layer"
                )
                with gr.Row(elem_classes="word-views"):
                    grid = gr.HTML(draw_layer(first, first.telling), elem_classes="word-grid", label=_("Cosines"))
                    plane = tab.show_figure(_telling_plane, _("The vectors in a plane"), "plane-frame")
            _create_arithmetic()
            with gr.Accordion(_("Which layer carries the meaning?"), open=False, elem_classes="tool"):
                gr.HTML(which_layer(), label=_("Which layer"))
            below = _("Below: how the model reads the first sentence.")
            gr.HTML(f"<p class='quiet'>{below}</p>", label=_("About the picture below"))
            tab.create_reader()

    def at_telling(finished: Finished) -> dict[str, Any]:
        output = _typed(finished.output)
        return gr.update(maximum=output.depth - 1, value=output.telling)

    tab.below[slider] = at_telling
    tab.below[grid] = lambda finished: draw_layer(_typed(finished.output), _typed(finished.output).telling)
    tab.connect()

    def move(finished: Finished, layer: int) -> Updates:
        output = _typed(finished.output)
        layer = min(max(int(layer), 0), output.depth - 1)
        return {grid: draw_layer(output, layer), plane: _plane(output, layer)}

    slider.input(for_visitors(move), [tab.reader.finished, slider], [grid, plane], trigger_mode="always_last", **QUICK)
    return tab


def _create_arithmetic() -> None:
    """Create the folded section in which word vectors are added and subtracted."""
    with gr.Accordion(_("Calculate with words: king − man + woman"), open=False, elem_classes="tool"):
        gr.HTML(f"<p class='quiet'>{_(_ARITHMETIC)}</p>", label=_("About this"))
        with gr.Row(elem_classes="tool-row"):
            fields = [
                gr.Textbox(value, label=label, max_lines=1, max_length=100, min_width=100)
                for value, label in (("king", _("From")), ("man", _("take away")), ("woman", _("and add")))
            ]
            button = gr.Button(_("Calculate"), scale=0, min_width=120, elem_classes="tool-button")
        found = gr.HTML("", elem_classes="tool-result", label=_("Nearest words"))
    events = [button.click, *(field.submit for field in fields)]
    gr.on(events, for_visitors(arithmetic), fields, found, **QUICK)


def draw_answer(output: TaskOutput) -> str:
    """The sentences in groups by their vectors, what fits in each, and the nearest words of the static vector."""
    output = _typed(output)
    layer = output.telling
    parts = [f"<h3>{html.escape(word_finding(output, layer))}</h3>"]
    how = _("Sorted by the word’s vectors at layer {layer}: sentences that stand together are alike.", layer=layer)
    parts.append(f"<p class='quiet'>{how}</p>")
    for group in groups_of(output.layers[layer]):
        items = "".join(_sentence(place, output.occurrences[place]) for place in group)
        parts.append(f'<ol class="occurrences">{items}</ol>')
    known = _listed(output.static_neighbours, decimals) or html.escape(_(output.static_note))
    title = _(
        "One vector for all: the words nearest to “<bdi>{word}</bdi>” in word2vec, with cosines",
        word=html.escape(output.word),
    )
    parts.append(f'<h4 class="answer-part">{title}</h4><p class="near-words">{known}</p>')
    return "".join(parts)


def _sentence(place: int, occurrence: Occurrence) -> str:
    before, word, after = (
        html.escape(occurrence.sentence[slice(*span)])
        for span in ((0, occurrence.start), (occurrence.start, occurrence.end), (occurrence.end, None))
    )
    said = _("Fits here: {words}.", words=_listed(occurrence.fitting, percent))
    if occurrence.times > 1:
        said += " " + _("It stands here {times} times; the first is meant.", times=occurrence.times)
    return (
        f'<li value="{place + 1}"><bdi>{before}<mark>{word}</mark>{after}</bdi><span class="quiet"> {said}</span></li>'
    )


def _listed(words: tuple[Prediction, ...], said: Callable[[float], str]) -> str:
    return ", ".join(f"<bdi>{html.escape(each.text) or '∅'}</bdi>&nbsp;{said(each.score)}" for each in words)


def groups_of(cosines: Sequence[Sequence[float]]) -> list[list[int]]:
    """Cluster sentences by their `cosines` `[sentence, sentence]`: average linkage, cut at the widest gap.

    The two groups with the greatest mean cosine are joined repeatedly; joining stops before this mean falls most. Two
    sentences are two groups.
    """
    groups = [[place] for place in range(len(cosines))]
    found, heights = [groups], [1.0]
    while len(groups) > 1:
        pairs = [(one, other) for one in range(len(groups)) for other in range(one + 1, len(groups))]
        means = [fmean(cosines[k][m] for k in groups[one] for m in groups[other]) for one, other in pairs]
        height, (one, other) = max(zip(means, pairs, strict=True))
        joined = sorted(groups[one] + groups[other])
        groups = sorted([*(group for number, group in enumerate(groups) if number not in (one, other)), joined])
        found.append(groups)
        heights.append(height)
    # Three or more sentences are neither all apart nor all together.
    cuts = range(1, len(cosines) - 1)
    return found[max(cuts, key=lambda step: heights[step] - heights[step + 1], default=0)]


def draw_layer(output: WordInContextOutput, layer: int) -> str:
    """The cosines of a layer as a coloured table, and sentences on what they show."""
    numbers = range(1, len(output.occurrences) + 1)
    rows = [
        [str(place), *(f'<td data-step="{max(0, round(_STEPS * cosine))}">{decimals(cosine)}</td>' for cosine in row)]
        for place, row in zip(numbers, output.layers[layer], strict=True)
    ]
    cells = table([f"<span class='sr-only'>{_('sentence')}</span>", *map(str, numbers)], rows)
    groups = _("In groups: {groups}.", groups="; ".join(_numbers(group) for group in groups_of(output.layers[layer])))
    zero = ""
    if layer == 0:
        said = _(
            "Layer 0 is what the first layer reads: the word’s own vector, with its place in the sentence where the "
            "model adds one. No other word is in it yet."
        )
        zero = f"<p class='quiet'>{said}</p>"
    about = _(
        "Cosines between the sentences, by their numbers. The plane shows the same vectors, each at a length of one, "
        "along the two directions in which they differ most: together {share} of their differences. The diamond is the "
        "word before any layer.",
        share=percent(sum(output.planes[layer].shares)),
    )
    name = _("Cosines of the word’s vectors at layer {layer}", layer=layer)
    return (
        f'<p class="read-out" role="status">{html.escape(word_finding(output, layer))} {groups}</p>'
        f"{framed(cells, name, 'scores word-cosines')}<p class='quiet'>{about}</p>{zero}"
    )


def arithmetic(word: str, minus: str, plus: str) -> str:
    """The words nearest to `word` - `minus` + `plus`, as HTML, with a note that these three are left out."""
    known = word_vectors()
    try:
        vector = known.combined(word, minus, plus)
    except InputError as error:
        return alert(_(error.sentence))
    given = {known.spelt(each) for each in (word, minus, plus)}
    first = known.nearest(vector, 1)[0]
    asked = html.escape(f"{word.strip()} − {minus.strip()} + {plus.strip()}")
    kept_out = (
        _(
            "The three words themselves are left out; without that, “{word}” would be the nearest ({cosine}).",
            word=html.escape(first.text),
            cosine=decimals(first.score),
        )
        if first.text in given
        else _("The three words themselves are left out, which changes nothing here: none of them is nearer.")
    )
    found = _listed(known.nearest(vector, _SHOWN, given), decimals)
    said = _("The numbers are cosines.")
    return f'<p role="status">{asked} ≈ {found}</p><p class="quiet">{said} {kept_out}</p>'


def _numbers(places: Sequence[int]) -> str:
    *others, last = [str(place + 1) for place in places]
    return _("{others} and {last}", others=", ".join(others), last=last) if others else last


def which_layer() -> str:
    """Our table of the F1 of names by layer, beside the published one, as HTML."""
    found = json.loads(_WHICH_LAYER.read_text(encoding="utf-8"))
    rows = [[_(row["way"]), number(row["f1"], ".1f"), number(row["published_f1"], ".1f")] for row in found["rows"]]
    shown = framed(table([_("Vector of a word"), _("ours"), "BERT-base"], rows), _("F1 by layer"))
    which = _(_WHICH, layers=found["layers"], checkpoint=found["checkpoint"])
    classifier = _(_CLASSIFIER, classifier=_(found["classifier"]))
    return f"<p class='quiet'>{which}</p>{shown}<p class='quiet'>{classifier}</p>"


def _plane(output: WordInContextOutput, layer: int) -> PlotData:
    return drawn(word_plane(output, layer))


def _telling_plane(finished: Finished) -> PlotData:
    output = _typed(finished.output)
    return _plane(output, output.telling)


def _typed(output: TaskOutput) -> WordInContextOutput:
    assert isinstance(output, WordInContextOutput)  # noqa: S101
    return output
