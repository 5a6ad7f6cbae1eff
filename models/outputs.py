"""Typed results, frozen and free of torch: tokens, attention, an output for each task, and what a second look finds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from models.errors import require_there

Number = TypeVar("Number", bound=np.floating[Any])

MEAN = -1
"""The layer or head number that stands for all of them: in pictures and tables for their mean."""


@dataclass(frozen=True)
class LoadedCheckpoint:
    """The checkpoint that was really used: `revision` is a Hub commit, or the start of the weights' sha256.

    `engine` computed the answer, its large products in `precision`; runs logged before that was kept were exact.
    """

    name: str
    revision: str
    license: str
    precision: str = "float32"
    engine: str = "torch"


@dataclass(frozen=True)
class Token:
    """One piece of text as the model reads it.

    `text` is readable (`##ing`, ` the`), `piece` is the vocabulary's own spelling; `start` and `end` are characters
    of the input, -1 where the token stands for none of them.
    """

    text: str
    piece: str
    id: int
    special: bool = False
    start: int = -1
    end: int = -1

    @property
    def is_blank(self) -> bool:
        """Whether it stands for a word that is left out."""
        return self.special and "mask" in self.piece.lower()

    @property
    def is_unknown(self) -> bool:
        """Whether it stands for something that the vocabulary has no piece for."""
        return self.special and "unk" in self.piece.lower()

    @property
    def is_mark(self) -> bool:
        """Whether it is the model's own and stands for nothing of the text: its start, its end, what parts it."""
        return self.special and not self.is_blank and not self.is_unknown


@dataclass(frozen=True, eq=False)
class Attention:
    """The weights of every layer and head over one text, `[layer, head, query, key]`; over the keys they sum to one.

    `masked` `[query, key]` is true where the model may not look (Vaswani et al., 2017, section 3.2.3).
    """

    kind: str
    weights: NDArray[np.float32]
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    masked: NDArray[np.bool_]

    def __post_init__(self) -> None:
        expected = (len(self.query_tokens), len(self.key_tokens))
        if self.weights.ndim != 4 or self.weights.shape[2:] != expected:
            raise ValueError(f"weights {self.weights.shape} do not fit {expected[0]} queries and {expected[1]} keys")
        if self.masked.shape != expected:
            raise ValueError(f"mask {self.masked.shape} does not fit {expected}")

    @property
    def layers(self) -> int:
        """The number of layers."""
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        """The number of heads in each layer."""
        return int(self.weights.shape[1])

    @property
    def within_one_text(self) -> bool:
        """Whether queries and keys are the same tokens: self-attention, masked or not, and no cross-attention."""
        return self.kind != "cross" and self.query_tokens == self.key_tokens

    def matrix(self, layer: int = MEAN, head: int = MEAN) -> NDArray[np.float32]:
        """The weights `[query, key]` of one layer and head, counted from 0; `MEAN` for the mean over all."""
        require_there("head", head, self.heads, least=MEAN)
        heads = slice(None) if head == MEAN else slice(head, head + 1)
        return np.asarray(self.weights[self.chosen(layer), heads].mean(axis=(0, 1)), dtype=np.float32)

    def chosen(self, layer: int) -> slice:
        """The layers that `layer` stands for; raises `InputError` when it is not there."""
        require_there("layer", layer, self.layers, least=MEAN)
        return slice(0, self.layers) if layer == MEAN else slice(layer, layer + 1)


@dataclass(frozen=True)
class Prediction:
    """A candidate and its score: a probability from 0 to 1 unless the output says otherwise."""

    text: str
    score: float


