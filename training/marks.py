"""Pairs that teach marks, which the corpora hardly have: quotation marks, dashes, symbols, addresses, other scripts.

What is unknown must be copied, and what stands around it translated as ever.
"""

import random
import re
import string
from pathlib import Path

from training.pairs import FINAL_MARK, NAME, Pair, exchange, invented_name, read_pairs

SENTENCES = Path(__file__).with_name("marks.tsv")
"""Sentences of our own with `{name}`s of what is made up for them."""

_PLAIN_QUOTES = re.compile(r'"\s*([^"]+?)\s*"')
_MADE_UP = re.compile(r"{(\w+)}")
_SIGNS = "&@#%*+=<>{}[]|~^/\\_§¶°²³½¼£€$¥¢©®™•†×÷±≤≥≠≈∞√π→←↑↓⇒✓✗★☆♥♪♫☀☂☎✉❄"
_PICTURES = [(0x1F300, 0x1F5FF), (0x1F600, 0x1F64F), (0x1F680, 0x1F6C5), (0x1F90C, 0x1F9FF), (0x2600, 0x26FF)]
# The first and the last letter of each, and how long a word may be.
_SCRIPTS = [
    (0x3B1, 0x3C9, 8),  # Greek
    (0x430, 0x44F, 8),  # Cyrillic
    (0x5D0, 0x5EA, 6),  # Hebrew
    (0x627, 0x63A, 6),  # Arabic
    (0x915, 0x939, 4),  # Devanagari
    (0x3042, 0x3093, 4),  # Hiragana
    (0x4E00, 0x9FA5, 3),  # Han
    (0xAC00, 0xD7A3, 3),  # Hangul
]
_MONEY = (
    (re.compile(r"\b(\d[\d,]*) dollars?\b"), re.compile(r"\b(\d[\d ]*) dollars?\b"), "$"),
    (re.compile(r"\b(\d[\d,]*) euros?\b"), re.compile(r"\b(\d[\d ]*) euros?\b"), "€"),
)
_ENDINGS = ("com", "org", "net", "fr", "eu", "io")


def with_marks(pairs: list[Pair], seed: int, share: float = 0.3) -> list[Pair]:
    """`pairs`, a `share` of them with marks on both sides; French quotation marks throughout."""
    chance = random.Random(seed)
    return [
        _marked(pair, chance.choice(pairs), chance) if chance.random() < share else _with_money(in_guillemets(pair))
        for pair in pairs
    ]


def made_up(seed: int, times: int) -> list[Pair]:
    """The sentences of our own, each so many `times`, with something new in it each time."""
    chance = random.Random(seed)
    return [_filled(pair, chance) for pair in read_pairs(SENTENCES) for _ in range(times)]


def in_guillemets(pair: Pair) -> Pair:
    """The pair with its French quotation marks as the French write them."""
    return Pair(pair.english, _PLAIN_QUOTES.sub(r"« \1 »", pair.french))


def _with_money(pair: Pair) -> Pair:
    """The pair with a sign for what it pays with, before the figure in English and behind it in French."""
    for english, french, sign in _MONEY:
        if len(english.findall(pair.english)) == len(french.findall(pair.french)) == 1:
            return Pair(english.sub(rf"{sign}\1", pair.english), french.sub(rf"\1 {sign}", pair.french))
    return pair


def _marked(pair: Pair, other: Pair, chance: random.Random) -> Pair:
    return chance.choice(_KINDS)(in_guillemets(pair), in_guillemets(other), chance)


def _quoted(pair: Pair, _other: Pair, _chance: random.Random) -> Pair:
    return pair if '"' in pair.english else Pair(f'"{pair.english}"', f"« {pair.french} »")


def _name_in_quotes(pair: Pair, _other: Pair, chance: random.Random) -> Pair:
    name = invented_name(chance)
    named = exchange(pair, NAME, lambda _: name)
    return Pair(named.english.replace(name, f'"{name}"'), named.french.replace(name, f"« {name} »"))


def _behind_a_dash(pair: Pair, other: Pair, _chance: random.Random) -> Pair:
    first = Pair(*(FINAL_MARK.sub("", side) for side in pair))
    return Pair(*(f"{one} - {two}" for one, two in zip(first, other, strict=True)))


