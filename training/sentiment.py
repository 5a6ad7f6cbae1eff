"""Sentiment: an adapter that tells praise from blame, learned from film reviews.

As for question answering, the published encoder's blocks learn it better than the trunk's, of which there are only the
embeddings. Three stages: the openings and endings of whole reviews, which have their review's label (IMDb); phrases
that people labelled one by one (sst2); and these again, each moved a little against the model.
"""

import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import torch
from peft import PeftModel
from torch import Tensor, nn
from transformers import BertForSequenceClassification, PreTrainedModel, PreTrainedTokenizerBase

from evaluation.probes import OF_CARDS, bundled_share
from models.registry import Task
from training import text
from training.adapters import (
    Adversarial,
    Headed,
    adapter_of,
    input_moments,
    mean_of_runs,
    narrow_adapter,
    optimizer_of,
    save_adapter,
    shuffled_batches,
    trunk_tokenizer,
)
from training.calibration import calibrate_sentiment
from training.cards import CHECKPOINTS, Card, Credit, write_card
from training.loop import Batch, Plan, device, record, train
from training.masked_lm import NAME as TRUNK

NAME = "clearhead-sentiment"
LABELS = {0: "negative", 1: "positive"}
HEADED = Headed(
    BertForSequenceClassification,
    parts=("pooler", "classifier"),
    dropout=0.1,
    config={"id2label": LABELS, "label2id": {label: number for number, label in LABELS.items()}},
)
RANK = 230
BATCH_SIZE = 64
REVIEWS = 15_000
REVIEW_WORDS = 40
PHRASE_EPOCHS = 3
RATE = 1e-4
INPUTS = ("input_ids", "attention_mask")
SAMPLE_BATCHES = 32
LAST_CLEAR_BLAME, FIRST_CLEAR_PRAISE = 2, 9
PLAIN_SHARE = 0.5
TRIMMED_WORDS, SHORTEST_TRIMMED = 2, 4
SEED = 3
RUNS = 3
"""How often the same start is trained, each time in an order of its own; the mean is kept."""

STEADYING_RUNS, STEADYING_RATE, MOVED_SHARE = 2, 6e-5, 0.05
"""Then the phrases once more against small changes of their vectors, likewise in orders of their own."""

Example = tuple[list[int], int]
Loss = Callable[[nn.Module, Batch], Tensor]
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


def development_sentences(data: Path) -> frozenset[str]:
    """The development sentences, normalised, whole and each sentence in them."""
    sentences = [sentence for sentence, _ in text.read_sst2(data / "sst2/dev.tsv")]
    return frozenset(map(text.normalised, sentences)) | text.fingerprint(sentences)


def phrase_rows(data: Path, held_out: frozenset[str]) -> list[tuple[str, int]]:
    """The distinct training phrases but for those that are a development sentence, half spaced as people type."""
    chance = random.Random(SEED)
    return [
        (detokenised(sentence) if chance.random() < PLAIN_SHARE else sentence, label)
        for sentence, label in distinct(text.read_sst2(data / "sst2/train.tsv"))
        if text.normalised(sentence) not in held_out
    ]


def review_rows(data: Path, held_out: frozenset[str]) -> list[tuple[str, int]]:
    """The first and the last words of `REVIEWS` reviews whose stars are clear, each with its review's label.

    A part with a sentence of `held_out` in it is left out.
    """
    rows = []
    # Reviews hold line separators of other kinds.
    lines = text.read_text(data / "imdb/train.tsv.xz").split("\n")
    random.Random(SEED).shuffle(lines)
    for _, stars, label, review in (line.split("\t", 3) for line in lines if line):
        if not stars.isdigit() or LAST_CLEAR_BLAME < int(stars) < FIRST_CLEAR_PRAISE:
            continue
        words = review.replace("<br />", " ").split()
        for part in (words[:REVIEW_WORDS], words[-REVIEW_WORDS:]):
            if text.fingerprint([" ".join(part)]).isdisjoint(held_out):
                rows.append((" ".join(part), int(label)))
        if len(rows) >= 2 * REVIEWS:
            break
    return rows


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


def schedule(stages: list[list[Example]], seed: int) -> list[list[Example]]:
    """The batches of all stages in order, each stage once and in an order of its own."""
    return [
        [examples[index] for index in indices]
        for number, examples in enumerate(stages)
        for indices in shuffled_batches([len(ids) for ids, _ in examples], BATCH_SIZE, seed + number)
    ]


def batches(ordered: list[list[Example]], step: int) -> Iterator[Batch]:
    """The batches of the schedule from step `step` on."""
    return (collate(examples) for examples in ordered[step:])


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    """Mean cross-entropy of the labels."""
    logits = model(**{name: batch[name] for name in INPUTS}).logits
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
                logits = model(**{name: batch[name] for name in INPUTS}).logits
            right += int((logits.argmax(-1) == batch["labels"]).sum())
        figures[name] = 100 * right / len(rows)
    return figures


