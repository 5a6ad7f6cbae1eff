"""Sentence pairs of our own with hours, ages, dates, floors and centuries, which the corpora have too few of.

Each template of `everyday.tsv` has slots that are filled alike, or with each other's translation, on both sides.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from training.pairs import Pair, invented_name, read_pairs

TEMPLATES = Path(__file__).with_name("everyday.tsv")

WORDS = Path(__file__).with_name("everyday_words.tsv")
"""What slots are filled with: a kind, the English, the French and, where it matters, its gender."""

_SLOT = re.compile(r"{(\w+)}")
_FEMININE = {"long": "longue", "dangereux": "dangereuse"}


class Word(NamedTuple):
    """A word in both languages."""

    english: str
    french: str
    is_feminine: bool = False


def _words_by_kind() -> dict[str, list[Word]]:
    by_kind = defaultdict(list)
    for line in WORDS.read_text(encoding="utf-8").splitlines():
        kind, english, french, *gender = line.split("\t")
        by_kind[kind].append(Word(english, french, gender == ["f"]))
    return dict(by_kind)


_WORDS = _words_by_kind()
_SMALL, _TENS = _WORDS["below twenty"], _WORDS["ten"]


def everyday(seed: int, times: int) -> list[Pair]:
    """The pairs of each template, filled so many `times` by chance."""
    chance = random.Random(seed)
    return [_filled(template, chance) for template in read_pairs(TEMPLATES) for _ in range(times)]


def english_number(number: int) -> str:
    """The words for a number below a hundred."""
    if number < len(_SMALL):
        return _SMALL[number].english
    tens, units = divmod(number, 10)
    return _TENS[tens - 2].english + (f"-{_SMALL[units].english}" if units else "")


def french_number(number: int) -> str:
    """The words for a number below a hundred, as they are written in France: 71 is soixante et onze."""
    if number < len(_SMALL):
        return _SMALL[number].french
    if number == 80:
        return "quatre-vingts"
    tens = number // 10
    # From sixty on in steps of twenty.
    rest = number % 20 if tens >= 6 else number % 10
    if rest == 0:
        return _TENS[tens - 2].french
    joint = " et " if rest in (1, 11) and number < 80 else "-"
    return _TENS[tens - 2].french + joint + _SMALL[rest].french


def _filled(template: Pair, chance: random.Random) -> Pair:
    """The template with its slots filled, and a capital where the English has one."""
    named = set(_SLOT.findall(template.english + template.french))
    filled = _of_crossing(chance) if "he" in named else {name: _SLOTS[name](chance) for name in sorted(named)}
    english = _SLOT.sub(lambda found: filled[found[1]][0], template.english)
    french = _SLOT.sub(lambda found: filled[found[1]][1], template.french)
    return Pair(english, french[0].upper() + french[1:] if english[0].isupper() else french)


def _number(chance: random.Random) -> Pair:
    number = chance.randint(2, 99)
    return _in_figures(number) if chance.random() < 0.3 else Pair(english_number(number), french_number(number))


def _in_figures(number: int) -> Pair:
    return Pair(str(number), str(number))


def _clock(chance: random.Random) -> Pair:
    hour = chance.randint(1, 11)
    if chance.random() < 0.2:
        return Pair(str(hour), f"{hour} heure{'s' * (hour > 1)}")
    return Pair(english_number(hour), "une heure" if hour == 1 else f"{french_number(hour)} heures")


def _hour(chance: random.Random) -> Pair:
    if chance.random() < 0.1:
        return chance.choice([Pair("noon", "midi"), Pair("midnight", "minuit")])
    clock = _clock(chance)
    return Pair(f"{clock.english} o'clock", clock.french)


def _minutes(chance: random.Random) -> Pair:
    minutes = chance.choice([5, 10, 20, 25])
    return Pair(english_number(minutes), french_number(minutes))


def _ordinal(chance: random.Random) -> Pair:
    """From the second on."""
    at = chance.randrange(len(_WORDS["ordinal"]))
    if chance.random() < 0.25:
        ending = {2: "nd", 3: "rd", 21: "st"}.get(at + 2, "th")
        return Pair(f"{at + 2}{ending}", f"{at + 2}e")
    return _one_of("ordinal", chance)


def _one_of(kind: str, chance: random.Random) -> Pair:
    word = chance.choice(_WORDS[kind])
    return Pair(word.english, word.french)


def _name(chance: random.Random) -> Pair:
    name = invented_name(chance)
    return Pair(name, name)


_SLOTS: dict[str, Callable[[random.Random], Pair]] = {
    "number": _number,
    "clock": _clock,
    "hour": _hour,
    "minutes": _minutes,
    "ordinal": _ordinal,
    "person": _name,
    "month": partial(_one_of, "month"),
    "weekday": partial(_one_of, "weekday"),
    "relative": partial(_one_of, "relative"),
    "day": lambda chance: _in_figures(chance.randint(2, 28)),
    "year": lambda chance: _in_figures(chance.randint(1800, 2030)),
}


def _of_crossing(chance: random.Random) -> dict[str, tuple[str, str]]:
    """Who did not cross what and why: what "it" means is to be told from the word at the end alone."""
    animal, way = chance.choice(_WORDS["animal"]), chance.choice(_WORDS["way"])
    meant, kind = chance.choice([(animal, "of animals"), (way, "of ways")])
    reason = chance.choice(_WORDS[kind])
    return {
        "he": animal[:2],
        "way": way[:2],
        "that_it": ("", f"qu'{_pronoun(meant)}"),
        "that_he": ("", f"qu'{_pronoun(animal)}"),
        "of_it": (reason.english, _agreeing(reason.french, meant)),
        "tired": ("tired", _agreeing("fatigué", animal)),
    }


def _pronoun(word: Word) -> str:
    return "elle" if word.is_feminine else "il"


def _agreeing(adjective: str, word: Word) -> str:
    if not word.is_feminine:
        return adjective
    return _FEMININE.get(adjective) or (adjective if adjective.endswith("e") else f"{adjective}e")
