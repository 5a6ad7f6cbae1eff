"""What people type that a small translator has no words for: figures, addresses, other scripts, capitals."""

import math
import re
from pathlib import Path
from typing import cast

import pytest

from models.decoding.copying import Copying, copies_of, is_kept
from models.decoding.generate import WholeCharacters
from models.errors import InputError
from models.outputs import TranslationOutput, generated_ids
from models.tasks.base import AnyTaskModel
from models.text.characters import true_cased
from tests.models.conftest import BundledModel

HERE = Path(__file__).parent
FIGURES = (HERE / "figures.txt").read_text(encoding="utf-8").splitlines()
CAPITALS = [line.split("\t") for line in (HERE / "capitals.txt").read_text(encoding="utf-8").splitlines()]
OTHER_SCRIPTS = {
    "村上 wrote the book.": "村上",
    "The book was written by نجيب محفوظ in Cairo.": "نجيب محفوظ",
    "His name is Иван Петров.": "Иван Петров",
    "Lech Wałęsa is from Poland.": "Wałęsa",
    "สวัสดี means hello.": "สวัสดี",
    "I love you 😀": "😀",
}


@pytest.fixture
def model(bundled: BundledModel) -> AnyTaskModel:
    return bundled("clearhead-en-fr")


def translated(model: AnyTaskModel, text: str, **fields: object) -> TranslationOutput:
    return cast(TranslationOutput, model(text=text, **fields))


def test_figures_survive(model: AnyTaskModel) -> None:
    lost = []
    for sentence in FIGURES:
        best = translated(model, sentence).translations[0].text
        # Only the marks between digits may differ: 49.99 is 49,99 in French, and 3:30 p.m. is 15 h 30 or 3 h 30.
        wanted, found = (re.sub(r"(?<=\d)(?:[.,: ]| h )(?=\d)", "", each) for each in (sentence, best))
        words = re.findall(r"\S*[\d@_]\S*[\w]", re.sub(r"[$€%]", "", wanted))
        if not all(word.strip("+-(") in found for word in words):
            lost.append((sentence, best))
    assert len(FIGURES) == 40 and len(lost) <= 2, lost


@pytest.mark.parametrize("num_beams", [1, 4])
@pytest.mark.parametrize("text", OTHER_SCRIPTS)
def test_words_of_other_scripts_come_out_unchanged(model: AnyTaskModel, text: str, num_beams: int) -> None:
    output = translated(model, text, num_beams=num_beams)
    assert OTHER_SCRIPTS[text] in output.translations[0].text
    assert not any("\ufffd" in each.text for each in output.translations)


def test_what_was_copied_is_marked_and_noted_and_what_was_not_is_not(model: AnyTaskModel) -> None:
    output = translated(model, "The number is BE0768880101.")
    copied = "".join(each.token.text for each in output.generated if each.copied)
    assert copied.strip() == "BE0768880101" and any("BE0768880101" in note for note in output.notes)
    # Still the model's own probabilities, of which the score is the mean.
    own = [math.log(each.probability) for each in output.generated]
    assert output.translations[0].score == pytest.approx(sum(own) / len(own), abs=1e-4)
    cross = model.attend(model.inputs_type(text="The number is BE0768880101."), generated_ids(output))["cross"]
    assert len(cross.query_tokens) == len(output.generated)
    plain = translated(model, "Room 12 is free.")
    assert not plain.notes and not any(each.copied for each in plain.generated)


def test_texts_in_capitals_are_read_in_small_letters(model: AnyTaskModel) -> None:
    wrong = []
    for text, expected in CAPITALS:
        output = translated(model, text)
        assert output.notes
        if not output.translations[0].text.startswith(expected):
            wrong.append((text, output.translations[0].text))
    assert len(CAPITALS) == 40 and len(wrong) <= 4, wrong


def test_tokens_of_a_text_in_capitals_stand_where_it_was_typed(model: AnyTaskModel) -> None:
    text = "I LOVE YOU."
    spelt = [(text[each.start : each.end].strip(), each.text.strip()) for each in translated(model, text).tokens[:-1]]
    assert [typed.lower() for typed, _ in spelt] == [read.lower() for _, read in spelt] and ("LOVE", "love") in spelt


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("DO NOT GO TO PARIS!", "Do not go to Paris!"),
        ("I'M LATE.", "I'm late."),
        ("I said STOP.", "I said stop."),
        ("The US and the WHO agree.", "The US and the WHO agree."),
        ("CODE BE07-X IS OK", "Code BE07-X is ok"),
        ("He is fine.", "He is fine."),
    ],
)
def test_only_shouted_words_are_made_small(typed: str, read: str) -> None:
    known = {"do", "not", "go", "to", "Paris", "late", "stop", "code", "is", "ok", "Do", "Code"}
    assert true_cased(typed, lambda word: 1 if word in known else len(word)) == read


