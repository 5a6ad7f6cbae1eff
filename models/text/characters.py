"""Characters: which of them belong together in a word, in every script, and whether a text shows anything at all."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

JOINERS = "\u200c\u200d"
"""They stand between two characters of one word or one emoji, without a width of their own."""

_SKIN_TONES = "".join(map(chr, range(0x1F3FB, 0x1F400)))
# By the beginning of their characters' names: scripts that write without spaces, where a letter may begin a word.
_WITHOUT_SPACES = (
    "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "BOPOMOFO", "YI ", "THAI", "LAO", "KHMER",
    "MYANMAR", "TIBETAN", "JAVANESE", "BALINESE", "TAI ", "NEW TAI",
)  # fmt: skip


@lru_cache(4096)
def is_joint(character: str) -> bool:
    """Whether a character only changes or joins the ones around it: accents, vowel signs, joiners, skin tones."""
    return unicodedata.category(character)[0] == "M" or character in JOINERS or character in _SKIN_TONES


@lru_cache(4096)
def is_of_a_spaced_word(character: str) -> bool:
    """Whether a character is a letter or digit of a script that parts its words by spaces."""
    return character.isalnum() and not unicodedata.name(character, "").startswith(_WITHOUT_SPACES)


def inside_words(text: str) -> NDArray[np.bool_]:
    """For each place `[0, len(text)]` of a text, whether the characters before and after it are of one word.

    In scripts without spaces only a letter and its marks are.
    """
    inside = np.zeros(len(text) + 1, bool)
    before, goes_on, joined = False, False, False
    for place, character in enumerate(text):
        joint = is_joint(character)
        goes_on = before if joint else is_of_a_spaced_word(character)
        inside[place] = place > 0 and (joint or (before and goes_on) or (joined and not character.isspace()))
        before, joined = goes_on, character in JOINERS
    return inside


def over_marks(text: str, offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The characters of tokens, `(start, end)` each, with the marks after them that no token begins with.

    Tokenizers drop accents and vowel signs, or join them to their letter; they belong to the token before them.
    """
    reached = list(offsets)
    if text.isascii():
        return reached
    begun = {start for start, end in offsets if start < end}
    for place, (start, end) in enumerate(offsets):
        if start < end:
            while end < len(text) and end not in begun and is_joint(text[end]):
                end += 1
            reached[place] = (start, end)
    return reached


_UNSEEN = ("Cc", "Cf")
"""Unicode's categories of controls and of marks without a shape, such as spaces of no width."""


def says_anything(text: str) -> bool:
    """Whether there is more to it than spaces and what nobody sees."""
    return any(not each.isspace() and unicodedata.category(each) not in _UNSEEN for each in text)
