"""Answers from an encoder's vectors: a word in several sentences, and a classifier taught with a few examples."""

from dataclasses import dataclass

import numpy as np

from models.outputs.base import Prediction, TaskOutput


@dataclass(frozen=True)
class Occurrence:
    """A word in one sentence, from character `start` to `end` (exclusive); it stands there `times`, the first is meant.

    `fitting` are the words that the masked language model would put in its place, with their probabilities.
    """

    sentence: str
    start: int
    end: int
    times: int
    fitting: tuple[Prediction, ...]


@dataclass(frozen=True)
class Plane:
    """The vectors of one layer seen flat: a point for each occurrence, and `static`, the word before any layer read it.

    All vectors have a length of one here, as a cosine compares them. The axes are the two directions in which these
    points differ most (principal components); `shares` says how much of their differences (squared distances from
    their mean) lies along each.
    """

    points: tuple[tuple[float, float], ...]
    static: tuple[float, float]
    shares: tuple[float, float]


@dataclass(frozen=True)
class WordInContextOutput(TaskOutput):
    """One word in several sentences; `tokens` are those of the first.

    `layers[layer][one][other]` is the cosine of the word's vectors in two sentences; layer 0 is the embeddings that the
    first layer reads, with position and norm where the model has them. `planes` has a plane for each of them.
    `static_neighbours` are the words whose static vectors (see `models.text.word_vectors`) are nearest to the word's
    own, with their cosines; where it has none, `static_note` says so.
    """

    word: str
    occurrences: tuple[Occurrence, ...]
    layers: tuple[tuple[tuple[float, ...], ...], ...]
    planes: tuple[Plane, ...]
    static_neighbours: tuple[Prediction, ...]
    static_note: str = ""

    @property
    def telling(self) -> int:
        """The layer at which the cosines lie furthest apart; of two sentences, that at which they are least alike."""
        found = [self.extremes(layer) for layer in range(self.depth)]
        top = [1.0 if len(self.occurrences) == 2 else closest[2] for closest, _ in found]
        return int(np.argmax([most - least[2] for most, (_, least) in zip(top, found, strict=True)]))

    @property
    def depth(self) -> int:
        """The number of `layers`, the embeddings counted."""
        return len(self.layers)

    def extremes(self, layer: int) -> tuple[tuple[int, int, float], tuple[int, int, float]]:
        """The two sentences, from 0, that are closest at `layer`, and the two least alike, each with their cosine."""
        count = len(self.occurrences)
        pairs = [
            (one, other, self.layers[layer][one][other]) for one in range(count) for other in range(one + 1, count)
        ]
        return max(pairs, key=lambda each: each[2]), min(pairs, key=lambda each: each[2])


@dataclass(frozen=True)
class Judged:
    """A text, its likeliest label and the probability of each; `expected` is the label that it was given, if any."""

    text: str
    label: str
    scores: tuple[Prediction, ...]
    expected: str = ""


@dataclass(frozen=True)
class LearningCurve:
    """The accuracy that a representation of texts reaches after a number of examples of each class.

    Each is the mean over a few draws of the examples; `spread` is their standard deviation.
    """

    representation: str
    examples_per_class: tuple[int, ...]
    accuracy: tuple[float, ...]
    spread: tuple[float, ...]


@dataclass(frozen=True)
class TeachOutput(TaskOutput):
    """What was learned from a few examples: the label of each text, and how often the classifier is right.

    `accuracy` is a share of the `measured` examples, which are those that were kept out, or all of them by
    cross-validation: `measured_on` says which. `chance` is what guessing gets. `tokens` are those of the first text
    to judge, or of the first example where there is none.
    """

    labels: tuple[str, ...]
    predictions: tuple[Judged, ...]
    accuracy: float
    chance: float
    measured_on: str
    measured: int
    mistakes: tuple[Judged, ...]
    curve: tuple[LearningCurve, ...]
