"""What-if experiments: a head or layer switched off, or a word replaced, and both answers side by side."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

import gradio as gr
from gradio.components import Component

from demo.events import QUICK, for_visitors, in_line
from demo.language import N_, _, number
from demo.plots.reading import percent
from demo.runs import Changed, DemoService, Finished
from demo.widgets import Updates
from demo.widgets.notice import alert
from models.errors import InputError
from models.explain.opening import opening
from models.outputs.attention import MEAN
from models.outputs.base import Prediction, TaskOutput, Token
from models.outputs.encoders import (
    OUTSIDE,
    EndingsOutput,
    FillMaskOutput,
    NamesOutput,
    QuestionAnsweringOutput,
    SentencePairOutput,
    SentimentOutput,
)
from models.outputs.surprise import SurpriseOutput, WrittenByOutput
from models.outputs.vectors import TeachOutput, WordInContextOutput
from models.outputs.writing import CompletionOutput, TranslationOutput
from models.registry import Task
from models.text.words import is_content_word, word_text, words_of
from models.wording import Sentence

_HELP = N_(
    "Change one thing and let the model answer again. If the answer stays, what you changed was not needed for it."
)
_CHANGES = [
    (N_("Replace a word"), "word"),
    (N_("Switch off the head above"), "head"),
    (N_("Switch off the whole layer above"), "layer"),
]
_WITH_BLANKS = (
    Task.FILL_MASK, Task.SENTIMENT, Task.QUESTION_ANSWERING, Task.NAMES, Task.SENTENCE_PAIR, Task.WORD_IN_CONTEXT,
    Task.TEACH,
)  # fmt: skip


def create_try_it(
    service: DemoService, task: Task, finished: gr.State, place: Sequence[Component], words: Mapping[str, Any]
) -> tuple[gr.Dropdown, gr.HTML]:
    """Create the folded section; returns its list of words, with the settings `words`, and the place of both answers.

    `place` are the reader's controls for kind, way of reading heads, layer and head.
    """
    with gr.Accordion(_("Try it: change one thing and compare"), open=False, elem_classes="tool"):
        gr.HTML(f'<p class="quiet">{_(_HELP)}</p>')
        changes = [(_(name), value) for name, value in _CHANGES]
        change = gr.Radio(changes, value="word", label=_("What to change"))
        with gr.Row(elem_classes="tool-row"):
            word = gr.Dropdown(**words, label=_("Which word"))
            empty = _("empty: a blank") if task in _WITH_BLANKS else _("empty: the word is left out")
            by = gr.Textbox("", label=_("What to put there"), info=empty, max_lines=1)
            button = gr.Button(_("Compare"), scale=0, min_width=140, elem_classes="tool-button")
        result = gr.HTML("", elem_classes="tool-result", label=_("Both answers"))

    def ask(change: str) -> Updates:
        return {each: gr.update(visible=change == "word") for each in (word, by)}

    def compare(
        change: str, word: str, by: str, finished: Finished, kind: str, _how: str, layer: int, head: int
    ) -> str:
        try:
            if change == "word":
                changed, name = _replaced(service, finished, word, by)
            else:
                changed, name = _switched_off(service, finished, change, kind, int(layer), int(head))
        except InputError as error:
            return alert(_(error.sentence))
        return _compared(changed.before, changed.after, name)

    change.change(ask, change, [word, by], **QUICK)
    gr.on(
        [button.click, by.submit],
        for_visitors(compare),
        [change, word, by, finished, *place],
        result,
        show_progress_on=result,
        **in_line(service.settings),
    )
    return word, result


def words_to_replace(tokens: Sequence[Token], first: int = -1) -> dict[str, Any]:
    """The settings of a list of a text's words, numbered as they stand; a value is `first-last`, indices of tokens.

    The word with token `first` is selected, else the first content word, else the first word.
    """
    words = [
        (place, word)
        for place, word in enumerate(words_of(tokens))
        if not tokens[word[0]].is_mark and not tokens[word[0]].is_blank
    ]
    choices = [(f"{place}: {word_text(tokens, word)}", f"{word[0]}-{word[-1]}") for place, word in words]
    wanted = [(first in word, is_content_word(word_text(tokens, word))) for _place, word in words]
    return {"choices": choices, "value": choices[wanted.index(max(wanted))][1] if choices else None}


def _replaced(service: DemoService, finished: Finished, word: str, by: str) -> tuple[Changed, str]:
    """The answers with the old and with the new word, and a heading for the second."""
    if not word:
        raise InputError(Sentence("This text has no word to replace."))
    first, _hyphen, last = word.partition("-")
    changed = service.replace_token(finished.source, int(first), by, int(last))
    if by.strip():
        return changed, _("With “{word}” there", word=by.strip())
    blank = finished.run.task in _WITH_BLANKS
    return changed, _("With a blank there") if blank else _("With that word left out")


def _switched_off(
    service: DemoService, finished: Finished, change: str, kind: str, layer: int, head: int
) -> tuple[Changed, str]:
    """The answers with and without the head or layer that the reader shows, and a heading for the second.

    If the reader shows all layers together, the layer and head that it opens on are switched off.
    """
    if layer < 1:
        attentions = service.attention(finished.source)
        opened = opening(finished.output, attentions[kind if kind in attentions else next(iter(attentions))])
        layer, head = opened.layer + 1, opened.head + 1
    if change == "layer":
        return service.ablate(finished.source, layer - 1, MEAN, kind), _("With layer {layer} switched off", layer=layer)
    name = _("With layer {layer}, head {head} switched off", layer=layer, head=head)
    return service.ablate(finished.source, layer - 1, head - 1, kind), name


def _compared(before: TaskOutput, after: TaskOutput, name: str) -> str:
    """A sentence on the change, then both answers, as HTML; `name` is the heading of the second."""
    before, after = _without_new_blank(before, after), _without_new_blank(after, before)
    shares = _shares(before), _shares(after)
    if isinstance(before, SurpriseOutput) and isinstance(after, SurpriseOutput):
        finding, answers = _surprise_changed(before.text.bits_per_token, after.text.bits_per_token), ""
    elif all(shares):
        finding, answers = _answer_changed(before, after), _tables(*shares, name)
    else:
        first, second = _written(before), _written(after)
        finding, answers = _text_changed(first, second), _side_by_side(first, second, name)
    return f'<p class="read-out" role="status">{html.escape(finding)}</p>{answers}'


def _without_new_blank(output: TaskOutput, other: TaskOutput) -> TaskOutput:
    """`output` without the blank that was put where `other` has a word, so that its other blanks can be compared."""
    if not isinstance(output, FillMaskOutput) or not isinstance(other, FillMaskOutput):
        return output
    if len(output.predictions) != len(other.predictions) + 1:
        return output
    pairs = zip(output.tokens, other.tokens, strict=False)
    same = next((place for place, (one, another) in enumerate(pairs) if one.id != another.id), 0)
    new = sum(token.is_blank for token in output.tokens[:same])
    return replace(output, predictions=output.predictions[:new] + output.predictions[new + 1 :])


def _surprise_changed(before: float, after: float) -> str:
    """A sentence on how a text's bits per token changed."""
    was, now = number(before, ".2f"), number(after, ".2f")
    if was == now:
        return _("Nothing that shows: the surprise stays at {bits} bits per token.", bits=now)
    if after > before:
        return _("The surprise rises from {was} to {now} bits per token.", was=was, now=now)
    return _("The surprise falls from {was} to {now} bits per token.", was=was, now=now)


