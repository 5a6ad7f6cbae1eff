"""Sentence pairs as the translator learns from them: in pieces, in batches with little padding, and the loss."""

import random
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import MarianMTModel, PreTrainedTokenizerFast

from training.bpe import merges_left_out
from training.loop import Batch
from training.pairs import Pair

TOKENS_PER_BATCH = 6000
LONGEST_PIECES = 64
LABEL_SMOOTHING = 0.1

Encoded = list[tuple[Tensor, Tensor]]
"""The pieces of pairs, source and target."""


def encode(tokenizer: PreTrainedTokenizerFast, pairs: list[Pair], left_out: float = 0.0) -> Encoded:
    """(source, target) pieces of every pair that fits, each ending in </s>; English without a share of its merges."""
    with merges_left_out(tokenizer, left_out):
        sources = tokenizer([pair.english for pair in pairs])["input_ids"]
    targets = tokenizer([pair.french for pair in pairs])["input_ids"]
    encoded = zip(sources, targets, strict=True)
    return [(torch.tensor(s), torch.tensor(t)) for s, t in encoded if max(len(s), len(t)) <= LONGEST_PIECES]


def batches_of(read: Callable[[int], Encoded], pad: int, seed: int, step: int) -> Iterator[Batch]:
    """Endless batches of about TOKENS_PER_BATCH pieces, of pairs alike in both lengths so that little is padding.

    `read` gives the pairs of each epoch, counted from 0; the first batch is that of `step`.
    """
    epoch, skip = 0, step
    while True:
        encoded = read(epoch)
        chance = random.Random(seed + epoch)
        order = sorted(range(len(encoded)), key=lambda at: (*map(len, encoded[at][::-1]), chance.random()))
        groups: list[list[int]] = [[]]
        longest = 0
        for at in order:
            # The targets of a group are alike in length; where the next length begins, short sources follow long ones.
            source, target = map(len, encoded[at])
            longest = max(longest, source)
            if (len(groups[-1]) + 1) * (longest + target) > TOKENS_PER_BATCH:
                groups.append([])
                longest = source
            groups[-1].append(at)
        chance.shuffle(groups)
        for group in groups[skip:]:
            sources, targets = zip(*(encoded[at] for at in group), strict=True)
            yield {
                "source": pad_sequence(list(sources), batch_first=True, padding_value=pad),
                "target": pad_sequence(list(targets), batch_first=True, padding_value=pad),
            }
        epoch, skip = epoch + 1, max(0, skip - len(groups))


def smoothed_loss(model: MarianMTModel, batch: Batch) -> Tensor:
    """Mean cross-entropy per target piece with label smoothing; padding [B, S], [B, T] does not count."""
    pad, source, target = int(model.config.pad_token_id or 0), batch["source"], batch["target"]
    start = torch.full_like(target[:, :1], pad)
    hidden = model.model(
        input_ids=source,
        attention_mask=source.ne(pad).long(),
        decoder_input_ids=torch.cat([start, target[:, :-1]], dim=1),
        use_cache=False,
    ).last_hidden_state
    logits = model.lm_head(hidden).flatten(0, 1).float()
    smoothing = LABEL_SMOOTHING if model.training else 0.0
    return functional.cross_entropy(logits, target.flatten(), ignore_index=pad, label_smoothing=smoothing)
