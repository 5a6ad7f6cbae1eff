"""What the endpoints answer. Callers rely on the names: add freely, rename none."""

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np

from demo.log.run import Run
from demo.looks import Changed
from demo.plots.sheet import attention_sheet, data_uri, sheet_geometry
from models.errors import InputError
from models.explain.aggregation import agreement, reduce
from models.explain.head_roles import head_roles
from models.outputs import (
    Attention,
    Attentions,
    Attribution,
    CompletionOutput,
    FillMaskOutput,
    GeneratedToken,
    LoadedCheckpoint,
    QuestionAnsweringOutput,
    SentimentOutput,
    TaskOutput,
    TranslationOutput,
)
from models.text.words import merge_words, word_text, words_of


class CheckpointUsed(TypedDict):
    """The checkpoint that answered: its name, the revision that was loaded, its licence, precision and engine."""

    name: str
    revision: str
    license: str
    precision: str
    engine: str


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


def checkpoint_used(used: LoadedCheckpoint) -> CheckpointUsed:
    """A checkpoint as answers name it."""
    return {
        "name": used.name,
        "revision": used.revision,
        "license": used.license,
        "precision": used.precision,
        "engine": used.engine,
    }


def answered(run: Run) -> Answered:
    """What every answer of `run` holds."""
    return {
        "run_id": run.id,
        "duration_ms": run.duration_ms,
        "checkpoint": checkpoint_used(
            LoadedCheckpoint(run.checkpoint, run.revision, run.license, run.precision, run.engine)
        ),
    }


