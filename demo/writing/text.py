"""Written texts as HTML: tokens to choose among, the layer that decided each, and texts side by side."""

import html
import math
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby, takewhile

from demo.language import N_, _, ngettext
from demo.log.run import Run
from demo.plots.reading import percent
from demo.theme import script
from demo.widgets.runs import run_header
from demo.writing.table import token_name
from models.outputs.base import TaskOutput
from models.outputs.writing import CompletionOutput, GeneratedToken, TranslationOutput

CHOOSE = N_(
    "Choose a token with a click, a tap or the arrow keys to see how likely it was and what else could stand there."
)
_SEARCHED = 4
_STEPS = 7
_HELP = N_(
    "Under each token stands the layer after which it first was the model’s likeliest next one, when the vector there "
    "is read by the model’s last step (the <em>logit lens</em>). “–”: likeliest after no layer; the settings chose it."
)
_MARKED = N_("Marked: what the other text has not.")
_SEED = N_("Model and settings are the same; chance starts again from the seed where the texts part.")


def choosing() -> str:
    """JavaScript that triggers `select` with the step of the token chosen by pointer or keyboard."""
    return script("written_tokens.js")


def decided_strip(output: TaskOutput, layers: Sequence[int | None]) -> str:
    """The written tokens with the layer that decided each, from 0 here and from 1 on the page; empty without layers."""
    generated = generated_of(output)
    if not layers or len(layers) != len(generated):
        return ""
    last = max((layer for layer in layers if layer is not None), default=0)
    cells = "".join(_decided(each.token.text, layer, last) for each, layer in zip(generated, layers, strict=True))
    return (
        f'<details class="decided"><summary>{_when_decided(layers)}</summary>'
        f'<ol class="decided-strip" aria-label="{_("The layer that decided each token")}">{cells}</ol>'
        f'<p class="quiet">{_(_HELP)}</p></details>'
    )


