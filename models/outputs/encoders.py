"""Answers of BERT and its kin: filled blanks, labels, spans, names, pairs of sentences, endings."""

from dataclasses import dataclass

from models.outputs.base import LoadedCheckpoint, Prediction, TaskOutput, Token


@dataclass(frozen=True)
class WordStanding:
    """Where a word named by the visitor stands at one mask: its probability and its rank from 1.

    Both are `None` for a word that the vocabulary spells with several `pieces`: it cannot stand in one blank.
    """

    word: str
    pieces: tuple[str, ...]
    probability: float | None
    rank: int | None


@dataclass(frozen=True)
class FillMaskOutput(TaskOutput):
    """`predictions` holds, for each mask in order, the likeliest tokens; `sequences` the filled texts, best first.

    A sequence's score is the product of its tokens' probabilities, each mask judged with the others still masked.
    """

    predictions: tuple[tuple[Prediction, ...], ...]
    sequences: tuple[Prediction, ...]
    word: tuple[WordStanding, ...] = ()


@dataclass(frozen=True)
class SentimentOutput(TaskOutput):
    """The likeliest `label` and the probability of each, in the checkpoint's own order."""

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
    """The best spans; a score is the probability of a place, and `no_answer_score` that the text does not answer.

    Over all places of the text they sum to one. `start_probabilities` and `end_probabilities` have a number for each of
    `tokens`, those of the best of the `windows` in which the context was read.
    """

    answers: tuple[Answer, ...]
    no_answer_score: float
    start_probabilities: tuple[float, ...]
    end_probabilities: tuple[float, ...]
    windows: int

    @property
    def answered(self) -> bool:
        """Whether it is at least as likely that the text answers, anywhere, as that it does not."""
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
    """The names in the order of the text, and the label of every token of it.

    The `classes` are `O`, and for each kind `B-` for a name's first word and `I-` for the others. `tokens` are those of
    the one of the `windows` in which the first name was read.
    """

    entities: tuple[Name, ...]
    classes: tuple[str, ...]
    labels: tuple[TokenLabel, ...]
    windows: int

    @property
    def decisive(self) -> TokenLabel:
        """The first token of the first name; where there is none, of the word that is likeliest to be one."""
        if self.entities:
            return self.at(self.entities[0].start)
        outside = self.classes.index(OUTSIDE)
        words = [each for each in self.labels if each.label == OUTSIDE]
        return min(words or self.labels, key=lambda each: each.shares[outside])

    def at(self, character: int) -> TokenLabel:
        """The token at this character of the text."""
        return next(each for each in self.labels if each.token.start <= character < each.token.end)

    def kinds_of(self, token: TokenLabel) -> dict[str, float]:
        """The probability of each kind of name at `token`, a name's first word or not, and of `O`."""
        kinds: dict[str, float] = {}
        for label, share in zip(self.classes, token.shares, strict=True):
            kind = label.rpartition("-")[2]
            kinds[kind] = kinds.get(kind, 0.0) + share
        return kinds


@dataclass(frozen=True)
class SentencePairOutput(TaskOutput):
    """Four answers on two texts: three probabilities of one pass over the pair, and a cosine of two more.

    `follows` is the probability that the second comes after the first, `paraphrase` that both say the same, and
    `entailment` holds entailment, neutral and contradiction. `similarity` is the cosine of the two `vectors`, each of
    length one, and so their dot product. `segments` has a 0 or 1 for each of `tokens`: the sentence that it is of.
    """

    follows: float
    entailment: tuple[Prediction, ...]
    paraphrase: float
    similarity: float
    vectors: tuple[tuple[float, ...], tuple[float, ...]]
    segments: tuple[int, ...]


@dataclass(frozen=True)
class Ending:
    """An ending as two models weigh it: the probability that it comes next, and the likelihood of its words.

    `follows` is next sentence prediction's; `log_probability` is the completion model's mean over the tokens, natural.
    """

    text: str
    follows: float
    log_probability: float


@dataclass(frozen=True)
class EndingsOutput(TaskOutput):
    """The `endings` in their order, and which place each model puts on which rank, best first.

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
