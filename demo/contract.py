"""What the endpoints answer, made from typed outputs. Callers rely on the names: add freely, rename none."""

from typing import TypedDict

import numpy as np

from demo.sessions.records import Run
from models.errors import InputError
from models.outputs import (
    Attention,
    Attentions,
    CompletionOutput,
    FillMaskOutput,
    QuestionAnsweringOutput,
    SentimentOutput,
    TranslationOutput,
)
from models.words import merge_words, word_text, words_of


class CheckpointUsed(TypedDict):
    """The checkpoint that answered: its name, the revision that was loaded and its licence."""

    name: str
    revision: str
    license: str


class Answered(TypedDict):
    """What every answer holds."""

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


class ScoredText(TypedDict):
    """A text and its score: the mean log-probability of its tokens."""

    text: str
    score: float


class Translations(Answered):
    """The beam's texts, best first."""

    translations: list[ScoredText]


class TokenProbability(TypedDict):
    """A token and its probability."""

    token: str
    probability: float


class WrittenToken(TokenProbability):
    """A token that was written, and the likeliest others at its place."""

    alternatives: list[TokenProbability]


class Completion(Answered):
    """The text behind the prompt, token by token; `finished` is false for a run that was stopped."""

    text: str
    tokens: list[WrittenToken]
    candidates: list[ScoredText]
    finished: bool


class AttentionRows(Answered):
    """`weights[query][key]` of one layer and head or of their mean; every row sums to one."""

    kind: str
    kinds: list[str]
    query_tokens: list[str]
    key_tokens: list[str]
    weights: list[list[float]]
    layers: int
    heads: int


def _answered(run: Run) -> Answered:
    return {
        "run_id": run.id,
        "duration_ms": run.duration_ms,
        "checkpoint": {"name": run.checkpoint, "revision": run.revision, "license": run.license},
    }


def filled_masks(run: Run, output: FillMaskOutput) -> FilledMasks:
    """The answer of `/fill_mask`."""
    return {
        **_answered(run),
        "predictions": [[{"token": each.text, "score": each.score} for each in mask] for mask in output.predictions],
        "sequences": [each.text for each in output.sequences],
        "sequence_scores": [each.score for each in output.sequences],
        "word": [
            {"word": each.word, "pieces": list(each.pieces), "probability": each.probability, "rank": each.rank}
            for each in output.word
        ],
    }


def sentiment(run: Run, output: SentimentOutput) -> Sentiment:
    """The answer of `/sentiment`."""
    return {**_answered(run), "label": output.label, "scores": {each.text: each.score for each in output.scores}}


def found_answers(run: Run, output: QuestionAnsweringOutput) -> FoundAnswers:
    """The answer of `/question_answering`."""
    return {
        **_answered(run),
        "answers": [
            {"text": each.text, "score": each.score, "start": each.start, "end": each.end} for each in output.answers
        ],
        "no_answer_score": output.no_answer_score,
        "answered": output.answered,
    }


def translations(run: Run, output: TranslationOutput) -> Translations:
    """The answer of `/translation`."""
    return {
        **_answered(run),
        "translations": [{"text": each.text, "score": each.score} for each in output.translations],
    }


def completion(run: Run, output: CompletionOutput) -> Completion:
    """The answer of `/completion`."""
    return {
        **_answered(run),
        "text": output.text,
        "tokens": [
            {
                "token": each.token.text,
                "probability": each.probability,
                "alternatives": [{"token": other.text, "probability": other.score} for other in each.alternatives],
            }
            for each in output.generated
        ],
        "candidates": [{"text": each.text, "score": each.score} for each in output.candidates],
        "finished": output.finished,
    }


def attention_rows(run: Run, attentions: Attentions, kind: str, layer: int, head: int, words: bool) -> AttentionRows:
    """The answer of `/attention`; raises `InputError` for a kind, layer or head that is not there."""
    if kind and kind not in attentions:
        raise InputError(f"This run has no such attention; it has: {', '.join(attentions)}.", "kind")
    chosen: Attention = attentions[kind] if kind else next(iter(attentions.values()))
    weights = chosen.matrix(layer, head)
    query_tokens = [token.text for token in chosen.query_tokens]
    key_tokens = [token.text for token in chosen.key_tokens]
    if words:
        queries, keys = words_of(chosen.query_tokens), words_of(chosen.key_tokens)
        weights = merge_words(weights, queries, keys)
        query_tokens = [word_text(chosen.query_tokens, word) for word in queries]
        key_tokens = [word_text(chosen.key_tokens, word) for word in keys]
    return {
        **_answered(run),
        "kind": chosen.kind,
        "kinds": list(attentions),
        "query_tokens": query_tokens,
        "key_tokens": key_tokens,
        "weights": np.asarray(weights, dtype=np.float64).tolist(),
        "layers": chosen.layers,
        "heads": chosen.heads,
    }
