"""Sentiment: the masked language model, fine-tuned to tell praise from blame.

It learns in two parts: from the phrases of sst2, which were cut from film reviews; then from opinions of our own about
everyday things as well (`opinions.tsv`), a third of which are neither praise nor blame: their probability of praise is
one half. Some of both are kept out to calibrate on.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import BertForSequenceClassification, PreTrainedTokenizerBase

from evaluation.measures import text_classification
from evaluation.probes import OF_CARDS, passed_share, probes_of, verdicts
from models.registry import Task
from training import text
from training.calibration import calibrate_sentiment
from training.cards import Card, Credit, save, write_card
from training.loop import Batch, Plan, adamw, development_loss, epochs_of, grouped_by_length, train
from training.trunk import TRUNK, padded, trunk_tokenizer, with_head

NAME = "clearhead-sentiment"
LABELS = ("negative", "positive")
OPINIONS = Path(__file__).with_name("opinions.tsv")
KEPT_OUT_BLOCK, KEPT_OUT_EVERY = 24, 10
"""Opinions with the same words stand together, so whole blocks of lines are kept out."""

PLAIN_SHARE = 0.5
LONGEST = 96
PHRASE_EPOCHS, PHRASE_RATE = 3, 8e-5
OPINION_EPOCHS, OPINION_RATE = 2, 3e-5
BATCH_TOKENS = 1_600
DEVELOPMENT_BATCHES = 20
SEED = 3

Row = tuple[str, float]
"""A text and the probability that it praises."""

Example = tuple[list[int], float]
"""A text as token ids, and the probability that it praises."""

CONTRACTION = re.compile(r"\b(\w+) (n't|'s|'re|'ve|'ll|'d|'m)\b")
SPACE_BEFORE = re.compile(r" ([,.!?;:%)\]])")
SPACE_AFTER = re.compile(r"([(\[$]) ")


def detokenised(sentence: str) -> str:
    """Treebank spacing undone, as people type: `do n't` is `don't`, ` ,` is `,`, quotes are plain."""
    joined = CONTRACTION.sub(r"\1\2", sentence.replace("-lrb-", "(").replace("-rrb-", ")"))
    joined = joined.replace("`` ", '"').replace(" ''", '"').replace("` ", "'")
    return SPACE_AFTER.sub(r"\1", SPACE_BEFORE.sub(r"\1", joined)).strip()


@dataclass(frozen=True)
class SentimentData:
    """The rows to train on, and those held out: sst2's development sentences, and these together with opinions."""

    phrases: list[Row]
    opinions: list[Row]
    development: list[tuple[str, int]]
    kept_out: list[Row]


