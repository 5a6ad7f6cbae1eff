"""The answers of the endpoints of BERT and other encoders."""

from typing import TypedDict

from demo.api.contract.base import Answered, CheckpointUsed, TokenScore


class WordScore(TypedDict):
    """The caller's own word at one mask; both numbers are null where the vocabulary has no single token for it."""

    word: str
    pieces: list[str]
    probability: float | None
    rank: int | None


class FilledMasks(Answered):
    """One list of predictions per mask; the filled texts and their scores, best first."""

    predictions: list[list[TokenScore]]
    sequences: list[str]
    sequence_scores: list[float]
    word: list[WordScore]


class Sentiment(Answered):
    """The likeliest label and the probability of each."""

    label: str
    scores: dict[str, float]


class FoundAnswer(TypedDict):
    """A span of the context: characters `start` to `end` (exclusive)."""

    text: str
    score: float
    start: int
    end: int


class FoundAnswers(Answered):
    """The best spans, best first, and the probability that the context does not answer."""

    answers: list[FoundAnswer]
    no_answer_score: float
    answered: bool


class FoundName(FoundAnswer):
    """A name and its kind: `person`, `organisation`, `place` or `other`; the `score` is that of its least sure word."""

    label: str


class LabelledToken(TypedDict):
    """A token, the word that it is a piece of, and its label: `O`, `B-` or `I-` and a kind, `X` for further pieces.

    `scores` are the probabilities of all labels but `X`.
    """

    token: str
    word: str
    label: str
    scores: dict[str, float]


class FoundNames(Answered):
    """The names in the order of the text, and every token with its label."""

    entities: list[FoundName]
    tokens: list[LabelledToken]


class PairAnswer(Answered):
    """Whether b follows a, is implied by it and says the same, as probabilities; the cosine of their two vectors."""

    follows: float
    entailment: dict[str, float]
    paraphrase: float
    similarity: float


class WeighedEnding(TypedDict):
    """An ending: the probability that it comes next, and the completion model's mean log-probability of its tokens."""

    text: str
    follows: float
    log_probability: float


class RankedEndings(Answered):
    """The endings as given, their places from 0 as each model ranks them, and whether the two differ on the first.

    `writer` is the completion model; `checkpoint` judged what follows.
    """

    endings: list[WeighedEnding]
    by_follows: list[int]
    by_log_probability: list[int]
    disagree: bool
    writer: CheckpointUsed
