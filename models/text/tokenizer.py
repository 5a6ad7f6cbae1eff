"""Tokenizers: text to ids and back, and tokens in readable form."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tokenizers
from tokenizers import Regex, pre_tokenizers
from tokenizers.models import Unigram

from models.outputs.base import Token
from models.text.characters import BYTE_LEVEL, fallback_byte, over_marks

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


_METASPACE = "\u2581"
_WORD_END = "</w>"
_NOWHERE = (-1, -1)


@dataclass(frozen=True)
class TokenizerSettings:
    """The settings of a tokenizer; one that `is_fast` has a `tokenizer.json` and knows its tokens' offsets.

    `special` are the ids of all special tokens. `pads_left` puts padding in front, `pad_type_id` is its token type, and
    `has_types` says whether the network reads token types.
    """

    special: tuple[int, ...]
    mask_token: str | None = None
    mask_token_id: int | None = None
    unk_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    cls_token_id: int | None = None
    pad_token_id: int | None = None
    pad_type_id: int = 0
    pads_left: bool = False
    has_types: bool = False
    is_fast: bool = True


@dataclass(frozen=True)
class Encoding:
    """The tokens of one text, or of a pair: each list has an entry per token.

    `offsets` are a token's characters `[start, end)` in its text, `(0, 0)` if they are not known; `parts` says which
    text of a pair that is, 0 or 1, and None for a special token that was added. `types` are token type ids.
    """

    ids: list[int]
    offsets: list[tuple[int, int]]
    parts: list[int | None]
    types: list[int]


class Tokenizer:
    """A tokenizer of the library `tokenizers`; attributes and methods are named as transformers names them."""

    def __init__(self, settings: TokenizerSettings, backend: tokenizers.Tokenizer) -> None:
        self._keep(settings)
        self._backend: Any = with_marks_as_text(backend, settings.mask_token or "")
        self.is_word_piece = type(self._backend.model).__name__ == "WordPiece"
        self.is_byte_level = "ByteLevel" in str(self._backend.decoder)
        # Truncation is a setting of the library's object, so each size of windows has an object of its own.
        self._in_windows: dict[tuple[int, int], tokenizers.Tokenizer] = {}

    def _keep(self, settings: TokenizerSettings) -> None:
        self.settings = settings
        self.all_special_ids = frozenset(settings.special)
        # The readable text of tokens is cached: every text needs the same few thousand of them.
        self.spelt: dict[int, tuple[str, str, bool]] = {}

    def __len__(self) -> int:
        return int(self._backend.get_vocab_size(with_added_tokens=True))

    def encode(self, text: str, pair: str | None = None, *, special: bool = True) -> Encoding:
        """Encode `text`, or a pair of texts, with the special tokens around them unless `special` is false."""
        return _encoding(self._backend.encode(text, pair, add_special_tokens=special))

    def read(self, text: str, *, special: bool = True) -> tuple[Encoding, tuple[Token, ...]]:
        """The encoding of one text, and its tokens with their offsets in it, extended over the marks after them."""
        encoded = self.encode(text, special=special)
        return encoded, read_tokens(self, encoded.ids, over_marks(text, encoded.offsets))

    def windows(self, first: str, second: str, max_length: int, stride: int) -> list[Encoding]:
        """Encode a pair in windows of at most `max_length` tokens that overlap by `stride`; each contains `first`."""
        size = (max_length, stride)
        if size not in self._in_windows:
            backend = with_marks_as_text(self._backend, self.settings.mask_token or "")
            backend.enable_truncation(max_length, stride=stride, strategy="only_second")
            self._in_windows[size] = backend
        found = self._in_windows[size].encode(first, second)
        return [_encoding(each) for each in (found, *found.overflowing)]

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str | None]:
        """The vocabulary's spelling of each id, None for an id that it does not have."""
        return [self._backend.id_to_token(each) for each in ids]

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """The text that `ids` spell."""
        return str(self._backend.decode(list(ids), skip_special_tokens=skip_special_tokens))

    def normalise(self, text: str) -> str:
        """Return `text` as it is normalised before it is split into tokens."""
        normalizer = self._backend.normalizer
        return text if normalizer is None else str(normalizer.normalize_str(text))


