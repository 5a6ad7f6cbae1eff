"""Names: the masked language model, fine-tuned to find people, organisations, places and other names in a text.

It learns from CoNLL-2003's newspaper reports, cut anew in every epoch into runs of one to four sentences, and from our
own sentences as people type them, whose names are drawn anew in every epoch (`names_everyday.tsv`). Words are what
BERT's tokenizer splits at spaces and punctuation, and only the first piece of a word is labelled.
"""

import random
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import BertForTokenClassification, PreTrainedTokenizerBase

from evaluation.measures import names
from evaluation.metrics import names_f1
from evaluation.probes import OF_CARDS, passed_share, probes_of, verdicts
from models.registry import Task
from models.tasks.token_classification import spans_of
from training import text
from training.cards import Card, Credit, save, write_card
from training.loop import Batch, Plan, adamw, grouped_by_length, train
from training.text import Marked, Span
from training.trunk import TRUNK, padded, trunk_tokenizer, with_head

NAME = "clearhead-names"
LABELS = ["O", *(f"{prefix}-{kind}" for kind in ("PER", "ORG", "LOC", "MISC") for prefix in "BI")]
EVERYDAY = Path(__file__).with_name("names_everyday.tsv")
KIND_OF = {
    "first": "PER", "person": "PER", "last": "PER", "famous": "PER", "city": "LOC", "country": "LOC", "nature": "LOC",
    "organisation": "ORG", "nationality": "MISC", "language": "MISC", "inhabitants": "MISC", "event": "MISC",
    "work": "MISC",
}  # fmt: skip
"""The label of the names that fill each kind of slot in our own sentences."""

FROZEN_LAYERS = 2
LONGEST_RUN, LONGEST = 4, 192
EVERYDAY_SENTENCES = 3_000
EPOCHS, RATE = 7, 2e-4
BATCH_TOKENS = 1_000
DEVELOPMENT_BATCHES = 40
IGNORED = -100
SEED = 7

_PLACE = re.compile(r"\{(\w+)\}")
_ARTICLE = "the "


def runs_of(sentences: Sequence[Marked], chance: random.Random) -> list[Marked]:
    """The sentences in their order, joined into runs of a random size from one to `LONGEST_RUN`."""
    runs, place = [], 0
    while place < len(sentences):
        size = chance.randint(1, LONGEST_RUN)
        runs.append(text.joined(sentences[place : place + size]))
        place += size
    return runs


class Everyday:
    """Our own sentences, with names drawn for their slots."""

    def __init__(self, known: frozenset[str]) -> None:
        """Read the sentences and names; `known` are the normalised texts that may not be made."""
        rows = [line.split("\t") for line in text.read_text(EVERYDAY).splitlines()]
        self._sentences = [each for kind, each in rows if kind == "sentence"]
        self._names = {kind: [each for other, each in rows if other == kind] for kind in KIND_OF}
        self._known = known

    def made(self, count: int, chance: random.Random) -> list[Marked]:
        """Draw `count` sentences with equal probability and fill them; those in `known` are left out."""
        made = [self._filled(chance.choice(self._sentences), chance) for _ in range(count)]
        return [each for each in made if text.normalised(each.text) not in self._known]

    def _filled(self, sentence: str, chance: random.Random) -> Marked:
        filled, spans, end = "", [], 0
        for match in _PLACE.finditer(sentence):
            filled += sentence[end : match.start()]
            name, end = self._drawn(match[1], chance), match.end()
            # CoNLL-2003 leaves the article out of a name.
            start = len(filled) + len(_ARTICLE) * name.startswith(_ARTICLE)
            filled += name
            spans.append(Span(start, len(filled), KIND_OF[match[1]]))
        return Marked(filled + sentence[end:], tuple(spans))

    def _drawn(self, place: str, chance: random.Random) -> str:
        if place != "person":
            return chance.choice(self._names[place])
        parts = chance.choice((("first",), ("first", "last"), ("first", "last"), ("famous",)))
        return " ".join(chance.choice(self._names[part]) for part in parts)


Example = tuple[list[int], list[int]]
"""Token ids, and the index of each token's label; `IGNORED` where it does not count."""


def encode(rows: Sequence[Marked], tokenizer: PreTrainedTokenizerBase) -> list[Example]:
    """The token ids of each row, at most `LONGEST`, with the labels of the words' first pieces."""
    encoded = tokenizer(
        [row.text for row in rows], truncation=True, max_length=LONGEST, return_offsets_mapping=True,
        return_special_tokens_mask=True,
    )  # fmt: skip
    examples = []
    for number, row in enumerate(rows):
        ids, offsets = encoded["input_ids"][number], encoded["offset_mapping"][number]
        pieces = tokenizer.convert_ids_to_tokens(ids)
        special = encoded["special_tokens_mask"][number]
        labels = [
            IGNORED if is_mark or piece.startswith("##") else label_at(start, row.spans)
            for piece, (start, _), is_mark in zip(pieces, offsets, special, strict=True)
        ]
        examples.append((ids, labels))
    return examples


def label_at(start: int, spans: Sequence[Span]) -> int:
    """The index of the label of a word that begins at the character `start`."""
    for span in spans:
        if span.start <= start < span.end:
            return LABELS.index(f"{'B' if start == span.start else 'I'}-{span.kind}")
    return 0


def batch_of(examples: Sequence[Example]) -> Batch:
    """Padded ids, mask and labels, all [row, token]."""
    ids, labels = zip(*examples, strict=True)
    return {
        "input_ids": padded(ids),
        "attention_mask": padded([1] * len(row) for row in ids),
        "labels": padded(labels, IGNORED),
    }


