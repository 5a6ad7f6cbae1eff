"""Phrases and reviews to train on: spaced as people type, each told once, no development sentence among them."""

import lzma
from pathlib import Path

from training import text
from training.sentiment import detokenised, development_sentences, distinct, phrase_rows, review_rows


def test_treebank_spacing_is_undone() -> None:
    assert detokenised("it 's fine , but you do n't care .") == "it's fine, but you don't care."
    assert detokenised("`` fun '' -lrb- mostly -rrb-") == '"fun" (mostly)'


def test_phrases_that_are_another_less_a_word_or_two_are_dropped_unless_their_label_differs() -> None:
    whole = ("a warm and funny film about owls", 1)
    other = ("and funny film about owls", 0)
    short = ("a warm and", 1)
    assert distinct([whole, whole, ("warm and funny film about", 1), other, short]) == [whole, other, short]


def _sentiment_data(folder: Path) -> Path:
    (folder / "sst2").mkdir()
    (folder / "sst2/dev.tsv").write_text("sentence\tlabel\nthe owl slept .\t0\n")
    (folder / "sst2/train.tsv").write_text(
        "sentence\tlabel\nthe owl  slept !\t0\na bright and merry film about barns\t1\n"
    )
    (folder / "imdb").mkdir()
    long = "Rain fell on the barn all night. " * 10
    reviews = ["1\t9\t1\t" + long + "The owl slept. I loved it.", "2\t5\t0\tNeither here nor there.",
               "3\t1\t0\tA waste of<br />an evening."]  # fmt: skip
    with lzma.open(folder / "imdb/train.tsv.xz", "wt") as file:
        file.write("\n".join(reviews))
    return folder


def test_no_development_sentence_is_in_the_sentiment_data(tmp_path: Path) -> None:
    data = _sentiment_data(tmp_path)
    held_out = development_sentences(data)
    assert [text.normalised(row) for row, _ in phrase_rows(data, held_out)] == ["a bright and merry film about barns"]
    rows = review_rows(data, held_out)
    assert ("A waste of an evening.", 0) in rows and not [row for row, _ in rows if "Neither" in row]
    # The opening of the first review stays, its ending holds a development sentence.
    assert [row.startswith("Rain fell") for row, label in rows if label == 1] == [True]
    assert not [row for row, _ in rows if "owl" in row]
