"""Controls that change the model in steps 3, 5 and 6: a query component, parts of a layer, temperature, patching."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

import gradio as gr
import numpy as np

from demo.language import N_, _
from demo.plots.reading import decimals, percent
from demo.plots.walk import entropy_figure, patched_figure
from demo.walk.step import Turn, number, place, plot, quiet, read_out
from demo.walk.view import Inside, InsideRequest
from demo.widgets.figure import drawn
from demo.widgets.notice import create_notice, noticed
from demo.widgets.tables import fold_out, named, table
from models.errors import InputError
from models.inside.outputs import Answers, Numbers, Patched, Temperatures, TurnedQuery

_MOST_ADDED = 8
_SHOWN_TOKENS = 8
_MOST_SCALE = 2


def create_query_turn(inside: Inside) -> Turn:
    """Create sliders that change one component of the followed token's query, and show its weights before and after."""
    gr.HTML(f"<h3>{_('Turn one number of the query')}</h3>", label=_("Turn the query"))
    with gr.Row(elem_classes="settings"):
        component = gr.Slider(1, 32, 1, step=1, label=_("Query number"), info=_("which of its d_k"))
        added = gr.Slider(
            -_MOST_ADDED, _MOST_ADDED, 0, step=1, label=_("Added to it"), info=_("0: as the model has it")
        )
    shown = place(_("Turned query"), "inside-turned")

    def numbers(request: InsideRequest, place: int, more: float) -> TurnedQuery:
        return inside.turn_query(request, max(int(place), 1) - 1, float(more))

    def draw(request: InsideRequest, place: int, more: float) -> Sequence[Any]:
        seen = numbers(request, place, more)
        return gr.update(maximum=len(seen.query), value=seen.component + 1), _turned_query(seen, float(more))

    return Turn("query", [component, added], [component, shown], numbers, draw)


def _turned_query(seen: TurnedQuery, added: float) -> str:
    name, component = named(seen.tokens[seen.position]), seen.component + 1
    own = decimals(seen.query[seen.component])
    moved = int(np.abs(seen.after - seen.before).argmax())
    if added:
        said = _(
            "With number {component} of the query at {value} instead of {own}, “{name}” gives {after} to “{other}” "
            "instead of {before}.",
            component=component,
            value=decimals(seen.value),
            own=own,
            name=name,
            after=percent(seen.after[moved]),
            other=named(seen.tokens[moved]),
            before=percent(seen.before[moved]),
        )
    else:
        said = _(
            "Number {component} of the query of “{name}” is {own}, as the model has it. Number {strongest} moves these "
            "weights most.",
            component=component,
            name=name,
            own=own,
            strongest=seen.strongest + 1,
        )
    most = np.argsort(-np.maximum(seen.before, seen.after), kind="stable")[:_SHOWN_TOKENS]
    rows = [(named(seen.tokens[key]), seen.before[key], seen.after[key]) for key in sorted(most)]
    every = [
        (named(token), number(before, 4), number(after, 4))
        for token, before, after in zip(seen.tokens, seen.before, seen.after, strict=True)
    ]
    as_table = table((_("token"), _("as it is"), _("turned")), every)
    of_all = fold_out(_("All weights as a table"), as_table, _("Weights before and after"))
    return read_out(said) + _before_and_after(rows, _("Weights as they are, and turned")) + of_all


def create_block_turn(inside: Inside) -> Turn:
    """Create sliders that scale the chosen layer's feed-forward part and head, and show the answer before and after."""
    explained = _(
        "The network runs once more with the part’s output times your number, and answers as it does at its end."
    )
    gr.HTML(f"<h3>{_('Turn a part of this layer')}</h3>{quiet(explained)}", label=_("Turn the layer"))
    scale: dict[str, Any] = {"minimum": 0, "maximum": _MOST_SCALE, "value": 1, "step": 0.25}
    with gr.Row(elem_classes="settings"):
        feed_forward = gr.Slider(**scale, label=_("Feed-forward ×"), info=_("0: off, 1: as it is"))
        head = gr.Slider(**scale, label=_("Attention ×"), info=_("what the chosen head hands on"))
    shown = place(_("Turned layer"), "inside-turned")

    def numbers(request: InsideRequest, feed_forward: float, head: float) -> Answers:
        return inside.turn_block(request, float(feed_forward), float(head))

    def draw(request: InsideRequest, feed_forward: float, head: float) -> Sequence[str]:
        return (_turned_block(request, numbers(request, feed_forward, head), feed_forward, head),)

    return Turn("layer", [feed_forward, head], [shown], numbers, draw)


