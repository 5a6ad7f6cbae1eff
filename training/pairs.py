"""Sentence pairs: read, kept out, made to copy names and figures, and cut into batches of pieces."""

import random
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nltk.translate import AlignedSent, IBMModel1


class Pair(NamedTuple):
    """One English sentence and one French translation of it."""

    english: str
    french: str


def read_pairs(file: Path) -> list[Pair]:
    """The pairs of a file with one `english<TAB>french` a line; lines with an empty side are left out."""
    lines = (line.split("\t") for line in file.read_text(encoding="utf-8").splitlines())
    return [Pair(fields[0].strip(), fields[1].strip()) for fields in lines if len(fields) >= 2 and all(fields[:2])]


def french_spacing(text: str) -> str:
    """French as this project writes it: straight apostrophes, plain spaces, one space before ? ! : ; and inside « »."""
    text = unicodedata.normalize("NFC", text)
    text = re.sub("[‘’ʼ]", "'", text)
    text = re.sub(r"(?<=[^\s?!])([?!;]+)", r" \1", text)
    text = re.sub(r"(?<=[^\s\d]):(?=\s|$)", " :", text)
    text = text.replace("«", "« ").replace("»", " »")
    return re.sub(r"\s+", " ", text).strip()


def sentence_key(text: str) -> str:
    """What two spellings of one sentence share: its letters and figures, without case, accents aside."""
    return "".join(symbol for symbol in unicodedata.normalize("NFKC", text).casefold() if symbol.isalnum())


def english_keys(pairs: list[Pair]) -> set[str]:
    """The keys of the pairs' English sentences."""
    return {sentence_key(pair.english) for pair in pairs}


def keep_out(pairs: list[Pair], count: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """(training, development): `count` pairs of different English sentences, and the pairs with none of those."""
    by_key = {sentence_key(pair.english): pair for pair in reversed(pairs)}
    chosen = random.Random(seed).sample(sorted(by_key), count)
    return without(pairs, set(chosen)), [by_key[key] for key in chosen]


def without(pairs: list[Pair], keys: set[str]) -> list[Pair]:
    """The pairs whose English sentence, whatever its case and punctuation, is not among `keys`."""
    return [pair for pair in pairs if sentence_key(pair.english) not in keys]


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
