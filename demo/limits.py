"""Limits: checks the fields of a run before a model reads them, and bounds the large runs that go on at a time."""

import math
import threading
import time
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from demo.fields import FIELDS, Field
from demo.language import _
from demo.settings import Limits, Settings
from models.cancellation import go_on
from models.errors import InputError
from models.registry import Task
from models.text.characters import says_anything
from models.wording import Sentence

_KEPT_CONTROLS = "\n\t"
# Punctuation and letters of Windows (code page 1252), which become control characters when read as Latin-1.
_OF_WINDOWS = {
    byte: character for byte in range(0x80, 0xA0) if (character := bytes([byte]).decode("cp1252", errors="ignore"))
}
_CHOICE_CHARACTERS = 20
_MOST_IDS = 1000
OUT_OF_RANGE = 2**63
"""Whole numbers of this size and more are in no field's range, and too large for a database."""


TOO_LONG = Sentence("{name} is {length:,} characters long, and at most {most:,} are read here. Please shorten it.")


def clean(task: Task, fields: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The fields, cleaned for a model; raises `InputError` with one sentence for the first that cannot be used.

    Every size is checked before any character is looked at, so that ten megabytes are refused at once.
    """
    return clean_fields(FIELDS[task], fields, limits)


def clean_fields(known: Mapping[str, Field], fields: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """Clean fields as `clean` does, also those of no task; `known` describes each of them."""
    for name, value in fields.items():
        most = getattr(limits, known[name].limit) if known[name].is_text else _CHOICE_CHARACTERS
        if isinstance(value, str) and len(value) > most:
            raise InputError(Sentence(TOO_LONG, name=known[name].label, length=len(value), most=most), name)
    cleaned = {
        name: _texts(name, value, known[name], limits) if known[name].type is list else _value(name, value, known[name])
        for name, value in fields.items()
    }
    for name, number in cleaned.items():
        if known[name].most and number > (most := getattr(limits, known[name].most)):
            raise InputError(Sentence("{name} must be from 1 to {most}.", name=known[name].label, most=most), name)
    return cleaned


def _value(name: str, value: object, field: Field) -> Any:
    if field.type is tuple:
        if not isinstance(value, list | tuple) or len(value) > _MOST_IDS:
            sentence = Sentence(
                "{name} must be a list of at most {most:,} whole numbers.", name=field.label, most=_MOST_IDS
            )
            raise InputError(sentence, name)
        return tuple(whole_number(each, field.each, name) for each in value)
    if field.type is int:
        return whole_number(value, field.label, name)
    if field.type is float:
        return finite_number(value, field.label, name)
    text = plain_text("" if value is None else value, field.label, name)
    if field.is_text and not field.may_be_empty and not says_anything(text):
        raise InputError(Sentence("{name} is empty. Please type something first.", name=field.label), name)
    return text


def _texts(name: str, value: object, field: Field, limits: Limits) -> tuple[Any, ...]:
    """Several texts, or pairs of a text and its label, which callers may also give as `{"text": …, "label": …}`."""
    if not isinstance(value, list | tuple):
        raise InputError(Sentence("{name} must be a list.", name=field.label), name)
    if len(value) > (most := getattr(limits, field.many)):
        sentence = Sentence(
            "{name} are {count:,}, and at most {most:,} are read here. Please leave some out.",
            name=field.label,
            count=len(value),
            most=most,
        )
        raise InputError(sentence, name)
    given = [_pair(name, each, field) if field.labelled else (each, "") for each in value]
    for place, longest in enumerate((getattr(limits, field.limit), limits.word)):
        for each in given:
            if isinstance(each[place], str) and len(each[place]) > longest:
                what = Sentence("A name of a class") if place else field.one
                raise InputError(Sentence(TOO_LONG, name=what, length=len(each[place]), most=longest), name)
    cleaned = [
        (plain_text(text, Sentence("An example"), name), plain_text(label, Sentence("A class"), name))
        for text, label in given
    ]
    return tuple((text.strip(), label.strip()) if field.labelled else text for text, label in cleaned)


def _pair(name: str, value: object, field: Field) -> tuple[Any, Any]:
    if isinstance(value, Mapping) and value.keys() == {"text", "label"}:
        return value["text"], value["label"]
    if isinstance(value, list | tuple) and len(value) == 2:
        return value[0], value[1]
    raise InputError(Sentence("{each} must have a text and a label.", each=field.each), name)


def clipped(task: Task, fields: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The fields, with each number beyond its bound in `limits` lowered to that bound."""
    known = FIELDS[task]
    return {
        name: min(value, getattr(limits, known[name].most)) if known[name].most and isinstance(value, int) else value
        for name, value in fields.items()
    }


def limits_in_words(settings: Settings) -> tuple[str, ...]:
    """The limits as sentences for visitors, with the same numbers that are enforced."""
    limits = settings.limits
    return (
        _(
            "A text may have {text:,} characters, a prompt {prompt:,}, a question {question:,}, and the text to search "
            "for its answer {context:,}.",
            text=limits.text,
            prompt=limits.prompt,
            question=limits.question,
            context=limits.context,
        ),
        _(
            "A model may be taught with {examples:,} examples of {example:,} characters, in two to five classes.",
            examples=limits.examples,
            example=limits.example,
        ),
        _(
            "Each model reads a number of tokens at once, the bundled ones 512; a longer text is refused. "
            "Only a text to search for an answer or for names may be longer, which is read in overlapping windows, and "
            "a text to translate, which is read sentence by sentence."
        ),
        _(
            "A run writes up to {tokens} tokens, and a beam search keeps up to {drafts} drafts.",
            tokens=limits.new_tokens,
            drafts=limits.beams,
        ),
        _(
            "A visitor may start {runs} runs a minute and have {at_once} going or waiting.",
            runs=limits.runs_per_minute,
            at_once=limits.runs_at_once,
        ),
        _(
            "{at_once} runs go on at a time, and up to {waiting} may wait. Visitors take turns; who waits sees the "
            "place in line, and who finds the line full is told at once.",
            at_once=settings.concurrency,
            waiting=settings.queue,
        ),
    )


_NO_NUMBER = Sentence("{name} must be a number.")
_NO_WHOLE_NUMBER = Sentence("{name} must be a whole number.")


def whole_number(value: object, label: str, field: str) -> int:
    """`value` if it is a whole number, 5.0 included; raises `InputError` for anything else."""
    number = finite_number(value, label, field, _NO_WHOLE_NUMBER)
    if number != int(number):
        raise InputError(Sentence(_NO_WHOLE_NUMBER, name=label), field)
    if abs(number) >= OUT_OF_RANGE:
        raise InputError(Sentence("{name} is out of range.", name=label), field)
    return int(value)  # type: ignore[call-overload,no-any-return]


def finite_number(value: object, label: str, field: str, otherwise: str = _NO_NUMBER) -> float:
    """`value` if it is a finite number and no boolean; raises `InputError` with `otherwise` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(Sentence(otherwise, name=label), field)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(Sentence(otherwise, name=label), field)
    return number


def plain_text(value: object, label: str, field: str) -> str:
    """`value` with each control character but line breaks and tabs replaced by one other, so that offsets stay.

    The other is the character of code page 1252, such as an apostrophe for U+0092, or else a space.
    Raises `InputError` for any other type and for lone surrogates, which no file or model can hold.
    """
    if not isinstance(value, str):
        raise InputError(Sentence("{name} must be text.", name=label), field)
    if any("\ud800" <= character <= "\udfff" for character in value):
        sentence = Sentence("{name} holds half of a character, which cannot be read. Please delete it.", name=label)
        raise InputError(sentence, field)
    return "".join(
        " " if unicodedata.category(character) == "Cc" and character not in _KEPT_CONTROLS else character
        for character in value.translate(_OF_WINDOWS)
    )


LARGE_AT_ONCE = 2
SMALL = 4_000
"""The largest size of a small run that writes: characters read and tokens written, times beams kept.

The KV cache of GPT-2 small takes 73 kB for each token of each beam, and a token is some four characters.
"""

LONGEST_WAIT_S = 600.0
"""The longest wait for a turn: the largest run takes a minute or two on a slow processor, and a few may be ahead."""

TOO_BUSY = Sentence(
    "Long runs have kept this host busy for ten minutes. Please try again later, or try a shorter text."
)

_ASK_EVERY_S = 0.2


class Turns:
    """Lets `LARGE_AT_ONCE` large runs go on at a time; safe to call from many threads."""

    def __init__(self) -> None:
        self._free = threading.Semaphore(LARGE_AT_ONCE)

    @contextmanager
    def large(self) -> Iterator[None]:
        """Wait for the turn of a large run, which lasts until the block ends.

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
        """The turn of a run of `task` with clean `fields`; a small run does not wait for it."""
        return self.large() if _size(task, fields) > SMALL else nullcontext()


def _size(task: Task, fields: Mapping[str, Any]) -> int:
    """The size of a run: characters and tokens, times beams; 0 for a task that reads one text once without a cache.

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
