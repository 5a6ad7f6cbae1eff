"""From token ids to tokens that a reader can read."""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from models.outputs import Token

_METASPACE = "\u2581"
_WORD_END = "</w>"


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
    """The tokens of `ids`; `offsets` are their characters in the text they came from, where there is one."""
    # Both are computed anew at each call of the tokenizer, which would cost more than the network does on a short text.
    specials, byte_level = set(tokenizer.all_special_ids), _is_byte_level(tokenizer)
    pieces = tokenizer.convert_ids_to_tokens(list(ids))
    tokens = []
    for position, (token_id, piece) in enumerate(zip(ids, pieces, strict=True)):
        special = token_id in specials
        text = piece if special else _text(tokenizer, int(token_id), piece, byte_level)
        start, end = offsets[position] if offsets is not None and not special else (-1, -1)
        tokens.append(Token(text, piece, int(token_id), special, start, end))
    return tuple(tokens)


def _text(tokenizer: PreTrainedTokenizerBase, token_id: int, piece: str, byte_level: bool) -> str:
    """How a piece that is no special token reads."""
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


def _is_byte_level(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the tokenizer spells bytes as printable characters, as GPT-2's does (Radford et al., 2019)."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and "ByteLevel" in str(backend.decoder)
