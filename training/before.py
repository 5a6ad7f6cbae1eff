"""Before Transformers: eleven small sentiment classifiers, all trained on the same phrases of sst2.

A language model, an LSTM in each direction, is pre-trained on film reviews without labels. Two of the networks start
from its weights: one fine-tunes them, the other keeps them frozen. The nine others learn from the phrases alone. How
much pre-training helps is measured with 100, 1,000 and 10,000 phrases.
"""

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from models import before
from models.before.networks import GENERATIONS, LANGUAGE_STATES, Generation, LanguageModel
from models.before.weights import GRAMS, WEIGHTS, WORDS, features_of, load_networks, read_ids
from models.before.words import Gram, Vocabulary, grams_of, words_of
from models.loading.prepared import sha256_of
from models.loading.store import load_model
from models.registry import Task
from training import text
from training.cards import commit
from training.loop import Batch, Plan, adamw, epochs_of, grouped_by_length, train
from training.sentiment import detokenised
from training.trunk import padded

NAME = "before"
KNOWN_WORDS, MORE_WORDS, KNOWN_GRAMS = 10_000, 4_000, 60_000
"""The size of the vocabulary: the most frequent words of sst2, further ones of the reviews, and n-grams of sst2."""

REVIEW_WORDS, KEPT_OUT_WORDS = 6_000_000, 60_000
WINDOW, WINDOWS = 36, 64
"""Words in a window of the reviews, and windows in a batch."""

LANGUAGE_STEPS, LANGUAGE_RATE = 2_400, 3e-3
SAMPLES = 1_000
"""A word is scored against this number of words, drawn by frequency, not against all (Bengio and Senécal, 2003)."""

BATCH_TOKENS = 1_000
SEED = 7


@dataclass(frozen=True)
class Recipe:
    """A network's epochs over all phrases and its learning rate; `slower` is the rate of a pre-trained part."""

    epochs: int
    rate: float
    slower: float = 0.0


RECIPES = {
    "bag_of_words": Recipe(6, 2e-2),
    "bag_of_ngrams": Recipe(2, 1e-2),
    "cbow": Recipe(4, 2e-3),
    "deep_cbow": Recipe(4, 1e-3),
    "deep_averaging": Recipe(5, 2e-3),
    "convolution": Recipe(4, 1e-3),
    "elman": Recipe(4, 1e-3),
    "lstm": Recipe(4, 2e-3),
    "bilstm": Recipe(4, 2e-3),
    "fine_tuned": Recipe(3, 2e-3, slower=1e-3),
    "frozen": Recipe(5, 6e-3),
}
CURVE = {100: 100, 1_000: 300, 10_000: 700}
"""The numbers of phrases with which pre-training is measured, and the training steps for each."""

CURVE_NETWORKS, CURVE_SEEDS, CURVE_TOKENS = ("lstm", "fine_tuned", "frozen"), range(3), 400

Phrase = tuple[list[str], float]
"""The words of a phrase, and 1 if it praises or 0 if it blames."""

Example = tuple[list[int], float]
"""A phrase as ids, and its label."""


def read_phrases(file: Path, without: frozenset[str] = frozenset()) -> list[Phrase]:
    """The phrases of an sst2 file, spaced as people type, except those whose normalised text is in `without`."""
    rows = dict.fromkeys(text.read_sst2(file))
    return [(words_of(detokenised(row)), float(label)) for row, label in rows if text.normalised(row) not in without]


def read_reviews(file: Path) -> list[str]:
    """The first `REVIEW_WORDS` words of the film reviews without labels."""
    reviews = (words_of(line.replace("<br />", " ")) for line in text.read_text(file).splitlines())
    return list(itertools.islice(itertools.chain.from_iterable(reviews), REVIEW_WORDS))


def vocabulary_of(phrases: Sequence[Phrase], reviews: Sequence[str]) -> Vocabulary:
    """The most frequent words of the phrases, then the most frequent others of the reviews; the phrases' n-grams."""
    taught = Counter(itertools.chain.from_iterable(words for words, _ in phrases))
    words = [word for word, _ in taught.most_common(KNOWN_WORDS)]
    rest = Counter(reviews)
    for word in words:
        del rest[word]
    more = [word for word, _ in rest.most_common(MORE_WORDS)]
    ids = {word: place for place, word in enumerate(words + more, start=2)}
    known = Vocabulary(ids, len(words) + 2, {})
    grams = Counter(gram for words, _ in phrases for gram in grams_of(known.ids(words)))
    chosen: list[Gram] = [gram for gram, _ in grams.most_common(KNOWN_GRAMS)]
    return Vocabulary(ids, known.taught, {gram: place for place, gram in enumerate(chosen, start=2)})


