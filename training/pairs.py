"""Sentence pairs: the masked language model, fine-tuned to answer four questions on two sentences at once.

One head tells whether one sentence follows another (next sentence prediction; Devlin et al., 2019, section 3.1),
whether one implies the other, and whether both say the same; a batch asks one of these questions. Other batches read
each sentence alone and pull the vectors of pairs that say the same together (Sentence-BERT; Reimers and Gurevych,
2019). Pairs for the first question come from running text; the other questions have data sets of their own.

The embeddings and the two lower layers stay `clearhead-minilm`'s, so that they are shipped once. The layers above start
from all-MiniLM-L6-v2, from which `clearhead-minilm` was trained too: it was published to compare sentences, an ability
that was lost in learning to fill blanks.
"""

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from transformers import BertForSequenceClassification, BertModel, PreTrainedTokenizerBase

from evaluation.measures import sentence_pairs
from evaluation.probes import OF_CARDS, passed_share, probes_of, verdicts
from models.engine.pytorch import SENTENCE_VECTORS
from models.registry import Task
from models.tasks.sentence_pair import GROUPS
from training import text
from training.calibration import calibrate_pairs
from training.cards import Card, Credit, save, write_card
from training.loop import Batch, Plan, adamw, development_loss, epochs_of, train
from training.masked_lm import published_encoder
from training.sentiment import detokenised
from training.trunk import TRUNK, padded, trunk_tokenizer, with_head

NAME = "clearhead-pairs"
LABELS = tuple(label for group in GROUPS for label in group)
FROZEN_LAYERS = 2
LONGEST = 128
BATCH_TOKENS = 900
STEPS, RATE = 8_000, 1e-4
QUESTIONS = ("following", "entailment", "paraphrase", "likeness")
TURNS = (0, 1, 0, 2, 0, 1, 0, 3)
"""The index in `QUESTIONS` of what each step asks, in turn."""

ALIKE = QUESTIONS.index("likeness")
SCALE = 20.0
"""The factor on cosines before the softmax over a batch, as in Sentence-BERT's own library."""

FOLLOWING_PAIRS = 120_000
DEVELOPMENT_FOLLOWING = 2_000
ARTICLE_CHARACTERS = 5_000_000
STORY_CHARACTERS = 6_000_000
LEAST_FOLLOWED = 4
SENTENCE_WORDS = range(4, 31)
KEPT_OUT_EVERY = 10
PLAIN_SHARE = 0.5
DEVELOPMENT_BATCHES = 15
SEED = 7


class Row(NamedTuple):
    """Two sentences, and their label's index in its group of `GROUPS`."""

    a: str
    b: str
    label: int


@dataclass(frozen=True)
class PairData:
    """The rows to train on for each of `GROUPS`, and the held-out rows by the name of their data."""

    train: tuple[list[Row], list[Row], list[Row]]
    development: dict[str, list[Row]]


# Data


def kept_out(content: str) -> bool:
    """Whether a sentence or a document is held out of training: its digest decides."""
    return int(hashlib.sha256(text.normalised(content).encode()).hexdigest(), 16) % KEPT_OUT_EVERY == 0


def read_rows(file: Path, labels: Sequence[int]) -> list[Row]:
    """The rows of a file of `a<TAB>b<TAB>label`; `labels[k]` is our label for the file's label k."""
    lines = [line.split("\t") for line in text.read_text(file).splitlines()]
    return [Row(a.strip(), b.strip(), labels[int(label)]) for a, b, label in lines if a.strip() and b.strip()]


