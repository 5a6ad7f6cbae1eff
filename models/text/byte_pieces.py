"""The bytes that a vocabulary's pieces stand for."""

import re
from typing import Final

from models.text.tokenizer import Tokenizer

_PIECE = re.compile("<0x([0-9A-F]{2})>")
_METASPACE = "\u2581"
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
BYTE_LEVEL: Final = {
    **{chr(byte): byte for byte in _PRINTABLE},
    **{chr(256 + rank): byte for rank, byte in enumerate(_OTHERS)},
}
"""GPT-2's alphabet: printable bytes stand for themselves, the others for characters from U+0100 on."""


def fallback_byte(piece: str) -> int | None:
    """The byte that a piece such as `<0xF0>` stands for, by which SentencePiece spells what it has no piece for."""
    found = _PIECE.fullmatch(piece)
    return int(found[1], 16) if found else None


def bytes_of_pieces(tokenizer: Tokenizer, size: int) -> list[bytes | None]:
    """What each id from 0 to `size` (exclusive) writes, with a space for SentencePiece's mark; None for special tokens.

    WordPiece's and the first GPT's spellings have marks of their own and are not read here.
    """
    byte_level = tokenizer.is_byte_level
    known = min(size, len(tokenizer))
    found: list[bytes | None] = []
    for token_id, piece in enumerate(tokenizer.convert_ids_to_tokens(list(range(known)))):
        byte = fallback_byte(piece or "")
        if piece is None or token_id in tokenizer.all_special_ids:
            found.append(None)
        elif byte is not None:
            found.append(bytes([byte]))
        elif byte_level and all(character in BYTE_LEVEL for character in piece):
            found.append(bytes(BYTE_LEVEL[character] for character in piece))
        else:
            found.append(piece.replace(_METASPACE, " ").encode())
    return found + [None] * (size - known)
