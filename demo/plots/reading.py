"""Pictures in words: formatted numbers, one link of an attention view, and the role of its head."""

import numpy as np
from numpy.typing import NDArray

from demo.language import N_, _, number
from demo.plots.template import label
from demo.plots.view import NOT_SHOWN, AttentionView, is_resting_place, own_keys, resting_places
from models.explain import head_roles as roles
from models.outputs.attention import MEAN, Attention, HeadRole
from models.outputs.base import Token

_SHOWN_UNSATURATED = 0.95
# Less than half a percent on marks and full stops is not worth a mention.
_LEAST_SAID = 0.005


def percent(share: float) -> str:
    """A share of one as visitors read it: `62 %`, `3.4 %`, `under 0.1 %`, `over 99.9 %`."""
    hundredths = 100 * share
    if hundredths < 0.1:
        return _("under {number:.1f}\u202f%", number=0.1)
    if 99.95 <= hundredths < 99.999:
        return _("over {number:.1f}\u202f%", number=99.9)
    digits = 0 if 9.95 <= hundredths <= 99 or hundredths >= 99.999 else 1
    return f"{number(hundredths, f'.{digits}f')}\u202f%"


def decimals(value: float, sign: str = "") -> str:
    """`value` with two decimals and a true minus sign; with `sign` “+”, positive numbers have a plus sign."""
    return number(value, f"{sign}.2f").replace("-", "\u2212")


def named(token: Token) -> str:
    """The name of a token in a sentence, never cut; whitespace and `NOT_SHOWN` have names, too."""
    return label(token) if token is NOT_SHOWN else token.text.strip() or label(token)


def place(view: AttentionView) -> str:
    """The layer and head of the weights in words, counted from 1 as visitors count them."""
    layer, head = view.layer, view.head
    match view.how:
        case "maximum":
            if layer == MEAN:
                return _("in one of all heads")
            return _("in one of the heads of layer {layer}", layer=layer + 1)
        case "rollout":
            last = layer if layer != MEAN else view.layers - 1
            return _("by the end of layer {layer}", layer=last + 1) if last else _("by the end of the first layer")
    if layer == MEAN and head == MEAN:
        return _("on average over all layers and heads")
    if layer == MEAN:
        return _("in head {head}, on average over all layers", head=head + 1)
    if head == MEAN:
        return _("in layer {layer}, on average over its heads", layer=layer + 1)
    return _("in layer {layer}, head {head}", layer=layer + 1, head=head + 1)


def strongest_link(view: AttentionView) -> tuple[int, int]:
    """The query and key of the strongest link between two different words, or of any link if there is no such pair.

    Marks such as [CLS] are left out: most heads rest on them, which tells nothing about the text. A weight counts by
    its ratio to an even share of its row, so that a token that may look at few others does not always win.
    """
    queries, keys = (np.array([not each.is_mark for each in axis]) for axis in (view.query_tokens, view.key_tokens))
    allowed = queries[:, None] & keys & ~view.masked
    if not view.two_texts:
        allowed &= ~np.eye(*allowed.shape, dtype=np.bool_)
    if not allowed.any():
        allowed = ~view.masked
    even_share = 1 / (~view.masked).sum(axis=1, keepdims=True)
    best = int(np.where(allowed, view.weights / even_share, -1.0).argmax())
    return divmod(best, len(keys))


def scale_top(view: AttentionView) -> float:
    """The weight drawn darkest: that of the strongest link or, if greater, the 95 % quantile over the words' cells.

    A scale up to the greatest weight of all would leave the words pale wherever special tokens take most.
    """
    words = [not token.special for token in view.key_tokens]
    shown = view.weights[:, words][~view.masked[:, words]]
    common = float(np.quantile(shown, _SHOWN_UNSATURATED)) if shown.size else 0.0
    return max(float(view.weights[strongest_link(view)]), common, 1e-6)


