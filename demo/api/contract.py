"""The answers of the endpoints. Callers rely on the names: add freely, rename none.

Each answer is a `TypedDict`, off which Gradio reads the schema of the endpoint; `shaped` fills one from typed results.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypedDict, TypeVar, cast, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from demo.log.run import Run
from models.outputs import (
    CompletionOutput,
    FillMaskOutput,
    LoadedCheckpoint,
    MeasuredText,
    NamesOutput,
    Prediction,
    SentencePairOutput,
    SentimentOutput,
    SurpriseOutput,
    TaskOutput,
    TeachOutput,
    TranslationOutput,
    WordInContextOutput,
)
from models.registry import Task

Shape = TypeVar("Shape")


class CheckpointUsed(TypedDict):
    """The checkpoint that answered: its name, the revision that was loaded, its licence, precision and engine."""

    name: str
    revision: str
    license: str
    precision: str
    engine: str


class Answered(TypedDict):
    """The fields that every answer has."""

    run_id: str
    duration_ms: float
    checkpoint: CheckpointUsed


class TokenScore(TypedDict):
    """A token and its probability at a mask."""

    token: str
    score: float


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


class GenerationAnswer(TypedDict):
    """One model's answer: the probability that the text praises, and, if a changed text was given, that this one does.

    `year` and `paper` are those of its idea; `accuracy` is in percent on sst2's development sentences, null for a
    checkpoint that was not measured on them.
    """

    name: str
    year: int
    paper: str
    parameters: int
    accuracy: float | None
    positive: float
    label: str
    changed_positive: float | None
    changed_label: str | None


class Generations(Answered):
    """The answer of each generation, the Transformer last; `unknown` are words that the earlier ones never learned."""

    rows: list[GenerationAnswer]
    unknown: list[str]


class Cell(TypedDict):
    """A cell and its state after each character; what it watches, if that has a name, and their correlation."""

    cell: int
    watches: str
    correlation: float | None
    states: list[float]


class Cells(Answered):
    """The named cells of a character model, then those asked for, with their states over the text as it was `read`.

    `unknown` are the characters that the model does not know, which it read as one sign; `guesses` are the likeliest
    characters after each one that was read.
    """

    model: str
    read: str
    unknown: list[str]
    cells: list[Cell]
    guesses: list[list[TokenScore]]


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
    """The endings in their order, their places from 0 as each model ranks them, and whether they put others first.

    `writer` is the completion model; `checkpoint` tells what follows.
    """

    endings: list[WeighedEnding]
    by_follows: list[int]
    by_log_probability: list[int]
    disagree: bool
    writer: CheckpointUsed


class ScoredText(TypedDict):
    """A text and its score: the mean log-probability of its tokens; of several sentences, the mean of theirs."""

    text: str
    score: float


class TokenProbability(TypedDict):
    """A token, its id, and the model's own probability of it.

    `drawn` is its share after temperature and cut-offs, null where the likeliest is taken and nothing is drawn.
    """

    token: str
    id: int
    probability: float
    drawn: float | None


class WrittenToken(TokenProbability):
    """A token that was written, and the likeliest others at its place; `left` is the number it was drawn from.

    `barred` are the ids of those that the loop guard cut. `copied` is a token that had to continue a part of the text
    to translate.
    """

    alternatives: list[TokenProbability]
    left: int
    barred: list[int]
    copied: bool


class Translations(Answered):
    """The beam's texts, best first, the tokens of the best, and sentences on how the text was read or copied from."""

    translations: list[ScoredText]
    tokens: list[WrittenToken]
    notes: list[str]


class Completion(Answered):
    """The text behind the prompt, token by token; `finished` is false for a run that was stopped."""

    text: str
    tokens: list[WrittenToken]
    candidates: list[ScoredText]
    finished: bool


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
    """An example that was judged otherwise than its caller did, who had `expected` this label."""

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


class SurprisingToken(TypedDict):
    """A token, how the model foresaw it after the `context` tokens before it, and what it would `rather` have had.

    `rank` counts from 1, the likeliest; `bits` are −log₂ of the probability.
    """

    token: str
    probability: float
    rank: int
    bits: float
    context: int
    rather: list[TokenScore]


class TextSurprise(TypedDict):
    """The tokens that were counted, and what they come to; `log_probability` is natural, of all of them together.

    `pseudo_perplexity` is the masked model's, null for a text that is too long for it.
    """

    tokens: list[SurprisingToken]
    counted: int
    bits_per_token: float
    perplexity: float
    log_probability: float
    pseudo_perplexity: float | None


