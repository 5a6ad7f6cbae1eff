"""A text that a model wrote, every token with its probability and what could have stood there."""

import html
import math

from demo.plots.reading import percent
from models.outputs import CompletionOutput, GeneratedToken

_SHOWN_ALTERNATIVES = 5
_SEARCHED = 4


def written_text(prompt: str, output: CompletionOutput) -> str:
    """The prompt and what was written after it; pointing at a token, or reaching it with Tab, says more."""
    if not output.generated:
        return f'<p class="written"><span class="prompt">{html.escape(prompt)}</span></p>'
    tokens = "".join(
        _token(chunk, each) for chunk, each in zip(_chunks(output), output.generated, strict=True) if chunk
    )
    ended = output.generated[-1].token.special
    stopped = "" if output.finished else "You stopped it here. "
    ending = "The model ended the text itself. " if ended else stopped
    return (
        f'<p class="written"><span class="prompt">{html.escape(prompt)}</span>{tokens}</p>'
        f"<p class='quiet'>{ending}Point at a token, or reach it with the Tab key, to see how likely it was and what "
        f"else could have stood there.</p>{_candidates(output)}"
    )


def _chunks(output: CompletionOutput) -> list[str]:
    """The part of the text that each token stands for, nothing lost: some tokens are only bytes of a character."""
    chunks, position = [], 0
    for each in output.generated:
        text = each.token.text.strip()
        found = output.text.find(text, position, position + len(text) + _SEARCHED) if text else position
        end = position if found < 0 or each.token.special else found + len(text)
        chunks.append(output.text[position:end])
        position = end
    return [*chunks[:-1], chunks[-1] + output.text[position:]]


def _token(chunk: str, generated: GeneratedToken) -> str:
    text = generated.token.text
    shown = html.escape(chunk).replace("\n", "<br>")
    others = "".join(
        f"<span><bdi>{html.escape(each.text.strip()) or '␣'}</bdi> {percent(each.score)}</span>"
        for each in generated.alternatives[:_SHOWN_ALTERNATIVES]
    )
    own = f"<b><bdi>{html.escape(text.strip()) or '␣'}</bdi> {percent(generated.probability)}</b>"
    return (
        f'<span class="token" tabindex="0">{shown}<span class="alternatives" role="tooltip">{own}{others}</span></span>'
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
