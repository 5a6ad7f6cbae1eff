"""From token ids to tokens that a reader can read."""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from transformers import PreTrainedTokenizerBase

from models.outputs import Token
from models.text.byte_pieces import fallback_byte, is_byte_level

_METASPACE = "\u2581"
_WORD_END = "</w>"
_NOWHERE = (-1, -1)
_MORE_THAN_ASCII = 0x80
# Every text asks for the same few thousand tokens: spelling each of them once costs a vocabulary's size at most.
_KNOWN: WeakKeyDictionary[PreTrainedTokenizerBase, dict[int, tuple[str, str, bool]]] = WeakKeyDictionary()


def readable(tokenizer: PreTrainedTokenizerBase, token_id: int) -> str:
    """The text of one token: WordPiece keeps its `##`, a piece that begins a word elsewhere has its space in front.

    A piece of a character's bytes (byte-level BPE may split an emoji) has no text of its own and keeps its spelling.
    """
    (token,) = read_tokens(tokenizer, [token_id])
    return token.text


def read_tokens(
    tokenizer: PreTrainedTokenizerBase,
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


def _spelt(tokenizer: PreTrainedTokenizerBase, ids: list[int]) -> list[tuple[str, str, bool]]:
    """How each token reads, the vocabulary's spelling, and whether it is special."""
    specials, byte_level = set(tokenizer.all_special_ids), is_byte_level(tokenizer)
    return [
        (piece if token_id in specials else _text(tokenizer, token_id, piece, byte_level), piece, token_id in specials)
        for token_id, piece in zip(ids, tokenizer.convert_ids_to_tokens(ids), strict=True)
    ]


def _text(tokenizer: PreTrainedTokenizerBase, token_id: int, piece: str, byte_level: bool) -> str:
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
    if not byte_level:
        return piece
    text = str(tokenizer.decode([token_id], clean_up_tokenization_spaces=False))
    return piece if "\ufffd" in text else text
