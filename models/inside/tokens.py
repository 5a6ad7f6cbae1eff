"""Step 1: text becomes tokens, as three vocabularies spell it. Only tokenizers are read here, no network."""

import json
from functools import cache

from tokenizers import Tokenizer

from models.errors import InputError
from models.inside.outputs import Piece, TokenizedText
from models.inside.texts import texts_of
from models.registry import BUNDLED, Checkpoint
from models.text.tokenizer import with_marks_as_text

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