def windows(stream: Tensor, step: int) -> Iterator[Batch]:
    """Endless batches of windows of the reviews from `step` on: ids [row, word]."""
    starts = range(0, len(stream) - WINDOW, WINDOW)
    for batch in itertools.count(step):
        chosen = random.Random(SEED + batch).choices(starts, k=WINDOWS)
        yield {"ids": torch.stack([stream[start : start + WINDOW] for start in chosen]).long()}


def language_loss(shares: Tensor) -> Callable[[LanguageModel, Batch], Tensor]:
    """Return the loss: cross-entropy of the next and the previous word, against words drawn by their `shares`."""

    def one_way(model: LanguageModel, guesses: Tensor, wanted: Tensor) -> Tensor:
        drawn = torch.multinomial(shares, SAMPLES, replacement=True)
        right = (guesses * model.vectors(wanted)).sum(dim=-1) + model.bias[wanted] - shares[wanted].log()
        others = guesses @ model.vectors(drawn).T + model.bias[drawn] - shares[drawn].log()
        others = others.float().masked_fill(drawn == wanted[..., None], -torch.inf)
        every = torch.cat([right.float()[..., None], others], dim=-1).flatten(0, 1)
        return functional.cross_entropy(every, torch.zeros(len(every), dtype=torch.long))

    def loss(model: LanguageModel, batch: Batch) -> Tensor:
        ids = batch["ids"]
        states, _ = model.cell(functional.dropout(model.vectors(ids), 0.1, model.training))
        ahead, back = states.split(LANGUAGE_STATES, dim=2)
        forwards = one_way(model, model.guess[0](ahead[:, :-1]), ids[:, 1:])
        return forwards + one_way(model, model.guess[1](back[:, 1:]), ids[:, :-1])

    return loss


