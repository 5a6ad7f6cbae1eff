"""Answers of BERT and its kin: filled blanks, labels, spans, names, pairs of sentences, endings."""

from dataclasses import dataclass

from models.outputs.base import LoadedCheckpoint, Prediction, TaskOutput, Token


@dataclass(frozen=True)
class WordStanding:
    """The probability of a word named by the visitor at one mask, and its rank from 1.

    Both are `None` for a word that the vocabulary does not have as one piece: it cannot fill one blank. `pieces` spell
    it.
    """

    word: str
    pieces: tuple[str, ...]
    probability: float | None
    rank: int | None


@dataclass(frozen=True)
class FillMaskOutput(TaskOutput):
    """The likeliest tokens of each mask in order (`predictions`), and the filled texts, best first (`sequences`).

    A sequence's score is the product of its tokens' probabilities, each predicted with the other masks still masked.
    """

    predictions: tuple[tuple[Prediction, ...], ...]
    sequences: tuple[Prediction, ...]
    word: tuple[WordStanding, ...] = ()


@dataclass(frozen=True)
class SentimentOutput(TaskOutput):
    """The likeliest `label` and the probability of each label, in the checkpoint's own order."""

    label: str
    scores: tuple[Prediction, ...]


@dataclass(frozen=True)
class Answer:
    """A span of the context: characters `start` to `end` (exclusive) and its probability."""

    text: str
    score: float
    start: int
    end: int


@dataclass(frozen=True)
class QuestionAnsweringOutput(TaskOutput):
    """The best spans with their probabilities, and the probability that the text gives no answer, `no_answer_score`.

    Over all spans of the text they sum to one. `start_probabilities` and `end_probabilities` are over `tokens`, those
    of the best of the `windows` in which the context was read.
    """

    answers: tuple[Answer, ...]
    no_answer_score: float
    start_probabilities: tuple[float, ...]
    end_probabilities: tuple[float, ...]
    windows: int

    @property
    def answered(self) -> bool:
        """Whether the text is at least as likely to give an answer, anywhere, as to give none."""
        return bool(self.answers) and self.no_answer_score <= 0.5


OUTSIDE = "O"
"""The label of a word that is part of no name."""


@dataclass(frozen=True)
class Name:
    """A name: characters `start` to `end` (exclusive) of the text, and its kind as `label`.

    The kinds are `person`, `organisation`, `place` and `other`. `score` is the probability of the least likely of its
    words' labels.
    """

    text: str
    label: str
    score: float
    start: int
    end: int


@dataclass(frozen=True)
class TokenLabel:
    """A token, the `word` that it is a piece of, and its label: `X` for a word's further pieces, which are not judged.

    `shares` are the probabilities of all classes.
    """

    token: Token
    word: str
    label: str
    shares: tuple[float, ...]


@dataclass(frozen=True)
class NamesOutput(TaskOutput):
    """The names in the order of the text, and the labels of all its tokens.

    The `classes` are `O`, and for each kind `B-` for a name's first word and `I-` for the others. `tokens` are those of
    the one of the `windows` in which the first name was read.
    """

    entities: tuple[Name, ...]
    classes: tuple[str, ...]
    labels: tuple[TokenLabel, ...]
    windows: int

    @property
    def decisive(self) -> TokenLabel:
        """The first token of the first name or, if there is no name, of the word that is likeliest to be one."""
        if self.entities:
            return self.at(self.entities[0].start)
        outside = self.classes.index(OUTSIDE)
        words = [each for each in self.labels if each.label == OUTSIDE]
        return min(words or self.labels, key=lambda each: each.shares[outside])

    def at(self, character: int) -> TokenLabel:
        """The token at this character of the text."""
        return next(each for each in self.labels if each.token.start <= character < each.token.end)

    def kinds_of(self, token: TokenLabel) -> dict[str, float]:
        """The probability of each kind of name at `token`, `B-` and `I-` added up, and of `O`."""
        kinds: dict[str, float] = {}
        for label, share in zip(self.classes, token.shares, strict=True):
            kind = label.rpartition("-")[2]
            kinds[kind] = kinds.get(kind, 0.0) + share
        return kinds


@dataclass(frozen=True)
class SentencePairOutput(TaskOutput):
    """Four answers on two texts: three probabilities from a pass over the pair, and a cosine from the texts read alone.

    `follows` is the probability that the second comes after the first, `paraphrase` that both say the same;
    `entailment` holds the probabilities of entailment, neutral and contradiction. `similarity` is the cosine of the two
    `vectors`, each of length one, and so their dot product. `segments` has a 0 or 1 for each of `tokens`, for the first
    or second text.
    """

    follows: float
    entailment: tuple[Prediction, ...]
    paraphrase: float
    similarity: float
    vectors: tuple[tuple[float, ...], tuple[float, ...]]
    segments: tuple[int, ...]


@dataclass(frozen=True)
class Ending:
    """An ending as scored by two models.

    `follows` is the probability by next sentence prediction that it comes next; `log_probability` is the completion
    model's mean natural log-probability over its tokens.
    """

    text: str
    follows: float
    log_probability: float


@dataclass(frozen=True)
class EndingsOutput(TaskOutput):
    """The `endings` in the given order, and each model's ranking: their places in that order, best first.

    `tokens` are those of the beginning with the ending that is likeliest to come next. `writer` is the completion
    model.
    """

    endings: tuple[Ending, ...]
    by_follows: tuple[int, ...]
    by_log_probability: tuple[int, ...]
    writer: LoadedCheckpoint

    @property
    def disagree(self) -> bool:
        """Whether the two models put different endings first."""
        return self.by_follows[0] != self.by_log_probability[0]
