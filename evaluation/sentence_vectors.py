"""Measure which layer's mean is the best sentence vector for the tab Teach it, on its ready sets of examples.

`python -m evaluation.sentence_vectors` prints the table in `docs/experiments/encoders.md`: the accuracy in five-fold
cross-validation over all 60 texts of a set, and on the 20 held-out ones after 4 and 10 examples of each class.
"""

from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from torch import Tensor, nn
from transformers import AutoTokenizer

from models.loading.store import ModelStore
from models.registry import Task, find
from models.tasks.teach import BAG_OF_WORDS, BERT, classifier, with_random_weights

SETS = Path(__file__).resolve().parents[1] / "assets" / "teach"
NAMES = ("spam", "question", "topic", "polite")
DRAWS = range(4)

Rows = NDArray[Any]


def vectors_of(trunk: nn.Module, encoded: dict[str, Tensor]) -> Iterator[tuple[str, Rows]]:
    """The sentence vectors `[text, width]`, of length one, of every layer, of the last 2 and 4, and of `[CLS]`."""
    with torch.inference_mode():
        layers = list(trunk(**encoded, output_hidden_states=True).hidden_states)
    seen = encoded["attention_mask"][..., None].float()
    chosen = {f"layer {number}": each for number, each in enumerate(layers)}
    chosen |= {f"last {count}": torch.stack(layers[-count:]).mean(dim=0) for count in (2, 4)}
    for name, each in chosen.items():
        yield name, _as_long_as_one((each * seen).sum(dim=1) / seen.sum(dim=1))
    yield "[CLS] of the last layer", _as_long_as_one(layers[-1][:, 0])


def _as_long_as_one(vectors: Tensor) -> Rows:
    return np.asarray(nn.functional.normalize(vectors, dim=1).numpy())


def figures(representation: str, rows: Rows, classes: Rows, kept: Rows) -> tuple[float, ...]:
    """The accuracies: in cross-validation, and on held-out texts after 4 and after 10 examples of each class."""

    def right(taught: Rows, tested: Rows) -> float:
        fitted = classifier(representation).fit(rows[taught], classes[taught])
        return float((fitted.predict(rows[tested]) == classes[tested]).mean())

    def drawn(size: int, seed: int) -> Rows:
        random = np.random.default_rng(seed)
        return np.concatenate(
            [random.permutation(np.flatnonzero(~kept & (classes == each)))[:size] for each in np.unique(classes)]
        )

    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(rows, classes)
    tested = np.flatnonzero(kept)
    few = (mean(right(drawn(size, seed), tested) for seed in DRAWS) for size in (4, 10))
    return (mean(right(*fold) for fold in folds), *few)


def main() -> None:
    """Print a line for each kind of vector: its mean accuracies over the sets."""
    model = ModelStore().load(find("", Task.TEACH), task=Task.TEACH)
    tokenizer, trunk = AutoTokenizer.from_pretrained(model.folder), model.network.base_model
    untrained = with_random_weights(model.network)
    found: dict[str, list[tuple[float, ...]]] = {}
    for name in NAMES:
        lines = [line.split("\t") for line in (SETS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()]
        labels, texts, uses = (np.array(column, dtype=object) for column in zip(*lines, strict=True))
        encoded = dict(tokenizer(texts.tolist(), padding=True, return_tensors="pt"))
        every = [(BERT, f"{kind}{vector}", rows) for kind, network in (("", trunk), ("random, ", untrained))
                 for vector, rows in vectors_of(network, encoded)]  # fmt: skip
        for representation, vector, rows in [*every, (BAG_OF_WORDS, BAG_OF_WORDS, texts)]:
            found.setdefault(vector, []).append(figures(representation, rows, labels, uses == "test"))
    for vector, of_sets in found.items():
        print(f"{vector:32}", *(f"{100 * mean(each):5.1f} %" for each in zip(*of_sets, strict=True)))


if __name__ == "__main__":
    main()
