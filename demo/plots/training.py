"""Training in pictures: the text as a model reads it while it learns, gradients by layer, and the course of a loss."""

import html
import math
from collections.abc import Iterable, Sequence

from demo.language import N_, _, ngettext, number
from models.outputs.base import Token
from models.outputs.training import BLANKED, EXCHANGED, Learned, LearnedPlace, PartGradient, TinyModelOutput
from models.wording import numbered

_NATS_A_STEP, _STEPS = 1.5, 7
"""The nats of loss in one step of colour, and the number of steps."""

FATES = {BLANKED: N_("blanked"), EXCHANGED: N_("exchanged"), "left": N_("left as it is")}
"""The names of what is done to a chosen token before the model reads it."""

_WIDTH, _HEIGHT, _LEFT, _BELOW, _TOP = 560, 210, 36, 26, 8
_LINES = (("loss", N_("the text that it reads")), ("kept", N_("the part kept out")))


def text_as_read(tokens: Sequence[Token], places: Sequence[LearnedPlace]) -> str:
    """HTML of the text: tokens that count in the colour of their loss, below what the model read in their place."""
    by_position = {each.position: each for each in places}
    shown: list[str] = []
    for position, token in enumerate(tokens):
        if token.is_mark:
            continue
        space = "" if not shown or _touches(tokens, position) else " "
        word = html.escape(token.text.strip().removeprefix("##")) or "␣"
        place = by_position.get(position)
        shown.append(space + (f"<bdi>{word}</bdi>" if place is None else _learned(word, place)))
    return f'<p class="as-read">{"".join(shown)}</p>'


def _touches(tokens: Sequence[Token], position: int) -> bool:
    """Whether no space stands before a token; byte-level vocabularies count the space as a part of it."""
    token = tokens[position]
    return not token.text.startswith(" ") and tokens[position - 1].end == token.start


def _learned(word: str, place: LearnedPlace) -> str:
    step = min(_STEPS, int(place.loss / _NATS_A_STEP))
    over = f"<small>{html.escape(place.shown.strip())}</small>" if place.fate in (BLANKED, EXCHANGED) else ""
    kind = f"learned {place.fate}".strip()
    return f'<span class="{kind}"><i{f" data-step={step}" if step else ""}><bdi>{word}</bdi></i>{over}</span>'


def gradient_bars(gradients: Iterable[PartGradient]) -> str:
    """HTML with a bar per part of the network, as long as the norm of the gradient over its parameters."""
    gradients = list(gradients)
    longest = max((each.norm for each in gradients), default=0) or 1
    rows = "".join(
        f'<li><span class="bar-name">{_(numbered(each.part))}</span><span class="bar-track" aria-hidden="true">'
        f'<span style="width:{100 * each.norm / longest:.1f}%"></span></span>'
        f'<span class="bar-number" title="{_parameters(each.parameters)}">{number(each.norm, ".2f")}</span></li>'
        for each in gradients
    )
    return f'<ol class="bars gradients" aria-label="{_("Size of the gradient by part of the network")}">{rows}</ol>'


def _parameters(count: int) -> str:
    return ngettext("{count:,} parameter", "{count:,} parameters", count)


def loss_curve(output: TinyModelOutput, said: str) -> str:
    """SVG of the loss in nats by step: on the text read, on the part kept out, and of guessing; `said` describes it."""
    course, steps = output.course, max(output.steps, output.course[-1].step, 1)
    chance = math.log(len(output.alphabet)) if len(output.alphabet) > 1 else 0.0
    highest = max(chance, *(max(each.loss, each.kept_out) for each in course)) * 1.08 or 1.0

    def x(step: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 8) * step / steps

    def y(loss: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BELOW) * (1 - loss / highest)

    def line(kind: str, values: Iterable[tuple[Learned, float]]) -> str:
        points = " ".join(f"{x(each.step):.1f},{y(loss):.1f}" for each, loss in values)
        return f'<polyline class="{kind}" points="{points}"/>'

    ticks = "".join(
        f'<text x="{_LEFT - 6}" y="{y(nats) + 4:.1f}" text-anchor="end">{nats}</text>'
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y(nats):.1f}" y2="{y(nats):.1f}"/>'
        for nats in range(int(highest) + 1)
    )
    last = course[-1].step
    so_far = ngettext("{count} step", "{count} steps", last) if last else _("steps")
    drawn = (
        f'<svg class="loss-curve" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html.escape(said)}">{ticks}'
        f'<line class="chance" x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y(chance):.1f}" y2="{y(chance):.1f}"/>'
        f"{line('kept', ((each, each.kept_out) for each in course))}"
        f"{line('loss', ((each, each.loss) for each in course))}"
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}">0</text>'
        f'<text x="{min(x(last), _WIDTH - 8):.1f}" y="{_HEIGHT - 6}" text-anchor="end">{so_far}</text></svg>'
    )
    names = "".join(f'<span><i class="{kind}"></i>{_(name)}</span>' for kind, name in _LINES)
    guessing = _("guessing: ln {characters} = {loss:.2f}", characters=len(output.alphabet), loss=chance)
    legend = f'{names}<span><i class="chance"></i>{guessing}</span>'
    return f'{drawn}<p class="quiet curve-legend">{legend}</p>'
