"""A checkpoint's tokenizer: text to ids and back.

Nearly all are read by the library `tokenizers` alone, from `tokenizer.json`; transformers is needed only for the few
that have no such file. Special tokens that visitors type, such as `</s>` or `[SEP]`, are text, apart from the mask.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tokenizers
from tokenizers import Regex, pre_tokenizers
from tokenizers.models import Unigram

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class TokenizerSettings:
    """What transformers knows of a tokenizer beside its `tokenizer.json`, which `is_fast` says is there.

    `special` are the ids of all special tokens. Padding stands in front where `pads_left`; `pad_type_id` is its token
    type, and `has_types` says whether the network reads types.
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
    """One text, or a pair: an entry for each token.

    `offsets` are its characters `[start, end)` in the text that it is from, `(0, 0)` where that is not known; `parts`
    says which text of a pair that is, 0 or 1, and None for a special token that was added. `types` are token type ids.
    """

    ids: list[int]
    offsets: list[tuple[int, int]]
    parts: list[int | None]
    types: list[int]


class Tokenizer(ABC):
    """A tokenizer that reads what visitors type; attributes and methods are named as transformers names them."""

    def __init__(self, settings: TokenizerSettings) -> None:
        self.settings = settings
        self.all_special_ids = frozenset(settings.special)
        self.mask_token = settings.mask_token
        self.mask_token_id = settings.mask_token_id
        self.unk_token_id = settings.unk_token_id
        self.bos_token_id = settings.bos_token_id
        self.eos_token_id = settings.eos_token_id
        self.cls_token_id = settings.cls_token_id

    @property
    def has_offsets(self) -> bool:
        """Whether it knows from which characters a token was made."""
        return self.settings.is_fast

    @property
    def is_word_piece(self) -> bool:
        """Whether it spells words as BERT does, with `##` before what goes on with one."""
        return False

    @property
    def is_byte_level(self) -> bool:
        """Whether it spells bytes as printable characters, as GPT-2 does (Radford et al., 2019)."""
        return False

    @abstractmethod
    def __len__(self) -> int:
        """The size of the vocabulary, added tokens included."""

    @abstractmethod
    def encode(self, text: str, pair: str | None = None, *, special: bool = True) -> Encoding:
        """The tokens of `text`, or of a pair of texts, with the special tokens around them unless `special` is off."""

    def windows(self, first: str, second: str, max_length: int, stride: int) -> list[Encoding]:
        """The pair in windows of at most `max_length` tokens that overlap by `stride`; each holds all of `first`."""
        raise NotImplementedError("such tokenizers are only known for translation")

    @abstractmethod
    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str | None]:
        """The vocabulary's spelling of each id, None for an id that it does not have."""

    @abstractmethod
    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """The text that `ids` spell."""

    def normalise(self, text: str) -> str:
        """`text` as it is before it is split into tokens."""
        return text


class FastTokenizer(Tokenizer):
    """A tokenizer of the library `tokenizers`."""

    def __init__(self, settings: TokenizerSettings, backend: tokenizers.Tokenizer) -> None:
        super().__init__(settings)
        self._backend = with_marks_as_text(backend, settings.mask_token or "")
        # Truncation is a state of the library's object, so each size of windows has one of its own.
        self._in_windows: dict[tuple[int, int], tokenizers.Tokenizer] = {}

    @property
    def is_word_piece(self) -> bool:
        """See `Tokenizer`."""
        return type(self._backend.model).__name__ == "WordPiece"

    @property
    def is_byte_level(self) -> bool:
        """See `Tokenizer`."""
        return "ByteLevel" in str(self._backend.decoder)

    def __len__(self) -> int:
        return int(self._backend.get_vocab_size(with_added_tokens=True))

    def encode(self, text: str, pair: str | None = None, *, special: bool = True) -> Encoding:
        """See `Tokenizer`."""
        return _encoding(self._backend.encode(text, pair, add_special_tokens=special))

    def windows(self, first: str, second: str, max_length: int, stride: int) -> list[Encoding]:
        """See `Tokenizer`."""
        size = (max_length, stride)
        if size not in self._in_windows:
            backend = with_marks_as_text(self._backend, self.mask_token or "")
            backend.enable_truncation(max_length, stride=stride, strategy="only_second")
            self._in_windows[size] = backend
        found = self._in_windows[size].encode(first, second)
        return [_encoding(each) for each in (found, *found.overflowing)]

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str | None]:
        """See `Tokenizer`."""
        return [self._backend.id_to_token(each) for each in ids]

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """See `Tokenizer`."""
        return str(self._backend.decode(list(ids), skip_special_tokens=skip_special_tokens))

    def normalise(self, text: str) -> str:
        """See `Tokenizer`."""
        normalizer = self._backend.normalizer
        return text if normalizer is None else str(normalizer.normalize_str(text))


class SlowTokenizer(Tokenizer):
    """A tokenizer of transformers, for checkpoints without a `tokenizer.json`, such as published Marian ones."""

    def __init__(self, settings: TokenizerSettings, plain: "PreTrainedTokenizerBase") -> None:
        super().__init__(settings)
        self._plain: Any = plain
        self._plain.split_special_tokens = True

    def __len__(self) -> int:
        return len(self._plain)

    def encode(self, text: str, pair: str | None = None, *, special: bool = True) -> Encoding:
        """See `Tokenizer`."""
        ids = list(self._plain(text, pair, add_special_tokens=special, verbose=False)["input_ids"])
        return Encoding(ids, [(0, 0)] * len(ids), [None] * len(ids), [0] * len(ids))

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str | None]:
        """See `Tokenizer`."""
        return list(self._plain.convert_ids_to_tokens(list(ids)))

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """See `Tokenizer`."""
        return str(self._plain.decode(list(ids), skip_special_tokens=skip_special_tokens))


def with_marks_as_text(tokenizer: tokenizers.Tokenizer, mask: str = "") -> tokenizers.Tokenizer:
    """A copy of `tokenizer` that spells every special token in a text in ordinary pieces, apart from `mask`.

    Both share one vocabulary. The mask is an added token of the copy that is not special: only such ones are still
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
        # Such a vocabulary holds its marks as pieces of text: between the first character and the rest of a mark the
        # text is cut, so that no piece can reach over it.
        cut = "|".join(f"{re.escape(mark[0])}(?={re.escape(mark[1:])})" for mark in marks)
        cutting = pre_tokenizers.Split(Regex(cut), "merged_with_previous")
        before = [copy.pre_tokenizer] if copy.pre_tokenizer is not None else []
        copy.pre_tokenizer = pre_tokenizers.Sequence([*before, cutting])
    return copy


def _encoding(found: tokenizers.Encoding) -> Encoding:
    return Encoding(found.ids, found.offsets, found.sequence_ids, found.type_ids)
