"""Perplexity per word: how well a language model predicts a text, whatever its vocabulary."""

import math

import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedTokenizerBase

CONTEXT = 512


@torch.inference_mode()
def losses(
    model: nn.Module, tokenizer: PreTrainedTokenizerBase, text: str, context: int = CONTEXT, overlap: int | None = None
) -> tuple[float, int]:
    """The summed cross-entropy, in nats, of all pieces of `text` after the start token, and their number.

    Windows of `context` pieces overlap by `overlap`, and only new pieces count. By default they overlap by half, so a
    piece has at least half a window before it (as the transformers documentation measures models of fixed length).
    """
    start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    ids = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    pieces = torch.tensor([start, *ids], device=next(model.parameters()).device)
    overlap, total = context // 2 if overlap is None else overlap, 0.0
    for at in range(0, max(1, len(ids) - overlap), context - overlap):
        window = pieces[at : at + context + 1]
        new = window[1:] if at == 0 else window[1 + overlap :]
        logits = model(input_ids=window[None, :-1], use_cache=False).logits[0, -len(new) :]
        total += functional.cross_entropy(logits.float(), new, reduction="sum").item()
    return total, len(ids)


def perplexity_per_word(model: nn.Module, tokenizer: PreTrainedTokenizerBase, text: str) -> float:
    """exp(loss of all pieces / number of words); words are separated by white space."""
    return math.exp(losses(model, tokenizer, text)[0] / len(text.split()))
