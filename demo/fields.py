"""The fields of every task: for each its label, its type, the limit that bounds it, and its slider in a form."""

from dataclasses import dataclass
from typing import Any

from models.registry import Task
from models.wording import Sentence


@dataclass(frozen=True)
class Slider:
    """A form's slider for a number: its title, its range and step, and the meaning of the number."""

    title: str
    least: float
    most: float
    step: float = 1
    meaning: str = ""


@dataclass(frozen=True)
class Field:
    """A field of a task's form: its label for visitors and the type of its values.

    A text's `limit` names the number in `Limits` that bounds it; a text without one is a choice among a few words. A
    tuple holds whole numbers: ids of tokens, or cells. A number's `most` names its bound in `Limits`, which a host may
    lower; `slider` is its slider in the form. A list holds texts or, where `labelled`, pairs of a text and its label,
    at most as many as the number in `Limits` that `many` names. `each` and `one` stand in messages for each of its
    items and for one of them.
    """

    label: str
    type: type[str] | type[int] | type[float] | type[tuple[int, ...]] | type[list[Any]]
    limit: str = ""
    may_be_empty: bool = False
    most: str = ""
    slider: Slider | None = None
    many: str = ""
    labelled: bool = False
    each: str = ""
    one: str = ""

    @property
    def is_text(self) -> bool:
        """Whether visitors write the value, rather than choose it."""
        return bool(self.limit)


def _text(label: str, limit: str = "text", *, may_be_empty: bool = False) -> Field:
    return Field(label, str, limit, may_be_empty)


def _whole(label: str, slider: Slider | None = None, most: str = "") -> Field:
    return Field(label, int, most=most, slider=slider)


def _finite(label: str, slider: Slider) -> Field:
    return Field(label, float, slider=slider)


_TEXT = _text(Sentence("The text"))
_SEED = _whole(Sentence("The seed"))
_KEPT = Field(Sentence("The tokens to go on from"), tuple, each=Sentence("Each of the tokens to go on from"))
_SIDE_BY_SIDE = Sentence("how many drafts are kept side by side while writing (beam search)")
_MANY: dict[str, Any] = {"type": list, "limit": "example", "many": "examples"}

FIELDS: dict[Task, dict[str, Field]] = {
    Task.FILL_MASK: {
        "text": _TEXT,
        "top_k": _whole(
            Sentence("The number of candidates"),
            Slider(Sentence("Words to show"), 1, 20, 1, Sentence("the likeliest ones")),
        ),
        "word": _text(Sentence("The word"), "word", may_be_empty=True),
    },
    Task.SENTIMENT: {"text": _TEXT},
    Task.QUESTION_ANSWERING: {
        "question": _text(Sentence("The question"), "question"),
        "context": _text(Sentence("The text"), "context"),
        "top_k": _whole(Sentence("The number of answers"), Slider(Sentence("Answers to show"), 1, 10)),
    },
    Task.NAMES: {"text": _TEXT},
    Task.SENTENCE_PAIR: {"a": _text(Sentence("The first text")), "b": _text(Sentence("The second text"))},
    Task.ENDINGS: {
        "beginning": _text(Sentence("The beginning")),
        "endings": Field(
            Sentence("The endings"), list, "question", many="examples", one=Sentence("One of the endings")
        ),
    },
    Task.TRANSLATION: {
        "text": _TEXT,
        "num_beams": _whole(
            Sentence("The number of beams"), Slider(Sentence("Beams"), 1, 8, 1, _SIDE_BY_SIDE), "beams"
        ),
        "kept": _KEPT,
    },
    Task.TRANSLATORS: {"text": _TEXT},
    Task.COMPLETION: {
        "prompt": _text(Sentence("The prompt"), "prompt", may_be_empty=True),
        "max_new_tokens": _whole(
            Sentence("The number of new tokens"), Slider(Sentence("Tokens to write"), 1, 200), "new_tokens"
        ),
        "strategy": Field(Sentence("The strategy"), str),
        "temperature": _finite(
            Sentence("The temperature"),
            Slider(Sentence("Temperature"), 0.05, 2, 0.05, Sentence("low: safe, high: surprising")),
        ),
        "top_k": _whole(
            Sentence("Top-k"), Slider(Sentence("Top-k"), 0, 200, 1, Sentence("draw among the k likeliest; 0: all"))
        ),
        "top_p": _finite(
            Sentence("Top-p"), Slider(Sentence("Top-p"), 0.01, 1, 0.01, Sentence("the likeliest that share p"))
        ),
        "num_beams": _whole(
            Sentence("The number of beams"),
            Slider(Sentence("Beams"), 1, 8, 1, Sentence("drafts kept side by side")),
            "beams",
        ),
        "seed": _SEED,
        "loop_guard": _whole(
            Sentence("The loop guard"),
            Slider(Sentence("Loop guard"), 0, 8, 1, Sentence("so many tokens in a row come at most twice; 0: off")),
        ),
        "kept": _KEPT,
    },
    Task.WORD_IN_CONTEXT: {
        "word": _text(Sentence("The word"), "word"),
        "sentences": _text(Sentence("The list of sentences")),
    },
    Task.TEACH: {
        "examples": Field(
            Sentence("The examples"),
            **_MANY,
            labelled=True,
            each=Sentence("Each of the examples"),
            one=Sentence("One of the examples"),
        ),
        "texts": Field(Sentence("The texts to judge"), **_MANY, one=Sentence("One of the texts to judge")),
        "kept_out": Field(
            Sentence("The examples kept for the test"),
            **_MANY,
            labelled=True,
            each=Sentence("Each of the examples kept for the test"),
            one=Sentence("One of the examples kept for the test"),
        ),
    },
    Task.SURPRISE: {"text": _TEXT, "other": _text(Sentence("The other text"), may_be_empty=True)},
    Task.WRITTEN_BY: {"text": _TEXT},
    Task.GENERATIONS: {"text": _TEXT, "changed": _text(Sentence("The changed text"), may_be_empty=True)},
    Task.TRAINING_STEP: {"text": _TEXT, "objective": Field(Sentence("The objective"), str), "seed": _SEED},
    Task.TINY_MODEL: {
        "text": _TEXT,
        "steps": _whole(
            Sentence("The number of steps"),
            Slider(Sentence("Steps"), 50, 800, 50, Sentence("how many times it learns")),
        ),
        "seed": _SEED,
    },
    Task.CELLS: {
        "text": _TEXT,
        "model": Field(Sentence("The model"), str),
        "cells": Field(Sentence("The cells"), tuple, each=Sentence("Each of the cells")),
    },
}
"""The fields of every task, in the order in which they are checked; the models check the ranges of numbers."""

INSIDE_FIELDS = {"text": _TEXT}
"""The fields of a look inside a model, which belongs to no task."""
