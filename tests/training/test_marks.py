"""Pairs with marks: what is made up is the same on both sides, and French has its own quotation marks."""

import re

from training.marks import SENTENCES, in_guillemets, made_up, with_marks
from training.parallel_text import Pair, french_spacing, read_pairs

PAIRS = [
    Pair("Yesterday I met Robert.", "Hier, j'ai rencontré Robert."),
    Pair("I am here.", "Je suis là."),
    Pair('He said "yes".', 'Il a dit "oui".'),
] * 200
UNKNOWN = re.compile(r"[^\sA-Za-zÀ-ÿœŒ'’.,!?:;()«»\"-]+")


def test_a_share_of_the_pairs_has_marks_and_the_others_stay() -> None:
    marked = with_marks(PAIRS, seed=1, share=0.4)
    assert with_marks(PAIRS, seed=1, share=0.4) == marked
    plain = {in_guillemets(pair) for pair in PAIRS}
    assert 0.25 < sum(pair not in plain for pair in marked) / len(marked) < 0.4
    assert with_marks(PAIRS, seed=1, share=0) == [in_guillemets(pair) for pair in PAIRS]


def test_what_is_unknown_is_the_same_on_both_sides() -> None:
    for pair in with_marks(PAIRS, seed=2, share=1):
        assert UNKNOWN.findall(pair.english) == UNKNOWN.findall(pair.french), pair


def test_french_has_quotation_marks_of_its_own() -> None:
    marked = with_marks(PAIRS, seed=3, share=1)
    assert not any('"' in pair.french for pair in marked)
    assert Pair('"I am here."', "« Je suis là. »") in marked
    assert in_guillemets(PAIRS[2]) == Pair('He said "yes".', "Il a dit « oui ».")


def test_sentences_of_our_own_are_french_and_filled_in_alike() -> None:
    own = read_pairs(SENTENCES)
    assert len(own) > 100
    for pair in own:
        assert french_spacing(pair.french) == pair.french
        assert set(re.findall(r"{\w+}", pair.english)) == set(re.findall(r"{\w+}", pair.french))
    filled = made_up(seed=1, times=3)
    assert len(filled) == 3 * len(own)
    assert filled == made_up(seed=1, times=3) != made_up(seed=2, times=3)
    assert not any("{n}" in side or "{person}" in side for pair in filled for side in pair)
