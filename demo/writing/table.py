"""A step of a decoder as a table: the token, its probability, and the likeliest others."""

import html
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from demo.language import N_, _, ngettext
from demo.plots.reading import percent
from demo.plots.template import label
from models.outputs.base import Token
from models.outputs.writing import Alternative, GeneratedToken

_SHOWN_BEFORE = 70
_SEARCHES = {
    "greedy": N_(
        "Greedy search takes the likeliest token, whatever comes after it. Nothing is drawn, so temperature, top-k, "
        "top-p and the loop guard play no part."
    ),
    "beam": N_(
        "Beam search keeps several drafts and compares whole texts, so a token that is not the likeliest here may win. "
        "Nothing is drawn, so temperature, top-k, top-p and the loop guard play no part."
    ),
}
_COPIES = N_(
    "The model alone lost a part of what had to be copied here. So the text was searched again, and within the copy "
    "only tokens that continue it could be taken, whatever the model preferred."
)


def step_table(
    number: int, before: str, generated: Sequence[GeneratedToken], fields: Mapping[str, Any], kept: int = 0
) -> str:
    """The step that chose token `number`, counted from 1, after the text `before`; the first `kept` were given.

    Each alternative has a button to go on from it, if the run was logged with the ids of its tokens.
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
    after = f"<th scope='col'>{_('after the settings')}</th>" if drawn else ""
    so_far = _("The text so far: {text}", text=f"{_tail(before)}<span class='caret' aria-hidden='true'></span>")
    return (
        f"<div class='step'><h3 aria-live='polite'>{_finding(number, each, len(generated), number <= kept)}</h3>"
        f"<p class='quiet'>{so_far}</p>"
        f"<table class='step-table'><caption class='sr-only'>"
        f"{_('The likeliest tokens at step {step}', step=number)}</caption><thead><tr>"
        f"<th scope='col'>{_('next token')}</th><th scope='col'>{_('the model’s probability')}</th>"
        f"{after}<th scope='col'><span class='sr-only'>{_('go on from it')}</span></th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table><p class='quiet'>{_explained(each, fields)}</p></div>"
    )


def _is(other: Alternative, token: Token) -> bool:
    """Whether an alternative is the token that was chosen; runs without ids are compared by text."""
    return other.text == token.text if other.id < 0 else other.id == token.id


def _finding(number: int, each: GeneratedToken, count: int, given: bool) -> str:
    if given:
        said = N_(
            "Step {step} of {count}: “<bdi>{token}</bdi>” was put in; the model gave it {share} of the probability."
        )
    elif each.copied:
        said = N_(
            "Step {step} of {count}: “<bdi>{token}</bdi>” was copied from your text; the model gave it {share} of the "
            "probability."
        )
    elif each.drawn is not None:
        said = N_(
            "Step {step} of {count}: “<bdi>{token}</bdi>” was drawn; the model gave it {share} of the probability, the "
            "settings made that {drawn}."
        )
    else:
        said = N_(
            "Step {step} of {count}: “<bdi>{token}</bdi>” was taken; the model gave it {share} of the probability."
        )
    return _(
        said,
        step=number,
        count=count,
        token=html.escape(token_name(each.token.text)),
        share=percent(each.probability),
        drawn=percent(each.drawn or 0),
    )


def _row(number: int, place: int, other: Alternative, chosen: bool, after: str) -> str:
    name = html.escape(token_name(other.text))
    action = f"<span class='chosen'>{_('chosen')}</span>" if chosen else ""
    if not chosen and other.id >= 0:
        action = (
            f"<button type='button' data-action='select' data-step='{number}' data-alternative='{place}' "
            f"aria-label='{_('Go on from {token} instead', token=name)}'>{_('go on')}</button>"
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
    """A cell with the probability of an alternative after the settings, or with the setting that cut it."""
    other = others[place]
    if other.drawn:
        return f"<td>{_bar(other.drawn)}</td>"
    top_k = int(fields.get("top_k", 0))
    # Tokens that the loop guard cuts do not count towards top-k.
    rank = sum(before.id not in barred for before in others[:place])
    if other.id in barred:
        cut = _("cut by the loop guard")
    else:
        cut = _("cut by top-k") if 0 < top_k <= rank else _("cut by top-p")
    return f"<td><span class='quiet'>{cut}</span></td>"


def _explained(each: GeneratedToken, fields: Mapping[str, Any]) -> str:
    """A sentence on how the run's settings changed the probabilities before the choice."""
    if each.copied:
        return _(_COPIES)
    if each.drawn is None:
        return _(_SEARCHES["greedy" if fields.get("strategy") == "greedy" else "beam"])
    temperature, top_k, top_p = float(fields["temperature"]), int(fields["top_k"]), float(fields["top_p"])
    if temperature < 1:
        done = [_("Temperature {temperature:g} makes the likely likelier", temperature=temperature)]
    elif temperature > 1:
        done = [_("Temperature {temperature:g} lifts the unlikely", temperature=temperature)]
    else:
        done = [_("Temperature {temperature:g} alters nothing", temperature=temperature)]
    if top_k:
        done.append(ngettext("top-k keeps the {count} likeliest", "top-k keeps the {count} likeliest", top_k))
    if top_p < 1:
        done.append(_("top-p keeps the likeliest that share {share}", share=percent(top_p)))
    if each.barred:
        same = fields["loop_guard"]
        done.append(_("the loop guard cuts what would say the same {tokens} tokens a third time", tokens=same))
    left = ngettext(
        "Of all tokens, {count:,} token was left to draw from.",
        "Of all tokens, {count:,} tokens were left to draw from.",
        each.left,
    )
    return f"{'; '.join(done)}. {left}"


def _tail(before: str) -> str:
    """The end of the text so far, on one line."""
    if not before.strip():
        return f"<em>{_('nothing yet')}</em>"
    text = before if len(before) <= _SHOWN_BEFORE else "…" + before[-_SHOWN_BEFORE:]
    return f"<bdi>{html.escape(text)}</bdi>"


def token_name(text: str) -> str:
    """The name of a token in a table: without its space, and a sign for white space alone."""
    return label(Token(text, text, 0))