def _turned_block(request: InsideRequest, seen: Answers, feed_forward: float, head: float) -> str:
    before, after = seen.probabilities
    first, last = (_quoted(seen, row) for row in (before, after))
    parts = []
    if feed_forward == 0:
        parts.append(_("the feed-forward layer off"))
    elif feed_forward != 1:
        parts.append(_("the feed-forward layer × {scale:g}", scale=feed_forward))
    if head == 0:
        parts.append(_("head {head} off", head=request.head + 1))
    elif head != 1:
        parts.append(_("head {head} × {scale:g}", head=request.head + 1, scale=head))
    turned = _("{first} and {second}", first=parts[0], second=parts[1]) if len(parts) == 2 else "".join(parts)
    if not parts:
        said = _("All parts are on, and the answer is {answer}.", answer=first)
    elif before.argmax() == after.argmax():
        said = _(
            "With {parts} in layer {layer}, the answer stays {answer}; it had {share}.",
            parts=turned,
            layer=request.layer + 1,
            answer=last,
            share=percent(before.max()),
        )
    else:
        said = _(
            "With {parts} in layer {layer}, the answer is {answer} instead of {before}.",
            parts=turned,
            layer=request.layer + 1,
            answer=last,
            before=first,
        )
    rows = [(_word(each), *pair) for each, *pair in zip(seen.choices, before, after, strict=True)]
    return read_out(said) + _before_and_after(rows, _("The answer as it is, and turned"))


def create_temperature(inside: Inside) -> Turn:
    """Create a slider for the last softmax's temperature, with the answer there and the entropy at every one."""
    title = _("Turn the temperature")
    gr.HTML(f"<h3>{title}</h3>", label=title)
    with gr.Row(elem_classes="settings"):
        slider = gr.Slider(
            0.1, 3, 1, step=0.1, label=_("Temperature T"), info=_("each logit is divided by it; 1: as it is")
        )
    shown, curve = place(_("Answer at this temperature"), "inside-turned"), plot(_("Entropy by temperature"))

    def numbers(request: InsideRequest, _temperature: float) -> Temperatures:
        return inside.temperatures(request)

    def draw(request: InsideRequest, temperature: float) -> Sequence[Any]:
        seen = inside.temperatures(request)
        at = int(np.abs(seen.temperatures - float(temperature)).argmin())
        return _at_temperature(seen, at), drawn(entropy_figure(seen, at))

    return Turn("temperature", [slider], [shown, curve], numbers, draw)


def _at_temperature(seen: Temperatures, at: int) -> str:
    as_it_is = int(np.abs(seen.temperatures - 1).argmin())
    before, after = seen.answers.probabilities[as_it_is], seen.answers.probabilities[at]
    best = int(before.argmax())
    values = {
        "temperature": decimals(float(seen.temperatures[at])),
        "word": _word(seen.answers.choices[best]),
        "share": percent(after[best]),
        "entropy": decimals(float(seen.entropies[at])),
    }
    if at == as_it_is:
        said = _(
            "At T = {temperature}, “{word}” has {share} of the probability, and the entropy is {entropy} bits.",
            **values,
        )
    else:
        said = _(
            "At T = {temperature}, “{word}” has {share} of the probability, and the entropy is {entropy} bits; at T = "
            "1 it is {share_before}, and {entropy_before} bits.",
            **values,
            share_before=percent(before[best]),
            entropy_before=decimals(float(seen.entropies[as_it_is])),
        )
    rows = [(_word(each), *pair) for each, *pair in zip(seen.answers.choices, before, after, strict=True)]
    explained = _(
        "<em>Entropy</em> is how many bits of surprise the choice has on average: 0 where one choice has all of the "
        "probability, most where all have the same. A low temperature sharpens the answer, a high one flattens it; the "
        "order of the choices stays."
    )
    return f"{read_out(said)}{_before_and_after(rows, _('The answer at T = 1, and at yours'))}{quiet(explained)}"


_PATCH_TEXT = N_(
    "Two sentences are read. Then the second is read again, once for each layer, and there the vector of its marked "
    "word is exchanged for that of the word marked in the first: <em>patching</em>. The layer after which the answer "
    "turns back is the one in which the word’s meaning was read from it. Mark a word in each with asterisks."
)
PATCHES = {
    N_("a capital"): ["The capital of *France* is [MASK].", "The capital of *Italy* is [MASK]."],
    N_("a verdict, for a judge of sentiment"): ["The film was *wonderful*.", "The film was *terrible*."],
    N_("a story, for one that writes on"): [
        "One day, *Lily* went to the park with [MASK]",
        "One day, *Tom* went to the park with [MASK]",
    ],
}


