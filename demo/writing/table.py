"""Every step of a decoder as a table: the token, its probability, and the likeliest others."""

import html
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from demo.plots.reading import percent
from demo.plots.template import label
from models.outputs.base import Token
from models.outputs.writing import Alternative, GeneratedToken

_SHOWN_BEFORE = 70
_SEARCHES = {
    "greedy": "Greedy search takes the likeliest token, whatever comes after it. Nothing is drawn, so temperature, "
    "top-k, top-p and the loop guard play no part.",
    "beam": "Beam search keeps several drafts and compares whole texts, so a token that is not the likeliest here may "
    "win. Nothing is drawn, so temperature, top-k, top-p and the loop guard play no part.",
}
_COPIES = (
    "The model alone lost a part of what had to be copied here. So the text was searched again, and within the copy "
    "only tokens that continue it could be taken, whatever the model preferred."
)


def step_table(
    number: int, before: str, generated: Sequence[GeneratedToken], fields: Mapping[str, Any], kept: int = 0
) -> str:
    """The step that chose token `number`, counted from 1, after the text `before`; the first `kept` were given.

    Each alternative has a button to go on from it, where the run was logged with what that needs.
    """
    each = generated[number - 1]
    drawn = each.drawn is not None
    others = list(each.alternatives)
    if not any(_is(other, each.token) for other in others):
        others.append(Alternative(each.token.text, each.probability, each.token.id, each.drawn))
    rows = [
        _row(number, place, other, _is(other, each.token), _after(others, place, each.barred, fields) if drawn else "")
        for place, other in enumerate(others)
    ]
    after = "<th scope='col'>after the settings</th>" if drawn else ""
    return (
        f"<div class='step'><h3 aria-live='polite'>{_finding(number, each, len(generated), number <= kept)}</h3>"
        f"<p class='quiet'>The text so far: {_tail(before)}<span class='caret' aria-hidden='true'></span></p>"
        "<table class='step-table'><caption class='sr-only'>The likeliest tokens at step "
        f"{number}</caption><thead><tr><th scope='col'>next token</th><th scope='col'>the model’s probability</th>"
        f"{after}<th scope='col'><span class='sr-only'>go on from it</span></th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table><p class='quiet'>{_explained(each, fields)}</p></div>"
    )


def _is(other: Alternative, token: Token) -> bool:
    """Whether an alternative is the token that was chosen; runs without ids are compared by text."""
    return other.text == token.text if other.id < 0 else other.id == token.id


def _finding(number: int, each: GeneratedToken, count: int, given: bool) -> str:
    said = f"“<bdi>{html.escape(token_name(each.token.text))}</bdi>”"
    place = f"Step {number} of {count}: "
    own = f"the model gave it {percent(each.probability)} of the probability"
    if given:
        return f"{place}{said} was put in; {own}."
    if each.copied:
        return f"{place}{said} was copied from your text; {own}."
    if each.drawn is not None:
        return f"{place}{said} was drawn; {own}, the settings made that {percent(each.drawn)}."
    return f"{place}{said} was taken; {own}."


def _row(number: int, place: int, other: Alternative, chosen: bool, after: str) -> str:
    name = html.escape(token_name(other.text))
    action = "<span class='chosen'>chosen</span>" if chosen else ""
    if not chosen and other.id >= 0:
        action = (
            f"<button type='button' data-action='select' data-step='{number}' data-alternative='{place}' "
            f"aria-label='Go on from {name} instead'>go on</button>"
        )
    return (
        f"<tr{' class=wins' if chosen else ''}><th scope='row'><bdi>{name}</bdi></th>"
        f"<td>{_bar(other.score)}</td>{after}<td>{action}</td></tr>"
    )


def _bar(share: float) -> str:
    return (
        f"<span class='step-number'>{percent(share)}</span>"
        f"<span class='step-bar' aria-hidden='true'><span style='width:{100 * share:.2f}%'></span></span>"
    )


def _after(others: Sequence[Alternative], place: int, barred: Collection[int], fields: Mapping[str, Any]) -> str:
    """The share that the settings left of an alternative, or the name of the one that cut it."""
    other = others[place]
    if other.drawn:
        return f"<td>{_bar(other.drawn)}</td>"
    top_k = int(fields.get("top_k", 0))
    # What the loop guard cuts leaves its rank to the next.
    rank = sum(before.id not in barred for before in others[:place])
    cut = "the loop guard" if other.id in barred else "top-k" if 0 < top_k <= rank else "top-p"
    return f"<td><span class='quiet'>cut by {cut}</span></td>"


def _explained(each: GeneratedToken, fields: Mapping[str, Any]) -> str:
    """A sentence on how the run's settings changed the probabilities before the choice."""
    if each.copied:
        return _COPIES
    if each.drawn is None:
        return _SEARCHES["greedy" if fields.get("strategy") == "greedy" else "beam"]
    temperature, top_k, top_p = float(fields["temperature"]), int(fields["top_k"]), float(fields["top_p"])
    bends = (
        "makes the likely likelier"
        if temperature < 1
        else "lifts the unlikely"
        if temperature > 1
        else "alters nothing"
    )
    cuts = [f"top-k keeps the {top_k} likeliest"] if top_k else []
    cuts += [f"top-p keeps the likeliest that share {percent(top_p)}"] if top_p < 1 else []
    if each.barred:
        cuts.append(f"the loop guard cuts what would say the same {fields['loop_guard']} tokens a third time")
    left = f"{each.left:,} token{'s were' if each.left != 1 else ' was'} left to draw from"
    return f"Temperature {temperature:g} {bends}{''.join(f'; {cut}' for cut in cuts)}. Of all tokens, {left}."


def _tail(before: str) -> str:
    """The end of the text so far, on one line."""
    if not before.strip():
        return "<em>nothing yet</em>"
    text = before if len(before) <= _SHOWN_BEFORE else "…" + before[-_SHOWN_BEFORE:]
    return f"<bdi>{html.escape(text)}</bdi>"


def token_name(text: str) -> str:
    """A token as a table names it: its space left out, blanks named."""
    return label(Token(text, text, 0))