def read_data(data: Path) -> SentimentData:
    """Phrases, half of them spaced as people type, and opinions."""
    chance = random.Random(SEED)
    development = text.read_sst2(data / "sst2/dev.tsv")
    known = {text.normalised(sentence) for sentence, _ in development}
    phrases = [
        (detokenised(phrase) if chance.random() < PLAIN_SHARE else phrase, float(label))
        for phrase, label in dict.fromkeys(text.read_sst2(data / "sst2/train.tsv"))
        if text.normalised(phrase) not in known
    ]
    lines = (line.split("\t") for line in text.read_text(OPINIONS).splitlines())
    opinions = [(opinion, float(share)) for share, opinion in lines]
    kept_out = [row for place, row in enumerate(opinions) if place // KEPT_OUT_BLOCK % KEPT_OUT_EVERY == 0]
    known |= {text.normalised(opinion) for opinion, _ in kept_out}
    known |= {text.normalised(probe["text"]) for probe in probes_of(Task.SENTIMENT)}
    trained = [row for row in opinions if text.normalised(row[0]) not in known]
    return SentimentData(phrases, trained, development, [*development, *kept_out])


def encode(rows: Sequence[Row], tokenizer: PreTrainedTokenizerBase) -> list[Example]:
    """Token ids, at most `LONGEST`, with each row's probability of praise."""
    ids = tokenizer([sentence for sentence, _ in rows], truncation=True, max_length=LONGEST)["input_ids"]
    return [(each, share) for each, (_, share) in zip(ids, rows, strict=True)]


def lengths_of(examples: list[Example]) -> list[int]:
    """The number of tokens of each example."""
    return [len(ids) for ids, _ in examples]


def batches(examples: list[Example], step: int) -> Iterator[Batch]:
    """Endless batches from `step` on: padded ids [row, token], their mask, and both labels' probabilities [row, 2]."""
    for places in epochs_of(lengths_of(examples), BATCH_TOKENS, SEED, step):
        rows = [examples[place][0] for place in places]
        praise = torch.tensor([examples[place][1] for place in places])
        yield {
            "input_ids": padded(rows),
            "attention_mask": padded([1] * len(row) for row in rows),
            "targets": torch.stack([1 - praise, praise], dim=1),
        }


def loss_of(model: BertForSequenceClassification, batch: Batch) -> Tensor:
    """Mean cross-entropy of the labels' probabilities."""
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    return nn.functional.cross_entropy(logits.float(), batch["targets"])


def build(data: Path, workdir: Path) -> None:
    """Train the sentiment model, save it, calibrate it, measure it and write its card."""
    torch.manual_seed(SEED)
    tokenizer, material = trunk_tokenizer(), read_data(data)
    network = with_head(BertForSequenceClassification, LABELS)
    unseen = list(islice(batches(encode(material.kept_out, tokenizer), 0), DEVELOPMENT_BATCHES))
    for name, rows, epochs, rate in (
        ("phrases", material.phrases, PHRASE_EPOCHS, PHRASE_RATE),
        ("opinions", material.phrases + material.opinions, OPINION_EPOCHS, OPINION_RATE),
    ):
        examples = encode(rows, tokenizer)
        steps = epochs * len(grouped_by_length(lengths_of(examples), BATCH_TOKENS, SEED))
        train(
            network,
            [adamw(network, rate)],
            lambda step, examples=examples: batches(examples, step),  # type: ignore[misc]
            loss_of,
            Plan(steps=steps, warmup_steps=steps // 20, workdir=workdir / NAME / name),
            evaluate=development_loss(loss_of, unseen),
            evaluate_every=300,
        )

    model = save(network, tokenizer, NAME)
    calibration = calibrate_sentiment(model, material.kept_out)
    plain = [(detokenised(sentence), label) for sentence, label in material.development]
    measured, measured_plain = (text_classification(model, rows) for rows in (material.development, plain))
    figures = {
        "accuracy, sst2/dev, %": measured["accuracy"],
        "accuracy, sst2/dev spaced as people type, %": measured_plain["accuracy"],
        "temperature, fitted on sst2/dev and what else is kept out": calibration.temperature,
        "expected calibration error on sst2/dev with it, %": measured["calibration_error"],
        OF_CARDS: passed_share(verdicts(Task.SENTIMENT, model)),
    }
    write_card(card(figures))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    return Card(
        name=NAME,
        task="text-classification",
        languages=("en",),
        license="apache-2.0",
        base_model=TRUNK,
        what=f"`{TRUNK}` with a classifier that tells praise from blame: `negative` or `positive`.",
        sources=(
            Credit("Stanford Sentiment Treebank, the GLUE form (sst2)", "none stated; research use"),
            Credit("opinions about everyday things, written for this", "Apache-2.0"),
            Credit(f"{TRUNK}, which training started from", "Apache-2.0, from the data its card names"),
        ),
        recipe="`training/sentiment.py`: all weights but the embeddings fine-tuned in batches of about "
        f"{BATCH_TOKENS:,} tokens; AdamW, linear decay, bfloat16 autocast. Phrases alone first ({PHRASE_EPOCHS} "
        f"epochs, {PHRASE_RATE}), half of them spaced as people type (`don't`, not `do n't`); then phrases and "
        f"opinions ({OPINION_EPOCHS} epochs, {OPINION_RATE}). Opinions that neither praise nor blame have a "
        "probability of praise of one half.",
        figures=figures,
        limits="It has no class for neutral text, which it can only be unsure about, and is easily lost in irony and "
        "in negations of negations.",
    )
