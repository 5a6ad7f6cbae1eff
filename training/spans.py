"""Questions as a network reads them: windows of tokens, and which tokens hold the answer."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from training.loop import Batch
from training.text import Question

WINDOW, OVERLAP = 320, 96


@dataclass(frozen=True)
class Feature:
    """One window as token ids and segment ids, with the first and the last token of its answer; 0, `[CLS]`, if none."""

    ids: tuple[int, ...]
    segments: tuple[int, ...]
    start: int
    end: int


def answer_tokens(offsets: list[tuple[int, int]], sides: list[int | None], first: int, last: int) -> tuple[int, int]:
    """The tokens of the context that hold the characters `first` to `last` (exclusive); 0, 0 if not all are there."""
    inside = [index for index, side in enumerate(sides) if side == 1]
    starts = [index for index in inside if offsets[index][0] <= first < offsets[index][1]]
    ends = [index for index in inside if offsets[index][0] < last <= offsets[index][1]]
    return (starts[0], ends[-1]) if starts and ends else (0, 0)


def encode(questions: list[Question], tokenizer: PreTrainedTokenizerBase) -> list[Feature]:
    """The windows of every question; where there are several, each counts as unanswered but those with the answer."""
    encoded = tokenizer(
        [question.question for question in questions],
        [question.context for question in questions],
        truncation="only_second",
        max_length=WINDOW,
        stride=OVERLAP,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    features = []
    for row, number in enumerate(encoded["overflow_to_sample_mapping"]):
        question, start, end = questions[number], 0, 0
        if question.answers:
            first = question.starts[0]
            last = first + len(question.answers[0])
            start, end = answer_tokens(encoded["offset_mapping"][row], encoded.sequence_ids(row), first, last)
        features.append(Feature(tuple(encoded["input_ids"][row]), tuple(encoded["token_type_ids"][row]), start, end))
    return features


def collate(features: list[Feature]) -> Batch:
    """Padded ids and segments [row, token], their mask, and the answers' first and last tokens [row]."""

    def padded(rows: list[list[int]]) -> Tensor:
        return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)

    return {
        "input_ids": padded([list(feature.ids) for feature in features]),
        "token_type_ids": padded([list(feature.segments) for feature in features]),
        "attention_mask": padded([[1] * len(feature.ids) for feature in features]),
        "starts": torch.tensor([feature.start for feature in features]),
        "ends": torch.tensor([feature.end for feature in features]),
    }
