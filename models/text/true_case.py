"""Texts in capitals as they would be written otherwise, for a vocabulary that knows few words in capitals."""

import re
from collections.abc import Callable

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_CODE = re.compile(r"\S*(?:[\d@_/]|\w\.\w)\S*")
_ALWAYS_CAPITAL = re.compile(r"I(?:['’](?:m|d|ll|ve))?", re.IGNORECASE)
_EMPHASISED = 4
"""Letters of a word in capitals that is no abbreviation, where the words around it are small."""
_NO_ABBREVIATIONS = frozenset(
    ["NOT", "NO", "ALL", "ANY", "AND", "BUT", "NOW", "YES", "YOU", "NEW", "ONE", "TWO", "TOO"]
)


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
