"""Pairs of single words, found in the sentence pairs: nobody translates a lone word there, and visitors type them.

A word and its translation are those that IBM model 1 (Brown et al., 1993, as NLTK fits it) thinks likeliest for each
other in both directions.
"""

import random
import re
import string
from collections import Counter
from dataclasses import dataclass

from nltk.translate import AlignedSent, IBMModel1

from training.copying import invented_name
from training.parallel_text import Pair

ITERATIONS = 4
LONGEST_SENTENCE = 8
SEEN_AT_LEAST = 6
LIKELY = 0.3
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ENDS = (("", ""), (".", "."), ("!", " !"))


@dataclass(frozen=True)
class Copies:
    """How many lone names and figures to make up, which are the same in both languages."""

    names: int = 800
    figures: int = 1_500


MADE_UP = Copies()


def lexicon(pairs: list[Pair]) -> list[Pair]:
    """Lower-case words of short sentence pairs, each with the word that it and no other is translated by."""
    split = [(_WORD.findall(pair.english.lower()), _WORD.findall(pair.french.lower())) for pair in pairs]
    short = [(english, french) for english, french in split if 0 < len(english) <= LONGEST_SENTENCE and french]
    seen = Counter(word for english, _ in short for word in set(english))
    into_french = _likeliest([AlignedSent(french, english) for english, french in short])
    into_english = _likeliest([AlignedSent(english, french) for english, french in short])
    return [
        Pair(english, french)
        for english, (french, share) in sorted(into_french.items())
        if seen[english] >= SEEN_AT_LEAST and share >= LIKELY
        if into_english.get(french, ("", 0.0)) >= (english, LIKELY) and into_english[french][0] == english
    ]


def lone_words(pairs: list[Pair], seed: int, copies: Copies = MADE_UP) -> list[Pair]:
    """The lexicon of `pairs` as visitors type words, small or with a capital and perhaps a mark; and lone copies."""
    chance = random.Random(seed)
    lone = []
    for word in lexicon(pairs):
        for capital in (False, True):
            end, french_end = chance.choice(_ENDS) if capital else _ENDS[0]
            english, french = (word.english.capitalize(), word.french.capitalize()) if capital else word
            lone.append(Pair(english + end, french + french_end))
    made_up = [invented_name(chance) for _ in range(copies.names)]
    made_up += ["".join(chance.choices(string.digits, k=chance.randint(1, 6))) for _ in range(copies.figures)]
    return lone + [Pair(same, same) for same in made_up]


def _likeliest(aligned: list[AlignedSent]) -> dict[str, tuple[str, float]]:
    """For each word of the second sentences the likeliest one of the first, with its share of the probability."""
    table = IBMModel1(aligned, ITERATIONS).translation_table
    best: dict[str, tuple[str, float]] = {}
    for target, sources in table.items():
        for source, share in sources.items():
            if source and share > best.get(source, ("", 0.0))[1]:
                best[source] = (target, share)
    return best
