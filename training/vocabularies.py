"""Two byte-level tokenizers beside each other: where a token of one and a piece of the other begin together.

A place before a piece is one before a token if as many bytes lie behind it. There a token's probability goes to the
piece that it begins with. At an eighth of the places no token begins, or one that is cut in another way.
"""

from itertools import accumulate

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

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
