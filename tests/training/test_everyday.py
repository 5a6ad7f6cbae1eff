"""Sentences with hours, ages, dates and the like: both languages say the same, and French agrees."""

import re

import pytest

from training.everyday import TEMPLATES, english_number, everyday, french_number
from training.parallel_text import french_spacing, read_pairs

SLOT = re.compile(r"{(\w+)}")
FIGURES = re.compile(r"\d+")


@pytest.mark.parametrize(
    ("number", "english", "french"),
    [
        (7, "seven", "sept"),
        (16, "sixteen", "seize"),
        (20, "twenty", "vingt"),
        (21, "twenty-one", "vingt et un"),
        (45, "forty-five", "quarante-cinq"),
        (70, "seventy", "soixante-dix"),
        (71, "seventy-one", "soixante et onze"),
        (76, "seventy-six", "soixante-seize"),
        (80, "eighty", "quatre-vingts"),
        (81, "eighty-one", "quatre-vingt-un"),
        (91, "ninety-one", "quatre-vingt-onze"),
        (99, "ninety-nine", "quatre-vingt-dix-neuf"),
    ],
)
def test_numbers_in_words(number: int, english: str, french: str) -> None:
    assert (english_number(number), french_number(number)) == (english, french)


def test_no_two_numbers_are_written_alike() -> None:
    for words in (english_number, french_number):
        assert len({words(number) for number in range(100)}) == 100


def test_every_slot_is_filled_and_figures_are_the_same_on_both_sides() -> None:
    for template in read_pairs(TEMPLATES):
        assert french_spacing(template.french) == template.french
    filled = everyday(seed=1, times=20)
    assert len(filled) == 20 * len(read_pairs(TEMPLATES))
    assert filled == everyday(seed=1, times=20) != everyday(seed=2, times=20)
    for pair in filled:
        assert not any("{" in side or "  " in side for side in pair)
        assert sorted(FIGURES.findall(pair.english)) == sorted(FIGURES.findall(pair.french)), pair
        assert pair.english[0].isupper() == pair.french[0].isupper(), pair


def test_it_is_told_from_what_is_said_of_it() -> None:
    crossing = {pair.english: pair.french for pair in everyday(seed=3, times=400)}
    wide = "La vache n'a pas traversé le pont parce qu'il était trop large."
    tired = "La vache n'a pas traversé le pont parce qu'elle était trop fatiguée."
    assert crossing["The cow did not cross the bridge because it was too wide."] == wide
    assert crossing["The cow did not cross the bridge because it was too tired."] == tired
