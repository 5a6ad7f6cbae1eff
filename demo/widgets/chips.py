"""The words of a text as chips, to be blanked out with a tap."""

import html
import re
from dataclasses import dataclass

from demo.language import N_, _
from demo.widgets.bars import direction
from models.text.characters import is_joint

MASK = "[MASK]"
FORGOTTEN = "something"
"""The word that replaces a mask of the visitor's own typing when it is brought back, as its word is not known."""

_MOST_CHIPS = 400
_MOST_CHARACTERS = 20_000
# Python's `\w` knows no combining marks, so before matching each is replaced by this one.
_ANY_JOINT = "\u0301"
_LETTERS = f"(?:[^\\W_]{_ANY_JOINT}*)+"
_WORD = re.compile(rf"\[MASK\]|<mask>|{_LETTERS}(?:['’\-]{_LETTERS})*")


@dataclass(frozen=True)
class Word:
    """A word of the text, from character `start` to `end` (exclusive)."""

    text: str
    start: int
    end: int

    @property
    def masked(self) -> bool:
        """Whether this is a blank."""
        return self.text in (MASK, "<mask>")


def words_of(text: str) -> tuple[Word, ...]:
    """The words and masks of `text` without the signs between them; text beyond `_MOST_CHARACTERS` is not read."""
    text = text[:_MOST_CHARACTERS]
    marked = text if text.isascii() else "".join(_ANY_JOINT if is_joint(each) else each for each in text)
    return tuple(Word(text[slice(*match.span())], *match.span()) for match in _WORD.finditer(marked))


def readable(text: str) -> str:
    """`text` with lone surrogates, which no page can show, as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def toggled(text: str, hidden: tuple[str, ...], index: int) -> tuple[str, tuple[str, ...]]:
    """The text with word `index` masked or brought back, and the words hidden behind its masks, in order."""
    words = words_of(text)
    if not 0 <= index < len(words):
        return text, hidden
    hidden = aligned(hidden, words)
    word = words[index]
    before = sum(each.masked for each in words[:index])
    if word.masked:
        new = hidden[before] or FORGOTTEN
        hidden = hidden[:before] + hidden[before + 1 :]
    else:
        new = MASK
        hidden = (*hidden[:before], word.text, *hidden[before:])
    return text[: word.start] + new + text[word.end :], hidden


def aligned(hidden: tuple[str, ...], words: tuple[Word, ...]) -> tuple[str, ...]:
    """One hidden word per mask; all are forgotten ("") when the visitor changed the number of masks by hand."""
    masks = sum(each.masked for each in words)
    return hidden if len(hidden) == masks else ("",) * masks


_BLANK_OUT = N_("Words of the text: choose one to blank it, or a blank to bring its word back")


def token_chips(text: str, purpose: str = "") -> str:
    """The text with each word as a button, pressed when it is masked; `purpose` says what the buttons do."""
    text = readable(text)
    words = words_of(text)
    if len(words) > _MOST_CHIPS or len(text) > _MOST_CHARACTERS:
        said = _(
            "Words can be chosen in texts of up to {most} words. Write {mask} instead.", most=_MOST_CHIPS, mask=MASK
        )
        return f"<p class='quiet'>{said}</p>"
    parts, position = [], 0
    for index, word in enumerate(words):
        parts.append(html.escape(text[position : word.start]))
        said = _("blank") if word.masked else html.escape(word.text)
        parts.append(
            f'<button type="button" class="chip" data-action="select" data-word="{index}" '
            f'aria-pressed="{str(word.masked).lower()}">'
            f"{'&nbsp;&nbsp;?&nbsp;&nbsp;' if word.masked else f'<bdi>{said}</bdi>'}"
            f"{f'<span class=sr-only>{said}</span>' if word.masked else ''}</button>"
        )
        position = word.end
    parts.append(html.escape(text[position:]))
    return (
        f'<div class="chips" dir="{direction(text.replace(MASK, ""))}" role="group" '
        f'aria-label="{html.escape(purpose or _(_BLANK_OUT))}">{"".join(parts)}</div>'
    )
