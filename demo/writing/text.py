"""A text as it was written: its tokens, which layer decided each, and where another run parts from it."""

import html
import math
from collections.abc import Sequence
from difflib import SequenceMatcher

from demo.log.run import Run
from demo.plots.reading import percent
from demo.theme import ASSETS
from demo.widgets.runs import run_header
from demo.writing.table import token_name
from models.outputs import CompletionOutput, GeneratedToken, TaskOutput, TranslationOutput

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


_SEARCHED = 4
_END = "<span class='end'>end</span>"
CHOOSE = (
    "Choose a token with a click, a tap or the arrow keys to see how likely it was and what else could stand there."
)


def choosing() -> str:
    """Run in the page: tells which token was chosen, by pointer or by keyboard."""
    return (ASSETS / "scripts" / "written_tokens.js").read_text(encoding="utf-8")


def written_text(prompt: str, output: CompletionOutput, step: int = 0) -> str:
    """The prompt and what was written after it; `step` counts the chosen token from 1, 0 for none."""
    if not output.generated:
        return f'<p class="written" dir="auto"><span class="prompt">{html.escape(as_read(prompt))}</span></p>'
    ended = output.generated[-1].token.special
    stopped = "" if output.finished else "You stopped it here. "
    ending = "The model ended the text itself. " if ended else stopped
    return (
        f'<p class="written" dir="auto"><span class="prompt">{html.escape(as_read(prompt))}</span>'
        f"{token_group(output, step)}</p>"
        f"<p class='quiet'>{ending}{CHOOSE}</p>{_candidates(output)}"
    )


def growing_text(prompt: str, text: str) -> str:
    """A text while it grows: nothing but the text, so that every token is a small message."""
    return (
        f'<p class="written" dir="auto" aria-live="off"><span class="prompt">{html.escape(as_read(prompt))}</span>'
        f"{html.escape(text)}<span class='caret' aria-hidden='true'></span></p>"
    )


def as_read(prompt: str) -> str:
    """The prompt without the spaces at its end, which no model reads: what is written brings its own."""
    return prompt.rstrip(" \t\u00a0")


def token_group(output: TaskOutput, step: int = 0) -> str:
    """The written tokens to choose among; a token that is only some bytes of a character stands with the next one."""
    reached = step or 1
    tokens = "".join(
        _token(number, chunk, each, number == step, number == reached)
        for number, (chunk, each) in enumerate(zip(chunks(output), generated_of(output), strict=True), start=1)
        if chunk or each.token.special or number == reached
    )
    return f'<span role="radiogroup" aria-label="Written tokens">{tokens}</span>'


def generated_of(output: TaskOutput) -> tuple[GeneratedToken, ...]:
    """The tokens that a decoder wrote, with what they were worth."""
    assert isinstance(output, CompletionOutput | TranslationOutput)  # noqa: S101
    return output.generated


def chunks(output: TaskOutput) -> list[str]:
    """The part of the text that each token stands for, nothing lost: some tokens are only bytes of a character."""
    match output:
        case CompletionOutput():
            return _chunks(output.text, output.generated)
        case TranslationOutput():
            return _chunks(output.translations[0].text, output.generated)
        case _:
            raise TypeError(f"{type(output).__name__} was not written token by token")


def _chunks(text: str, generated: Sequence[GeneratedToken]) -> list[str]:
    parts, position = [], 0
    for each in generated:
        if each.token.end >= 0:
            parts.append(text[position : each.token.end])
            position = each.token.end
            continue
        # A run that was logged before tokens had places.
        piece = each.token.text if text.startswith(each.token.text, position) else each.token.text.strip()
        found = text.find(piece, position, position + len(piece) + _SEARCHED) if piece else position
        end = position if found < 0 or each.token.special else found + len(piece)
        parts.append(text[position:end])
        position = end
    if parts:
        # What no token was found for belongs to the last one that is text.
        last = max((index for index, each in enumerate(generated) if not each.token.special), default=0)
        parts[last] += text[position:]
    return parts


def _token(number: int, chunk: str, generated: GeneratedToken, chosen: bool, reachable: bool) -> str:
    shown = html.escape(chunk).replace("\n", "<br>")
    name = ""
    if not chunk.strip():
        end = generated.token.special
        name = f' aria-label="{"end of the text" if end else "a blank, a line break or part of a character"}"'
        shown += _END if end else ""
    return (
        f'<span class="token" role="radio" aria-checked="{str(chosen).lower()}" tabindex="{0 if reachable else -1}" '
        f'data-step="{number}"{name}>{shown}</span>'
    )


def _candidates(output: CompletionOutput) -> str:
    if len(output.candidates) < 2:
        return ""
    rows = "".join(
        f"<li><bdi>{html.escape(each.text.strip())}</bdi> "
        f"<span class='quiet'>{percent(math.exp(min(each.score, 0.0)))} of the probability per token</span></li>"
        for each in output.candidates
    )
    return f'<h3>The drafts it kept, best first</h3><ol class="texts">{rows}</ol>'


_MARKED = "Marked: what the other text has not."
_SEED = " Model and settings are the same; chance starts again from the seed where the texts part."


def forked_text(step: int, before: TaskOutput, after: TaskOutput, run: Run) -> str:
    """The texts `before` and `after`, the output of `run`, side by side; they part at token `step`, counted from 1."""
    old, new = ([each.token for each in generated_of(output)] for output in (before, after))
    matched = SequenceMatcher(None, [each.id for each in old], [each.id for each in new], autojunk=False)
    blocks = matched.get_matching_blocks()
    in_old = {block.a + offset for block in blocks for offset in range(block.size)}
    in_new = {block.b + offset for block in blocks for offset in range(block.size)}
    others = len(new) - len(in_new)
    finding = (
        f"With “<bdi>{html.escape(token_name(new[step - 1].text))}</bdi>” in place of "
        f"“<bdi>{html.escape(token_name(old[step - 1].text))}</bdi>”, {others} of {len(new)} tokens "
        f"{'differs' if others == 1 else 'differ'}"
    )
    prompt = str(run.fields.get("prompt", ""))
    sampled = run.fields.get("strategy") == "sample"
    return (
        f"<div class='forked'><h3>{finding}</h3><div class='columns'>"
        f"{_side('As it was written', prompt, chunks(before), in_old)}"
        f"{_side('Going on from the other token', prompt, chunks(after), in_new, run_header(run))}"
        f"</div><p class='quiet'>{_MARKED}{_SEED if sampled else ''}</p></div>"
    )


def _side(title: str, prompt: str, parts: list[str], shared: set[int], below: str = "") -> str:
    text, marking = "", False
    for index, part in enumerate(parts):
        if marking != (index not in shared):
            marking = not marking
            text += "<mark>" if marking else "</mark>"
        text += html.escape(part)
    return (
        f'<section aria-label="{title}"><h4>{title}</h4><p class="written" dir="auto">'
        f'<span class="prompt">{html.escape(as_read(prompt))}'
        f"</span>{text}{'</mark>' if marking else ''}</p>{below}</section>"
    )
