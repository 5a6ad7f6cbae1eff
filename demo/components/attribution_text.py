"""Attribution as coloured text: which tokens pushed a score up (blue, +) and which down (orange, −)."""

import html
from collections.abc import Sequence

from demo.components.direction import direction
from demo.plots.template import label
from models.outputs import Attribution, Token
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
    """What to show of the text, and its score; marks of the model's own have none, and are left out."""
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
