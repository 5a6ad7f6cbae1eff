"""A text that a model wrote, its tokens as one group of radio buttons: choosing one shows how it was chosen."""

import html
import math
from collections.abc import Sequence

from demo.page import ASSETS
from demo.plots.reading import percent
from models.outputs import CompletionOutput, GeneratedToken, TaskOutput, TranslationOutput

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