def filled_masks(run: Run, output: FillMaskOutput) -> FilledMasks:
    """The answer of `/fill_mask`."""
    return {
        **answered(run),
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
    return {**answered(run), "label": output.label, "scores": {each.text: each.score for each in output.scores}}


def found_answers(run: Run, output: QuestionAnsweringOutput) -> FoundAnswers:
    """The answer of `/question_answering`."""
    return {
        **answered(run),
        "answers": [
            {"text": each.text, "score": each.score, "start": each.start, "end": each.end} for each in output.answers
        ],
        "no_answer_score": output.no_answer_score,
        "answered": output.answered,
    }


def translations(run: Run, output: TranslationOutput) -> Translations:
    """The answer of `/translation`."""
    return {
        **answered(run),
        "translations": [{"text": each.text, "score": each.score} for each in output.translations],
        "tokens": _written(output.generated),
        "notes": list(output.notes),
    }


def _written(generated: Sequence[GeneratedToken]) -> list[WrittenToken]:
    return [
        {
            "token": each.token.text,
            "id": each.token.id,
            "probability": each.probability,
            "drawn": each.drawn,
            "left": each.left,
            "barred": list(each.barred),
            "copied": each.copied,
            "alternatives": [
                {"token": other.text, "id": other.id, "probability": other.score, "drawn": other.drawn}
                for other in each.alternatives
            ],
        }
        for each in generated
    ]


def completion(run: Run, output: CompletionOutput) -> Completion:
    """The answer of `/completion`."""
    return {
        **answered(run),
        "text": output.text,
        "tokens": _written(output.generated),
        "candidates": [{"text": each.text, "score": each.score} for each in output.candidates],
        "finished": output.finished,
    }


def answer_of(run: Run, output: TaskOutput) -> Answered:
    """The answer of the endpoint of the task that `output` is from."""
    match output:
        case FillMaskOutput():
            return filled_masks(run, output)
        case SentimentOutput():
            return sentiment(run, output)
        case QuestionAnsweringOutput():
            return found_answers(run, output)
        case TranslationOutput():
            return translations(run, output)
        case CompletionOutput():
            return completion(run, output)
        case _:
            raise TypeError(f"no endpoint answers with {type(output).__name__}")


class AttentionRows(Answered):
    """`weights[query][key]` of one layer and head or of many; but for the maximum, every row sums to one."""

    kind: str
    kinds: list[str]
    query_tokens: list[str]
    key_tokens: list[str]
    weights: list[list[float]]
    layers: int
    heads: int


class Sheet(Answered):
    """All heads as one PNG in a data URI, layers as rows and heads as columns, and where each is, in pixels.

    The thumbnail of a layer and head, counted from 0, begins at `gap + head * (cell_width + gap)` from the left and
    `gap + layer * (cell_height + gap)` from the top.
    """

    kind: str
    kinds: list[str]
    image: str
    layers: int
    heads: int
    width: int
    height: int
    cell_width: int
    cell_height: int
    gap: int


class RoleOfHead(TypedDict):
    """What a head does, and the share of its weight behind it; layer and head are counted from 0."""

    layer: int
    head: int
    role: str
    share: float


class HeadRoles(Answered):
    """The role of every head, layer by layer."""

    kind: str
    kinds: list[str]
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


def attention_rows(
    run: Run, attentions: Attentions, kind: str, layer: int, head: int, words: bool, how: str
) -> AttentionRows:
    """The answer of `/attention`; raises `InputError` for a kind, layer or head that is not there."""
    chosen = _of_kind(attentions, kind)
    weights = reduce(chosen, how, layer, head)
    query_tokens = [token.text for token in chosen.query_tokens]
    key_tokens = [token.text for token in chosen.key_tokens]
    if words:
        queries, keys = words_of(chosen.query_tokens), words_of(chosen.key_tokens)
        weights = merge_words(weights, queries, keys)
        query_tokens = [word_text(chosen.query_tokens, word) for word in queries]
        key_tokens = [word_text(chosen.key_tokens, word) for word in keys]
    return {
        **answered(run),
        "kind": chosen.kind,
        "kinds": list(attentions),
        "query_tokens": query_tokens,
        "key_tokens": key_tokens,
        "weights": np.asarray(weights, dtype=np.float64).tolist(),
        "layers": chosen.layers,
        "heads": chosen.heads,
    }


def sheet(run: Run, attentions: Attentions, kind: str, dark: bool) -> Sheet:
    """The answer of `/attention_sheet`; raises `InputError` for a kind that is not there."""
    chosen = _of_kind(attentions, kind)
    geometry = sheet_geometry(chosen)
    return {
        **answered(run),
        "kind": chosen.kind,
        "kinds": list(attentions),
        "image": data_uri(attention_sheet(chosen, dark)),
        "layers": geometry.layers,
        "heads": geometry.heads,
        "width": geometry.width,
        "height": geometry.height,
        "cell_width": geometry.cell_width,
        "cell_height": geometry.cell_height,
        "gap": geometry.gap,
    }


def roles(run: Run, attentions: Attentions, kind: str) -> HeadRoles:
    """The answer of `/head_roles`; raises `InputError` for a kind that is not there."""
    chosen = _of_kind(attentions, kind)
    return {
        **answered(run),
        "kind": chosen.kind,
        "kinds": list(attentions),
        "roles": [
            {"layer": each.layer, "head": each.head, "role": each.role, "share": each.share}
            for each in head_roles(chosen)
        ],
    }


def attributed(run: Run, attribution: Attribution, attentions: Attentions) -> Attributed:
    """The answer of `/attribution`."""
    first = _of_kind(attentions, "")
    return {
        **answered(run),
        "target": attribution.target,
        "tokens": [token.text for token in attribution.tokens],
        "scores": list(attribution.scores),
        "method": attribution.method,
        "steps": attribution.steps,
        "baseline": attribution.baseline,
        "delta": attribution.delta,
        "value": attribution.value,
        "baseline_value": attribution.baseline_value,
        "agreement": agreement(attribution, first.matrix(), first.masked),
    }


def comparison(run: Run, changed: Changed) -> Comparison:
    """The answer of `/ablate` and `/replace_token`."""
    before, after = (
        {name: value for name, value in answer_of(run, output).items() if name not in Answered.__annotations__}
        for output in (changed.before, changed.after)
    )
    return {**answered(run), "before": before, "after": after, "changed": _said(before) != _said(after)}


def _of_kind(attentions: Attentions, kind: str) -> Attention:
    if kind and kind not in attentions:
        raise InputError(f"This run has no such attention; it has: {', '.join(attentions)}.", "kind")
    return attentions[kind] if kind else next(iter(attentions.values()))


def _said(answer: dict[str, Any]) -> object:
    """What an answer says, without its numbers."""
    match answer:
        case {"label": label}:
            return label
        case {"sequences": sequences}:
            return sequences[:1]
        case {"answered": answered, "answers": answers}:
            return answers[0]["text"] if answered else None
        case {"translations": translations}:
            return translations[0]["text"]
        case _:
            return answer["text"]