_Shares = dict[str, float]
"""The candidates for one answer (words for a blank, labels or spans), each with its share, from 0 to 1."""

_NO_ANSWER = N_("no answer in this text")


def _shares(output: TaskOutput) -> list[_Shares]:
    """The candidates of an answer, for each blank; of those that read alike, the likeliest. Empty for written texts."""
    match output:
        case FillMaskOutput():
            named = [[(each.text, each.score) for each in blank] for blank in output.predictions]
        case SentimentOutput():
            named = [[(each.text, each.score) for each in output.scores]]
        case TeachOutput():
            right = (Prediction(_("correct"), output.accuracy), Prediction(_("wrong"), 1 - output.accuracy))
            shares = output.predictions[0].scores if output.predictions else right
            named = [[(each.text, each.score) for each in shares]]
        case SentencePairOutput():
            named = [[(each.text, each.score) for each in output.entailment]]
        case WrittenByOutput():
            named = [[(_("a model’s"), output.machine), (_("a person’s"), 1 - output.machine)]]
        case EndingsOutput():
            named = [[(each.text, each.follows) for each in output.endings]]
        case QuestionAnsweringOutput():
            named = [[*((each.text, each.score) for each in output.answers), (_(_NO_ANSWER), output.no_answer_score)]]
        case NamesOutput():
            word = output.decisive
            kinds = output.kinds_of(word).items()
            named = [[(f"{word.word}: {_('no name') if kind == OUTSIDE else kind}", share) for kind, share in kinds]]
        case WordInContextOutput():
            named = [[(each.text, each.score) for each in place.fitting] for place in output.occurrences]
        case _:
            named = []
    return [{text.strip(): score for text, score in reversed(candidates)} for candidates in named]


def _best(output: TaskOutput) -> str:
    """The answer as text, for the first blank if there are several."""
    if isinstance(output, QuestionAnsweringOutput):
        return output.answers[0].text.strip() if output.answered else _(_NO_ANSWER)
    first = _shares(output)[0]
    return max(first, key=first.__getitem__)