def build(data: Path, workdir: Path) -> None:
    """Train for sentiment, cut the change to an adapter, and save it, calibrated, among the checkpoints."""
    torch.manual_seed(SEED)
    tokenizer = trunk_tokenizer()
    held_out = development_sentences(data)
    reviews, phrases = encode(review_rows(data, held_out), tokenizer), encode(phrase_rows(data, held_out), tokenizer)
    development = text.read_sst2(data / "sst2/dev.tsv")
    plain = [(detokenised(sentence), label) for sentence, label in development]
    kept_out = {"accuracy": encode(development, tokenizer), "accuracy_plain": encode(plain, tokenizer)}
    model = HEADED.over_embeddings()

    def learn(ordered: list[list[Example]], loss: Loss, rate: float, stage: str) -> None:
        train(
            model,
            [optimizer_of(model, rate)],
            partial(batches, ordered),
            loss,
            Plan(steps=len(ordered), warmup_steps=len(ordered) // 24, workdir=workdir / NAME / stage),
            evaluate=lambda trained: accuracy(trained, kept_out),
            evaluate_every=300,
        )

    orders = [schedule([reviews, *[phrases] * PHRASE_EPOCHS], SEED + 10 * run) for run in range(RUNS)]
    mean_of_runs(model, [partial(learn, each, loss_of, RATE, f"run{run}") for run, each in enumerate(orders, 1)])
    orders = [schedule([phrases], SEED + 100 + run) for run in range(STEADYING_RUNS)]
    loss = Adversarial(model.base_model.get_submodule("embeddings"), loss_of, MOVED_SHARE)
    mean_of_runs(
        model, [partial(learn, each, loss, STEADYING_RATE, f"steadying{run}") for run, each in enumerate(orders, 1)]
    )
    save_measured(model, orders[-1][-SAMPLE_BATCHES:], kept_out, development, workdir / NAME / "log.jsonl")


def save_measured(
    model: PreTrainedModel,
    sample: list[list[Example]],
    kept_out: dict[str, list[Example]],
    development: list[tuple[str, int]],
    log_file: Path,
) -> None:
    """Cut the trained model to an adapter, by what it makes of `sample`; save, measure and calibrate it."""
    inputs = ({name: batch[name] for name in INPUTS} for batch in map(collate, sample))
    adapter = adapter_of(model, HEADED.on_trunk(), RANK, HEADED.parts, input_moments(model, inputs))
    save_adapter(adapter, CHECKPOINTS / NAME)
    narrow_adapter(CHECKPOINTS / NAME)
    measure_saved(kept_out, development, log_file)


def measure_saved(kept_out: dict[str, list[Example]], development: list[tuple[str, int]], log_file: Path) -> None:
    """Measure and calibrate the saved adapter, and write its card."""
    saved = PeftModel.from_pretrained(HEADED.on_trunk(), CHECKPOINTS / NAME).eval()
    with torch.inference_mode():
        figures = accuracy(saved, kept_out)
    calibration, error = calibrate_sentiment(NAME, development)
    figures |= {"temperature": calibration.temperature, "error": error}
    figures["probes"] = bundled_share(Task.SENTIMENT)
    record(log_file, figures)
    write_card(card(figures))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    return Card(
        name=NAME,
        task="text-classification",
        languages=("en",),
        license="apache-2.0",
        base_model=TRUNK,
        what=f"An adapter with its classifier over `{TRUNK}` that tells praise from blame: `negative` or `positive`.",
        sources=(
            Credit("IMDb reviews, the openings and endings of those with clear stars", "none stated; research use"),
            Credit("Stanford Sentiment Treebank, the GLUE form (sst2)", "none stated; research use"),
            Credit("all-MiniLM-L6-v2, whose blocks training started from", "Apache-2.0"),
            Credit(f"{TRUNK}, whose embeddings it uses", "Apache-2.0, from the data its card names"),
        ),
        recipe=f"`training/sentiment.py`: {REVIEW_WORDS} words from either end of 14,400 clear reviews once, then "
        f"42,000 distinct phrases {PHRASE_EPOCHS} times, in batches of {BATCH_SIZE}; AdamW {RATE}, linear decay, "
        f"bfloat16 autocast; {RUNS} runs in orders of their own, averaged; then the phrases once more with their "
        f"vectors moved against the model by {MOVED_SHARE} of their length, AdamW {STEADYING_RATE}, "
        f"{STEADYING_RUNS} runs averaged. The blocks were trained whole; the feed-forward layers' difference from the "
        f"trunk's is cut to rank {RANK}, and the blocks' matrices are rounded to 8-bit floating point (e4m3). "
        "Half of the phrases are spaced as people type (`don't`, not `do n't`).",
        figures={
            "accuracy, sst2/dev, %": figures["accuracy"],
            "accuracy, sst2/dev spaced as people type, %": figures["accuracy_plain"],
            "temperature, fitted on sst2/dev": figures["temperature"],
            "expected calibration error on sst2/dev with it, %": figures["error"],
            OF_CARDS: figures["probes"],
        },
        limits="It learned from film reviews alone, has no class for neutral text, and is easily lost in irony and in "
        "negations of negations.",
    )
