"""Stories that the teacher writes, and the sources of text that come of them."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import torch
from torch import Tensor
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from training.expectations import Expectations
from training.stories import FOR_ADULTS, Prose
from training.teacher import (
    REVIEWS,
    START,
    STORIES,
    Foreseen,
    Learning,
    Reader,
    Vocabularies,
    foresee,
    joined,
    kept_in_files,
    published_teacher,
    read_documents,
)
from training.text import normalised
from training.windows import SEED, Source, beginnings_of, openings_of

AT_ONCE, LONGEST = 512, 384
"""Documents that are written at the same time, and a document's tokens at most."""
FILE_OF = 4 * AT_ONCE
"""Documents in a file of what is kept."""
OPENING = (1, 18)
"""With so many of its tokens a document begins as a given one does, at least and at most."""
# The first words decide what a document is about, and should differ; those behind them should fit.
FREE = 20
FREE_POWER, POWER = 1.3, 1.6
RARE = 0.4
"""What the weight of a token is multiplied by that only one of the draws is."""
SHORTEST = 45
"""Tokens of a document that is kept."""
LOOPING = 4
"""So many times four words in a row are a loop."""


@dataclass
class _Document:
    """A document as it grows: its `tokens`, of which the `opening` was given, and the pieces expected at each place."""

    number: int
    opening: list[int]
    tokens: list[int] = field(default_factory=list)
    expected: list[Tensor] = field(default_factory=list)


class Writer:
    """A teacher that writes documents for a model of another tokenizer."""

    def __init__(
        self,
        teacher: LlamaForCausalLM,
        theirs: PreTrainedTokenizerFast,
        tokenizer: PreTrainedTokenizerFast,
        examples: list[str],
    ) -> None:
        """`teacher` may be made bfloat16; each document begins as one of `examples`."""
        self._both = Vocabularies(theirs, tokenizer)
        self._expectations = Expectations(teacher, self._both.together)
        self._openings = [self._both.tokens_of(example)[: OPENING[1]] for example in examples]
        self._unwritten = set(theirs.all_special_ids) - {START}

    def write(self, documents: int) -> Foreseen:
        """Of so many documents begun, those that end, are long enough, do not loop and are for children.

        Random as torch's seed is; ValueError where none does.
        """
        chance = random.Random(int(torch.randint(2**31, ()).item()))
        waiting = (_Document(number, self._opening(chance)) for number in range(documents))
        self._expectations.begin(AT_ONCE, LONGEST)
        growing: list[_Document | None] = [next(waiting, None) for _ in range(AT_ONCE)]
        newest = torch.full((AT_ONCE,), START)
        done: dict[int, Foreseen] = {}
        while any(growing):
            lengths = torch.tensor([len(document.tokens) if document else 0 for document in growing])
            drawn = self._expectations.grow(newest, lengths, torch.rand(AT_ONCE))
            drawn_tokens, pieces = self._both.together[drawn], self._both.first_of_sorted[drawn].to(torch.int16)
            newest = chosen(drawn_tokens, lengths)
            for text, document in enumerate(growing):
                if document is None:
                    continue
                place, token = len(document.tokens), int(newest[text])
                token = document.opening[place] if place < len(document.opening) else token
                document.expected.append(pieces[text])
                ends = token == START
                if not ends and token not in self._unwritten and place + 2 < LONGEST:
                    document.tokens.append(token)
                    newest[text] = token
                    continue
                if ends and (kept := self._kept(document)):
                    done[document.number] = kept
                growing[text], newest[text] = next(waiting, None), START
        if not done:
            raise ValueError("No document came to an end that is worth keeping.")
        return joined([done[number] for number in sorted(done)])

    def _opening(self, chance: random.Random) -> list[int]:
        return chance.choice(self._openings)[: chance.randint(*OPENING)]

    def _kept(self, document: _Document) -> Foreseen | None:
        text = str(self._both.theirs.decode(document.tokens))
        if len(document.tokens) < SHORTEST or loops(text) or FOR_ADULTS.search(text):
            return None
        pieces, end = self._both.pieces_of(text), self._both.end
        beside = torch.tensor([-1, *self._both.beside(pieces, document.tokens)])
        # Behind nothing at all a teacher expects anything; how stories begin is learnt from those that it has begun.
        beside[1] = -1
        row = torch.full((len(beside),), -1, dtype=torch.int32)
        row[beside >= 0] = torch.arange(int((beside >= 0).sum()), dtype=torch.int32)
        expected = torch.stack(document.expected)[beside[beside >= 0]]
        return Foreseen(torch.tensor([end, *pieces, end]), row, expected)


def chosen(drawn: Tensor, lengths: Tensor) -> Tensor:
    """One token [texts] of those `drawn` [texts, draws] for each text of a length [texts], the likelier more often."""
    times = (drawn[:, :, None] == drawn[:, None, :]).sum(-1)
    # A token of n draws weighs n times what one of its draws does.
    power = torch.where(lengths < FREE, FREE_POWER, POWER)[:, None] - 1
    weights = times.float() ** power
    weights[times == 1] *= RARE
    return drawn.gather(1, torch.multinomial(weights, 1))[:, 0]


def loops(text: str) -> bool:
    """Whether four words in a row come `LOOPING` times."""
    words = normalised(text).split()
    runs = Counter(zip(*(words[start:] for start in range(4)), strict=False))
    return max(runs.values(), default=0) >= LOOPING


def written(writer: Writer, folder: Path, pieces: int) -> Foreseen:
    """So many `pieces` that `writer` writes; resumes from `folder`."""
    makers: Iterator[Callable[[], Foreseen]] = (partial(writer.write, FILE_OF) for _ in count())
    return kept_in_files(makers, folder, pieces)


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
