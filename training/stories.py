"""Plain prose for the completion model: short stories, fairy tales, children's books and film reviews, cleaned."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from training.bpe import END_OF_TEXT
from training.text import fingerprint, normalised, read_text, sentences_of

KEPT_OUT_BOOKS = ("Heidi", "The Railway Children")
KEPT_OUT_REVIEWS = 500
BETWEEN_PARAGRAPHS = "\n\n"
# A sentence of fewer words says nothing about where it comes from.
TELLING = 6
# So many characters that are alike are taken to be of the same document.
SAME = 200
STRAIGHT = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " ", "…": "...", "–": "-"}) | {
    # Windows' own dashes and quotes, left where a review was read as Latin-1; and marks that nobody sees.
    0x96: "-", 0x97: "--", 0x91: "'", 0x92: "'", 0x93: '"', 0x94: '"', 0x200B: None, 0x2060: None,
}  # fmt: skip


@dataclass(frozen=True)
class Prose:
    """Documents by source, and the books and reviews that training never sees."""

    short_stories: list[str]
    fairy_tales: list[str]
    books: list[str]
    reviews: list[str]
    books_kept_out: str
    reviews_kept_out: str


def load(data: Path) -> Prose:
    """Read the four sources from `data`."""
    folder = data / "text"
    short = (folder / "tinystories_head.txt").read_text(encoding="utf-8").split(END_OF_TEXT)
    tales = (folder / "fairytales.txt").read_text(encoding="utf-8").split("\n\n")
    books = {title: prose(body) for title, body in books_of(read_text(folder / "children_books.txt.xz")).items()}
    reviews = [prose(line) for line in read_text(folder / "imdb_unsup.txt.xz").splitlines()]
    kept_out = reviews[-KEPT_OUT_REVIEWS:]
    development = fingerprint([*kept_out, *(books[title] for title in KEPT_OUT_BOOKS)])
    return Prose(
        # The file is the head of a longer one: its last story is cut.
        short_stories=apart([prose(story) for story in short[:-1]], development),
        fairy_tales=apart([prose(tale.partition("\n")[2]) for tale in tales], development),
        books=[body for title, body in books.items() if title not in KEPT_OUT_BOOKS],
        reviews=each_once(apart([*reviews[:-KEPT_OUT_REVIEWS], *labelled_reviews(data)], development)),
        books_kept_out=BETWEEN_PARAGRAPHS.join(books[title] for title in KEPT_OUT_BOOKS),
        reviews_kept_out=BETWEEN_PARAGRAPHS.join(kept_out),
    )


def labelled_reviews(data: Path) -> list[str]:
    """The reviews that have labels, without them."""
    rows = (line.split("\t", 3) for line in read_text(data / "imdb/train.tsv.xz").split("\n"))
    return [prose(re.sub(r"<br\s*/?>", "\n", row[3])) for row in rows if len(row) == 4]


def each_once(documents: Iterable[str]) -> list[str]:
    """The documents without those that begin as one before them does."""
    found: dict[str, str] = {}
    for document in documents:
        found.setdefault(normalised(document)[:SAME], document)
    return list(found.values())


def apart(documents: Iterable[str], development: frozenset[str]) -> list[str]:
    """The documents of which no sentence of `TELLING` words or more is in the development text; empty ones left out."""
    return [
        document
        for document in documents
        if document
        and not any(
            key in development and len(key.split()) >= TELLING for key in map(normalised, sentences_of(document))
        )
    ]


def books_of(text: str) -> dict[str, str]:
    """Title → body of every book in a file where each opens with `Title:`, `Author:` and `Year:` lines."""
    parts = re.split(r"^Title: (.+)$", text, flags=re.MULTILINE)
    return {title.strip(): body for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def prose(text: str) -> str:
    """The paragraphs with something in lower case, a blank line between two; headings and tables are left out."""
    kept = []
    for line in text.translate(STRAIGHT).splitlines():
        line = re.sub(r"\s+", " ", line.replace("_", "")).strip()
        if re.search("[a-z]", line) and not re.search(r"^[*|#]|[|\[\]{}<>]|^(Title|Author|Year): ", line):
            kept.append(line)
    return BETWEEN_PARAGRAPHS.join(kept)
