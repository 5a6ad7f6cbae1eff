"""The role of a head over one text, in one plain sentence."""

from demo.plots.reading import percent
from demo.plots.view import AttentionView
from models.explain.head_roles import (
    BROAD,
    ELSEWHERE,
    FIRST,
    NEXT,
    NONE,
    PREVIOUS,
    PUNCTUATION,
    SAME,
    SEPARATOR,
    head_roles,
)
from models.outputs import Attention, HeadRole

_RESTING = "Heads often rest there when they find nothing to add."
_SAID = {
    PREVIOUS: "{share} of its weight goes to the token just before.",
    NEXT: "{share} of its weight goes to the token just after.",
    SAME: "{share} of its weight stays with the token itself.",
    FIRST: "{share} of its weight goes to the first token. " + _RESTING,
    SEPARATOR: "{share} of its weight goes to the marks where a text ends ([SEP] or &lt;/s&gt;). " + _RESTING,
    PUNCTUATION: "{share} of its weight goes to punctuation marks.",
    ELSEWHERE: "where a word is repeated, {share} of its weight goes to the word’s other places.",
    BROAD: "it looks at everything nearly alike; {share} of its weight lies as an even spread would.",
    NONE: "nothing that has a simple name; {share} of its weight lies outside the closest pattern.",
}


def role_of(view: AttentionView) -> HeadRole | None:
    """The role of the one head of `view`; none where several heads are brought together."""
    if not view.of_one_head:
        return None
    attention = Attention(view.kind, view.weights[None, None], view.query_tokens, view.key_tokens, view.masked)
    (role,) = head_roles(attention)
    return HeadRole(view.layer, view.head, role.role, role.share)


def said_role(role: HeadRole | None) -> str:
    """The sentence on `role`, as HTML; without one, how to come to one."""
    if role is None:
        return "Many heads are brought together here. Choose one head to read what it does by itself."
    return f"What this head does with this text: {_SAID[role.role].format(share=percent(role.share))}"