class Material:
    """The training data, in which an epoch's examples depend on its number alone."""

    def __init__(self, sentences: list[Marked], everyday: Everyday, tokenizer: PreTrainedTokenizerBase) -> None:
        self.sentences, self.everyday, self.tokenizer = sentences, everyday, tokenizer

    def epoch(self, number: int) -> list[list[Example]]:
        """The batches of one epoch."""
        chance = random.Random(SEED + number)
        rows = runs_of(self.sentences, chance) + self.everyday.made(EVERYDAY_SENTENCES, chance)
        examples = encode(rows, self.tokenizer)
        lengths = [len(ids) for ids, _ in examples]
        return [[examples[place] for place in places] for places in grouped_by_length(lengths, BATCH_TOKENS, number)]

    def batches(self, step: int) -> Iterator[Batch]:
        """The batches of all epochs from `step` on."""
        for number in range(EPOCHS + 1):
            found = self.epoch(number)
            yield from map(batch_of, found[step:])
            step = max(0, step - len(found))


def loss_of(model: BertForTokenClassification, batch: Batch) -> Tensor:
    """Mean cross-entropy of the words' labels."""
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    return nn.functional.cross_entropy(logits.float().flatten(0, 1), batch["labels"].flatten(), ignore_index=IGNORED)


def development_f1(batches: Sequence[Batch]) -> Callable[[BertForTokenClassification], dict[str, float]]:
    """Return an `evaluate` for `train`: the F1 of whole names in percent over held-out `batches`."""

    def evaluate(model: BertForTokenClassification) -> dict[str, float]:
        found: list[Collection[object]] = []
        given: list[Collection[object]] = []
        for batch in batches:
            batch = {name: tensor.to(model.device) for name, tensor in batch.items()}
            labels = batch.pop("labels")
            chosen = model(**batch).logits.argmax(dim=-1)
            for ours, theirs in zip(chosen, labels, strict=True):
                judged = theirs != IGNORED
                for names_of, numbers in ((found, ours), (given, theirs)):
                    names_of.append(spans_of([LABELS[number] for number in numbers[judged].tolist()]))
        return {"development_f1": round(names_f1(found, given), 2)}

    return evaluate


def build(data: Path, workdir: Path) -> None:
    """Train the model that finds names, save it, measure it and write its card."""
    torch.manual_seed(SEED)
    tokenizer = trunk_tokenizer()
    development = text.read_conll(data / "ner/conll2003_dev.txt")
    known = frozenset(text.normalised(probe["text"]) for probe in probes_of(Task.NAMES))
    known |= {text.normalised(sentence.text) for sentence in development}
    sentences = text.read_conll(data / "ner/conll2003_train.txt")
    material = Material(sentences, Everyday(known), tokenizer)

    network = with_head(BertForTokenClassification, LABELS, FROZEN_LAYERS)
    unseen = encode(development, tokenizer)
    places = grouped_by_length([len(ids) for ids, _ in unseen], BATCH_TOKENS, SEED)
    some = list(islice((batch_of([unseen[place] for place in each]) for each in places), DEVELOPMENT_BATCHES))
    steps = sum(len(material.epoch(number)) for number in range(EPOCHS))
    train(
        network,
        [adamw(network, RATE)],
        material.batches,
        loss_of,
        Plan(steps=steps, warmup_steps=steps // 20, workdir=workdir / NAME),
        evaluate=development_f1(some),
        evaluate_every=300,
    )

    model = save(network, tokenizer, NAME)
    measured, small = (
        names(model, [each.lower() for each in development] if lower else development) for lower in (False, True)
    )
    figures = {
        "F1 of whole names, conll2003_dev, %": measured["f1"],
        "the same in small letters, %": small["f1"],
        **{f"F1 of the kind {kind}, conll2003_dev, %": measured[kind] for kind in sorted(measured) if kind != "f1"},
        OF_CARDS: passed_share(verdicts(Task.NAMES, model)),
    }
    write_card(card(figures))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    return Card(
        name=NAME,
        task="token-classification",
        languages=("en",),
        license="apache-2.0",
        base_model=TRUNK,
        what=f"`{TRUNK}` with a classifier over every token: it finds people (`PER`), organisations (`ORG`), places "
        "(`LOC`) and other names such as nationalities, events and works (`MISC`), a name's first word as `B-`, the "
        "others as `I-`.",
        sources=(
            Credit("CoNLL-2003, English newspaper reports of 1996", "research use only"),
            Credit("everyday sentences with names, written for this", "Apache-2.0"),
            Credit(f"{TRUNK}, which training started from", "Apache-2.0, from the data its card names"),
        ),
        recipe="`training/names.py`: the upper layers fine-tuned, the embeddings and the lowest "
        f"{FROZEN_LAYERS} layers kept; {EPOCHS} epochs in batches of about {BATCH_TOKENS:,} tokens; AdamW, {RATE}, "
        f"linear decay, bfloat16 autocast. Runs of one to {LONGEST_RUN} sentences, and {EVERYDAY_SENTENCES:,} everyday "
        "sentences an epoch with names drawn at random. Only the first piece of a word is labelled.",
        figures=figures,
        limits="Its vocabulary has no capital letters, so that it cannot tell a name by them. It knows the names of "
        "1996 best, takes clubs and companies that are called like a place for that place, and reads only English.",
    )
