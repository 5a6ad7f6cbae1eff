"""Special tokens that are typed in a text, such as `</s>` or `[SEP]`: they are read as text, apart from the mask."""

import re

from tokenizers import Regex, Tokenizer, pre_tokenizers
from tokenizers.models import Unigram
from transformers import PreTrainedTokenizerBase


def read_marks_as_text(tokenizer: PreTrainedTokenizerBase) -> None:
    """Let `tokenizer` spell special tokens that stand in a text in ordinary pieces; its mask alone stays a token.

    The special tokens around a text, such as `[CLS]` and `[SEP]`, are added as before.
    """
    # At every call, transformers sets the backend's `encode_special_tokens` to this.
    tokenizer.split_special_tokens = True
    if tokenizer.is_fast:
        backend, mask = tokenizer.backend_tokenizer, tokenizer.mask_token
        tokenizer._tokenizer = with_marks_as_text(backend, str(mask or ""))


def with_marks_as_text(tokenizer: Tokenizer, mask: str = "") -> Tokenizer:
    """A copy of `tokenizer` that spells every special token in a text in ordinary pieces, apart from `mask`.

    Both share one vocabulary. The mask is an added token of the copy that is not special: only such ones are still
    found in a text when `encode_special_tokens` is set.
    """
    copy = Tokenizer(tokenizer.model)
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
