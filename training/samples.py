"""Samples of the completion model and what can be counted in them: phrases repeated, training text copied."""

from collections import Counter
from collections.abc import Iterable

import torch
from torch import Tensor
from transformers import GPT2LMHeadModel, LogitsProcessor, LogitsProcessorList, PreTrainedTokenizerFast

from models.decoding.sampling import barred

LONGEST_COPY = 40


class LoopGuard(LogitsProcessor):
    """For `generate`, ahead of its temperature and cut-offs: no run of `size` pieces is drawn a third time."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """`scores` `[row, vocabulary]` with those of barred pieces at minus infinity; `input_ids` `[row, piece]`."""
        guarded = scores.clone()
        for row, written in zip(guarded, input_ids.tolist(), strict=True):
            row[barred(written, self.size)] = float("-inf")
        return guarded


@torch.inference_mode()
def sample(
    model: GPT2LMHeadModel,
    tokenizer: PreTrainedTokenizerFast,
    prompt: str,
    seed: int,
    length: int,
    loop_guard: int = 0,
) -> Tensor:
    """Up to `length` pieces [n] that follow `prompt`, an empty one starting from the end-of-text token.

    Runs of `loop_guard` pieces, if it is not 0, are drawn no third time, as on the page.
    """
    torch.manual_seed(seed)
    ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(prompt)["input_ids"]]])
    written: Tensor = model.generate(  # type: ignore[assignment, misc]
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=True,
        temperature=0.8,
        top_p=0.95,
        top_k=0,
        max_new_tokens=length,
        logits_processor=LogitsProcessorList([LoopGuard(loop_guard)] if loop_guard else []),
    )
    return written[0, ids.shape[1] :].cpu()


def repeats_phrase(pieces: Tensor, size: int = 4, times: int = 3) -> bool:
    """Whether some run of `size` pieces of `pieces` [n] occurs at least `times` times."""
    runs = pieces.unfold(0, size, 1).tolist() if len(pieces) >= size else []
    return any(count >= times for count in Counter(map(tuple, runs)).values())


def copied(samples: list[Tensor], sources: Iterable[Tensor], at_least: int = LONGEST_COPY) -> list[int]:
    """The places of the samples [n] of which `at_least` pieces in a row stand so in one of the sources [m]."""
    runs: dict[bytes, set[int]] = {}
    for at, pieces in enumerate(samples):
        for run in pieces.unfold(0, at_least, 1) if len(pieces) >= at_least else ():
            runs.setdefault(run.numpy().tobytes(), set()).add(at)
    first = torch.tensor(sorted({int.from_bytes(run[:8], "little") for run in runs}), dtype=torch.long)
    found: set[int] = set()
    for source in sources:
        for start in torch.isin(source[: len(source) - at_least + 1], first).nonzero().flatten().tolist():
            found |= runs.get(source[start : start + at_least].numpy().tobytes(), set())
    return sorted(found)
