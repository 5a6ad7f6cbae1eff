"""Load the trained sentence classifiers once: their weights, and their vocabulary of words and n-grams."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from models import before
from models.before.networks import GENERATIONS, Generation
from models.before.words import PAD, UNKNOWN, Vocabulary

WEIGHTS, WORDS, GRAMS = "model.safetensors", "words.txt", "grams"


@dataclass(frozen=True, eq=False)
class Networks:
    """Every network by its key, in float32 and ready to answer, and the vocabulary that they share."""

    vocabulary: Vocabulary
    by_key: dict[str, nn.Module]

    def log_odds(self, generation: Generation, words: list[str]) -> float:
        """The log-odds that a text of these `words` is positive."""
        with torch.inference_mode():
            found: Tensor = self.by_key[generation.key](torch.tensor([read_ids(generation, words, self.vocabulary)]))
        return found.item()


@cache
def untrained(generation: Generation, features: int) -> nn.Module:
    """The untrained network of `generation` for `features` ids; its random weights are the same at each call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return generation.make(features).eval().requires_grad_(False)


def read_ids(generation: Generation, words: list[str], vocabulary: Vocabulary) -> list[int]:
    """The ids that the network reads: of the known n-grams, `UNKNOWN` if there are none, or of the words."""
    if generation.key == "bag_of_ngrams":
        return [vocabulary.grams[gram] for gram in vocabulary.known_grams(words)] or [UNKNOWN]
    return vocabulary.ids(words, pretrained=generation.pretrained)


def features_of(generation: Generation, vocabulary: Vocabulary) -> int:
    """The number of different ids that the network may read."""
    if generation.key == "bag_of_ngrams":
        return len(vocabulary.grams) + 2
    return len(vocabulary.words) + 2 if generation.pretrained else vocabulary.taught


@cache
def load_networks(folder: Path = before.FOLDER) -> Networks:
    """Load the networks in `folder`."""
    weights = load_file(folder / WEIGHTS)
    taught, *words = (folder / WORDS).read_text(encoding="utf-8").split()
    grams = (tuple(each for each in gram if each != PAD) for gram in weights.pop(GRAMS).tolist())
    vocabulary = Vocabulary(
        {word: place for place, word in enumerate(words, start=2)},
        int(taught),
        {gram: place for place, gram in enumerate(grams, start=2)},
    )
    networks = {}
    for generation in GENERATIONS:
        network = generation.make(features_of(generation, vocabulary))
        start = f"{generation.key}."
        own = {name.removeprefix(start): each.float() for name, each in weights.items() if name.startswith(start)}
        network.load_state_dict(own)
        networks[generation.key] = network.eval().requires_grad_(False)
    return Networks(vocabulary, networks)