def test_eighty_short_sentences_are_translated_and_one_that_is_too_long_is_refused(model: AnyTaskModel) -> None:
    text = "The cat sleeps on the mat today. " * 80
    output = translated(model, text, num_beams=1)
    assert len(output.tokens) > model.window
    assert output.translations[0].text.count(".") == 80
    cross = model.attend(model.inputs_type(text=text), generated_ids(output))["cross"]
    assert 0 < len(cross.key_tokens) <= model.window
    with pytest.raises(InputError, match="A sentence has"):
        model(text="cat and " * 600)


def test_candidates_of_several_sentences_come_best_first(model: AnyTaskModel) -> None:
    for text in (
        "Yes! The old man who lives next door has three dogs and a cat.",
        "Stop. Where are you going now? Well, no.",
    ):
        scores = [each.score for each in translated(model, text, num_beams=8).translations]
        assert scores == sorted(scores, reverse=True)


def test_only_bytes_that_continue_a_character_may_be_written() -> None:
    pieces: list[bytes | None] = [None, *(bytes([byte]) for byte in range(256)), "né".encode(), "né".encode()[2:]]
    rule = WholeCharacters(pieces)
    for text in ("aé", "村", "😀", "\u0800"):
        written: list[int] = []
        for byte in text.encode():
            barred = rule.barred(written)
            assert byte + 1 not in barred
            for other in range(256):
                whole = b"".join(pieces[each] or b"" for each in written) + bytes([other])
                fits = any(
                    _is_text(whole + rest)
                    for rest in (
                        b"",
                        b"\x80",
                        b"\x90\x80",
                        b"\xa0\x80\x80",
                        b"\x80\x80",
                        b"\x90\x80\x80",
                        b"\x80\x80\x80",
                        b"\xa0\x80",
                    )
                )
                assert (other + 1 not in barred) == fits, (text, other)
            assert (0 in barred) == (not _is_text(b"".join(pieces[each] or b"" for each in written)))
            written.append(byte + 1)
    assert 257 not in rule.barred([]) and 258 in rule.barred([])


def _is_text(written: bytes) -> bool:
    try:
        written.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_a_text_that_copies_can_only_go_on_with_the_copy_and_ends_after_it() -> None:
    pieces: list[bytes | None] = [None, *(bytes([byte]) for byte in range(256))]
    copying = Copying(pieces, copies_of("He paid 1205 to B2B."), [0])

    def allowed(text: str) -> set[str]:
        barred = copying.barred([byte + 1 for byte in text.encode()])
        return {chr(place - 1) if place else "end" for place in range(129) if place not in barred}

    assert allowed("Il paie 1") == {"2"} and allowed("Il paie 12") == {"0"}
    assert "3" not in allowed("Il paie ") and "1" in allowed("Il paie ")
    assert "end" not in allowed("Il paie 1205 ") and "1" not in allowed("Il paie 1205 ")
    assert "end" in allowed("Il paie 1205 à B2B") and "5" not in allowed("Il paie 1205")


@pytest.mark.parametrize(
    ("source", "translation", "kept"),
    [
        ("It costs 3.50.", "Ça coûte 3,50.", True),
        ("It costs 3.50.", "Ça coûte 3,5.", False),
        ("He has 12 cats.", "Il a douze chats.", True),
        ("He has 12 cats.", "Il a 21 chats.", False),
        ("At 5 p.m.", "À 17 heures.", True),
        ("At 3:30.", "À 3 h 30.", True),
        ("1,000,000 men", "1 000 000 hommes", True),
        ("1,000,000 men", "1 0000 hommes", False),
        ("The 20-year-old is 1st.", "Le jeune de 20 ans est premier.", True),
        ("Mail a.b@c.org.", "Écris à a.b@c.org.", True),
        ("Mail a.b@c.org.", "Écris à ab@c.org.", False),
    ],
)
def test_a_figure_is_kept_in_each_way_that_it_may_be_written(source: str, translation: str, kept: bool) -> None:
    assert is_kept(translation, copies_of(source)) is kept
