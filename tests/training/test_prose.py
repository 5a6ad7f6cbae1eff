"""Prose for the completion model: cleaned, kept apart, and found again in samples."""

import lzma
from pathlib import Path

import torch

from training import samples, stories
from training.text import fingerprint


def test_prose_keeps_paragraphs_and_drops_headings_and_tables() -> None:
    text = "CHAPTER I\n“Well--yes,” she said.\n  O rose, thou art\n* * *\n| a | b. |\nHe _did_ go."
    assert stories.prose(text) == '"Well--yes," she said.\n\nO rose, thou art\n\nHe did go.'


def test_a_review_that_quotes_what_is_kept_out_is_left_out() -> None:
    development = fingerprint(["The acting was better than the film deserved. Fine."])
    reviews = ["The ACTING was better, than the film deserved! So there.", "Fine. A film to see again and again.", ""]
    assert stories.apart(reviews, development) == reviews[1:2]


def test_a_review_that_comes_twice_is_read_once() -> None:
    long = "The same story again, told at length. " * 10
    assert stories.each_once(["One.", long + "And so on.", long + "And then.", "Two.", "ONE!"]) == [
        "One.",
        long + "And so on.",
        "Two.",
    ]


def test_reviews_with_labels_are_read_without_them(tmp_path: Path) -> None:
    (tmp_path / "imdb").mkdir()
    with lzma.open(tmp_path / "imdb/train.tsv.xz", "wt", encoding="utf-8") as file:
        file.write("id\tstars\n1\t9\t1\tI loved it.<br /><br />Twice.\n2\t1\t0\tDull.\n")
    assert stories.labelled_reviews(tmp_path) == ["I loved it.\n\nTwice.", "Dull."]


def test_books_are_found_by_their_titles() -> None:
    text = "Title: A\n\nAuthor: X\n\nFirst.\nTitle: B\n\nAuthor: Y\n\nSecond.\n"
    assert {title: stories.prose(body) for title, body in stories.books_of(text).items()} == {
        "A": "First.",
        "B": "Second.",
    }


def test_a_long_run_copied_from_training_is_found() -> None:
    seen = torch.arange(1000)
    copy = torch.tensor([5000, *range(300, 345), 6000])
    two_short_runs = torch.tensor([*range(300, 335), 6000, *range(336, 370)])
    assert samples.copied([two_short_runs, copy], [seen], at_least=40) == [1]


def test_a_phrase_said_three_times_is_found() -> None:
    assert samples.repeats_phrase(torch.tensor([1, 2, 3, 4, 9, 1, 2, 3, 4, 8, 1, 2, 3, 4]))
    assert not samples.repeats_phrase(torch.tensor([1, 2, 3, 4, 9, 1, 2, 3, 4, 8, 1, 2, 3, 5]))


def test_sentences_for_adults_are_cut_out_and_documents_with_many_left_out() -> None:
    plain = 'He said "No." (She did not.) Then they left.\n\nA sextet played in Essex.'
    mixed = 'He said "No." The SEX was dull. (She left.)\n\nNude scenes!'
    many = "So sexy. " * (stories.MOST_CUT + 1) + "Fine."
    assert stories.for_all([plain, mixed, "Porn.", many]) == [plain, 'He said "No." (She left.)', "Fine."]
    assert stories.for_all([plain, mixed, "Porn.", many], stories.MOST_CUT) == [plain, 'He said "No." (She left.)']
