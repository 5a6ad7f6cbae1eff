"""Reading the data folder, and keeping development text out of training text."""

import json
import lzma
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from models.tasks.token_classification import spans_of

SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z\"'(])")
NOT_A_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Question:
    """One question on a context, with the character spans that answer it; none where it cannot be answered."""

    id: str
    title: str
    question: str
    context: str
    answers: tuple[str, ...]
    starts: tuple[int, ...]


def read_text(file: Path) -> str:
    """The whole of a UTF-8 file, unpacked where its name ends in `.xz`."""
    if file.suffix == ".xz":
        with lzma.open(file, "rt", encoding="utf-8") as stream:
            return stream.read()
    return file.read_text(encoding="utf-8")


def read_sst2(file: Path) -> list[tuple[str, int]]:
    """The sentences of a GLUE sst2 file with their labels, 1 for positive."""
    rows = (line.rsplit("\t", 1) for line in read_text(file).splitlines()[1:] if "\t" in line)
    return [(sentence.strip(), int(label)) for sentence, label in rows]


def read_squad(file: Path) -> list[Question]:
    """Every question of a SQuAD file, version 1 or 2."""
    return [
        Question(
            id=str(each["id"]),
            title=article.get("title", ""),
            question=each["question"].strip(),
            context=paragraph["context"],
            answers=tuple(answer["text"] for answer in each["answers"]),
            starts=tuple(answer["answer_start"] for answer in each["answers"]),
        )
        for article in json.loads(read_text(file))["data"]
        for paragraph in article["paragraphs"]
        for each in paragraph["qas"]
    ]


class Pair(NamedTuple):
    """One English sentence and one French translation of it."""

    english: str
    french: str


def read_pairs(file: Path) -> list[Pair]:
    """The pairs of a file with one `english<TAB>french` a line; lines with an empty side are left out."""
    lines = (line.split("\t") for line in read_text(file).splitlines())
    return [Pair(fields[0].strip(), fields[1].strip()) for fields in lines if len(fields) >= 2 and all(fields[:2])]


def write_squad(questions: Iterable[Question], file: Path) -> None:
    """Write the questions as a SQuAD file, each with a paragraph of its own."""
    data = []
    for each in questions:
        answers = [
            {"text": answer, "answer_start": start} for answer, start in zip(each.answers, each.starts, strict=True)
        ]
        asked = {"id": each.id, "question": each.question, "answers": answers}
        data.append({"title": each.title, "paragraphs": [{"context": each.context, "qas": [asked]}]})
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"version": "kept out", "data": data}), encoding="utf-8")


def sentences_of(paragraph: str) -> list[str]:
    """The paragraph cut after full stops that a capital follows: rough, and enough to compare sentences by."""
    return [sentence for sentence in SENTENCE_END.split(paragraph) if sentence.strip()]


def normalised(sentence: str) -> str:
    """Lower case, letters and digits only, single spaces: what two printings of one sentence have in common."""
    return NOT_A_WORD.sub(" ", sentence.lower()).strip()


def fingerprint(texts: Iterable[str], shortest: int = 0) -> frozenset[str]:
    """The normalised sentences of development texts, those of `shortest` words or more."""
    sentences = (normalised(sentence) for text in texts for sentence in sentences_of(text))
    return frozenset(sentence for sentence in sentences if len(sentence.split()) >= shortest)


def without_development(paragraphs: Iterable[str], development: frozenset[str]) -> Iterator[str]:
    """The paragraphs with every sentence cut out that occurs in the development text; empty ones are left out."""
    for paragraph in paragraphs:
        kept = [sentence for sentence in sentences_of(paragraph) if normalised(sentence) not in development]
        if kept:
            yield " ".join(kept)


class Span(NamedTuple):
    """A name: characters `start` to `end` (exclusive), and its kind."""

    start: int
    end: int
    kind: str


class Marked(NamedTuple):
    """A text and the names in it."""

    text: str
    spans: tuple[Span, ...]

    def lower(self) -> "Marked":
        """The text in lower case, with the same names."""
        return Marked(self.text.lower(), self.spans)


def read_columns(file: Path) -> Iterator[list[list[str]]]:
    """The sentences of a file with a word and its BIO tag in each line: for each word, the columns of its line."""
    for block in read_text(file).split("\n\n"):
        rows = [line.split() for line in block.splitlines() if line.strip() and not line.startswith("-DOCSTART-")]
        if rows:
            yield rows


def read_conll(file: Path) -> list[Marked]:
    """The sentences of a file with a word and its BIO tag in each line, as texts with a space between words."""
    sentences = []
    for rows in read_columns(file):
        content, starts = "", []
        for word, *_ in rows:
            # As people type it: "don't".
            content += " " if content and word != "n't" else ""
            starts.append(len(content))
            content += word
        spans = [
            Span(starts[first], starts[end - 1] + len(rows[end - 1][0]), kind)
            for kind, first, end in spans_of([tag for _, *_, tag in rows])
        ]
        sentences.append(Marked(content, tuple(spans)))
    return sentences


def joined(texts: Iterable[Marked]) -> Marked:
    """The texts one after the other as one."""
    content, spans = "", []
    for each in texts:
        content += " " if content else ""
        spans += [Span(span.start + len(content), span.end + len(content), span.kind) for span in each.spans]
        content += each.text
    return Marked(content, tuple(spans))