def apart(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows to train on and those held out; no sentence of the latter is in the former."""
    held = [row for row in rows if kept_out(row.a)]
    known = {text.normalised(sentence) for row in held for sentence in row[:2]}
    return [row for row in rows if known.isdisjoint(map(text.normalised, row[:2]))], held


def as_typed(row: Row, chance: random.Random) -> Row:
    """The row as it is or, with probability `PLAIN_SHARE`, spaced and ended as people type."""
    if chance.random() >= PLAIN_SHARE:
        return row
    a, b = (sentence if sentence[-1] in ".!?\"'" else sentence + "." for sentence in map(detokenised, row[:2]))
    return Row(a, b, row.label)


def documents(data: Path) -> list[list[list[str]]]:
    """The documents of each source (articles, books, tales, stories, reviews), each as its sentences in order."""
    folder = data / "text"
    articles = [
        article.partition("\n")[2]
        for letter in "ABCDE"
        for article in text.read_text(folder / f"wikipedia_{letter}.txt.xz")[:ARTICLE_CHARACTERS].split("\n\n")
    ]
    books = text.read_text(folder / "children_books.txt.xz")[:STORY_CHARACTERS].split("\nTitle: ")
    tales = text.read_text(folder / "fairytales.txt").split("\n\n")
    stories = text.read_text(folder / "tinystories_head.txt").split("<|endoftext|>")
    reviews = text.read_text(folder / "imdb_unsup.txt.xz")[:STORY_CHARACTERS].splitlines()
    return [[sentences_in(each) for each in source] for source in (articles, books, tales, stories, reviews)]


def sentences_in(document: str) -> list[str]:
    """The sentences of a document in order, empty in place of a heading and of one that is too short or too long."""
    found = [
        sentence.strip()
        for paragraph in document.replace("<br />", " ").splitlines()
        for sentence in text.sentences_of(paragraph)
    ]
    return [
        each if len(each.split()) in SENTENCE_WORDS and each.rstrip("\"')”’")[-1:] in (*".!?",) else ""
        for each in found
    ]


def followed(document: Sequence[str]) -> list[int]:
    """The indices of a document's sentences that another one follows."""
    return [place for place in range(len(document) - 1) if document[place] and document[place + 1]]


def following(sources: Sequence[Sequence[Sequence[str]]], count: int, chance: random.Random) -> list[Row]:
    """`count` pairs, half of them consecutive; the others are random sentences, half of the same document."""
    rich = [[each for each in source if len(followed(each)) >= LEAST_FOLLOWED] for source in sources]
    rich = [source for source in rich if len(source) > 1]
    rows = []
    for number in range(count):
        # Half of the pairs are of articles, which are the most varied.
        source = rich[0] if number % 4 < 2 or len(rich) == 1 else chance.choice(rich[1:])
        document, other = chance.sample(source, 2)
        place = chance.choice(followed(document))
        others = [*document[:place], "", "", *document[place + 2 :]] if chance.random() < 0.5 else other
        consecutive = chance.random() < 0.5
        second = document[place + 1] if consecutive else chance.choice([each for each in others if each])
        rows.append(Row(document[place], second, int(not consecutive)))
    return rows


def read_data(data: Path) -> PairData:
    """All rows, with the held-out ones set apart; none of our own probes is trained on."""
    chance, folder = random.Random(SEED), data / "pairs"
    sources = documents(data)
    held = [[document for document in source if document and kept_out(document[0])] for source in sources]
    seen = [[document for document in source if document and not kept_out(document[0])] for source in sources]
    snli, snli_held = apart(read_rows(folder / "snli_train.tsv", (0, 1, 2)))
    mrpc, mrpc_held = apart(read_rows(folder / "mrpc_train.tsv", (1, 0)))
    quora, quora_held = apart(read_rows(folder / "quora_train.tsv", (1, 0)))
    sick = read_rows(folder / "sick_train.tsv", (0, 1, 2))
    sick_held = read_rows(folder / "sick_dev.tsv", (0, 1, 2))
    probes = {text.normalised(probe[name]) for probe in probes_of(Task.SENTENCE_PAIR) for name in ("a", "b")}

    def to_train(rows: Sequence[Row]) -> list[Row]:
        kept = [row for row in rows if probes.isdisjoint(map(text.normalised, row[:2]))]
        return [as_typed(row, chance) for row in kept]

    same = {row[:2] for row in sick_held}
    return PairData(
        (
            following(seen, FOLLOWING_PAIRS, chance),
            to_train(snli) + to_train([row for row in sick if row[:2] not in same]),
            to_train(mrpc) + to_train(quora),
        ),
        {
            "following": following(held, DEVELOPMENT_FOLLOWING, chance),
            "snli": snli_held,
            "sick": sick_held,
            "mrpc": mrpc_held,
            "quora": quora_held,
        },
    )


# Batches


@dataclass(frozen=True)
class Encoded:
    """Pairs as ids and segments, their labels, and the ids of each sentence alone."""

    ids: list[list[int]]
    segments: list[list[int]]
    labels: list[int]
    alone: list[tuple[list[int], list[int]]]


def encode(rows: Sequence[Row], tokenizer: PreTrainedTokenizerBase) -> Encoded:
    """Encode the pairs and each of their sentences, at most `LONGEST` tokens."""
    firsts, seconds = [row.a for row in rows], [row.b for row in rows]
    pairs = tokenizer(firsts, seconds, truncation=True, max_length=LONGEST)
    one, other = (tokenizer(each, truncation=True, max_length=LONGEST)["input_ids"] for each in (firsts, seconds))
    return Encoded(
        pairs["input_ids"], pairs["token_type_ids"], [row.label for row in rows], list(zip(one, other, strict=True))
    )


def batch_of(pairs: Encoded, places: Sequence[int], question: int) -> Batch:
    """The batch of the pairs at `places`; for likeness, each sentence alone, all first ones before all second ones."""
    labels = torch.tensor([pairs.labels[place] for place in places])
    rows, segments = [pairs.ids[place] for place in places], [pairs.segments[place] for place in places]
    if question == ALIKE:
        rows = [pairs.alone[place][side] for side in (0, 1) for place in places]
        segments = [[0] * len(row) for row in rows]
    mask = padded([[1] * len(row) for row in rows])
    return {
        "input_ids": padded(rows), "token_type_ids": padded(segments), "attention_mask": mask, "labels": labels,
        "question": torch.tensor(question),
    }  # fmt: skip


def batches(sets: Sequence[Encoded], step: int) -> Iterator[Batch]:
    """Endless batches from `step` on, each of one question, in the order of `TURNS`; `sets[question]` are its pairs."""
    streams = []
    for question, pairs in enumerate(sets):
        # The number of this question's batches before `step`.
        rounds, rest = divmod(step, len(TURNS))
        before = rounds * TURNS.count(question) + TURNS[:rest].count(question)
        streams.append(epochs_of([len(ids) for ids in pairs.ids], BATCH_TOKENS, SEED, before))
    while True:
        question = TURNS[step % len(TURNS)]
        yield batch_of(sets[question], next(streams[question]), question)
        step += 1


# Losses


def loss_of(model: BertForSequenceClassification, batch: Batch) -> Tensor:
    """The cross-entropy over the labels of the batch's question, or the `likeness_loss` of its vectors."""
    question = int(batch["question"])
    inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
    if question == ALIKE:
        return likeness_loss(model.bert(**inputs).last_hidden_state, batch["attention_mask"], batch["labels"])
    first = sum(len(group) for group in GROUPS[:question])
    logits = model(**inputs).logits[:, first : first + len(GROUPS[question])]
    return functional.cross_entropy(logits.float(), batch["labels"])


def likeness_loss(hidden: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
    """The loss of finding a pair's second sentence among the batch's, plus that of telling alike pairs from others.

    `labels` [pair] is 0 for a pair that says the same. The first part is over these alone (multiple negatives ranking;
    Henderson et al., 2017); the second is logistic, for a cosine above or below a half.
    """
    vectors = (hidden.float() * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
    one, other = functional.normalize(vectors, dim=-1).chunk(2)
    cosines, alike = one @ other.T, labels == 0
    apart = functional.binary_cross_entropy_with_logits(SCALE / 2 * (cosines.diagonal() - 0.5), alike.float())
    if not alike.any():
        return apart
    return apart + functional.cross_entropy(SCALE * cosines[alike], alike.nonzero().flatten())


def development_losses(sets: Sequence[Encoded]) -> Callable[[BertForSequenceClassification], dict[str, float]]:
    """Return an `evaluate` for `train`: the mean loss of each question over held-out batches."""
    some = list(islice(batches(sets, 0), DEVELOPMENT_BATCHES * len(TURNS)))
    measures = [
        development_loss(loss_of, [batch for batch in some if int(batch["question"]) == question])
        for question in range(len(sets))
    ]
    return lambda model: {
        QUESTIONS[question]: measure(model)["development_loss"] for question, measure in enumerate(measures)
    }


def alike_rows(entailment: Sequence[Row], paraphrase: Sequence[Row]) -> list[Row]:
    """Pairs that say the same (0: entailment, paraphrase) or do not (1: contradiction, different)."""
    told = [Row(row.a, row.b, int(row.label == 2)) for row in entailment if row.label != 1]
    return told + list(paraphrase)


def untrained() -> BertForSequenceClassification:
    """The trunk's lower layers, frozen, under the published encoder's upper ones and a new head."""
    network: BertForSequenceClassification = with_head(BertForSequenceClassification, LABELS, FROZEN_LAYERS)
    setattr(network.config, SENTENCE_VECTORS, True)
    published = BertModel.from_pretrained(published_encoder(), dtype=torch.float32)
    for ours, theirs in zip(
        network.bert.encoder.layer[FROZEN_LAYERS:], published.encoder.layer[FROZEN_LAYERS:], strict=True
    ):
        ours.load_state_dict(theirs.state_dict())
    return network


def build(data: Path, workdir: Path) -> None:
    """Train the sentence-pair model, save it, calibrate it, measure it and write its card."""
    torch.manual_seed(SEED)
    tokenizer, material, network = trunk_tokenizer(), read_data(data), untrained()
    sets = [encode(rows, tokenizer) for rows in (*material.train, alike_rows(*material.train[1:]))]
    unseen_rows = (
        material.development["following"],
        material.development["snli"] + material.development["sick"],
        material.development["mrpc"] + material.development["quora"],
    )
    unseen = [encode(rows, tokenizer) for rows in (*unseen_rows, alike_rows(*unseen_rows[1:]))]
    train(
        network,
        [adamw(network, RATE)],
        lambda step: batches(sets, step),
        loss_of,
        Plan(steps=STEPS, warmup_steps=STEPS // 20, workdir=workdir / NAME),
        evaluate=development_losses(unseen),
        evaluate_every=400,
    )

    model = save(network, tokenizer, NAME)
    temperature = calibrate_pairs(model, unseen_rows).temperature
    measured = sentence_pairs(model, material.development)
    write_card(card(measured | {
        "temperature, fitted on the same pairs": temperature,
        OF_CARDS: passed_share(verdicts(Task.SENTENCE_PAIR, model)),
    }))  # fmt: skip


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    return Card(
        name=NAME,
        task="sentence-similarity",
        languages=("en",),
        license="apache-2.0",
        base_model=TRUNK,
        what=f"`{TRUNK}` with a head of seven labels in three groups, over each of which there is a softmax: does the "
        "second sentence follow (`follows`, `random`), is it implied (`entailment`, `neutral`, `contradiction`), do "
        "both say the same (`paraphrase`, `different`)? The mean of the last layer's vectors over a sentence that is "
        "read alone is its sentence vector; two are compared by their cosine (Sentence-BERT; Reimers and Gurevych, "
        "2019).",
        sources=(
            Credit("English Wikipedia, 2014, for what follows what", "CC BY-SA 3.0"),
            Credit("children's books and fairy tales, likewise", "public domain (US); Apache-2.0"),
            Credit("TinyStories, its first stories, likewise", "CDLA-Sharing-1.0"),
            Credit("IMDb film reviews without labels, likewise", "none stated; research use"),
            Credit("SNLI, a part of its training set", "CC BY-SA 4.0"),
            Credit("SICK", "CC BY-NC-SA 3.0"),
            Credit("Microsoft Research Paraphrase Corpus", "research use"),
            Credit("Quora question pairs, a part of its training set", "research use"),
            Credit(f"{TRUNK}, whose lower layers it keeps", "Apache-2.0, from the data its card names"),
            Credit(
                "all-MiniLM-L6-v2, which the upper layers started from; it had read SNLI and the Quora question pairs",
                "Apache-2.0",
            ),
        ),
        recipe=f"`training/pairs.py`: all weights but the embeddings and the {FROZEN_LAYERS} lower layers fine-tuned, "
        f"{STEPS:,} steps of about {BATCH_TOKENS:,} tokens; AdamW, {RATE}, linear decay. A batch asks one question; of "
        "eight, four are what follows, two entailment, one paraphrase, one likeness (multiple negatives ranking and a "
        "logistic loss on the cosine). Half of the random sentences are of the same document. Half of the rows of the "
        "data sets are spaced as people type. A tenth of the documents and rows is kept out, "
        "and no sentence of these is trained on; SICK has a development file of its own.",
        figures=figures,
        limits="It goes by words that two sentences share, and by what is usual: numbers, names that change places and "
        "knowledge of the world escape it, and one “not” may weigh too much or too little. What follows "
        "what it tells by the topic: it takes most other sentences of the same text for the next one. Entailment was "
        "learned from captions of pictures, paraphrase from questions and news.",
    )
