"""Stories and reviews: cleaned, and samples of a trained model with what is counted in them."""

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from transformers import GPT2LMHeadModel, LogitsProcessor, LogitsProcessorList, PreTrainedTokenizerFast

from models.decoding.sampling import barred
from training.bpe import END_OF_TEXT
from training.text import fingerprint, normalised, read_text, sentences_of

KEPT_OUT_BOOKS = ("Heidi", "The Railway Children")
KEPT_OUT_REVIEWS = 500
BETWEEN_PARAGRAPHS = "\n\n"
# A sentence of fewer words says nothing about where it comes from.
TELLING = 6
# Children read what the model writes, too: such sentences are cut out, and reviews with many of them left out.
FOR_ADULTS = re.compile(
    r"\b(sex|sexual(ly|ity)?|sexy|sexiest|nud(e|es|ity|ist)|naked\w*|topless|porn\w*|erotic\w*|orgasm\w*|org(y|ies)|"
    r"masturbat\w*|ejaculat\w*|genital\w*|penis\w*|vagina\w*|boobs?|tits|titties|breasts|horny|kinky|fetish\w*|"
    r"bondage|hookers?|strippers?|striptease|prostitut\w*|brothels?|whore\w*|whoring|sluts?|slutty|bitch\w*|incest\w*|"
    r"p(a)?edophil\w*|molest\w*|rape[sd]?|rap(ing|ists?)|softcore|xxx|ma(k|d)(e|ing) love|virgins?|"
    r"fuck\w*|shit\w*|bullshit|asshole\w*|cunts?|nigg\w+|fags?|faggots?)\b",
    re.IGNORECASE,
)
MOST_CUT = 3
SENTENCE_BREAK = re.compile(r"(?<=[.!?\"')])\s+(?=[A-Z\"'(])")
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
        short_stories=for_all(apart([prose(story) for story in short[:-1]], development)),
        fairy_tales=for_all(apart([prose(tale.partition("\n")[2]) for tale in tales], development)),
        books=for_all(body for title, body in books.items() if title not in KEPT_OUT_BOOKS),
        reviews=for_all(
            each_once(apart([*reviews[:-KEPT_OUT_REVIEWS], *labelled_reviews(data)], development)), MOST_CUT
        ),
        books_kept_out=BETWEEN_PARAGRAPHS.join(books[title] for title in KEPT_OUT_BOOKS),
        reviews_kept_out=BETWEEN_PARAGRAPHS.join(kept_out),
    )


def labelled_reviews(data: Path) -> list[str]:
    """The reviews that have labels, without them."""
    rows = (line.split("\t", 3) for line in read_text(data / "imdb/train.tsv.xz").split("\n"))
    return [prose(re.sub(r"<br\s*/?>", "\n", row[3])) for row in rows if len(row) == 4]


def for_all(documents: Iterable[str], most: float = math.inf) -> list[str]:
    """The documents without sentences that are `FOR_ADULTS`; none of which more than `most` would be cut out."""
    found = []
    for document in documents:
        if not FOR_ADULTS.search(document):
            found.append(document)
            continue
        paragraphs = [SENTENCE_BREAK.split(paragraph) for paragraph in document.split(BETWEEN_PARAGRAPHS)]
        kept = [[sentence for sentence in some if not FOR_ADULTS.search(sentence)] for some in paragraphs]
        if 0 < sum(map(len, kept)) >= sum(map(len, paragraphs)) - most:
            found.append(BETWEEN_PARAGRAPHS.join(" ".join(some) for some in kept if some))
    return found


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


LONGEST_COPY = 40


class LoopGuard(LogitsProcessor):
    """For `generate`, ahead of its temperature and cut-offs: no run of `size` pieces is drawn a third time."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """`scores` `[row, vocabulary]` with those of barred pieces at minus infinity; `input_ids` `[row, piece]`."""
        guarded = scores.clone()
        for row, written in zip(guarded, input_ids.tolist(), strict=True):
            row[barred(written, self.size)] = float("-inf")
        return guarded


@torch.inference_mode()
def sample(
    model: GPT2LMHeadModel,
    tokenizer: PreTrainedTokenizerFast,
    prompt: str,
    seed: int,
    length: int,
    loop_guard: int = 0,
) -> Tensor:
    """Up to `length` pieces [n] that follow `prompt`, an empty one starting from the end-of-text token.

    Runs of `loop_guard` pieces, if it is not 0, are drawn no third time, as on the page.
    """
    torch.manual_seed(seed)
    ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(prompt)["input_ids"]]])
    written: Tensor = model.generate(  # type: ignore[assignment, misc]
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=True,
        temperature=0.8,
        top_p=0.95,
        top_k=0,
        max_new_tokens=length,
        logits_processor=LogitsProcessorList([LoopGuard(loop_guard)] if loop_guard else []),
    )
    return written[0, ids.shape[1] :].cpu()


def repeats_phrase(pieces: Tensor, size: int = 4, times: int = 3) -> bool:
    """Whether some run of `size` pieces of `pieces` [n] occurs at least `times` times."""
    runs = pieces.unfold(0, size, 1).tolist() if len(pieces) >= size else []
    return any(count >= times for count in Counter(map(tuple, runs)).values())


def copied(samples: list[Tensor], sources: Iterable[Tensor], at_least: int = LONGEST_COPY) -> list[int]:
    """The places of the samples [n] of which `at_least` pieces in a row stand so in one of the sources [m]."""
    runs: dict[bytes, set[int]] = {}
    for at, pieces in enumerate(samples):
        for run in pieces.unfold(0, at_least, 1) if len(pieces) >= at_least else ():
            runs.setdefault(run.numpy().tobytes(), set()).add(at)
    first = torch.tensor(sorted({int.from_bytes(run[:8], "little") for run in runs}), dtype=torch.long)
    found: set[int] = set()
    for source in sources:
        for start in torch.isin(source[: len(source) - at_least + 1], first).nonzero().flatten().tolist():
            found |= runs.get(source[start : start + at_least].numpy().tobytes(), set())
    return sorted(found)