def create_patch(inside: Inside) -> Turn:
    """Create fields for two sentences with a marked word each; show the answer by the layer where one is patched."""
    gr.HTML(f"<h3>{_('Carry a word into another sentence')}</h3>{quiet(_(_PATCH_TEXT))}", label=_("Patching"))
    there, here = PATCHES["a capital"]
    with gr.Row(elem_classes="settings patched"):
        fields = [
            gr.Textbox(there, label=_("Carried from"), max_lines=2),
            gr.Textbox(here, label=_("Carried into"), max_lines=2),
        ]
    notice = create_notice()
    tried = gr.Examples(
        list(PATCHES.values()),
        fields,
        example_labels=[_(name) for name in PATCHES],
        label=_("Sentences"),
        api_visibility="private",
    )
    shown, curve = place(_("Answer by layer"), "inside-turned"), plot(_("Answer by layer of the patch"))

    def numbers(request: InsideRequest, there: str, here: str) -> Patched | str:
        """Return the result, or the sentence of an `InputError`, so that the rest of the step is still drawn."""
        try:
            return inside.patch(request, there, here)
        except InputError as error:
            return _(error.sentence)

    def draw(request: InsideRequest, there: str, here: str) -> Sequence[Any]:
        seen = numbers(request, there, here)
        if isinstance(seen, str):
            return noticed(seen), "", None
        return noticed(""), _patched(seen), drawn(patched_figure(seen))

    return Turn("patch", [*fields], [notice, shown, curve], numbers, draw, tried.load_input_event)


def _patched(seen: Patched) -> str:
    there, here = named(seen.there), named(seen.here)
    alone, own, *by_layer = seen.answers.probabilities
    first, second = int(alone.argmax()), int(own.argmax())
    one, other = (_("“{word}”", word=_word(seen.answers.choices[each])) for each in (first, second))
    carried = [layer for layer, row in enumerate(by_layer) if row[first] > row[second]]
    last = carried[-1] if carried else -1
    if first == second:
        said = _("Both sentences answer {one}, so nothing can turn. Choose two that differ.", one=one)
    elif not carried:
        said = _(
            "“{there}” never makes {one} likelier than {other}: more than this word carries the answer.",
            there=there,
            one=one,
            other=other,
        )
    elif last == len(by_layer) - 1:
        said = _(
            "“{there}” makes {one} likelier than {other} even after the last layer: the answer is read at this word.",
            there=there,
            one=one,
            other=other,
        )
    else:
        values = {
            "there": there,
            "here": here,
            "one": one,
            "other": other,
            "carried": percent(by_layer[last][first]),
            "again": percent(by_layer[last + 1][second]),
        }
        if last:
            said = _(
                "“{there}” put in as late as after layer {layer} makes {one} ({carried}) likelier than {other}.",
                layer=last,
                **values,
            )
        else:
            said = _("“{there}” put in before layer 1 makes {one} ({carried}) likelier than {other}.", **values)
        said += " " + _(
            "After layer {layer} it comes too late, and {other} leads again ({again}): what the answer needs of "
            "“{here}” has been read by then.",
            layer=last + 1,
            **values,
        )
    rows = [
        (_after(layer), *(number(share, 4) for share in row[[first, second]])) for layer, row in enumerate(by_layer)
    ]
    as_table = table((_("put in"), one, other), rows)
    alone_said = _(
        "By itself, the first sentence answers {one} ({one_share}), the second {other} ({other_share}).",
        one=one,
        one_share=percent(alone.max()),
        other=other,
        other_share=percent(own.max()),
    )
    shown = fold_out(_("The answer by layer as a table"), as_table, _("Answer by layer"))
    return read_out(said) + quiet(alone_said) + shown


def _after(layer: int) -> str:
    return _("after layer {layer}", layer=layer) if layer else _("before layer 1")


def _before_and_after(rows: Iterable[tuple[str, float, float]], name: str) -> str:
    """HTML bars of the shares after a change, each with a line where it was before; rows are (name, before, after)."""
    shown = "".join(
        f'<li><span class="bar-name">{what}</span><span class="bar-track" aria-hidden="true">'
        f'<span style="width:{100 * after:.2f}%"></span><i style="left:{100 * before:.2f}%"></i></span>'
        f'<span class="bar-number">{percent(after)} '
        f"<small>{_('was {share}', share=percent(before))}</small></span></li>"
        for what, before, after in rows
    )
    return f'<ol class="bars turned" aria-label="{name}">{shown}</ol>'


def _quoted(seen: Answers, row: Numbers) -> str:
    best = int(row.argmax())
    return _("“{word}” ({share})", word=_word(seen.choices[best]), share=percent(row[best]))


def _word(choice: str) -> str:
    return f"<bdi>{html.escape(choice.strip() or '␣')}</bdi>"