class SlowTokenizer(Tokenizer):
    """A tokenizer of transformers, for checkpoints without a `tokenizer.json`, such as published Marian ones."""

    is_word_piece = is_byte_level = False

    def __init__(self, settings: TokenizerSettings, plain: "PreTrainedTokenizerBase") -> None:
        self._keep(settings)
        self._backend = plain
        self._backend.split_special_tokens = True

    def __len__(self) -> int:
        return len(self._backend)

    def encode(self, text: str, pair: str | None = None, *, special: bool = True) -> Encoding:
        """See `Tokenizer`; the offsets are not known."""
        ids = list(self._backend(text, pair, add_special_tokens=special, verbose=False)["input_ids"])
        return Encoding(ids, [(0, 0)] * len(ids), [None] * len(ids), [0] * len(ids))

    def windows(self, first: str, second: str, max_length: int, stride: int) -> list[Encoding]:
        """Raise `NotImplementedError`."""
        raise NotImplementedError("such tokenizers are only known for translation")

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str | None]:
        """See `Tokenizer`."""
        return list(self._backend.convert_ids_to_tokens(list(ids)))

    def normalise(self, text: str) -> str:
        """Return `text` unchanged."""
        return text


def with_marks_as_text(tokenizer: tokenizers.Tokenizer, mask: str = "") -> tokenizers.Tokenizer:
    """A copy of `tokenizer` that splits every special token written in a text, except `mask`, into ordinary pieces.

    Both share one vocabulary. The mask is an added token of the copy that is not special: only such tokens are still
    found in a text when `encode_special_tokens` is set.
    """
    copy = tokenizers.Tokenizer(tokenizer.model)
    for step in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        if getattr(tokenizer, step) is not None:
            setattr(copy, step, getattr(tokenizer, step))
    marks = []
    for _, token in sorted(tokenizer.get_added_tokens_decoder().items()):
        if token.special and token.content != mask:
            marks.append(token.content)
            copy.add_special_tokens([token])
        else:
            token.special = False
            copy.add_tokens([token])
    copy.encode_special_tokens = True
    if marks and isinstance(tokenizer.model, Unigram):
        # A Unigram vocabulary holds its special tokens as ordinary pieces: the text is split after the first character
        # of each of them, so that none can match.
        cut = "|".join(f"{re.escape(mark[0])}(?={re.escape(mark[1:])})" for mark in marks)
        cutting = pre_tokenizers.Split(Regex(cut), "merged_with_previous")
        before = [copy.pre_tokenizer] if copy.pre_tokenizer is not None else []
        copy.pre_tokenizer = pre_tokenizers.Sequence([*before, cutting])
    return copy


def _encoding(found: tokenizers.Encoding) -> Encoding:
    return Encoding(found.ids, found.offsets, found.sequence_ids, found.type_ids)


def bytes_of_pieces(tokenizer: Tokenizer, size: int) -> list[bytes | None]:
    """The bytes of each id from 0 to `size` (exclusive), a space for SentencePiece's mark; None for special tokens.

    The marks `##` of WordPiece and `</w>` of the first GPT are not interpreted.
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


def readable(tokenizer: Tokenizer, token_id: int) -> str:
    """The text of one token: WordPiece keeps its `##`, other pieces that begin a word have a space in front.

    A piece of a character's bytes (byte-level BPE may split an emoji) has no text of its own and keeps its spelling.
    """
    return read_tokens(tokenizer, [token_id])[0].text


def read_tokens(
    tokenizer: Tokenizer, ids: Sequence[int], offsets: Sequence[tuple[int, int]] | None = None
) -> tuple[Token, ...]:
    """Return the tokens of `ids`, with `offsets`, their characters in the text they came from, if there is one.

    Special tokens have no offsets unless they stand for written text: unknown tokens and blanks.
    """
    spelt, tokens = tokenizer.spelt, []
    for token_id, place in zip(map(int, ids), offsets or [_NOWHERE] * len(ids), strict=True):
        if token_id not in spelt:
            (piece,) = tokenizer.convert_ids_to_tokens([token_id])
            special = token_id in tokenizer.all_special_ids
            spelt[token_id] = (_text(tokenizer, token_id, piece or "", special), piece or "", special)
        text, piece, special = spelt[token_id]
        start, end = _NOWHERE if special and place[0] >= place[1] else place
        tokens.append(Token(text, piece, token_id, special, start, end))
    return tuple(tokens)


def _text(tokenizer: Tokenizer, token_id: int, piece: str, special: bool) -> str:
    """Return the readable text of a piece of the vocabulary."""
    byte = fallback_byte(piece)
    if special or piece.startswith("##"):
        return piece
    if byte is not None:
        # An ASCII byte is a whole character; any other is only a part of one.
        return chr(byte) if chr(byte).isascii() else piece
    if _METASPACE in piece:
        return piece.replace(_METASPACE, " ")
    if piece.endswith(_WORD_END):
        return piece.removesuffix(_WORD_END)
    if not tokenizer.is_byte_level:
        return piece
    text = tokenizer.decode([token_id])
    return piece if "\ufffd" in text else text
