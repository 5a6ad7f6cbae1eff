"""BERT's masking of text (Devlin et al., 2019, section 3.1), for training and for measuring."""

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

MASKED_SHARE = 0.15
PASSAGE_LENGTH = 128


def masked(
    ids: Tensor, generator: torch.Generator, tokenizer: PreTrainedTokenizerBase, share: float = MASKED_SHARE
) -> tuple[Tensor, Tensor]:
    """The ids with a `share` chosen (80 % masked, 10 % replaced at random, 10 % unchanged), and the mask of those."""
    chosen = torch.rand(ids.shape, generator=generator) < share
    chosen &= ~torch.isin(ids, torch.tensor(tokenizer.all_special_ids))
    fate = torch.rand(ids.shape, generator=generator)
    random_ids = torch.randint(len(tokenizer), ids.shape, generator=generator)
    shown = torch.where(chosen & (fate < 0.8), torch.tensor(tokenizer.mask_token_id), ids)
    return torch.where(chosen & (fate >= 0.9), random_ids, shown), chosen


def packed(paragraphs: list[list[int]], tokenizer: PreTrainedTokenizerBase) -> np.ndarray:
    """Paragraphs' ids laid end to end, cut into `[CLS] … [SEP]` rows without padding, [row, PASSAGE_LENGTH]."""
    flat = np.fromiter((id_ for paragraph in paragraphs for id_ in paragraph), dtype=np.int32)
    width = PASSAGE_LENGTH - 2
    body = flat[: len(flat) // width * width].reshape(-1, width)
    return np.pad(body, ((0, 0), (1, 1)), constant_values=((0, 0), (tokenizer.cls_token_id, tokenizer.sep_token_id)))
