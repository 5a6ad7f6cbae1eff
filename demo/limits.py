"""Limits: the fields that may pass to a model, checked before anything is read, and large runs at a time."""

import math
import threading
import time
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from demo.settings import Limits, Settings
from models.cancellation import go_on
from models.errors import InputError
from models.registry import Task
from models.text.characters import says_anything

_KEPT_CONTROLS = "\n\t"
# Windows' punctuation and letters (code page 1252), which are control characters where its text was read as Latin-1.
_OF_WINDOWS = {
    byte: character for byte in range(0x80, 0xA0) if (character := bytes([byte]).decode("cp1252", errors="ignore"))
}
_CHOICE_CHARACTERS = 20
_MOST_IDS = 1000
OUT_OF_RANGE = 2**63
"""Whole numbers from here on are in nobody's range, and too large for a database."""


@dataclass(frozen=True)
class Slider:
    """How a form offers a number: under which name, from where to where and in which steps, and what it means."""

    title: str
    least: float
    most: float
    step: float = 1
    meaning: str = ""


@dataclass(frozen=True)
class Field:
    """A field of a task's form: what visitors call it and the type that its values have.

    A text's `limit` names the number in `Limits` that bounds it; a text without one is a choice among a few words. A
    tuple holds whole numbers: ids of tokens, or cells. A number's `most` names its bound in `Limits`, where a host may
    lower it; `slider` is how the form offers it. A list holds texts, at most as many as the number in `Limits` that
    `many` names, or, where they are `labelled`, pairs of a text and its label.
    """

    label: str
    type: type[str] | type[int] | type[float] | type[tuple[int, ...]] | type[list[Any]]
    limit: str = ""
    may_be_empty: bool = False
    most: str = ""
    slider: Slider | None = None
    many: str = ""
    labelled: bool = False

    @property
    def is_text(self) -> bool:
        """Whether visitors write it, rather than set it."""
        return bool(self.limit)


_TEXT = Field("The text", str, "text")
_KEPT = Field("The tokens to go on from", tuple)
_SIDE_BY_SIDE = "how many drafts are kept side by side while writing (beam search)"

FIELDS: dict[Task, dict[str, Field]] = {
    Task.FILL_MASK: {
        "text": _TEXT,
        "top_k": Field("The number of candidates", int, slider=Slider("Words to show", 1, 20, 1, "the likeliest ones")),
        "word": Field("The word", str, "word", may_be_empty=True),
    },
    Task.SENTIMENT: {"text": _TEXT},
    Task.QUESTION_ANSWERING: {
        "question": Field("The question", str, "question"),
        "context": Field("The text", str, "context"),
        "top_k": Field("The number of answers", int, slider=Slider("Answers to show", 1, 10)),
    },
    Task.NAMES: {"text": _TEXT},
    Task.SENTENCE_PAIR: {"a": Field("The first text", str, "text"), "b": Field("The second text", str, "text")},
    Task.ENDINGS: {
        "beginning": Field("The beginning", str, "text"),
        "endings": Field("The endings", list, "question", many="examples"),
    },
    Task.TRANSLATION: {
        "text": _TEXT,
        "num_beams": Field("The number of beams", int, most="beams", slider=Slider("Beams", 1, 8, 1, _SIDE_BY_SIDE)),
        "kept": _KEPT,
    },
    Task.TRANSLATORS: {"text": _TEXT},
    Task.COMPLETION: {
        "prompt": Field("The prompt", str, "prompt", may_be_empty=True),
        "max_new_tokens": Field(
            "The number of new tokens", int, most="new_tokens", slider=Slider("Tokens to write", 1, 200)
        ),
        "strategy": Field("The strategy", str),
        "temperature": Field(
            "The temperature", float, slider=Slider("Temperature", 0.05, 2, 0.05, "low: safe, high: surprising")
        ),
        "top_k": Field("Top-k", int, slider=Slider("Top-k", 0, 200, 1, "draw among the k likeliest; 0: all")),
        "top_p": Field("Top-p", float, slider=Slider("Top-p", 0.01, 1, 0.01, "the likeliest that share p")),
        "num_beams": Field(
            "The number of beams", int, most="beams", slider=Slider("Beams", 1, 8, 1, "drafts kept side by side")
        ),
        "seed": Field("The seed", int),
        "loop_guard": Field(
            "The loop guard",
            int,
            slider=Slider("Loop guard", 0, 8, 1, "so many tokens in a row come at most twice; 0: off"),
        ),
        "kept": _KEPT,
    },
    Task.WORD_IN_CONTEXT: {
        "word": Field("The word", str, "word"),
        "sentences": Field("The list of sentences", str, "text"),
    },
    Task.TEACH: {
        "examples": Field("The examples", list, "example", many="examples", labelled=True),
        "texts": Field("The texts to judge", list, "example", many="examples"),
        "kept_out": Field("The examples kept for the test", list, "example", many="examples", labelled=True),
    },
    Task.SURPRISE: {"text": _TEXT, "other": Field("The other text", str, "text", may_be_empty=True)},
    Task.WRITTEN_BY: {"text": _TEXT},
    Task.GENERATIONS: {"text": _TEXT, "changed": Field("The changed text", str, "text", may_be_empty=True)},
    Task.TRAINING_STEP: {
        "text": _TEXT,
        "objective": Field("The objective", str),
        "seed": Field("The seed", int),
    },
    Task.TINY_MODEL: {
        "text": _TEXT,
        "steps": Field("The number of steps", int, slider=Slider("Steps", 50, 800, 50, "how many times it learns")),
        "seed": Field("The seed", int),
    },
    Task.CELLS: {"text": _TEXT, "model": Field("The model", str), "cells": Field("The cells", tuple)},
}
"""The fields of every task, in the order in which they are checked; ranges of numbers are the models' to know."""


