"""Tokenize the text of the tab Inside, one text or a pair, with the tokenizers of several checkpoints."""

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
"""The value of `position` that stands for the token at which the model makes its guess."""

SIDE_BY_SIDE = ("clearhead-minilm", "clearhead-stories", "clearhead-en-fr")
"""One checkpoint for each kind of tokenizer: WordPiece, byte-level BPE, and BPE with byte fallback."""


def texts_of(text: str) -> list[str]:
    """Split `text` into one text or the two of a pair, written as in BERT's paper, "[CLS] one [SEP] another [SEP]".

    The list is empty for a text of marks alone.
    """
    inner = text.strip().removeprefix("[CLS]").removesuffix("[SEP]")
    return [each.strip() for each in inner.split("[SEP]", maxsplit=1) if each.strip()]


def place_to_follow(task: Task, tokens: Sequence[Piece | Token], mask: str = "[MASK]") -> int:
    """The index of the token at which a model of `task` makes its guess, or of the last word where there is no guess.

    That is the first blank (spelt `mask`), the start token of a classifier, or the last token of a decoder.
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
    """Tokenize `text` for a bundled `checkpoint`; BERT's kind (WordPiece) reads "one [SEP] another" as a pair.

    `padding` padding tokens follow, as in a batch with a longer text, if the checkpoint has one. Raises `InputError`
    for a text of marks alone.
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
    """The tokenizer of a bundled checkpoint and its padding token, "" where that is its end token."""
    settings = json.loads((checkpoint.folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    whole = Tokenizer.from_file(str(checkpoint.folder / "tokenizer.json"))
    pad = settings.get("pad_token", "")
    return with_marks_as_text(whole, settings.get("mask_token", "")), "" if pad == settings.get("eos_token") else pad
