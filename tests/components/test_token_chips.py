import pytest

from demo.widgets.chips import MASK, aligned, toggled, token_chips, words_of

TEXT = "She turned the key, didn't she?"


def test_masking_a_word_and_choosing_it_again_gives_the_text_back() -> None:
    for index in range(len(words_of(TEXT))):
        masked, hidden = toggled(TEXT, (), index)
        assert masked.count(MASK) == 1
        assert toggled(masked, hidden, index) == (TEXT, ())


def test_several_masks_each_remember_their_own_word() -> None:
    text, hidden = toggled(*toggled(*toggled(TEXT, (), 3), 0), 5)
    assert (text, hidden) == (f"{MASK} turned the {MASK}, didn't {MASK}?", ("She", "key", "she"))
    text, hidden = toggled(text, hidden, 3)
    assert (text, hidden) == (f"{MASK} turned the key, didn't {MASK}?", ("She", "she"))


def test_what_was_hidden_is_forgotten_when_the_masks_changed_by_hand() -> None:
    assert aligned(("key",), words_of("[MASK] and [MASK]")) == ("", "")


@pytest.mark.parametrize("text", ["naïve café", "Наташа читает", "مرحبا بالعالم", "don't mother-in-law’s", "東京 2026",
             "cafe\u0301 rene\u0301s", "हिन्दी गीत", "น้ำ ใจ", "می\u200cخواهم بروم", "cat\u200d sat"])  # fmt: skip
def test_words_of_any_script_are_words(text: str) -> None:
    assert [word.text for word in words_of(text)] == text.split()


def test_a_word_is_blanked_with_the_marks_on_its_letters() -> None:
    assert toggled("un cafe\u0301 noir ❤\ufe0f", (), 1) == ("un [MASK] noir ❤\ufe0f", ("cafe\u0301",))


def test_the_words_of_a_text_from_right_to_left_stand_so() -> None:
    assert 'dir="rtl"' in token_chips("[MASK] שלום עולם")
    assert 'dir="ltr"' in token_chips("1 [MASK] word שלום")


@pytest.mark.parametrize("text", ["word " * 500, "word " * 2_000_000, "x" * 10_000_000])
def test_a_very_long_text_has_no_chips_but_a_sentence(text: str) -> None:
    shown = token_chips(text)
    assert "<button" not in shown
    assert len(shown) < 200
