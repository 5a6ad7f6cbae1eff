"""Answers from an encoder's vectors: a word in several sentences, and a classifier taught with a few examples."""

from dataclasses import dataclass

import numpy as np

from models.outputs.base import Prediction, TaskOutput


@dataclass(frozen=True)
class Occurrence:
    """The first place of a word in a sentence that has it `times`: characters `start` to `end` (exclusive).

    `fitting` are the words that the masked language model would put in its place, with their probabilities.
    """

    sentence: str
    start: int
    end: int
    times: int
    fitting: tuple[Prediction, ...]


@dataclass(frozen=True)
class Plane:
    """The vectors of one layer projected onto a plane: a point for each occurrence, and `static` for the word alone.

    `static` is from before the first layer. All vectors are scaled to length one, as in a cosine. The axes are the
    first two principal components of these vectors; `shares` are the shares of the variance along each.
    """

    points: tuple[tuple[float, float], ...]
    static: tuple[float, float]
    shares: tuple[float, float]


@dataclass(frozen=True)
class WordInContextOutput(TaskOutput):
    """One word in several sentences; `tokens` are those of the first.

    `layers[layer][one][other]` is the cosine of the word's vectors in two sentences; layer 0 is the embeddings that the
    first layer reads, with position and norm where the model has them. `planes` has one plane per layer.
    `static_neighbours` are the words whose static vectors (see `models.text.word_vectors`) are nearest to the word's
    own, with their cosines; if it has none, `static_note` says so.
    """

    word: str
    occurrences: tuple[Occurrence, ...]
    layers: tuple[tuple[tuple[float, ...], ...], ...]
    planes: tuple[Plane, ...]
    static_neighbours: tuple[Prediction, ...]
    static_note: str = ""

    @property
    def telling(self) -> int:
        """The layer whose cosines lie furthest apart; for two sentences, the layer at which they are least alike."""
        found = [self.extremes(layer) for layer in range(self.depth)]
        top = [1.0 if len(self.occurrences) == 2 else closest[2] for closest, _ in found]
        return int(np.argmax([most - least[2] for most, (_, least) in zip(top, found, strict=True)]))

    @property
    def depth(self) -> int:
        """The number of `layers`, the embeddings included."""
        return len(self.layers)

    def extremes(self, layer: int) -> tuple[tuple[int, int, float], tuple[int, int, float]]:
        """The two sentences, from 0, most alike at `layer`, and the two least alike, each pair with its cosine."""
        count = len(self.occurrences)
        pairs = [
            (one, other, self.layers[layer][one][other]) for one in range(count) for other in range(one + 1, count)
        ]
        return max(pairs, key=lambda each: each[2]), min(pairs, key=lambda each: each[2])


@dataclass(frozen=True)
class Judged:
    """A text, its likeliest label and the probability of each label; `expected` is its given label, if any."""

    text: str
    label: str
    scores: tuple[Prediction, ...]
    expected: str = ""


@dataclass(frozen=True)
class LearningCurve:
    """The accuracy that a representation of texts reaches after a number of examples of each class.

    Each accuracy is the mean over a few draws of the examples, and each `spread` the standard deviation.
    """

    representation: str
    examples_per_class: tuple[int, ...]
    accuracy: tuple[float, ...]
    spread: tuple[float, ...]


@dataclass(frozen=True)
class TeachOutput(TaskOutput):
    """A classifier taught with a few examples: its label for each text, and how often it is right.

    `accuracy` is the share of the `measured` examples that it gets right: those kept out, or all of them by
    cross-validation, as `measured_on` says. `chance` is the accuracy of guessing. `tokens` are those of the first text
    to judge, or of the first example if there is none.
    """

    labels: tuple[str, ...]
    predictions: tuple[Judged, ...]
    accuracy: float
    chance: float
    measured_on: str
    measured: int
    mistakes: tuple[Judged, ...]
    curve: tuple[LearningCurve, ...]
