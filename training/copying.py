"""Pairs that teach copying: names, figures and symbols exchanged on both sides for ones that nobody has seen."""

import random
import re
import string
from collections.abc import Callable

from training.parallel_text import Pair

NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
FIGURE = re.compile(r"\b\d+\b")
FINAL_MARK = re.compile(r"\s*[.!?]+$")
# An invented name opens with a consonant that is sounded, so that the French before it (de, le, que) stays right.
ONSETS = [
    "B",
    "Br",
    "C",
    "Ch",
    "D",
    "Dr",
    "F",
    "Fl",
    "G",
    "Gr",
    "J",
    "K",
    "Kl",
    "L",
    "M",
    "N",
    "P",
    "Pr",
    "R",
    "S",
    "St",
    "T",
    "Tr",
    "V",
    "W",
    "Z",
    "Zw",
]
VOWELS = ["a", "e", "i", "o", "u", "ai", "ei", "ou", "ia"]
MIDDLES = [
    "b",
    "bl",
    "ck",
    "d",
    "dr",
    "g",
    "l",
    "ll",
    "m",
    "n",
    "nd",
    "ng",
    "r",
    "rg",
    "rk",
    "s",
    "ss",
    "t",
    "tt",
    "v",
    "x",
    "z",
]
ENDINGS = ["", "", "n", "s", "r", "l", "k", "t", "m", "sky", "son", "wicz", "x"]
PICTURES = [*range(0x1F300, 0x1F320), *range(0x1F400, 0x1F440), *range(0x1F600, 0x1F645), 0x2764, 0x263A, 0x1F44D]


def with_copying(
    pairs: list[Pair],
    seed: int,
    names: float = 0.25,
    figures: float = 0.5,
    pictures: float = 0.015,
    casual: float = 0.04,
) -> list[Pair]:
    """`pairs` with something changed alike on both sides, each kind in its share of the pairs that allow it."""
    chance = random.Random(seed)
    changed = []
    for pair in pairs:
        if chance.random() < names:
            pair = exchange(pair, NAME, lambda _: invented_name(chance))
        if chance.random() < figures:
            pair = exchange(pair, FIGURE, lambda found: "".join(chance.choices(string.digits, k=len(found))))
        if chance.random() < casual:
            pair = Pair(FINAL_MARK.sub("", pair.english).lower(), FINAL_MARK.sub("", pair.french))
        if chance.random() < pictures:
            picture = chr(chance.choice(PICTURES))
            pair = Pair(f"{pair.english} {picture}", f"{pair.french} {picture}")
        changed.append(pair)
    return changed


def invented_name(chance: random.Random) -> str:
    """A name of two or three syllables that is unlikely to exist."""
    middle = "".join(chance.choice(VOWELS) + chance.choice(MIDDLES) for _ in range(chance.randint(1, 2)))
    return chance.choice(ONSETS) + middle + chance.choice(VOWELS) + chance.choice(ENDINGS)


def exchange(pair: Pair, kind: re.Pattern[str], replacement: Callable[[str], str]) -> Pair:
    """The pair with one match of `kind` that stands exactly once on both sides exchanged for its replacement."""
    english, french = kind.findall(pair.english), kind.findall(pair.french)
    for found in english:
        if english.count(found) == french.count(found) == 1:
            new = replacement(found)
            one = re.compile(rf"\b{re.escape(found)}\b")
            return Pair(one.sub(new, pair.english, count=1), one.sub(new, pair.french, count=1))
    return pair
