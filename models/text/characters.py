"""Characters: normalisation, what says anything, bytes behind pieces, and true case."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

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


def without_spaces(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """`span` of `text`, `(start, end)`, without the spaces at its ends; empty where it holds nothing else."""
    held = text[slice(*span)]
    start = span[0] + len(held) - len(held.lstrip())
    return start, start + len(held.strip())


_UNSEEN = ("Cc", "Cf")
"""Unicode's categories of controls and of marks without a shape, such as spaces of no width."""


def says_anything(text: str) -> bool:
    """Whether there is more to it than spaces and what nobody sees."""
    return any(not each.isspace() and unicodedata.category(each) not in _UNSEEN for each in text)


_PIECE = re.compile("<0x([0-9A-F]{2})>")
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
BYTE_LEVEL: Final = {
    **{chr(byte): byte for byte in _PRINTABLE},
    **{chr(256 + rank): byte for rank, byte in enumerate(_OTHERS)},
}
"""GPT-2's alphabet: printable bytes stand for themselves, the others for characters from U+0100 on."""


def fallback_byte(piece: str) -> int | None:
    """The byte that a piece such as `<0xF0>` stands for, by which SentencePiece spells what it has no piece for."""
    found = _PIECE.fullmatch(piece)
    return int(found[1], 16) if found else None


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_CODE = re.compile(r"\S*(?:[\d@_/]|\w\.\w)\S*")
_ALWAYS_CAPITAL = re.compile(r"I(?:['’](?:m|d|ll|ve))?", re.IGNORECASE)
_EMPHASISED = 4
"""Letters of a word in capitals that is no abbreviation, where the words around it are small."""
_NO_ABBREVIATIONS = ("NOT", "NO", "ALL", "ANY", "AND", "BUT", "NOW", "YES", "YOU", "NEW", "ONE", "TWO", "TOO")


def true_cased(sentence: str, pieces: Callable[[str], int]) -> str:
    """`sentence` with the words in small letters that were typed in capitals; as many characters as before.

    Of a sentence in capitals these are all words, in others only those that the vocabulary knows as one piece, and of
    short ones (US, WHO) only two and more in a row. `pieces` says into how many a word is split: a word stays
    capitalised, or in capitals, where the vocabulary knows it so.
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
    """The spelling with the fewest pieces: small, capitalised or as it is; the first of a sentence begins `capital`."""
    small = "".join(each.lower() if len(each.lower()) == 1 else each for each in word)
    capitalised = word[0] + small[1:]
    if _ALWAYS_CAPITAL.fullmatch(word):
        return capitalised
    known = min((small, capitalised, word), key=pieces)
    return capitalised if capital and known == small else known