INSIDE_FIELDS = {"text": _TEXT}
"""What is looked at step by step, which belongs to no task."""


def clean(task: Task, fields: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The fields as a model may have them; raises `InputError` with one sentence for the first that cannot be used.

    Every size is checked before any character is looked at, so that ten megabytes are refused at once.
    """
    return clean_fields(FIELDS[task], fields, limits)


def clean_fields(known: Mapping[str, Field], fields: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """Clean fields that belong to no task; `known` describes each of them."""
    for name, value in fields.items():
        most = getattr(limits, known[name].limit) if known[name].is_text else _CHOICE_CHARACTERS
        if isinstance(value, str) and len(value) > most:
            raise InputError(
                f"{known[name].label} is {len(value):,} characters long, and at most {most:,} are read here. "
                "Please shorten it.",
                name,
            )
    cleaned = {
        name: _texts(name, value, known[name], limits) if known[name].type is list else _value(name, value, known[name])
        for name, value in fields.items()
    }
    for name, number in cleaned.items():
        if known[name].most and number > (most := getattr(limits, known[name].most)):
            raise InputError(f"{known[name].label} must be from 1 to {most}.", name)
    return cleaned


def _value(name: str, value: object, field: Field) -> Any:
    if field.type is tuple:
        if not isinstance(value, list | tuple) or len(value) > _MOST_IDS:
            raise InputError(f"{field.label} must be a list of at most {_MOST_IDS:,} whole numbers.", name)
        return tuple(whole_number(each, f"Each of {field.label[0].lower()}{field.label[1:]}", name) for each in value)
    if field.type is int:
        return whole_number(value, field.label, name)
    if field.type is float:
        return finite_number(value, field.label, name)
    text = plain_text("" if value is None else value, field.label, name)
    if field.is_text and not field.may_be_empty and not says_anything(text):
        raise InputError(f"{field.label} is empty. Please type something first.", name)
    return text


def _texts(name: str, value: object, field: Field, limits: Limits) -> tuple[Any, ...]:
    """Several texts, or pairs of a text and its label, which callers may also give as `{"text": …, "label": …}`."""
    if not isinstance(value, list | tuple):
        raise InputError(f"{field.label} must be a list.", name)
    if len(value) > (most := getattr(limits, field.many)):
        raise InputError(
            f"{field.label} are {len(value):,}, and at most {most:,} are read here. Please leave some out.", name
        )
    given = [_pair(name, each, field) if field.labelled else (each, "") for each in value]
    for place, longest in enumerate((getattr(limits, field.limit), limits.word)):
        for each in given:
            if isinstance(each[place], str) and len(each[place]) > longest:
                what = "A name of a class" if place else f"One of {field.label[0].lower()}{field.label[1:]}"
                raise InputError(
                    f"{what} is {len(each[place]):,} characters long, and at most {longest:,} are read here. "
                    "Please shorten it.",
                    name,
                )
    cleaned = [(plain_text(text, "An example", name), plain_text(label, "A class", name)) for text, label in given]
    return tuple((text.strip(), label.strip()) if field.labelled else text for text, label in cleaned)


def _pair(name: str, value: object, field: Field) -> tuple[Any, Any]:
    if isinstance(value, Mapping) and value.keys() == {"text", "label"}:
        return value["text"], value["label"]
    if isinstance(value, list | tuple) and len(value) == 2:
        return value[0], value[1]
    raise InputError(f"Each of {field.label[0].lower()}{field.label[1:]} must have a text and a label.", name)


def clipped(task: Task, fields: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The fields with each number that a host has bounded at its bound, where it is beyond."""
    known = FIELDS[task]
    return {
        name: min(value, getattr(limits, known[name].most)) if known[name].most and isinstance(value, int) else value
        for name, value in fields.items()
    }


def limits_in_words(settings: Settings) -> tuple[str, ...]:
    """The limits as sentences for visitors, with the same numbers that are enforced."""
    limits = settings.limits
    return (
        f"A text may have {limits.text:,} characters, a prompt {limits.prompt:,}, a question {limits.question:,}, "
        f"and the text to search for its answer {limits.context:,}.",
        f"A model may be taught with {limits.examples:,} examples of {limits.example:,} characters, in two to five "
        "classes.",
        "Each model reads a number of tokens at once, the bundled ones 512; a longer text is refused. "
        "Only a text to search for an answer or for names may be longer, which is read in overlapping windows, and a "
        "text to translate, which is read sentence by sentence.",
        f"A run writes up to {limits.new_tokens} tokens, and a beam search keeps up to {limits.beams} drafts.",
        f"A visitor may start {limits.runs_per_minute} runs a minute and have {limits.runs_at_once} going or waiting.",
        f"{settings.concurrency} runs go on at a time, and up to {settings.queue} may wait. Visitors take turns; who "
        "waits sees the place in line, and who finds the line full is told at once.",
    )


def whole_number(value: object, label: str, field: str) -> int:
    """`value` if it is a whole number, 5.0 included; raises `InputError` for anything else."""
    number = finite_number(value, label, field, kind="a whole number")
    if number != int(number):
        raise InputError(f"{label} must be a whole number.", field)
    if abs(number) >= OUT_OF_RANGE:
        raise InputError(f"{label} is out of range.", field)
    return int(value)  # type: ignore[call-overload,no-any-return]


def finite_number(value: object, label: str, field: str, kind: str = "a number") -> float:
    """`value` if it is a finite number and no truth value; raises `InputError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{label} must be {kind}.", field)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{label} must be {kind}.", field)
    return number


def plain_text(value: object, label: str, field: str) -> str:
    """`value` with one character for each control character but line breaks and tabs, so that no other moves.

    It is the one that Windows means by it, such as the apostrophe of U+0092, or a space.
    Raises `InputError` for what is no text and for lone surrogates, which no file or model can hold.
    """
    if not isinstance(value, str):
        raise InputError(f"{label} must be text.", field)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(f"{label} holds half of a character, which cannot be read. Please delete it.", field)
    return "".join(
        " " if unicodedata.category(character) == "Cc" and character not in _KEPT_CONTROLS else character
        for character in value.translate(_OF_WINDOWS)
    )


LARGE_AT_ONCE = 2
SMALL = 4_000
"""Up to so many characters read and tokens written, times drafts kept, a run that writes counts as small.

A GPT-2 small remembers 73 kB for each token of each draft, and a token is some four characters.
"""

LONGEST_WAIT_S = 600.0
"""The largest run takes a minute or two on a slow processor, and a few may wait in front."""

TOO_BUSY = "Long runs have kept this host busy for ten minutes. Please try again later, or try a shorter text."

_ASK_EVERY_S = 0.2


class Turns:
    """Lets `LARGE_AT_ONCE` large runs go on at a time; safe to call from many threads."""

    def __init__(self) -> None:
        self._free = threading.Semaphore(LARGE_AT_ONCE)

    @contextmanager
    def large(self) -> Iterator[None]:
        """The turn of a large run, waited for.

        Raises `Stopped` once its visitor has left, and `InputError` after `LONGEST_WAIT_S`.
        """
        ends = time.monotonic() + LONGEST_WAIT_S
        while not self._free.acquire(timeout=_ASK_EVERY_S):
            go_on()
            if time.monotonic() >= ends:
                raise InputError(TOO_BUSY)
        try:
            yield
        finally:
            self._free.release()

    def of(self, task: Task, fields: Mapping[str, Any]) -> AbstractContextManager[None]:
        """The turn of a run of `task` with clean `fields`; a small one has it at once."""
        return self.large() if _size(task, fields) > SMALL else nullcontext()


def _size(task: Task, fields: Mapping[str, Any]) -> int:
    """Characters and tokens, times drafts; nothing for a task that reads one text once and remembers nothing of it.

    Training is large whatever it reads: it holds a gradient for every parameter, or works for many seconds.
    """
    if task in (Task.TRAINING_STEP, Task.TINY_MODEL):
        return SMALL + 1
    if task is Task.TEACH:
        return sum(len(str(each)) for texts in fields.values() for each in texts)
    if task not in (Task.TRANSLATION, Task.COMPLETION):
        return 0
    characters = sum(len(fields.get(name) or "") for name, field in FIELDS[task].items() if field.is_text)
    searches = fields.get("strategy", "beam") == "beam"
    drafts = int(fields.get("num_beams", 1)) if searches else 1
    return (characters + int(fields.get("max_new_tokens", 0))) * drafts
