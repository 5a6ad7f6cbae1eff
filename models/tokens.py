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
    piece = str(tokenizer.convert_ids_to_tokens(token_id))
    if token_id in tokenizer.all_special_ids or piece.startswith("##"):
        return piece
    if _METASPACE in piece:
        return piece.replace(_METASPACE, " ")
    if piece.endswith(_WORD_END):
        return piece.removesuffix(_WORD_END)
    if not _is_byte_level(tokenizer):
        return piece
    text = str(tokenizer.decode([token_id], clean_up_tokenization_spaces=False))
    return piece if "\ufffd" in text else text


def read_tokens(
    tokenizer: PreTrainedTokenizerBase,
    ids: Sequence[int],
    offsets: Sequence[tuple[int, int]] | None = None,
) -> tuple[Token, ...]:
    """The tokens of `ids`; `offsets` are their characters in the text they came from, where there is one."""
    specials = set(tokenizer.all_special_ids)
    pieces = tokenizer.convert_ids_to_tokens(list(ids))
    tokens = []
    for position, (token_id, piece) in enumerate(zip(ids, pieces, strict=True)):
        special = token_id in specials
        start, end = offsets[position] if offsets is not None and not special else (-1, -1)
        tokens.append(Token(readable(tokenizer, int(token_id)), str(piece), int(token_id), special, start, end))
    return tuple(tokens)


def _is_byte_level(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the tokenizer spells bytes as printable characters, as GPT-2's does (Radford et al., 2019)."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and "ByteLevel" in str(backend.decoder)
