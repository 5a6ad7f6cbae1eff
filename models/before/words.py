"""Words and n-grams as the models before Transformers read them: lower-cased, split as the Penn Treebank splits."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

PAD, UNKNOWN = 0, 1
LONGEST_NGRAM = 3

_PLAIN = str.maketrans("’‘“”—–", "''\"\"--")
_WORD = re.compile(r"[^\W_]+(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b|[^\W_]+(?:-[^\W_]+)*|[^\w\s]|_")

Gram = tuple[int, ...]
"""The ids of the words of an n-gram."""


@dataclass(frozen=True)
class Word:
    """A word or punctuation mark in lower case, and its characters `start` to `end` (exclusive) in the text."""

    text: str
    start: int
    end: int


def words_in(text: str) -> list[Word]:
    """The words and punctuation marks of `text`: “don't” is `do` and `n't`, “film's” is `film` and `'s`."""
    # A capital whose lower case is two characters would shift all later offsets.
    small = text.lower() if text.isascii() else "".join(low if len(low := each.lower()) == 1 else each for each in text)
    return [Word(found[0], *found.span()) for found in _WORD.finditer(small.translate(_PLAIN))]


def words_of(text: str) -> list[str]:
    """The words and punctuation marks of `text`, without offsets."""
    return [word.text for word in words_in(text)]


def grams_of(ids: Sequence[int]) -> list[Gram]:
    """The n-grams of one to three words, from left to right, except those with an unknown word."""
    places = ((start, start + size) for start in range(len(ids)) for size in range(1, LONGEST_NGRAM + 1))
    return [tuple(ids[start:end]) for start, end in places if end <= len(ids) and UNKNOWN not in ids[start:end]]


@dataclass(frozen=True)
class Vocabulary:
    """The ids of words and of n-grams; words of sst2 have the ids below `taught`."""

    words: dict[str, int]
    taught: int
    grams: dict[Gram, int]

    def ids(self, words: Sequence[str], *, pretrained: bool = False) -> list[int]:
        """The words' ids; words that only the language model has read are unknown unless `pretrained`."""
        found = (self.words.get(word, UNKNOWN) for word in words)
        return [each if pretrained or each < self.taught else UNKNOWN for each in found]

    def known_grams(self, words: Sequence[str]) -> list[Gram]:
        """The known n-grams of a text of `words`, from left to right."""
        return [gram for gram in grams_of(self.ids(words)) if gram in self.grams]
