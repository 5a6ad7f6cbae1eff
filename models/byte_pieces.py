"""Pieces that stand for a byte, by which SentencePiece spells what it has no other piece for."""

import re

_PIECE = re.compile("<0x([0-9A-F]{2})>")


def fallback_byte(piece: str) -> int | None:
    """The byte that a piece such as `<0xF0>` stands for, or none."""
    found = _PIECE.fullmatch(piece)
    return int(found[1], 16) if found else None