def softmax(logits: NDArray[Number]) -> NDArray[Number]:
    """The probabilities that `logits` stand for, over the last axis."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


@dataclass(frozen=True)
class TaskOutput:
    """The fields of every output: the checkpoint that made it and the tokens that it read."""

    checkpoint: LoadedCheckpoint
    tokens: tuple[Token, ...]


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
class GenerationRow:
    """One model's answer: its probability that the text praises, and that the same with a word changed does, if given.

    `year` and `paper` are those of its idea, `accuracy` is in percent on sst2's development sentences, `None` for a
    checkpoint that was not measured on them.
    """

    key: str
    name: str
    year: int
    paper: str
    parameters: int
    accuracy: float | None
    positive: float
    changed_positive: float | None = None

    @property
    def label(self) -> str:
        """The likelier of the two labels."""
        return POSITIVE if self.positive > 0.5 else NEGATIVE

    @property
    def changed_label(self) -> str | None:
        """The likelier label of the changed text, where there is one."""
        return None if self.changed_positive is None else POSITIVE if self.changed_positive > 0.5 else NEGATIVE

    @property
    def changes_its_mind(self) -> bool:
        """Whether the two texts are judged differently."""
        return self.changed_label not in (None, self.label)


POSITIVE, NEGATIVE = "positive", "negative"


@dataclass(frozen=True)
class GenerationsOutput(SentimentOutput):
    """The answer of every generation in `rows`, the Transformer last, whose `label` and `scores` these are.

    `unknown` are the words that the models taught by sst2 alone do not know.
    """

    rows: tuple[GenerationRow, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """What one part of a model, or of the text, adds to the log-odds of its answer."""

    text: str
    adds: float


@dataclass(frozen=True, eq=False)
class Strip:
    """Numbers inside a model, `[word, unit]`; of a whole text they are one row."""

    name: str
    rows: NDArray[np.float32]


@dataclass(frozen=True)
class Reading:
    """How the model called `key` read a text: the log-odds of its answer are `bias` and what the `parts` add."""

    key: str
    bias: float
    parts: tuple[Part, ...]
    strips: tuple[Strip, ...]

    @property
    def log_odds(self) -> float:
        """The natural logarithm of the odds that the text praises."""
        return self.bias + sum(part.adds for part in self.parts)

    @property
    def course(self) -> tuple[float, ...]:
        """The log-odds after each of the parts."""
        return tuple(accumulate((part.adds for part in self.parts), initial=self.bias))[1:]


@dataclass(frozen=True)
class Reach:
    """For each word of a text the length of the gradient of a model's log-odds with respect to the word's vector."""

    key: str
    lengths: tuple[float, ...]


@dataclass(frozen=True)
class GenerationsReading:
    """How each generation read a text of `words`, and how far back the answer's gradient reaches in some.

    `untrained` is the same for the recurrent models before training, with random weights.
    """

    words: tuple[str, ...]
    readings: tuple[Reading, ...]
    reaches: tuple[Reach, ...]
    untrained: tuple[Reach, ...]


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
    """A token of the `word` that it is a piece of, and its label; `X` for what continues a word, which is not judged.

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
    """An ending as two models weigh it: the probability that it comes next, and how likely its words are.

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


@dataclass(frozen=True)
class Alternative(Prediction):
    """A token that could have been written; `drawn` is its share after temperature and cut-offs, where one was drawn.

    `id` is -1 in runs that were logged before ids were kept.
    """

    id: int = -1
    drawn: float | None = None


@dataclass(frozen=True)
class GeneratedToken:
    """A token that was written, its probability (of the model itself, before temperature and cut-offs), and others.

    For a token that was drawn, `drawn` is the share it was drawn by and `left` the number of tokens it was drawn from;
    `barred` are the ids of those that would have said the same few tokens a third time. `copied` is a token that was
    not chosen by its probability: it continues a part of the source that had to be copied.
    """

    token: Token
    probability: float
    alternatives: tuple[Alternative, ...]
    drawn: float | None = None
    left: int = 0
    barred: tuple[int, ...] = ()
    copied: bool = False


@dataclass(frozen=True)
class TranslationOutput(TaskOutput):
    """The beam's texts, best first; a score is the mean log-probability of a token, as beam search ranks them.

    Of several sentences it is the mean of theirs. `tokens` are the source's; `target_tokens` those of the best
    translation, its end token included, and `generated` what each of them was worth (empty in runs that were logged
    before that was kept). `notes` are sentences for the reader, on how the text was read and what was copied from it.
    """

    translations: tuple[Prediction, ...]
    target_tokens: tuple[Token, ...]
    generated: tuple[GeneratedToken, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CompletionOutput(TaskOutput):
    """The text that was written after the prompt (`tokens` are the prompt's), token by token.

    `candidates` holds the beam's texts with their scores, best first; it is empty for other strategies. `finished`
    is false while more is being written, and stays false when the visitor stopped it.
    """

    text: str
    generated: tuple[GeneratedToken, ...]
    candidates: tuple[Prediction, ...] = ()
    finished: bool = True


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


@dataclass(frozen=True)
class TokenSurprise:
    """How a causal model foresaw a token of a text, after the `context` tokens before it that it had read.

    `rank` counts from 1, the likeliest; `bits` are the binary logarithm of one by the `probability`. `rather` are the
    tokens that it found likeliest there.
    """

    token: Token
    probability: float
    rank: int
    bits: float
    context: int
    rather: tuple[Prediction, ...]


@dataclass(frozen=True)
class PseudoPerplexity:
    """The perplexity of a masked model that is asked for each of its `tokens` with that one masked.

    It is no perplexity of a text: each token is foreseen from both sides (Salazar et al., 2020).
    """

    value: float
    tokens: int


@dataclass(frozen=True)
class MeasuredText:
    """The tokens of a text that were counted, and its pseudo-perplexity; none where the text is too long for that."""

    tokens: tuple[TokenSurprise, ...]
    pseudo_perplexity: PseudoPerplexity | None

    @property
    def bits(self) -> float:
        """The surprise of the whole text."""
        return math.fsum(each.bits for each in self.tokens)

    @property
    def bits_per_token(self) -> float:
        """The cross-entropy: the mean surprise of a token, in bits."""
        return self.bits / len(self.tokens)

    @property
    def perplexity(self) -> float:
        """Two to the power of the bits per token."""
        return float(2**self.bits_per_token)

    @property
    def log_probability(self) -> float:
        """The natural logarithm of the probability of all counted tokens together."""
        return -self.bits * math.log(2)


@dataclass(frozen=True)
class SurpriseOutput(TaskOutput):
    """A `text` as a language model foresees it, and another beside it where one was given.

    `start` spells the start token, which stands in front and is not counted; where the model has none it is empty, and
    the first token of the text is not counted. A text of more than `window` tokens is read in windows that overlap by
    half. `masked` computed the pseudo-perplexities.
    """

    text: MeasuredText
    other: MeasuredText | None
    start: str
    window: int
    masked: LoadedCheckpoint


@dataclass(frozen=True)
class WatchedCell:
    """One cell of an LSTM and its `states`, tanh of the cell from -1 to 1, after each character of a text.

    `watches` names what it goes along with over text kept out of training, with their `correlation`; a cell
    without a name has neither.
    """

    cell: int
    watches: str
    correlation: float | None
    states: tuple[float, ...]


@dataclass(frozen=True)
class CellsOutput(TaskOutput):
    """What cells of a character model held while it read a text, which it saw as `read`, and what it foresaw.

    `unknown` are the characters that it does not know; `guesses` are the likeliest characters after each one.
    """

    model: str
    read: str
    unknown: tuple[str, ...]
    cells: tuple[WatchedCell, ...]
    guesses: tuple[tuple[Prediction, ...], ...]


@dataclass(frozen=True)
class WrittenByFigures:
    """How a detector did on texts of `tokens` tokens that it was not trained on, as shares of one.

    `false_alarms` are people's texts that were called machine-written; `accuracy` counts as many texts of people as of
    models, so that guessing gets a half.
    """

    tokens: int
    false_alarms: float
    accuracy: float


@dataclass(frozen=True)
class WrittenByOutput(TaskOutput):
    """How much a text reads like a model's rather than a person's.

    `machine` is the probability where one text in two is a model's, from `counted` tokens; `ranks` are the shares of
    them in the bins of `models.tasks.written_by.RANKS`. The `figures` are for the greatest length that was measured
    and that the text reaches.
    """

    machine: float
    counted: int
    ranks: tuple[float, ...]
    figures: WrittenByFigures


def generated_ids(output: TaskOutput) -> tuple[int, ...]:
    """The ids of the tokens that the model wrote, which attention is captured over; empty for encoder tasks."""
    match output:
        case TranslationOutput():
            return tuple(token.id for token in output.target_tokens)
        case CompletionOutput():
            return tuple(each.token.id for each in output.generated)
        case _:
            return ()


Attentions = Mapping[str, Attention]
"""Attention by kind, the one to show first in front: `encoder`, `decoder`, `cross`."""


@dataclass(frozen=True)
class HeadRole:
    """The role of one head over one text: a name of `models.explain.head_roles.ROLES`, and its share of the weight."""

    layer: int
    head: int
    role: str
    share: float


@dataclass(frozen=True)
class Attribution:
    """The attribution of one decision of the model to its tokens, by a method such as integrated gradients.

    `scores` are signed and in units of the logit: together they are `value`, the logit of `target` over the text, less
    `baseline_value`, that over a text of blanks, and `delta` is by how much they miss it. `baseline` is the token that
    stood for each blank, empty for embeddings of zero or their mean.
    """

    tokens: tuple[Token, ...]
    scores: tuple[float, ...]
    target: str
    method: str
    delta: float
    value: float
    baseline_value: float
    baseline: str
    steps: int

    @property
    def first_kept(self) -> bool:
        """Whether the first word of the text was never blank, so that it has no score."""
        return not (self.tokens[0].is_mark or self.tokens[0].is_blank or self.scores[0])


@dataclass(frozen=True)
class SwitchedOff:
    """A head whose output is taken as zero, counted from 0 in the attention of `kind`; `MEAN`: all of the layer's."""

    kind: str
    layer: int
    head: int = MEAN


@dataclass(frozen=True)
class TreeNode:
    """A token in its place: node 0 is the prompt, and every other one stands behind its `parent`.

    `log_probability` is the model's own, natural, of this token after what stands before it; `total` sums it from the
    root. `kept` says whether beam search went on with this draft or finished it, `weighed` whether it looked at it at
    all; `strategies` are those whose final text goes through here, and `ended` marks a token that ends a text.
    """

    id: int
    parent: int
    depth: int
    token: str
    token_id: int
    log_probability: float
    total: float
    kept: bool
    weighed: bool
    ended: bool
    strategies: tuple[str, ...]


@dataclass(frozen=True)
class StrategyText:
    """The result of a strategy: its text, the ids of its tokens, and the log-probability of it all."""

    strategy: str
    text: str
    ids: tuple[int, ...]
    log_probability: float


@dataclass(frozen=True)
class DecodeTree:
    """Greedy search, beam search and sampling from one prompt, `texts` in this order; `nodes` come by depth."""

    checkpoint: LoadedCheckpoint
    prompt: str
    num_beams: int
    nodes: tuple[TreeNode, ...]
    texts: tuple[StrategyText, ...]
