"""The completion model's sources that come from a larger one: reviews that it foresaw, and stories that it wrote."""

import random
from collections.abc import Iterator
from pathlib import Path

from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from training.foreseen import Reader, foresee
from training.stories import Prose
from training.teacher import REVIEWS, STORIES, Learning, published_teacher, read_documents
from training.windows import SEED, Source, beginnings_of, openings_of
from training.writing import Writer, written

FORESEEN = 15_000_000
"""Pieces of reviews that it reads."""
WRITTEN = 2_000_000
"""Pieces of stories that it writes."""


def sources_of_a_teacher(tokenizer: PreTrainedTokenizerFast, text: Prose, folder: Path) -> Iterator[Source]:
    """Some of the reviews, with what a teacher expects at each place that has read a few; then stories by another."""
    reviews = random.Random(SEED).sample(text.reviews, len(text.reviews))
    teacher, theirs = teacher_of(reviews, folder / "teacher", REVIEWS)
    read = foresee(Reader(teacher, theirs, tokenizer), reviews, folder / "foreseen", FORESEEN)
    yield Source(read.pieces, openings_of(tokenizer, read.pieces), read)
    short = random.Random(SEED).sample(text.short_stories, len(text.short_stories))
    teacher, theirs = teacher_of(short, folder / "teacher of stories", STORIES)
    told = written(Writer(teacher, theirs, tokenizer, short), folder / "written", WRITTEN)
    # Behind nothing a story is to begin, not to go on.
    yield Source(told.pieces, beginnings_of(tokenizer, told.pieces), told)


def teacher_of(
    documents: list[str], workdir: Path, learning: Learning
) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """The published teacher, trained on `documents` itself, and its tokenizer."""
    teacher, theirs = published_teacher()
    return read_documents(teacher, theirs, documents, workdir, learning), theirs
