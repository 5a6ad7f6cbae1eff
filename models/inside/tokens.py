"""The visitor's text as the walk reads it: one text or a pair, in the pieces of several vocabularies."""

import json
from collections.abc import Sequence
from functools import cache

from tokenizers import Tokenizer

from models.errors import InputError
from models.inside.outputs import Piece, TokenizedText
from models.outputs.base import Token
from models.registry import Checkpoint, Task
from models.text.tokenizer import with_marks_as_text
from models.wording import Sentence

FROM_THE_MODEL = -1
"""The position that stands for the place where the model makes its guess."""

SIDE_BY_SIDE = ("clearhead-minilm", "clearhead-stories", "clearhead-en-fr")
"""A checkpoint for each way of spelling: WordPiece, byte-level pairs, and pairs that fall back on bytes."""


def texts_of(text: str) -> list[str]:
    """One text, or two of a pair written as in BERT's paper, "[CLS] one [SEP] another [SEP]"; none in mere marks."""
    inner = text.strip().removeprefix("[CLS]").removesuffix("[SEP]")
    return [each.strip() for each in inner.split("[SEP]", maxsplit=1) if each.strip()]


def place_to_follow(task: Task, tokens: Sequence[Piece | Token], mask: str = "[MASK]") -> int:
    """The place, from 0, that a model of `task` guesses at, or the last word where there is nothing to guess at.

    That is the first blank, written `mask`, the start token of a classifier, or the last token of a writer.
    """
    if task in (Task.SENTIMENT, Task.QUESTION_ANSWERING, Task.SENTENCE_PAIR):
        return 0
    if task is Task.COMPLETION:
        return len(tokens) - 1
    blanks = [place for place, token in enumerate(tokens) if token.piece == mask and task is Task.FILL_MASK]
    plain = [place for place, token in enumerate(tokens) if not token.special]
    words = [place for place in plain if any(character.isalnum() for character in tokens[place].piece)]
    return blanks[0] if blanks else (words or plain or [0])[-1]


def tokenize(checkpoint: Checkpoint, text: str, padding: int = 0) -> TokenizedText:
    """`text` in the pieces of a bundled `checkpoint`; one of BERT's kind reads "one [SEP] another" as a pair.

    `padding` empty places stand at the end, as beside a longer text, if the checkpoint has a piece for them.
    """
    tokenizer, pad = _tokenizer(checkpoint)
    scheme = "byte-level" if type(tokenizer.decoder).__name__ == "ByteLevel" else "bpe"
    texts = [text]
    if type(tokenizer.model).__name__ == "WordPiece":
        scheme, texts = "wordpiece", texts_of(text)
    if not texts:
        raise InputError(Sentence("There is nothing but marks in this text. Please type some words."), "text")
    read = tokenizer.encode(texts[0], texts[1] if len(texts) > 1 else None)
    columns = zip(read.tokens, read.ids, read.type_ids, read.special_tokens_mask, read.offsets, strict=True)
    pieces = [Piece(piece, id, segment, True, bool(special), *span) for piece, id, segment, special, span in columns]
    pad_id = tokenizer.token_to_id(pad)
    if pad_id is not None:
        pieces += [Piece(pad, pad_id, 0, False, True, 0, 0)] * padding
    return TokenizedText(checkpoint.name, scheme, tokenizer.get_vocab_size(), tuple(pieces))


@cache
def _tokenizer(checkpoint: Checkpoint) -> tuple[Tokenizer, str]:
    """The tokenizer of a bundled checkpoint and its padding piece, "" where that is its end piece."""
    settings = json.loads((checkpoint.folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    whole = Tokenizer.from_file(str(checkpoint.folder / "tokenizer.json"))
    pad = settings.get("pad_token", "")
    return with_marks_as_text(whole, settings.get("mask_token", "")), "" if pad == settings.get("eos_token") else pad
