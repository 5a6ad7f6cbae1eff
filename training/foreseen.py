"""What a teacher expects at each place of a text, in another model's pieces.

Both tokenizers are byte-level, so a place before a piece is one before a token if as many bytes lie behind it. There a
token's probability goes to the piece that it begins with. At an eighth of the places no token begins, or one that is
cut in another way, and nothing is foreseen.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from training.expectations import expectations_of
from training.teacher import START

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


def first_pieces(tokenizer: PreTrainedTokenizerFast, theirs: PreTrainedTokenizerFast) -> Tensor:
    """The piece that each of their tokens begins with [token]; what ends a document of theirs ends one of ours."""
    vocabulary, first = tokenizer.get_vocab(), torch.full((len(theirs),), tokenizer.eos_token_id)
    for token, string in enumerate(theirs.convert_ids_to_tokens(range(len(theirs)))):
        if token in theirs.all_special_ids:
            continue
        text = theirs.decode([token])
        if string in vocabulary:
            first[token] = vocabulary[string]
        elif "\ufffd" not in text:
            first[token] = tokenizer(text)["input_ids"][0]
        else:
            # Part of a letter: the most of it that is a piece.
            first[token] = next(vocabulary[string[:n]] for n in range(len(string), 0, -1) if string[:n] in vocabulary)
    return first


def by_place(tokenizer: PreTrainedTokenizerFast, ids: list[int], end: int) -> dict[int, int]:
    """`ids`, and `end` behind them, by how many bytes lie before each."""
    # A byte-level token has one letter for each byte.
    before = accumulate(map(len, tokenizer.convert_ids_to_tokens(ids)), initial=0)
    return dict(zip(before, [*ids, end], strict=True))


def tokens_beside(pieces: dict[int, int], tokens: dict[int, int], first: list[int]) -> list[int]:
    """For each piece the number of the token that begins at its place and with it, or -1.

    Both come by their places in bytes, in their order; `first` is the piece that a token begins with.
    """
    number = {place: at for at, place in enumerate(tokens)}
    return [
        number[place] if place in tokens and first[tokens[place]] == piece else -1 for place, piece in pieces.items()
    ]


class Reader:
    """A teacher that reads documents for a model of another tokenizer."""

    def __init__(
        self, teacher: PreTrainedModel, theirs: PreTrainedTokenizerFast, tokenizer: PreTrainedTokenizerFast
    ) -> None:
        """`teacher` may be made bfloat16."""
        self._theirs, self._ours = theirs, tokenizer
        first = first_pieces(tokenizer, theirs)
        # Tokens that begin with the same piece stand together: so no piece is drawn much too often or too rarely.
        together = first.argsort(stable=True)
        self._first, self._first_of_sorted = first.tolist(), first[together]
        self._expectations = expectations_of(teacher, teacher.lm_head.weight.detach()[together.to(teacher.device)])

    def read(self, documents: list[str]) -> Foreseen:
        """What is expected in `documents`, which fit into one batch. Each stands behind a piece that ends one."""
        end = self._ours.eos_token_id
        stream: list[int] = []
        pieces: list[int] = []
        places: list[int] = []
        tokens_before: list[int] = []
        for document in documents:
            ours, theirs = self._ours(document, verbose=False)["input_ids"], self.tokens_of(document)
            beside = tokens_beside(by_place(self._ours, ours, end), by_place(self._theirs, theirs, START), self._first)
            for place, token in enumerate(beside, len(pieces) + 1):
                if token >= 0:
                    places.append(place)
                    tokens_before.append(len(stream) + token)
            pieces += [end, *ours]
            stream += [START, *theirs]
        pieces.append(end)
        padded = torch.tensor(stream + [START] * (ROWS * WINDOW - len(stream))).view(ROWS, WINDOW)
        drawn = self._expectations(padded, torch.tensor(tokens_before), torch.rand(len(tokens_before)))
        row = torch.full((len(pieces),), -1, dtype=torch.int32)
        row[places] = torch.arange(len(places), dtype=torch.int32)
        return Foreseen(torch.tensor(pieces), row, self._first_of_sorted[drawn].to(torch.int16))

    def tokens_of(self, document: str) -> list[int]:
        """The teacher's own tokens of `document`."""
        ids: list[int] = self._theirs(document, add_special_tokens=False, verbose=False)["input_ids"]
        return ids

    def batches(self, documents: Iterable[str]) -> Iterator[list[str]]:
        """Documents that fit into a batch together; one that is longer than a batch is left out."""
        batch: list[str] = []
        size = 0
        for document in documents:
            tokens = len(self.tokens_of(document)) + 1
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
    folder.mkdir(parents=True, exist_ok=True)
    batches = reader.batches(documents)
    parts: list[Foreseen] = []
    while sum(len(part.pieces) for part in parts) < pieces and (some := list(islice(batches, FILE_OF))):
        file = folder / f"{len(parts):05}.pt"
        if not file.exists():
            torch.manual_seed(SEED + len(parts))
            part = joined([reader.read(batch) for batch in some])
            torch.save(vars(part), file.with_suffix(".new"))
            file.with_suffix(".new").replace(file)
        parts.append(Foreseen(**torch.load(file, weights_only=True)))
        print(f"foreseen: {sum(len(part.pieces) for part in parts)} of {pieces} pieces", flush=True)
    return joined(parts)