class Surprise(Answered, TextSurprise):
    """A text's surprise, and that of the `other` text.

    `start` is the token that is read before the first one and not counted; where it is empty, the first token is not
    counted. The model reads `window` tokens at once; longer texts are read in windows that overlap by half.
    """

    start: str
    window: int
    other: TextSurprise | None


class MeasuredDetector(TypedDict):
    """Shares of texts of `tokens` tokens, kept out of training; guessing has an accuracy of 0.5.

    `false_alarms` are people's texts that were taken for a model's.
    """

    tokens: int
    false_alarms: float
    accuracy: float


class WrittenBy(Answered):
    """The probability that a text is `machine`-written, where half of all texts are, by two models that it has met.

    It proves nothing about a person, and cannot tell about other models. `ranks` are the shares of the `counted` tokens
    with rank 1, up to 10, up to 100, up to 1,000, and beyond; `figures` say how often such an answer is wrong.
    """

    machine: float
    counted: int
    ranks: list[float]
    figures: MeasuredDetector


class OfKind(Answered):
    """The kind of attention that the answer is about, and all that the run has."""

    kind: str
    kinds: list[str]


class AttentionRows(OfKind):
    """`weights[query][key]` of one layer and head or of many; but for the maximum, every row sums to one."""

    query_tokens: list[str]
    key_tokens: list[str]
    weights: list[list[float]]
    layers: int
    heads: int


class Sheet(OfKind):
    """All heads as one PNG in a data URI, layers as rows and heads as columns, and where each is, in pixels.

    The thumbnail of a layer and head, counted from 0, begins at `gap + head * (cell_width + gap)` from the left and
    `gap + layer * (cell_height + gap)` from the top.
    """

    image: str
    layers: int
    heads: int
    width: int
    height: int
    cell_width: int
    cell_height: int
    gap: int


class RoleOfHead(TypedDict):
    """The role of a head and the share of its weight that says so; layer and head are counted from 0."""

    layer: int
    head: int
    role: str
    share: float


class HeadRoles(OfKind):
    """The role of every head, layer by layer."""

    roles: list[RoleOfHead]


class Attributed(Answered):
    """One signed score for each token: together `value` less `baseline_value`, the logits of `target`, plus `delta`.

    `agreement` is the rank correlation of the scores' sizes with the mean attention that the tokens receive, null where
    there are too few tokens.
    """

    target: str
    tokens: list[str]
    scores: list[float]
    method: str
    steps: int
    baseline: str
    delta: float
    value: float
    baseline_value: float
    agreement: float | None


class Comparison(Answered):
    """The answer before and after, each as its task's endpoint gives it, and whether they say different things."""

    before: dict[str, Any]
    after: dict[str, Any]
    changed: bool


class Node(TypedDict):
    """A token behind its `parent` (node 0, the prompt, has -1); log-probabilities are natural and the model's own.

    `kept` says whether beam search went on with this draft or finished it, `weighed` whether it looked at it at all;
    `strategies` are those whose final text holds it.
    """

    id: int
    parent: int
    token: str
    token_id: int
    step: int
    log_probability: float
    total: float
    kept: bool
    weighed: bool
    ended: bool
    strategies: list[str]


class StrategyResult(TypedDict):
    """The text that a strategy wrote after the prompt, and the log-probability of all of it."""

    strategy: str
    text: str
    log_probability: float


class Tree(TypedDict):
    """The nodes, each after its parent, and the texts of greedy search, beam search and sampling."""

    checkpoint: CheckpointUsed
    nodes: list[Node]
    texts: list[StrategyResult]


class GuessedToken(TypedDict):
    """A guess, the logit that the model gives it, and its probability, the softmax of that."""

    token: str
    probability: float
    logit: float


class GuessesOfLayer(TypedDict):
    """The likeliest guesses if the model stopped after `layer` layers, best first; 0 is before the first one."""

    layer: int
    guesses: list[GuessedToken]


class InsideNumbers(TypedDict):
    """One head over one text, for the token at `position`: its query against every key, and what comes of it.

    `scores` are query times key, `scaled` the same divided by `divisor` (√d_k), `weights` their softmax over the tokens
    that are not `masked`, `output` the sum of the `values` by these weights. `guesses_by_layer` is empty where nothing
    is guessed; `guesses_about` says what is.
    """

    checkpoint: CheckpointUsed
    duration_ms: float
    kind: str
    kinds: list[str]
    layers: int
    heads: int
    layer: int
    head: int
    position: int
    tokens: list[str]
    segments: list[int]
    query: list[float]
    keys: list[list[float]]
    values: list[list[float]]
    scores: list[float]
    divisor: float
    scaled: list[float]
    masked: list[bool]
    weights: list[float]
    output: list[float]
    guesses_about: str
    guesses_by_layer: list[GuessesOfLayer]


