"""From token ids to tokens that a reader can read."""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from models.outputs import Token
from models.text.characters import fallback_byte
from models.text.tokenizer import Tokenizer

_METASPACE = "\u2581"
_WORD_END = "</w>"
_NOWHERE = (-1, -1)
_MORE_THAN_ASCII = 0x80
# Every text asks for the same few thousand tokens: spelling each of them once costs a vocabulary's size at most.
_KNOWN: WeakKeyDictionary[Tokenizer, dict[int, tuple[str, str, bool]]] = WeakKeyDictionary()


def readable(tokenizer: Tokenizer, token_id: int) -> str:
    """The text of one token: WordPiece keeps its `##`, a piece that begins a word elsewhere has its space in front.

    A piece of a character's bytes (byte-level BPE may split an emoji) has no text of its own and keeps its spelling.
    """
    (token,) = read_tokens(tokenizer, [token_id])
    return token.text


def read_tokens(
    tokenizer: Tokenizer,
    ids: Sequence[int],
    offsets: Sequence[tuple[int, int]] | None = None,
) -> tuple[Token, ...]:
    """The tokens of `ids`; `offsets` are their characters in the text they came from, where there is one.

    Special tokens have none but where they stand for something that is written: what is unknown, and blanks.
    """
    known = _KNOWN.setdefault(tokenizer, {})
    unknown = [token_id for token_id in dict.fromkeys(map(int, ids)) if token_id not in known]
    if unknown:
        known.update(zip(unknown, _spelt(tokenizer, unknown), strict=True))
    places = offsets or [_NOWHERE] * len(ids)
    return tuple(
        Token(text, piece, token_id, special, *(_NOWHERE if special and place[0] >= place[1] else place))
        for token_id, place in zip(map(int, ids), places, strict=True)
        for text, piece, special in (known[token_id],)
    )


def _spelt(tokenizer: Tokenizer, ids: list[int]) -> list[tuple[str, str, bool]]:
    """How each token reads, the vocabulary's spelling, and whether it is special."""
    found = []
    for token_id, piece in zip(ids, tokenizer.convert_ids_to_tokens(ids), strict=True):
        spelling, special = piece or "", token_id in tokenizer.all_special_ids
        found.append((spelling if special else _text(tokenizer, token_id, spelling), spelling, special))
    return found


def _text(tokenizer: Tokenizer, token_id: int, piece: str) -> str:
    """How a piece that is no special token reads."""
    byte = fallback_byte(piece)
    if byte is not None:
        # What is no part of a longer character reads as itself.
        return chr(byte) if byte < _MORE_THAN_ASCII else piece
    if piece.startswith("##"):
        return piece
    if _METASPACE in piece:
        return piece.replace(_METASPACE, " ")
    if piece.endswith(_WORD_END):
        return piece.removesuffix(_WORD_END)
    if not tokenizer.is_byte_level:
        return piece
    text = tokenizer.decode([token_id])
    return piece if "\ufffd" in text else text