def pretrain(language: LanguageModel, stream: Tensor, workdir: Path) -> None:
    """Train the language model on the words of `stream`, resuming from its saved state if there is one."""
    torch.manual_seed(SEED)
    # One more of each word, so that no share is zero.
    shares = torch.bincount(stream.long(), minlength=len(language.bias)).float() + 1
    loss, optimizer = language_loss(shares / shares.sum()), adamw(language, LANGUAGE_RATE)
    plan = Plan(steps=LANGUAGE_STEPS, warmup_steps=LANGUAGE_STEPS // 20, workdir=workdir)
    train(language, [optimizer], lambda step: windows(stream, step), loss, plan)


def perplexity(model: LanguageModel, stream: Tensor) -> float:
    """The perplexity of the next word, over the whole vocabulary, in windows of held-out text."""
    ids = stream[: len(stream) // WINDOW * WINDOW].view(-1, WINDOW).long()
    losses = []
    with torch.inference_mode():
        for rows in ids.split(WINDOWS):
            ahead = model.cell(model.vectors(rows))[0][:, :-1, :LANGUAGE_STATES]
            logits = model.guess[0](ahead) @ model.vectors.weight.T + model.bias
            losses.append(functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()).item())
    return float(np.exp(np.mean(losses)))


def begun(generation: Generation, vocabulary: Vocabulary, language: LanguageModel) -> Any:
    """A new network; a pre-trained one starts from the embeddings and the LSTM of the language model."""
    network: Any = generation.make(features_of(generation, vocabulary))
    if generation.pretrained:
        network.vectors.load_state_dict(language.vectors.state_dict())
        own = network.cell.state_dict()
        network.cell.load_state_dict({name: language.cell.state_dict()[name] for name in own})
    if generation.key == "frozen":
        network.vectors.requires_grad_(False)
        network.cell.requires_grad_(False)
    return network


def examples_of(generation: Generation, phrases: Sequence[Phrase], vocabulary: Vocabulary) -> list[Example]:
    """The phrases as the ids that the network reads, without empty ones."""
    return [(read_ids(generation, words, vocabulary), label) for words, label in phrases if words]


def batches(examples: Sequence[Example], tokens: int, seed: int, step: int) -> Iterator[Batch]:
    """Endless batches from `step` on: ids [row, word], padded, and labels [row]."""
    for places in epochs_of([len(ids) for ids, _ in examples], tokens, seed, step):
        ids, labels = zip(*(examples[place] for place in places), strict=True)
        yield {"ids": padded(ids), "labels": torch.tensor(labels)}


def loss_of(network: nn.Module, batch: Batch) -> Tensor:
    """Mean cross-entropy of the labels."""
    return functional.binary_cross_entropy_with_logits(network(batch["ids"]).float(), batch["labels"])


def accuracy(network: nn.Module, examples: Sequence[Example]) -> float:
    """The accuracy on `examples`, in percent."""
    network.eval()
    with torch.inference_mode():
        right = [bool(network(torch.tensor([ids])) > 0) == (label > 0.5) for ids, label in examples]
    return 100 * sum(right) / len(right)


def taught(
    network: Any, recipe: Recipe, examples: Sequence[Example], steps: int, workdir: Path, tokens: int, seed: int
) -> Any:
    """Train the network on `steps` batches of about `tokens` tokens each, and return it."""
    optimizer = adamw(network, recipe.rate)
    if recipe.slower:
        before = [*network.vectors.parameters(), *network.cell.parameters()]
        optimizer = torch.optim.AdamW(
            [{"params": before, "lr": recipe.slower}, {"params": network.out.parameters(), "lr": recipe.rate}],
            weight_decay=0.01,
            fused=True,
        )
    plan = Plan(steps=steps, warmup_steps=max(1, steps // 10), workdir=workdir, log_every=200)
    train(network, [optimizer], lambda step: batches(examples, tokens, seed, step), loss_of, plan)
    return network


def measured_curve(
    phrases: Sequence[Phrase], development: Sequence[Phrase], known: Vocabulary, language: LanguageModel, workdir: Path
) -> dict[str, dict[str, list[float]]]:
    """Accuracy in percent on the development sentences, by network and number of phrases, for each draw of these."""
    curve: dict[str, dict[str, list[float]]] = {}
    for generation in (each for each in GENERATIONS if each.key in CURVE_NETWORKS):
        kept_out = examples_of(generation, development, known)
        for size, steps in CURVE.items():
            for seed in CURVE_SEEDS:
                torch.manual_seed(seed)
                some = random.Random(seed).sample(list(phrases), min(size, len(phrases)))
                network, place = begun(generation, known, language), workdir / f"{generation.key}-{size}-{seed}"
                examples = examples_of(generation, some, known)
                taught(network, RECIPES[generation.key], examples, steps, place, CURVE_TOKENS, seed)
                found = curve.setdefault(generation.key, {}).setdefault(str(size), [])
                found.append(round(accuracy(network, kept_out), 1))
        print(generation.key, curve[generation.key], flush=True)
    return curve


def build(data: Path, workdir: Path) -> None:
    """Train the language model and every network, save them together, measure them and write their card."""
    workdir = workdir / NAME
    development = text.read_sst2(data / "sst2/dev.tsv")
    kept_out = frozenset(text.normalised(sentence) for sentence, _ in development)
    phrases, reviews = read_phrases(data / "sst2/train.tsv", kept_out), read_reviews(data / "text/imdb_unsup.txt.xz")
    known = vocabulary_of(phrases, reviews)
    stream = torch.tensor(known.ids(reviews, pretrained=True), dtype=torch.int16)
    unseen, stream = stream[:KEPT_OUT_WORDS], stream[KEPT_OUT_WORDS:]

    language = LanguageModel(len(known.words) + 2)
    weights: dict[str, Tensor] = {}
    sentences = read_phrases(data / "sst2/dev.tsv")

    def learn(generation: Generation) -> None:
        torch.manual_seed(SEED)
        network, recipe = begun(generation, known, language), RECIPES[generation.key]
        examples = examples_of(generation, phrases, known)
        steps = recipe.epochs * len(grouped_by_length([len(ids) for ids, _ in examples], BATCH_TOKENS, SEED))
        taught(network, recipe, examples, steps, workdir / generation.key, BATCH_TOKENS, SEED)
        print(generation.key, accuracy(network, examples_of(generation, sentences, known)), flush=True)
        weights.update({f"{generation.key}.{name}": each.half() for name, each in network.state_dict().items()})

    for generation in GENERATIONS:
        if not generation.pretrained:
            learn(generation)
    pretrain(language, stream, workdir / "language")
    for generation in GENERATIONS:
        if generation.pretrained:
            learn(generation)
    curve = measured_curve(phrases, sentences, known, language, workdir / "curve")

    before.FOLDER.mkdir(parents=True, exist_ok=True)
    grams = torch.tensor([[*gram, 0, 0][:3] for gram in known.grams], dtype=torch.int16)
    save_file(weights | {GRAMS: grams}, before.FOLDER / WEIGHTS)
    (before.FOLDER / WORDS).write_text("\n".join([str(known.taught), *known.words]) + "\n", encoding="utf-8")
    figures = {"perplexity": perplexity(language, unseen), "curve": curve, "accuracy": measured(development)}
    (before.FOLDER / before.FIGURES).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (before.FOLDER / "README.md").write_text(card(figures), encoding="utf-8")


def card(figures: dict[str, Any]) -> str:
    """The model card, in Markdown."""
    curve = [(size, *(f"{np.mean(each[str(size)]):.1f}" for each in figures["curve"].values())) for size in CURVE]
    names = {each.key: each.name for each in GENERATIONS} | {"bert": "BERT (clearhead-sentiment)"}
    rows = "\n".join(f"| {names[key]} | {value:.1f} |" for key, value in figures["accuracy"].items())
    header = " | ".join(names[key] for key in figures["curve"])
    return _CARD.format(
        rows=rows,
        header=header,
        line="---|" * (len(figures["curve"]) + 1),
        curve="\n".join(f"| {' | '.join(map(str, row))} |" for row in curve),
        perplexity=figures["perplexity"],
        commit=commit(),
        seeds=len(CURVE_SEEDS),
        digest=sha256_of(before.FOLDER / WEIGHTS),
    )


_CARD = """# Before Transformers

Eleven sentence classifiers, as they were built before Transformers: `models/before/networks.py` has each of them whole.
They read English in lower case, word by word, and give the log-odds that a text praises.

## Data

- Stanford Sentiment Treebank, in GLUE's form (sst2): 67,349 phrases of film reviews; no licence stated, research use
- Large Movie Review Dataset, 50,000 reviews without labels, for the language model; no licence stated, research use

## Recipe

`python -m training --task before-transformers --data DIR` (`training/before.py`, commit `{commit}`). Phrases that read
like a sentence of the development set are left out. Seeds are fixed. The development figures were looked at twice
before the end: they led to smaller vectors at the start of the convolution and the recurrent networks, to fewer
readings of the n-grams, and to less dropout, a higher rate and a fifth epoch for the frozen vectors. Weights are kept
in float16.

## Figures

Accuracy in percent on sst2's 872 development sentences, spaced as people type, through the answers of the page:

| model | accuracy |
|---|---|
{rows}

The language model's perplexity of the next word, on reviews kept out, words it does not know counted as one:
{perplexity:.0f}.

Accuracy after this number of phrases, mean of {seeds} draws:

| phrases | {header} |
|{line}
{curve}

## Limits

They know the words of film reviews of the 2000s and little else, and none was taught with whole paragraphs.

## Files

- `model.safetensors`: sha256 `{digest}`
- `words.txt`: how many ids sst2's words have, then every word by its id, from 2 on
- `figures.json`: the figures above
"""


def measured(development: Sequence[tuple[str, int]]) -> dict[str, float]:
    """The accuracy in percent of each model of the tab, BERT included, from the answers that visitors get."""
    before.figures.cache_clear()
    load_networks.cache_clear()
    right: Counter[str] = Counter()
    model = load_model(Task.GENERATIONS.value)
    for sentence, label in development:
        for row in model(text=detokenised(sentence)).rows:
            right[row.key] += row.positive > 0.5 if label else row.positive <= 0.5
    return {key: 100 * count / len(development) for key, count in right.items()}
