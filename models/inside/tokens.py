"""The visitor's text as the walk reads it: one text or a pair, in the pieces of several vocabularies."""

import json
from collections.abc import Sequence
from functools import cache

from tokenizers import Tokenizer

from models.errors import InputError
from models.inside.outputs import Piece, TokenizedText
from models.outputs import Token
from models.registry import BUNDLED, Checkpoint, Task
from models.text.tokenizer import with_marks_as_text

FROM_THE_MODEL = -1
"""The position that stands for the place where the model makes its guess."""


def texts_of(text: str) -> list[str]:
    """Return one text, or two of a pair written as in BERT's paper: "[CLS] one [SEP] another [SEP]".

    The list is empty where `text` holds nothing but such marks.
    """
    inner = text.strip().removeprefix("[CLS]").removesuffix("[SEP]")
    parts = [part.strip() for part in inner.split("[SEP]", maxsplit=1)]
    return [part for part in parts if part]


def place_to_follow(task: Task, tokens: Sequence[Piece | Token], mask: str = "[MASK]") -> int:
    """The place, from 0, that a model of `task` guesses at, in the text that it reads.

    That is the first blank, written `mask`; the start token where a label or an answer is read off; and the last token
    of a writer. Where there is nothing to guess at, it is the last word.
    """
    if task in (Task.SENTIMENT, Task.QUESTION_ANSWERING):
        return 0
    if task is Task.COMPLETION:
        return len(tokens) - 1
    blanks = [place for place, token in enumerate(tokens) if token.piece == mask and task is Task.FILL_MASK]
    plain = [place for place, token in enumerate(tokens) if not token.special]
    words = [place for place in plain if any(character.isalnum() for character in tokens[place].piece)]
    return blanks[0] if blanks else (words or plain or [0])[-1]


SIDE_BY_SIDE = ("clearhead-minilm", "clearhead-stories", "clearhead-en-fr")
"""A checkpoint for each way of spelling: WordPiece, byte-level pairs, and pairs that fall back on bytes."""


def tokenize(checkpoint: Checkpoint, text: str, padding: int = 0) -> TokenizedText:
    """`text` in the pieces of a bundled `checkpoint`; one of BERT's kind reads "one [SEP] another" as a pair.

    `padding` is the number of empty places at the end, as when a longer text is read in the same batch; a checkpoint
    that knows no padding piece gets none.
    """
    tokenizer, pad = _tokenizer(checkpoint.name)
    scheme = _scheme(tokenizer)
    texts = texts_of(text) if scheme == "wordpiece" else [text]
    if not texts:
        raise InputError("There is nothing but marks in this text. Please type some words.", "text")
    encoding = tokenizer.encode(texts[0], texts[1] if len(texts) > 1 else None)
    columns = (encoding.tokens, encoding.ids, encoding.type_ids, encoding.special_tokens_mask, encoding.offsets)
    pieces = [
        Piece(piece, token_id, segment, True, bool(special), *offsets)
        for piece, token_id, segment, special, offsets in zip(*columns, strict=True)
    ]
    pad_id = tokenizer.token_to_id(pad) if pad else None
    if pad_id is not None:
        pieces += [Piece(pad, pad_id, 0, False, True, 0, 0)] * padding
    return TokenizedText(checkpoint.name, scheme, tokenizer.get_vocab_size(), tuple(pieces))


def _scheme(tokenizer: Tokenizer) -> str:
    """How the vocabulary spells words."""
    if type(tokenizer.model).__name__ == "WordPiece":
        return "wordpiece"
    return "byte-level" if type(tokenizer.decoder).__name__ == "ByteLevel" else "bpe"


@cache
def _tokenizer(name: str) -> tuple[Tokenizer, str]:
    """The tokenizer of a bundled checkpoint and the piece it fills up with, "" where that is its end piece."""
    folder = BUNDLED / name
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    pad = settings.get("pad_token", "")
    tokenizer = with_marks_as_text(Tokenizer.from_file(str(folder / "tokenizer.json")), settings.get("mask_token", ""))
    return tokenizer, "" if pad == settings.get("eos_token") else pad
