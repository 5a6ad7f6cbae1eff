"""Measure which layers' vectors say most about names: the table of Devlin et al. (2019, table 7), with our own trunk.

The trunk is frozen. Each word of CoNLL-2003 has the vectors of its first piece, one per layer. For each way of choosing
or joining layers, a small classifier learns to label words from them, and is judged by the F1 of whole names on the
development file. The script reads `ner/conll2003_train.txt` and `ner/conll2003_dev.txt`.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor, nn
from transformers import AutoTokenizer, BertModel

from evaluation.metrics import names_f1
from models.tasks.token_classification import spans_of
from models.text.word_vectors import FOLDER
from training.cards import CHECKPOINTS
from training.masked_lm import NAME as TRUNK
from training.text import read_columns

FILE = FOLDER / "which_layer.json"
WAYS: dict[str, tuple[float, Callable[[Tensor], Tensor]]] = {
    "the embeddings alone": (91.0, lambda layers: layers[:, 0]),
    "the last layer": (94.9, lambda layers: layers[:, -1]),
    "all layers, added": (95.5, lambda layers: layers[:, 1:].sum(dim=1)),
    "the last layer but one": (95.6, lambda layers: layers[:, -2]),
    "the last four layers, added": (95.9, lambda layers: layers[:, -4:].sum(dim=1)),
    "the last four layers, side by side": (96.1, lambda layers: layers[:, -4:].flatten(1)),
}
"""Each way, with the F1 that Devlin et al. found with BERT-base and its function of vectors `[word, layer, width]`."""

CLASSIFIER = "one hidden layer of 256 numbers that sees the vector of one word alone; the mean of three runs"
HIDDEN, EPOCHS, RATE, ROWS = 256, 4, 1e-3, 512
SEEDS = (0, 1, 2)
SENTENCES_AT_ONCE = 64

Sentence = tuple[list[str], list[str]]
"""The words of a sentence, and the BIO tag of each."""


def build(data: Path, _workdir: Path) -> None:
    """Measure every way and write the table."""
    train, development = (read_sentences(data / f"ner/conll2003_{part}.txt") for part in ("train", "dev"))
    layers, unseen = vectors_of(train), vectors_of(development)
    tags = sorted({tag for _, sentence in train for tag in sentence})
    labels = torch.tensor([tags.index(tag) for _, sentence in train for tag in sentence])
    rows = []
    for way, (published, joined) in WAYS.items():
        found = [judged(learn(joined(layers), labels, len(tags), seed), joined(unseen), development, tags)
                 for seed in SEEDS]  # fmt: skip
        rows.append({"way": way, "f1": round(mean(found), 1), "published_f1": published})
        print(way, [round(each, 2) for each in found], flush=True)
    table = {"checkpoint": TRUNK, "layers": layers.shape[1] - 1, "classifier": CLASSIFIER, "rows": rows}
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def read_sentences(file: Path) -> list[Sentence]:
    """The sentences of a CoNLL file."""
    return [([row[0] for row in rows], [row[-1] for row in rows]) for rows in read_columns(file)]


@torch.inference_mode()
def vectors_of(sentences: Sequence[Sentence]) -> Tensor:
    """The vectors `[word, layer, width]` of the first piece of each word, in float16; layer 0 is the embeddings'."""
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINTS / TRUNK)
    network = BertModel.from_pretrained(CHECKPOINTS / TRUNK, dtype=torch.float32, add_pooling_layer=False).eval()
    found: dict[int, Tensor] = {}
    # Sentences of similar length together, so that little is padding.
    order = sorted(range(len(sentences)), key=lambda number: len(sentences[number][0]))
    for start in range(0, len(order), SENTENCES_AT_ONCE):
        numbers = order[start : start + SENTENCES_AT_ONCE]
        words = [sentences[number][0] for number in numbers]
        encoded = tokenizer(words, is_split_into_words=True, padding=True, truncation=True, return_tensors="pt")
        layers = torch.stack(network(**encoded, output_hidden_states=True).hidden_states, dim=2)
        for row, sentence in enumerate(words):
            first: dict[int, int] = {}
            for place, word in enumerate(encoded.word_ids(row)):
                if word is not None:
                    first.setdefault(word, place)
            # A word that the tokenizer drops entirely has the vectors of the sentence's first token.
            places = [first.get(word, 0) for word in range(len(sentence))]
            found[numbers[row]] = layers[row, places].half()
    return torch.cat([found[number] for number in range(len(sentences))])


def learn(vectors: Tensor, labels: Tensor, kinds: int, seed: int) -> nn.Module:
    """Train a classifier of `vectors` `[word, width]`, which first normalises them to mean 0 and variance 1."""
    torch.manual_seed(seed)
    norm = nn.BatchNorm1d(vectors.shape[1], affine=False, momentum=None)
    probe = nn.Sequential(norm, nn.Linear(vectors.shape[1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, kinds))
    optimizer = torch.optim.Adam(probe.parameters(), lr=RATE)
    steps = EPOCHS * -(-len(vectors) // ROWS)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    for _ in range(EPOCHS):
        for places in torch.randperm(len(vectors)).split(ROWS):
            loss = nn.functional.cross_entropy(probe(vectors[places].float()), labels[places])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return probe.eval()


@torch.inference_mode()
def judged(probe: nn.Module, vectors: Tensor, sentences: Sequence[Sentence], tags: Sequence[str]) -> float:
    """The F1 of whole names that `probe` finds in `sentences`, in percent."""
    guesses = iter([tags[best] for rows in vectors.split(ROWS) for best in probe(rows.float()).argmax(dim=1).tolist()])
    predicted = [spans_of([next(guesses) for _ in words]) for words, _ in sentences]
    return names_f1(predicted, [spans_of(given) for _, given in sentences])
