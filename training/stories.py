"""Plain narrative for the completion model: short stories, fairy tales and children's books, cleaned to paragraphs."""

import re
from dataclasses import dataclass
from pathlib import Path

from training.bpe import END_OF_TEXT
from training.text import read_text

KEPT_OUT_BOOK = "Heidi"
# Verse, archaic or technical prose: what a small model copies as broken sentences.
HARD_BOOKS = frozenset(
    {
        "One Thousand and One Nights",
        "Gulliver's Travels",
        "Robinson Crusoe",
        "The Merry Adventures of Robin Hood",
        "Five Weeks in a Balloon",
        "Hawaiian Folk Tales",
        "Kidnapped",
        "Captains Courageous",
    }
)
STRAIGHT = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " ", "…": "...", "–": "-"})


@dataclass(frozen=True)
class Stories:
    """Documents by source, and the paragraphs of one book that training never sees."""

    short_stories: list[str]
    fairy_tales: list[str]
    books: list[str]
    kept_out: str


def load(data: Path) -> Stories:
    """Read the three sources from `data/text`."""
    folder = data / "text"
    short = (folder / "tinystories_head.txt").read_text(encoding="utf-8").split(END_OF_TEXT)
    tales = (folder / "fairytales.txt").read_text(encoding="utf-8").split("\n\n")
    books = books_of(read_text(folder / "children_books.txt.xz"))
    return Stories(
        # The file is the head of a longer one: its last story is cut.
        short_stories=[text for text in map(prose, short[:-1]) if text],
        fairy_tales=[text for text in (prose(tale.partition("\n")[2]) for tale in tales) if text],
        books=[prose(text) for title, text in books.items() if title not in HARD_BOOKS | {KEPT_OUT_BOOK}],
        kept_out=prose(books[KEPT_OUT_BOOK]),
    )


def books_of(text: str) -> dict[str, str]:
    """Title → body of every book in a file where each opens with `Title:`, `Author:` and `Year:` lines."""
    parts = re.split(r"^Title: (.+)$", text, flags=re.MULTILINE)
    return {title.strip(): body for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def prose(text: str) -> str:
    """The paragraphs that are sentences, one a line; headings, verse and rows of stars are left out."""
    kept = []
    for line in text.translate(STRAIGHT).splitlines():
        line = re.sub(r"\s+", " ", line.replace("_", "").replace("--", " - ")).strip()
        if re.search(r"[.!?][\"')]*$", line) and re.search("[a-z]", line) and not re.search(r"[*|#\[\]{}<>]", line):
            kept.append(line)
    return "\n".join(kept)
