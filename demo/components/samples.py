"""Several texts after one beginning: one beside the next, or three at once, with the place where they part marked."""

import html
from collections.abc import Sequence

from demo.components.step_table import token_name
from demo.components.written_text import chunks
from demo.plots.reading import percent
from models.outputs import CompletionOutput, GeneratedToken


def beside(texts: Sequence[CompletionOutput], names: Sequence[str]) -> str:
    """The texts in columns, each up to the token where it parts from the others as they have it."""
    alike = _alike(texts)
    own = [_own(texts, number) for number in range(len(texts))]
    columns = "".join(
        f"<section><h4>{html.escape(name)}</h4><p class='written'>{_marked(text, {alike, place})}</p></section>"
        for text, name, place in zip(texts, names, own, strict=True)
    )
    return (
        f'<div class="forked samples" role="status"><h3>{_finding(texts, alike)}</h3>'
        f'<div class="columns columns-{len(texts)}">{columns}</div></div>'
    )


def _ids(text: CompletionOutput) -> list[int]:
    return [each.token.id for each in text.generated]


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """With how many tokens both begin."""
    shorter = min(len(first), len(second))
    return next((place for place in range(shorter) if first[place] != second[place]), shorter)


def _alike(texts: Sequence[CompletionOutput]) -> int:
    """With how many tokens all of them begin."""
    return min(_common(_ids(texts[0]), _ids(each)) for each in texts)


def _own(texts: Sequence[CompletionOutput], number: int) -> int:
    """At which token the text at `number` parts from the one that it has most in common with."""
    return max(_common(_ids(texts[number]), _ids(each)) for place, each in enumerate(texts) if place != number)


def _marked(text: CompletionOutput, places: set[int]) -> str:
    """The text with the tokens at `places` marked."""
    return "".join(
        f"<mark>{html.escape(part)}</mark>" if place in places else html.escape(part)
        for place, part in enumerate(chunks(text))
    )


def _finding(texts: Sequence[CompletionOutput], alike: int) -> str:
    """Where the texts part and with which tokens, in a sentence."""
    parting = [each.generated[alike] for each in texts if alike < len(each.generated)]
    number = "Both" if len(texts) == 2 else f"All {len(texts)}"
    if not parting:
        return f"{number} are the same text, token for token"
    begin = f"{number} begin with the same {alike} tokens" if alike > 1 else f"{number} begin with the same token"
    start = f"{begin}, then they part: " if alike else "They part at the first token: "
    ends = ["the end"] if len(parting) < len(texts) else []
    return start + ", ".join([*dict.fromkeys(map(_token, parting)), *ends])


def _token(each: GeneratedToken) -> str:
    return f"“<bdi>{html.escape(token_name(each.token.text))}</bdi>” ({percent(each.probability)})"
