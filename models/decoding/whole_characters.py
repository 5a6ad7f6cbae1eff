"""Which tokens may follow a text whose characters are spelled byte by byte, so that no character comes out broken."""

import codecs
from collections.abc import Sequence

from models.text.byte_pieces import bytes_of_pieces
from models.text.tokenizer import Tokenizer

_LONGEST = 4
"""Bytes of the longest character in UTF-8."""


class WholeCharacters:
    """Bars every token whose bytes could not go on with the text as valid UTF-8, and ends within a character."""

    def __init__(self, pieces: Sequence[bytes | None]) -> None:
        self._pieces = pieces
        self._barred: dict[bytes, frozenset[int]] = {}

    def barred(self, written: Sequence[int]) -> frozenset[int]:
        """The ids that may not follow those that are `written`."""
        tail = self._unfinished(written)
        if tail not in self._barred:
            self._barred[tail] = frozenset(
                token_id for token_id, piece in enumerate(self._pieces) if not _follows(tail, piece)
            )
        return self._barred[tail]

    def _unfinished(self, written: Sequence[int]) -> bytes:
        """The bytes of a character that the text ends within."""
        last = [
            self._pieces[token_id] if token_id < len(self._pieces) else None for token_id in written[1 - _LONGEST :]
        ]
        end = b"".join(b" " if each is None else each for each in last)[1 - _LONGEST :]
        for length in range(1, len(end) + 1):
            lead = end[-length]
            if lead >= 0xC0:
                return end[-length:] if length < _length(lead) else b""
            if lead < 0x80:
                break
        return b""


def byte_rule(tokenizer: Tokenizer, size: int) -> WholeCharacters | None:
    """What keeps a model of `size` scores from writing broken characters; None where no piece is a part of one."""
    rule = WholeCharacters(bytes_of_pieces(tokenizer, size))
    return rule if rule.barred(()) else None


def _length(lead: int) -> int:
    """The bytes of a character that begins with `lead`."""
    return 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def _follows(tail: bytes, piece: bytes | None) -> bool:
    """Whether a piece may follow a text that ends with the unfinished character `tail`."""
    if piece is None:
        return not tail
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(tail + piece)
    except UnicodeDecodeError:
        return False
    return True
