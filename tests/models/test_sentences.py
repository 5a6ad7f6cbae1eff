"""Where sentences end, on texts of our own: about half hold abbreviations, figures, quotes, lists or line breaks."""

import re
from pathlib import Path

import pytest

from models.text.sentences import sentences_of

_CASES = [
    line.replace("⏎", "\n")
    for line in (Path(__file__).parent / "sentences.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize("case", _CASES)
def test_texts_are_cut_between_their_sentences_and_nowhere_else(case: str) -> None:
    expected = [part.strip() for part in case.split("¦")]
    text = re.sub("(?<=\n)¦", "", case).replace("¦", " ")
    assert [text[start:end] for start, end in sentences_of(text)] == expected


def test_spaces_around_sentences_belong_to_none() -> None:
    assert sentences_of("  It is cold.   Go in! \n ") == ((2, 13), (16, 22))


def test_spaces_alone_are_no_sentence() -> None:
    assert sentences_of(" \n ") == ()
    assert sentences_of("An owl.\n\u200b\n") == ((0, 7),)
