"""The layer in which each written token was decided, as a strip under the text."""

import html
from collections.abc import Sequence

from demo.components.step_table import token_name
from demo.components.written_text import generated_of
from models.outputs import TaskOutput

_STEPS = 7
_HELP = (
    "Under each token stands the layer after which it first was the model’s likeliest next one, when the vector there "
    "is read by the model’s last step (the <em>logit lens</em>). “–”: likeliest after no layer; the settings chose it."
)


def decided_strip(output: TaskOutput, layers: Sequence[int | None]) -> str:
    """The written tokens with their layers, which count from 0 here and from 1 on the page; nothing without layers."""
    generated = generated_of(output)
    if not layers or len(layers) != len(generated):
        return ""
    last = max((layer for layer in layers if layer is not None), default=0)
    cells = "".join(_cell(each.token.text, layer, last) for each, layer in zip(generated, layers, strict=True))
    return (
        f'<details class="decided"><summary>{_finding(layers)}</summary>'
        f'<ol class="decided-strip" aria-label="The layer that decided each token">{cells}</ol>'
        f'<p class="quiet">{_HELP}</p></details>'
    )


def _finding(layers: Sequence[int | None]) -> str:
    """How early the tokens were decided; half is of those that any layer decided."""
    known = sorted(layer for layer in layers if layer is not None)
    never = len(layers) - len(known)
    if not known:
        return "Decided in which layer? No token was the likeliest after any"
    middle = known[(len(known) - 1) // 2]
    rest = f", {never} of {len(layers)} at none" if never else ""
    return f"Decided in which layer? Half of the tokens by layer {middle + 1}{rest}"


def _cell(text: str, layer: int | None, last: int) -> str:
    name = html.escape(token_name(text))
    if layer is None:
        return f'<li class="never" title="never the likeliest"><bdi>{name}</bdi><span>–</span></li>'
    step = round(_STEPS * (layer + 1) / (last + 1))
    return (
        f'<li title="decided in layer {layer + 1}"><bdi>{name}</bdi>'
        f'<span data-step="{max(1, step)}">{layer + 1}</span></li>'
    )