_OTHERWISE_NAMED: dict[object, dict[str, str]] = {
    TokenScore: {"token": "text"},
    NearWord: {"word": "text", "cosine": "score"},
    TokenProbability: {"token": "text", "probability": "score"},
    Node: {"step": "depth"},
    GuessedToken: {"token": "text"},
}
"""The fields whose typed result has another name: the name of its attribute there."""


def shaped(shape: Callable[..., Shape], value: object, **given: Any) -> Shape:
    """The `TypedDict` called `shape` from the attributes of `value`, and from `given` where that names a field."""
    names = _OTHERWISE_NAMED.get(shape, {})
    found = {
        name: given[name] if name in given else _as_json(kind, getattr(value, names.get(name, name)))
        for name, kind in get_type_hints(shape).items()
    }
    return cast(Shape, found)


def _as_json(kind: Any, value: Any) -> Any:
    if is_typeddict(kind):
        return shaped(kind, value)
    if get_origin(kind) is list:
        (item,) = get_args(kind)
        return np.asarray(value).tolist() if isinstance(value, np.ndarray) else [_as_json(item, each) for each in value]
    return value


def answered(run: Run) -> Answered:
    """The fields that every answer of `run` has."""
    used = LoadedCheckpoint(run.checkpoint, run.revision, run.license, run.precision, run.engine)
    return {"run_id": run.id, "duration_ms": run.duration_ms, "checkpoint": shaped(CheckpointUsed, used)}


def answer_of(shape: Callable[..., Shape], run: Run, output: TaskOutput) -> Shape:
    """The answer of a run's task, whose `TypedDict` is `shape`."""
    own: dict[str, Any] = {**answered(run)}
    match output:
        case FillMaskOutput():
            own["sequences"] = [each.text for each in output.sequences]
            own["sequence_scores"] = [each.score for each in output.sequences]
        case SentimentOutput():
            own["scores"] = _by_text(output.scores)
        case NamesOutput():
            own["tokens"] = [
                shaped(
                    LabelledToken, each, token=each.token.text,
                    scores=dict(zip(output.classes, each.shares, strict=True)),
                )
                for each in output.labels
            ]  # fmt: skip
        case SentencePairOutput():
            own["entailment"] = {each.text: each.score for each in output.entailment}
        case TranslationOutput() | CompletionOutput():
            own["tokens"] = [
                shaped(WrittenToken, each, token=each.token.text, id=each.token.id) for each in output.generated
            ]
        case WordInContextOutput():
            own["fitting_words"] = [[shaped(TokenScore, word) for word in each.fitting] for each in output.occurrences]
        case TeachOutput():
            for name, kind in (("predictions", JudgedText), ("mistakes", Mistake)):
                own[name] = [shaped(kind, each, scores=_by_text(each.scores)) for each in getattr(output, name)]
        case SurpriseOutput():
            own |= _surprise(output.text)
            own["other"] = output.other and _surprise(output.other)
    return shaped(shape, output, **own)


def _by_text(predictions: Iterable[Prediction]) -> dict[str, float]:
    return {each.text: each.score for each in predictions}


def _surprise(measured: MeasuredText) -> TextSurprise:
    pseudo = measured.pseudo_perplexity
    return shaped(
        TextSurprise,
        measured,
        tokens=[shaped(SurprisingToken, each, token=each.token.text) for each in measured.tokens],
        counted=len(measured.tokens),
        pseudo_perplexity=pseudo and pseudo.value,
    )


SHAPES: dict[Task, Callable[..., Any]] = {
    Task.FILL_MASK: FilledMasks,
    Task.SENTIMENT: Sentiment,
    Task.QUESTION_ANSWERING: FoundAnswers,
    Task.NAMES: FoundNames,
    Task.SENTENCE_PAIR: PairAnswer,
    Task.ENDINGS: RankedEndings,
    Task.TRANSLATION: Translations,
    Task.COMPLETION: Completion,
    Task.WORD_IN_CONTEXT: WordInSentences,
    Task.TEACH: Taught,
    Task.SURPRISE: Surprise,
    Task.WRITTEN_BY: WrittenBy,
    Task.GENERATIONS: Generations,
    Task.CELLS: Cells,
}