def _when_decided(layers: Sequence[int | None]) -> str:
    """A sentence on how early the tokens were decided: the median over those that any layer decided."""
    known = sorted(layer for layer in layers if layer is not None)
    never = len(layers) - len(known)
    if not known:
        return _("Decided in which layer? No token was the likeliest after any")
    middle = known[(len(known) - 1) // 2] + 1
    if not never:
        return _("Decided in which layer? Half of the tokens by layer {layer}", layer=middle)
    return _(
        "Decided in which layer? Half of the tokens by layer {layer}, {never} of {tokens} at none",
        layer=middle,
        never=never,
        tokens=len(layers),
    )


def _decided(text: str, layer: int | None, last: int) -> str:
    name = html.escape(token_name(text))
    if layer is None:
        return f'<li class="never" title="{_("never the likeliest")}"><bdi>{name}</bdi><span>–</span></li>'
    step = max(1, round(_STEPS * (layer + 1) / (last + 1)))
    title = _("decided in layer {layer}", layer=layer + 1)
    return f'<li title="{title}"><bdi>{name}</bdi><span data-step="{step}">{layer + 1}</span></li>'


def written_text(prompt: str, output: TaskOutput, step: int = 0) -> str:
    """The prompt and the text after it; `step` is the number of the chosen token from 1, 0 for the last."""
    assert isinstance(output, CompletionOutput)  # noqa: S101
    if not output.generated:
        return _written(prompt)
    ending = ""
    if output.generated[-1].token.special:
        ending = _("The model ended the text itself.") + " "
    elif not output.finished:
        ending = _("You stopped it here.") + " "
    tokens = token_group(output, step or len(output.generated))
    return f"{_written(prompt, tokens)}<p class='quiet'>{ending}{_(CHOOSE)}</p>{_candidates(output)}"


def growing_text(prompt: str, text: str) -> str:
    """A text while it grows, without buttons for its tokens, so that every update is a small message."""
    return _written(prompt, f"{html.escape(text)}<span class='caret' aria-hidden='true'></span>", ' aria-live="off"')


def _written(prompt: str, after: str = "", attributes: str = "") -> str:
    """The prompt without trailing spaces, which no model reads, then the HTML `after` it."""
    read = html.escape(prompt.rstrip(" \t\u00a0"))
    return f'<p class="written" dir="auto"{attributes}><span class="prompt">{read}</span>{after}</p>'


def token_group(output: TaskOutput, step: int) -> str:
    """The written tokens as a radio group with number `step`, counted from 1, chosen.

    A token that is only some bytes of a character is shown with the next one.
    """
    tokens = "".join(
        _token(number, chunk, each, number == step)
        for number, (chunk, each) in enumerate(zip(chunks(output), generated_of(output), strict=True), start=1)
        if chunk or each.token.special or number == step
    )
    return f'<span role="radiogroup" aria-label="{_("Written tokens")}">{tokens}</span>'


def _token(number: int, chunk: str, generated: GeneratedToken, chosen: bool) -> str:
    shown = html.escape(chunk).replace("\n", "<br>")
    name = ""
    if not chunk.strip():
        end = generated.token.special
        said = _("end of the text") if end else _("a blank, a line break or part of a character")
        name = f' aria-label="{said}"'
        shown += f"<span class='end'>{_('end')}</span>" if end else ""
    return (
        f'<span class="token" role="radio" aria-checked="{str(chosen).lower()}" tabindex="{0 if chosen else -1}" '
        f'data-step="{number}"{name}>{shown}</span>'
    )


def _candidates(output: CompletionOutput) -> str:
    if len(output.candidates) < 2:
        return ""
    rows = "".join(
        f"<li><bdi>{html.escape(each.text.strip())}</bdi> <span class='quiet'>{_per_token(each.score)}</span></li>"
        for each in output.candidates
    )
    return f'<h3>{_("The drafts it kept, best first")}</h3><ol class="texts">{rows}</ol>'


def _per_token(score: float) -> str:
    return _("{share} of the probability per token", share=percent(math.exp(min(score, 0.0))))


def generated_of(output: TaskOutput) -> tuple[GeneratedToken, ...]:
    """The tokens that a decoder wrote, with their probabilities and alternatives."""
    assert isinstance(output, CompletionOutput | TranslationOutput)  # noqa: S101
    return output.generated


def chunks(output: TaskOutput) -> list[str]:
    """Split the text into a part for each token, without loss; some tokens are only bytes of a character."""
    generated = generated_of(output)
    text = output.translations[0].text if isinstance(output, TranslationOutput) else str(getattr(output, "text", ""))
    parts, position = [], 0
    for each in generated:
        if each.token.end >= 0:
            end = each.token.end
        else:
            # A run that was logged before tokens had offsets.
            piece = each.token.text if text.startswith(each.token.text, position) else each.token.text.strip()
            found = text.find(piece, position, position + len(piece) + _SEARCHED) if piece else position
            end = position if found < 0 or each.token.special else found + len(piece)
        parts.append(text[position:end])
        position = end
    if parts:
        # Text that matches no token goes to the last token that is text.
        last = max((index for index, each in enumerate(generated) if not each.token.special), default=0)
        parts[last] += text[position:]
    return parts


def several_texts(texts: Sequence[CompletionOutput], names: Sequence[str]) -> str:
    """The texts in columns, with the tokens marked at which each first differs from the others."""
    ids = [[each.token.id for each in text.generated] for text in texts]
    alike = _alike(ids)
    columns = ""
    for number, (text, name) in enumerate(zip(texts, names, strict=True)):
        others = [*ids[:number], *ids[number + 1 :]]
        # Where it first differs from the whole group, and from the text with which it shares the longest beginning.
        places = {alike, max(_alike([ids[number], other]) for other in others)}
        parts = (
            f"<mark>{html.escape(part)}</mark>" if place in places else html.escape(part)
            for place, part in enumerate(chunks(text))
        )
        columns += f"<section><h4>{html.escape(name)}</h4><p class='written'>{''.join(parts)}</p></section>"
    return (
        f'<div class="forked samples" role="status"><h3>{_where_they_part(texts, alike)}</h3>'
        f'<div class="columns columns-{len(texts)}">{columns}</div></div>'
    )


def _alike(texts: Sequence[Sequence[int]]) -> int:
    """The number of tokens, compared by id, that all the texts begin with."""
    return sum(1 for _same in takewhile(lambda ids: len(set(ids)) == 1, zip(*texts, strict=False)))


def _where_they_part(texts: Sequence[CompletionOutput], alike: int) -> str:
    """A sentence on after how many tokens the texts first differ, and in which tokens."""
    parting = [each.generated[alike] for each in texts if alike < len(each.generated)]
    both = len(texts) == 2
    if not parting:
        if both:
            return _("Both are the same text, token for token")
        return _("All {texts} are the same text, token for token", texts=len(texts))
    tokens = [f"{_quoted(each)} ({percent(each.probability)})" for each in parting]
    ends = [_("the end")] if len(parting) < len(texts) else []
    named = ", ".join([*dict.fromkeys(tokens), *ends])
    if not alike:
        return _("They part at the first token: {tokens}", tokens=named)
    if both:
        return ngettext(
            "Both begin with the same token, then they part: {tokens}",
            "Both begin with the same {count} tokens, then they part: {tokens}",
            alike,
            tokens=named,
        )
    return ngettext(
        "All {texts} begin with the same token, then they part: {tokens}",
        "All {texts} begin with the same {count} tokens, then they part: {tokens}",
        alike,
        texts=len(texts),
        tokens=named,
    )


def _quoted(each: GeneratedToken) -> str:
    return _("“<bdi>{token}</bdi>”", token=html.escape(token_name(each.token.text)))


def forked_text(step: int, before: TaskOutput, after: TaskOutput, run: Run) -> str:
    """`before` and `after`, the output of `run`, side by side; they first differ at token `step`, counted from 1."""
    old, new = generated_of(before), generated_of(after)
    old_ids, new_ids = ([each.token.id for each in tokens] for tokens in (old, new))
    matched = SequenceMatcher(None, old_ids, new_ids, autojunk=False)
    blocks = matched.get_matching_blocks()
    in_old = {block.a + offset for block in blocks for offset in range(block.size)}
    in_new = {block.b + offset for block in blocks for offset in range(block.size)}
    others = len(new) - len(in_new)
    finding = ngettext(
        "With {new} in place of {old}, {count} of {tokens} tokens differs",
        "With {new} in place of {old}, {count} of {tokens} tokens differ",
        others,
        new=_quoted(new[step - 1]),
        old=_quoted(old[step - 1]),
        tokens=len(new),
    )
    prompt = str(run.fields.get("prompt", ""))
    sides = (
        (_("As it was written"), before, in_old, ""),
        (_("Going on from the other token"), after, in_new, run_header(run)),
    )
    columns = "".join(
        f'<section aria-label="{title}"><h4>{title}</h4>{_written(prompt, _unshared(chunks(output), shared))}{below}'
        "</section>"
        for title, output, shared, below in sides
    )
    seed = f" {_(_SEED)}" if run.fields.get("strategy") == "sample" else ""
    return (
        f"<div class='forked'><h3>{finding}</h3><div class='columns'>{columns}</div>"
        f"<p class='quiet'>{_(_MARKED)}{seed}</p></div>"
    )


def _unshared(parts: Sequence[str], shared: set[int]) -> str:
    """The parts of a text, with those whose index is not in `shared` marked."""
    texts = groupby(enumerate(parts), key=lambda each: each[0] in shared)
    joined = ((is_shared, html.escape("".join(part for _place, part in each))) for is_shared, each in texts)
    return "".join(text if is_shared else f"<mark>{text}</mark>" for is_shared, text in joined)
