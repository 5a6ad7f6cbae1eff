"""Where sentences end."""

import pytest

from models.sentences import sentences_of


@pytest.mark.parametrize(
    "sentences",
    [
        ["It is cold today.", "The lake is frozen.", "Are the children out?", "Yes!"],
        ["One sentence without an end"],
        ["Mr. Brown met Dr. Grey.", "They spoke."],
        ["J. R. Smith wrote it.", "It was I.", "He knew."],
        ["It costs 3.50 in all.", "That is cheap."],
        ['"Where are you?" she asked.', '"Here!"', "He waved."],
        ["Wait... what is that?", "Nothing."],
        ["We saw owls, mice, etc. in the barn.", "All slept."],
        ["We saw owls, mice, etc.", "All slept."],
        ["Are you sad?", "No.", "I live at no. 5.", "See fig. 3, p. 2."],
        ["Il dort.", "Élise lit.", "Où est-il ?", "Là."],
        ["(It rained.)", "Then the sun came."],
        ["猫が好きです。"],
    ],
)
def test_texts_are_cut_between_their_sentences_and_nowhere_else(sentences: list[str]) -> None:
    text = "  " + "  ".join(sentences) + " \n"
    assert [text[start:end] for start, end in sentences_of(text)] == sentences


def test_a_line_break_ends_a_sentence() -> None:
    text = "The owl\n\nIt sleeps. A lot"
    assert [text[start:end] for start, end in sentences_of(text)] == ["The owl", "It sleeps.", "A lot"]


def test_spaces_alone_are_no_sentence() -> None:
    assert sentences_of(" \n ") == ()
    assert sentences_of("An owl.\n\u200b\n") == ((0, 7),)
