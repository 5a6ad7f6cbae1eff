"""Sentiment: an adapter that tells praise from blame, learned from phrases of film reviews (sst2)."""

import random
import re
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import BertForSequenceClassification, PreTrainedTokenizerBase

from training import text
from training.adapters import adapted, optimizer_of, save_adapter, shuffled_batches, trunk_tokenizer
from training.cards import CHECKPOINTS, Card, Source, write_card
from training.loop import Batch, Plan, device, record, train
from training.masked_lm import NAME as TRUNK

NAME = "clearhead-sentiment"
LABELS = {0: "negative", 1: "positive"}
RANK = 32
BATCH_SIZE = 64
STEPS = 2_400
RATE = 8e-4
PLAIN_SHARE = 0.5
TRIMMED_WORDS, SHORTEST_TRIMMED = 2, 4
SEED = 3

Example = tuple[list[int], int]
CONTRACTION = re.compile(r"\b(\w+) (n't|'s|'re|'ve|'ll|'d|'m)\b")
SPACE_BEFORE = re.compile(r" ([,.!?;:%)\]])")
SPACE_AFTER = re.compile(r"([(\[$]) ")


def detokenised(sentence: str) -> str:
    """Treebank spacing undone, as people type: `do n't` is `don't`, ` ,` is `,`, quotes are plain."""
    joined = CONTRACTION.sub(r"\1\2", sentence.replace("-lrb-", "(").replace("-rrb-", ")"))
    joined = joined.replace("`` ", '"').replace(" ''", '"').replace("` ", "'")
    return SPACE_AFTER.sub(r"\1", SPACE_BEFORE.sub(r"\1", joined)).strip()


def distinct(rows: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The phrases, each once, without those that are another of the same label less a word or two at its ends.

    The treebank labels every branch of a parse, so most of its text is there many times over.
    """
    trimmed = set()
    for sentence, label in rows:
        words = sentence.split()
        for first, last in product(range(TRIMMED_WORDS + 1), repeat=2):
            if 0 < first + last <= min(TRIMMED_WORDS, len(words) - SHORTEST_TRIMMED):
                trimmed.add((" ".join(words[first : len(words) - last]), label))
    return [row for row in dict.fromkeys(rows) if row not in trimmed]


def training_rows(data: Path) -> list[tuple[str, int]]:
    """The distinct training phrases but for those that are a development sentence, half spaced as people type."""
    held_out = {text.normalised(sentence) for sentence, _ in text.read_sst2(data / "sst2/dev.tsv")}
    chance = random.Random(SEED)
    return [
        (detokenised(sentence) if chance.random() < PLAIN_SHARE else sentence, label)
        for sentence, label in distinct(text.read_sst2(data / "sst2/train.tsv"))
        if text.normalised(sentence) not in held_out
    ]


def encode(rows: list[tuple[str, int]], tokenizer: PreTrainedTokenizerBase) -> list[Example]:
    """Token ids, at most 96, and the label of each row."""
    ids = tokenizer([sentence for sentence, _ in rows], truncation=True, max_length=96)["input_ids"]
    return [(row, label) for row, (_, label) in zip(ids, rows, strict=True)]


def collate(examples: list[Example]) -> Batch:
    """Padded ids [row, token], their mask and the labels [row]."""
    rows = [torch.tensor(ids) for ids, _ in examples]
    ids = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    mask = nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([label for _, label in examples])}


def batches(examples: list[Example], step: int) -> Iterator[Batch]:
    """Endless batches from global step `step` on, each epoch in an order of its own."""
    lengths = [len(ids) for ids, _ in examples]
    epoch, position = divmod(step, len(shuffled_batches(lengths, BATCH_SIZE, SEED)))
    while True:
        for indices in shuffled_batches(lengths, BATCH_SIZE, SEED + epoch)[position:]:
            yield collate([examples[index] for index in indices])
        epoch, position = epoch + 1, 0


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    """Mean cross-entropy of the labels."""
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    return nn.functional.cross_entropy(logits.float(), batch["labels"])


def accuracy(model: nn.Module, examples: dict[str, list[Example]]) -> dict[str, float]:
    """The share of right labels in percent, for each named set of examples."""
    figures = {}
    for name, rows in examples.items():
        right = 0
        ordered = sorted(rows, key=lambda row: len(row[0]))
        for start in range(0, len(ordered), BATCH_SIZE):
            batch = {key: tensor.to(device()) for key, tensor in collate(ordered[start : start + BATCH_SIZE]).items()}
            with torch.autocast(device().type, dtype=torch.bfloat16):
                logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
            right += int((logits.argmax(-1) == batch["labels"]).sum())
        figures[name] = 100 * right / len(rows)
    return figures


def build(data: Path, workdir: Path, steps: int = STEPS) -> None:
    """Train the sentiment adapter and save it among the checkpoints."""
    torch.manual_seed(SEED)
    tokenizer = trunk_tokenizer()
    examples = encode(training_rows(data), tokenizer)
    development = text.read_sst2(data / "sst2/dev.tsv")
    plain = [(detokenised(sentence), label) for sentence, label in development]
    kept_out = {"accuracy": encode(development, tokenizer), "accuracy_plain": encode(plain, tokenizer)}
    base = BertForSequenceClassification.from_pretrained(
        CHECKPOINTS / TRUNK,
        id2label=LABELS,
        label2id={label: number for number, label in LABELS.items()},
        attention_probs_dropout_prob=0.0,
        dtype=torch.float32,
        attn_implementation="eager",
    )
    model = adapted(base, RANK, ["pooler", "classifier"])
    train(
        model,
        [optimizer_of(model, RATE)],
        partial(batches, examples),
        loss_of,
        Plan(steps=steps, warmup_steps=100, workdir=workdir / NAME),
    )
    save_adapter(model, CHECKPOINTS / NAME)
    with torch.inference_mode():
        figures = accuracy(model, kept_out)
    record(workdir / NAME / "log.jsonl", figures)
    write_card(card(figures))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    return Card(
        name=NAME,
        task="text-classification",
        languages=("en",),
        license="apache-2.0",
        base_model=TRUNK,
        what=f"A LoRA adapter (rank {RANK}) with its classifier over `{TRUNK}` that tells praise from blame: "
        "`negative` or `positive`.",
        sources=(
            Source("Stanford Sentiment Treebank, the GLUE form (sst2)", "none stated; research use"),
            Source(f"{TRUNK}, the trunk", "Apache-2.0, from the data its card names"),
        ),
        recipe=f"`training/sentiment.py`: {STEPS} batches of {BATCH_SIZE} from 42,000 distinct phrases, each of "
        f"like length, AdamW {RATE}, linear decay, bfloat16 autocast. Half of the phrases are spaced as people type "
        "(`don't`, not `do n't`).",
        figures={
            "accuracy, sst2/dev, %": figures["accuracy"],
            "accuracy, sst2/dev spaced as people type, %": figures["accuracy_plain"],
        },
        limits="It learned from sentences of film reviews alone, has no class for neutral text, and is easily lost in "
        "irony and in negations of negations.",
    )