def _answer_changed(before: TaskOutput, after: TaskOutput) -> str:
    old, new = _best(before), _best(after)
    shares = _shares(after)[0]
    was, now = percent(_shares(before)[0][old]), percent(shares[new])
    if old != new:
        said = {"old": old, "was": was, "new": new, "now": now}
        if old in shares:
            left = percent(shares[old])
            return _(
                "The answer turns from “{old}” ({was}) into “{new}” ({now}); “{old}” falls to {left}.",
                left=left,
                **said,
            )
        return _("The answer turns from “{old}” ({was}) into “{new}” ({now}).", **said)
    if was == now:
        return _("Nothing that shows: “{answer}” keeps {share} of the probability.", answer=new, share=now)
    return _(
        "The answer stays “{answer}”, with {now} of the probability instead of {was}.", answer=new, now=now, was=was
    )


def _tables(before: Sequence[_Shares], after: Sequence[_Shares], name: str) -> str:
    """A table for each blank: a row per candidate, the likeliest after the change first, with both shares."""
    tables = []
    blanks = list(zip(before, after, strict=False))
    for blank, (old, new) in enumerate(blanks, start=1):
        rows = "".join(
            f'<tr><th scope="row">{_candidate(text, text in old and text in new)}</th>{_cell(old, text)}'
            f"{_cell(new, text, _way(old.get(text), new.get(text)))}</tr>"
            for text in sorted({**new, **old}, key=lambda text: (-new.get(text, 0.0), -old.get(text, 0.0)))
        )
        caption = f"<caption>{_('Blank {number}', number=blank)}</caption>" if len(blanks) > 1 else ""
        tables.append(
            f'<table class="step-table compared">{caption}<thead><tr><th scope="col"><span class="sr-only">'
            f'{_("answer")}</span></th><th scope="col">{_("Before")}</th><th scope="col">{html.escape(name)}</th>'
            f"</tr></thead><tbody>{rows}</tbody></table>"
        )
    return "".join(tables)


def _candidate(text: str, in_both: bool) -> str:
    shown = f"<bdi>{html.escape(text) or '∅'}</bdi>"
    return shown if in_both else f"<mark>{shown}</mark>"


def _way(before: float | None, after: float | None) -> str:
    """An arrow up or down; empty if a share is unknown or both read alike."""
    if before is None or after is None or percent(before) == percent(after):
        return ""
    said, arrow = (_("more than before"), "▲") if after > before else (_("less than before"), "▼")
    return f"<span class='way' aria-label='{html.escape(said)}'>{arrow}</span> "


def _cell(shares: _Shares, text: str, way: str = "") -> str:
    if text not in shares:
        return f"<td><span class='quiet'>{_('not among them')}</span></td>"
    share = shares[text]
    return (
        f"<td{' class=wins' if share == max(shares.values()) else ''}>"
        f"<span class='step-number'>{way}{percent(share)}</span>"
        f"<span class='step-bar' aria-hidden='true'><span style='width:{100 * share:.2f}%'></span></span></td>"
    )


def _written(output: TaskOutput) -> str:
    if isinstance(output, TranslationOutput):
        return output.translations[0].text
    assert isinstance(output, CompletionOutput)  # noqa: S101
    return output.text


def _text_changed(before: str, after: str) -> str:
    """A sentence on where two texts first differ."""
    if before == after:
        return _("Nothing that shows: the text is the same, word for word.")
    first, second = before.split(), after.split()
    pairs = zip(first, second, strict=False)
    same = next((place for place, (old, new) in enumerate(pairs) if old != new), min(len(first), len(second)))
    if same == len(first):
        return _("The text goes on: “{word}” comes after what was its end.", word=second[same])
    if same == len(second):
        return _("The text ends early, before “{word}”.", word=first[same])
    return _(
        "The texts part at word {place}: “{new}” instead of “{old}”.",
        place=same + 1,
        new=second[same],
        old=first[same],
    )


def _side_by_side(first: str, second: str, name: str) -> str:
    """Two texts in columns, with the words of each that the other lacks in `<mark>`."""
    words = first.split(" "), second.split(" ")
    marked = ["", ""]
    for change, *places in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for side, (start, end) in enumerate((places[:2], places[2:])):
            text = html.escape(" ".join(words[side][start:end]))
            space = " " if start and end > start else ""
            marked[side] += space + (text if change == "equal" or start == end else f"<mark>{text}</mark>")
    sides = "".join(
        f"<section><h4>{html.escape(title)}</h4><p class='written'><bdi>{text}</bdi></p></section>"
        for title, text in zip((_("Before"), name), marked, strict=True)
    )
    return f'<div class="columns forked compared">{sides}</div>'
