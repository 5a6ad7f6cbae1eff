"""What a teacher expects at each place of a text, in another model's pieces.

Where no token begins together with a piece (`vocabularies.py`) nothing is foreseen.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from training.expectations import Expectations
from training.vocabularies import START, Vocabularies

# Of the teacher's own tokens at a time.
ROWS, WINDOW = 8, 512
SEED = 23
FILE_OF = 25
"""Batches in a file of what is kept."""


@dataclass(frozen=True)
class Foreseen:
    """Documents as a run of pieces, and what a teacher expects at some of its places.

    `pieces` [n], int64; `row` [n], int32, the row of `drawn` for a place, or -1; `drawn` [m, DRAWS], int16, pieces that
    might have stood there, all equally likely.
    """

    pieces: Tensor
    row: Tensor
    drawn: Tensor


class Reader:
    """A teacher that reads documents for a model of another tokenizer."""

    def __init__(
        self, teacher: LlamaForCausalLM, theirs: PreTrainedTokenizerFast, tokenizer: PreTrainedTokenizerFast
    ) -> None:
        """`teacher` may be made bfloat16."""
        self._both = Vocabularies(theirs, tokenizer)
        self._expectations = Expectations(teacher, self._both.together)

    def read(self, documents: list[str]) -> Foreseen:
        """What is expected in `documents`, which fit into one batch. Each stands behind a piece that ends one."""
        stream: list[int] = []
        pieces: list[int] = []
        places: list[int] = []
        tokens_before: list[int] = []
        for document in documents:
            ours, theirs = self._both.pieces_of(document), self._both.tokens_of(document)
            for place, token in enumerate(self._both.beside(ours, theirs), len(pieces) + 1):
                if token >= 0:
                    places.append(place)
                    tokens_before.append(len(stream) + token)
            pieces += [self._both.end, *ours]
            stream += [START, *theirs]
        pieces.append(self._both.end)
        padded = torch.tensor(stream + [START] * (ROWS * WINDOW - len(stream))).view(ROWS, WINDOW)
        drawn = self._expectations(padded, torch.tensor(tokens_before), torch.rand(len(tokens_before)))
        row = torch.full((len(pieces),), -1, dtype=torch.int32)
        row[places] = torch.arange(len(places), dtype=torch.int32)
        return Foreseen(torch.tensor(pieces), row, self._both.first_of_sorted[drawn].to(torch.int16))

    def batches(self, documents: Iterable[str]) -> Iterator[list[str]]:
        """Documents that fit into a batch together; one that is longer than a batch is left out."""
        batch: list[str] = []
        size = 0
        for document in documents:
            tokens = len(self._both.tokens_of(document)) + 1
            if tokens > ROWS * WINDOW:
                continue
            if size + tokens > ROWS * WINDOW:
                yield batch
                batch, size = [], 0
            batch.append(document)
            size += tokens
        if batch:
            yield batch


def joined(parts: Sequence[Foreseen]) -> Foreseen:
    """All parts as one run; the end of one is the start of the next, and stands there once."""
    pieces, rows, count = [parts[0].pieces[:1]], [parts[0].row[:1]], 0
    for part in parts:
        row = torch.where(part.row >= 0, part.row + count, part.row)
        pieces.append(part.pieces[1:])
        # Nothing is expected of the first piece here; what was, is where the part before ends.
        rows.append(row[1:])
        count += len(part.drawn)
    return Foreseen(torch.cat(pieces), torch.cat(rows), torch.cat([part.drawn for part in parts]))


def foresee(reader: Reader, documents: Iterable[str], folder: Path, pieces: int) -> Foreseen:
    """What `reader` expects in the first of `documents`, so many that they have `pieces`; resumes from `folder`."""
    batches = reader.batches(documents)
    groups = iter(lambda: list(islice(batches, FILE_OF)), [])
    return kept_in_files((partial(read_all, reader, group) for group in groups), folder, pieces)


def read_all(reader: Reader, batches: list[list[str]]) -> Foreseen:
    """What `reader` expects in all of `batches`."""
    return joined([reader.read(batch) for batch in batches])


def kept_in_files(makers: Iterable[Callable[[], Foreseen]], folder: Path, pieces: int) -> Foreseen:
    """What the first of `makers` make, so many that it has `pieces`; what a file of `folder` has is not made again."""
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[Foreseen] = []
    for number, make in enumerate(makers):
        file = folder / f"{number:05}.pt"
        if not file.exists():
            torch.manual_seed(SEED + number)
            torch.save(vars(make()), file.with_suffix(".new"))
            file.with_suffix(".new").replace(file)
        parts.append(Foreseen(**torch.load(file, weights_only=True)))
        count = sum(len(part.pieces) for part in parts)
        print(f"foreseen: {count} of {pieces} pieces", flush=True)
        if count >= pieces:
            break
    return joined(parts)