def wording(view: AttentionView) -> dict[str, str]:
    """Sentence templates that read out `view`, with placeholders for two words, `{from}` and `{to}`, and a `{share}`.

    `gives` is about a word that looks, `itself` about one that looks at itself, and `gets` about one that is looked at.
    `rest` adds the share of marks and full stops, and is empty where there are none or shares do not add up.
    """
    where = place(view)
    gone = view.left_out or resting_places(view.key_tokens)
    match view.how:
        case "rollout":
            has_come = _(
                "Of what stands at “{{from}}” {where}, {{share}} has come from “{{to}}”",
                where=where,
            )
            return {
                "gives": has_come,
                "itself": _(
                    "Of what stands at “{{from}}” {where}, {{share}} has come from “{{from}}” itself", where=where
                ),
                "gets": has_come,
                "rest": _("; {{share}} came from {places}", places=gone) if gone else "",
            }
        case "maximum":
            return {
                "gives": _("“{{from}}” gives up to {{share}} of its weight to “{{to}}” {where}", where=where),
                "itself": _("“{{from}}” gives up to {{share}} of its weight to itself {where}", where=where),
                "gets": _("“{{to}}” gets up to {{share}} of the weight of “{{from}}” {where}", where=where),
                "rest": "",
            }
    return {
        "gives": _("“{{from}}” gives {{share}} of its weight to “{{to}}” {where}", where=where),
        "itself": _("“{{from}}” gives {{share}} of its weight to itself {where}", where=where),
        "gets": _("“{{to}}” gets {{share}} of the weight of “{{from}}” {where}", where=where),
        "rest": _("; {{share}} went to {places}", places=gone) if gone else "",
    }


def link_to_read(view: AttentionView) -> tuple[int, int]:
    """The query to begin with, and the word that it gives most weight to; the strongest link if no query is known.

    Marks and full stops are left out unless there is nothing else.
    """
    if not 0 <= view.token < len(view.query_tokens):
        return strongest_link(view)
    row = np.where(view.masked[view.token], -1.0, view.weights[view.token])
    words = np.where(_rests(view), -1.0, row)
    return view.token, int((words if words.max() > 0 else row).argmax())


def _rests(view: AttentionView) -> NDArray[np.bool_]:
    """Whether each key is where heads rest that find nothing to add, or the column `NOT_SHOWN`; bool `[key]`."""
    return np.array([token is NOT_SHOWN or is_resting_place(token) for token in view.key_tokens], dtype=np.bool_)


def read_out(view: AttentionView) -> str:
    """A sentence about one word: its share for another word, the layer and head, and the share of marks and stops."""
    query, key = link_to_read(view)
    said, rests = wording(view), _rests(view)
    template = said["itself" if own_keys(view)[query] == key else "gives"]
    words = {"from": named(view.query_tokens[query]), "to": named(view.key_tokens[key])}
    missing = float(np.where(view.masked[query], 0, view.weights[query])[rests].sum())
    rest = said["rest"] if missing >= _LEAST_SAID and not rests[key] else ""
    share = percent(float(view.weights[query, key]))
    return f"{template.format(**words, share=share)}{rest.format(share=percent(missing))}."


def why_here(view: AttentionView) -> str:
    """A sentence that says why the attention reader opens at this head; empty for any other head."""
    if not view.telling:
        return ""
    word = named(view.query_tokens[link_to_read(view)[0]])
    return _(
        "None of the other {heads} heads gives so much of “{word}” to one content word.",
        heads=view.layers * view.heads - 1,
        word=word,
    )


_ROLES: dict[str, str] = {
    roles.PREVIOUS: N_("{share} of its weight goes to the token just before."),
    roles.NEXT: N_("{share} of its weight goes to the token just after."),
    roles.SAME: N_("{share} of its weight stays with the token itself."),
    roles.FIRST: N_(
        "{share} of its weight goes to the first token. Heads often rest there when they find nothing to add."
    ),
    roles.SEPARATOR: N_(
        "{share} of its weight goes to the marks where a text ends ([SEP] or &lt;/s&gt;). "
        "Heads often rest there when they find nothing to add."
    ),
    roles.PUNCTUATION: N_("{share} of its weight goes to punctuation marks."),
    roles.ELSEWHERE: N_("where a word is repeated, {share} of its weight goes to the word’s other places."),
    roles.BROAD: N_("it looks at everything nearly alike; {share} of its weight lies as an even spread would."),
    roles.NONE: N_("nothing that has a simple name; {share} of its weight lies outside the closest pattern."),
}


def role_of(view: AttentionView) -> HeadRole | None:
    """The role of the single head of `view`; `None` where several heads are combined."""
    if not view.of_one_head:
        return None
    attention = Attention(view.kind, view.weights[None, None], view.query_tokens, view.key_tokens, view.masked)
    (role,) = roles.head_roles(attention)
    return HeadRole(view.layer, view.head, role.role, role.share)


def said_role(role: HeadRole | None) -> str:
    """A sentence on `role`, as HTML; without a role, a hint to choose a single head."""
    if role is None:
        return _("Many heads are brought together here. Choose one head to read what it does by itself.")
    return _("What this head does with this text: {role}", role=_(_ROLES[role.role], share=percent(role.share)))
