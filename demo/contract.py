"""What the endpoints answer, made from typed outputs. Callers rely on the names: add freely, rename none."""

from collections.abc import Sequence
from typing import TypedDict

from demo.log.run import Run
from models.outputs import (
    CompletionOutput,
    FillMaskOutput,
    GeneratedToken,
    LoadedCheckpoint,
    QuestionAnsweringOutput,
    SentimentOutput,
    TaskOutput,
    TranslationOutput,
)


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
