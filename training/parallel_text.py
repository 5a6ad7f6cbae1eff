"""Sentence pairs for the translator: reading, consistent French spacing, and the pairs kept out for development."""

import random
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple


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