def _in_brackets(pair: Pair, other: Pair, _chance: random.Random) -> Pair:
    return Pair(*(f"{one} ({FINAL_MARK.sub('', two)})" for one, two in zip(pair, other, strict=True)))


def _trailing_off(pair: Pair, _other: Pair, _chance: random.Random) -> Pair:
    return Pair(*(f"{FINAL_MARK.sub('', side)}..." for side in pair))


def _address_for_a_name(pair: Pair, _other: Pair, chance: random.Random) -> Pair:
    return exchange(pair, NAME, lambda _: _address(chance))


def _other_script_for_a_name(pair: Pair, _other: Pair, chance: random.Random) -> Pair:
    return exchange(pair, NAME, lambda _: _foreign_word(chance))


def _symbols_first(pair: Pair, _other: Pair, chance: random.Random) -> Pair:
    signs = _symbols(chance)
    return Pair(*(f"{signs} {side}" for side in pair))


def _sign_between_names(pair: Pair, _other: Pair, chance: random.Random) -> Pair:
    return exchange(pair, NAME, lambda found: f"{found} {chance.choice(_SIGNS)} {invented_name(chance)}")


def _symbols_last(pair: Pair, _other: Pair, chance: random.Random) -> Pair:
    signs, between = _symbols(chance), chance.choice(["", " ", " "])
    return Pair(*(f"{side}{between}{signs}" for side in pair))


_KINDS = (
    _quoted, _name_in_quotes, _behind_a_dash, _in_brackets, _trailing_off, _address_for_a_name,
    _other_script_for_a_name, _symbols_first, _sign_between_names, _symbols_last,
)  # fmt: skip
"""What becomes of a pair, with another pair where a second sentence is wanted; all equally likely."""


def _filled(pair: Pair, chance: random.Random) -> Pair:
    """The pair with something made up in place of each name between braces, the same on both sides."""
    makers = {
        "n": lambda: str(chance.randint(1, 10 ** chance.randint(1, 4))),
        "m": lambda: str(chance.randint(10, 59)),
        "h": lambda: str(chance.randint(1, 12)),
        "date": lambda: "/".join(str(chance.randint(1, most)).zfill(2) for most in (12, 28, 2050)),
        "phone": lambda: " ".join(str(chance.randint(0, 99)).zfill(2) for _ in range(5)),
        "file": lambda: _address(chance, "/"),
        "address": lambda: _address(chance, "@"),
        "site": lambda: _address(chance, "."),
        "symbol": lambda: _symbols(chance),
        "person": lambda: invented_name(chance),
        "other": lambda: invented_name(chance),
        "word": lambda: _foreign_word(chance),
    }
    made = {name: makers[name]() for name in dict.fromkeys(_MADE_UP.findall(pair.english))}
    return Pair(*(_MADE_UP.sub(lambda found: made[found[1]], side) for side in pair))


def _symbols(chance: random.Random) -> str:
    """One to three signs or pictures."""
    count = chance.choice([1, 1, 1, 2, 3])
    if chance.random() < 0.4:
        return "".join(chance.choices(_SIGNS, k=count))
    return "".join(chr(chance.randint(*chance.choice(_PICTURES))) for _ in range(count))


def _foreign_word(chance: random.Random) -> str:
    """A few letters of another script."""
    first, last, longest = chance.choice(_SCRIPTS)
    return "".join(chr(chance.randint(first, last)) for _ in range(chance.randint(1, longest)))


def _address(chance: random.Random, kind: str = "") -> str:
    """An address of a person or of a page, a name on a network or a topic there, or the name of a file."""
    name, place = (invented_name(chance).lower() for _ in range(2))
    number = "".join(chance.choices(string.digits, k=chance.choice([0, 0, 2])))
    where = f"{place}.{chance.choice(_ENDINGS)}"
    match kind or chance.choice("@.#/"):
        case "@":
            return f"{name}{number}@{where}"
        case ".":
            return chance.choice(["www.", "https://", ""]) + where
        case "#":
            return chance.choice("@#") + name + number
        case _:
            return f"{name}{chance.choice('_-.')}{place}.{chance.choice(['txt', 'pdf', 'py', 'jpg'])}"
