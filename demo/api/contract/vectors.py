"""The answers from an encoder's vectors: on a word in several sentences, and on taught examples."""

from typing import TypedDict

from demo.api.contract.base import Answered, TokenScore


class NearWord(TypedDict):
    """A word and the cosine of its static vector with that of the word asked about."""

    word: str
    cosine: float


class WordPlane(TypedDict):
    """The word's vectors of one layer, each of length one, by their two principal components, `[x, y]` each.

    `static` is the word before any layer read it, and `shares` how much of the differences lies along each axis.
    """

    points: list[list[float]]
    static: list[float]
    shares: list[float]


class WordInSentences(Answered):
    """`layers[layer][one][other]` is the cosine of the word's vectors in two sentences, layer 0 before the first layer.

    `static_neighbours` are the nearest words by static vectors, empty with a sentence in `static_note` where the word
    has none. `fitting_words` has, for each sentence, the likeliest words at the word's place.
    """

    word: str
    layers: list[list[list[float]]]
    planes: list[WordPlane]
    static_neighbours: list[NearWord]
    static_note: str
    fitting_words: list[list[TokenScore]]


class LabelledText(TypedDict):
    """An example: a text and the name of its class."""

    text: str
    label: str


class JudgedText(TypedDict):
    """A text, its likeliest label, and the probability of each label."""

    text: str
    label: str
    scores: dict[str, float]


class Mistake(JudgedText):
    """An example whose judged label is not the one that its caller `expected`."""

    expected: str


class Curve(TypedDict):
    """The accuracy that a representation reaches after a number of examples per class: mean and spread over draws."""

    representation: str
    examples_per_class: list[int]
    accuracy: list[float]
    spread: list[float]


class Taught(Answered):
    """The texts as they were judged; how often the classifier is right, and what guessing would get (`chance`).

    `accuracy` is a share of the `measured` examples, which are those that were kept out (`measured_on` is `kept`), or
    all of them (`cross-validation`). The curves are of BERT's vectors, of a bag of words and of random weights.
    """

    labels: list[str]
    predictions: list[JudgedText]
    accuracy: float
    measured_on: str
    measured: int
    chance: float
    mistakes: list[Mistake]
    curve: list[Curve]
