"""Characters: joining marks, visible text, the bytes that pieces stand for, and true case."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

JOINERS = "\u200c\u200d"
"""Characters of no width between two characters of one word or one emoji."""

_SKIN_TONES = "".join(map(chr, range(0x1F3FB, 0x1F400)))
# Scripts without spaces, where any letter may begin a word, by how the Unicode names of their characters begin.
_WITHOUT_SPACES = (
    "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "BOPOMOFO", "YI ", "THAI", "LAO", "KHMER",
    "MYANMAR", "TIBETAN", "JAVANESE", "BALINESE", "TAI ", "NEW TAI",
)  # fmt: skip


@lru_cache(4096)
def is_joint(character: str) -> bool:
    """Return whether a character only modifies or joins its neighbours: accents, vowel signs, joiners, skin tones."""
    return unicodedata.category(character)[0] == "M" or character in JOINERS or character in _SKIN_TONES


@lru_cache(4096)
def is_of_a_spaced_word(character: str) -> bool:
    """Return whether a character is a letter or digit of a script that separates words by spaces."""
    return character.isalnum() and not unicodedata.name(character, "").startswith(_WITHOUT_SPACES)


def inside_words(text: str) -> NDArray[np.bool_]:
    """Return for each place `[0, len(text)]` of a text whether the characters before and after it are of one word.

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
    """The `offsets` of tokens, `(start, end)` each, extended over the marks after them that no token begins with.

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


def without_spaces(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Return `span` of `text`, `(start, end)`, without the spaces at its ends; it is empty if it holds only spaces."""
    held = text[slice(*span)]
    start = span[0] + len(held) - len(held.lstrip())
    return start, start + len(held.strip())


_UNSEEN = ("Cc", "Cf")
"""Unicode's categories of controls and of invisible format characters, such as the zero-width space."""


def says_anything(text: str) -> bool:
    """Return whether `text` has any visible character."""
    return any(not each.isspace() and unicodedata.category(each) not in _UNSEEN for each in text)


_PIECE = re.compile("<0x([0-9A-F]{2})>")
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
BYTE_LEVEL: Final = {
    **{chr(byte): byte for byte in _PRINTABLE},
    **{chr(256 + rank): byte for rank, byte in enumerate(_OTHERS)},
}
"""GPT-2's alphabet: printable bytes are spelt as themselves, the others as characters from U+0100 on."""


def fallback_byte(piece: str) -> int | None:
    """The byte of a piece such as `<0xF0>`, by which SentencePiece spells text without a piece; None for others."""
    found = _PIECE.fullmatch(piece)
    return int(found[1], 16) if found else None


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_CODE = re.compile(r"\S*(?:[\d@_/]|\w\.\w)\S*")
_ALWAYS_CAPITAL = re.compile(r"I(?:['’](?:m|d|ll|ve))?", re.IGNORECASE)
_EMPHASISED = 4
"""A word in capitals of at least this many letters is no abbreviation, even among words in lower case."""
_NO_ABBREVIATIONS = ("NOT", "NO", "ALL", "ANY", "AND", "BUT", "NOW", "YES", "YOU", "NEW", "ONE", "TWO", "TOO")


def true_cased(sentence: str, pieces: Callable[[str], int]) -> str:
    """Return `sentence` with words that were typed in capitals in lower case; its length stays the same.

    In a sentence all in capitals these are all words; elsewhere only those that become one piece of the vocabulary, and
    short ones (US, WHO) only beside another word in capitals. `pieces` gives the number of pieces of a word, which
    keeps a capital or all of them if that spelling has the fewest.
    """
    codes = [match.span() for match in _CODE.finditer(sentence)]
    words = [
        match for match in _WORD.finditer(sentence) if not any(start <= match.start() < end for start, end in codes)
    ]
    shouted = [match[0].isupper() and match[0] != "I" for match in words]
    everything = any(shouted) and not any(character.islower() for character in sentence)
    text = list(sentence)
    for place, match in enumerate(words):
        word = match[0]
        beside = shouted[max(0, place - 1) : place] + shouted[place + 1 : place + 2]
        known = _as_known(word, pieces, capital=place == 0)
        is_word = pieces(known) == 1 < pieces(word) and (
            any(beside) or len(word) >= _EMPHASISED or word in _NO_ABBREVIATIONS
        )
        if everything or (shouted[place] and is_word):
            text[match.start() : match.end()] = known
    return "".join(text)


def _as_known(word: str, pieces: Callable[[str], int], *, capital: bool) -> str:
    """Return the spelling with the fewest pieces: lower case (capitalised if `capital`), capitalised or unchanged."""
    small = "".join(each.lower() if len(each.lower()) == 1 else each for each in word)
    capitalised = word[0] + small[1:]
    if _ALWAYS_CAPITAL.fullmatch(word):
        return capitalised
    known = min((small, capitalised, word), key=pieces)
    return capitalised if capital and known == small else known
