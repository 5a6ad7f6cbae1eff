"""Tours: cards that lead one visitor through the tabs on a sentence of their own, read from JSON files."""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import Field

from demo.fields import FIELDS
from demo.language import N_
from demo.lectures import LectureError, Strict, require_known, written_in
from demo.limits import clean
from demo.settings import Limits
from demo.tour.questions import ASKS, TOO_SHORT
from models.errors import InputError
from models.registry import Task

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "tours"
_NEGATION = re.compile(r"\bcan(?:not|['’]t)\b|\bwon['’]t\b|n['’]t\b|\b(?:not|never)\s|\s(?:not|never)\b", re.IGNORECASE)
_IN_FULL = {"ca": "can", "wo": "will"}
_MOST_CARDS = 30

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Card:
    """A card: an idea (`text`), a thing to do, and a question of the kind `asks` (see `ASKS`) about a run of `task`.

    `fields` are the texts that the tab opens with, where `{sentence}` stands for the visitor's own; `example` replaces
    them where that sentence does not fit.
    """

    title: str
    text: str
    to_do: str
    asks: str
    question: str
    task: Task
    fields: Mapping[str, str]
    example: Mapping[str, str]

    @property
    def asks_of_attention(self) -> bool:
        """Whether the question is about attention, and the answer is seen in the reader."""
        return self.asks in ("looks", "head")

    def filled(self, sentence: str) -> dict[str, str]:
        """The fields for a visitor's sentence; raises `InputError` where it does not fit the card."""
        return {name: _filled(text, sentence) for name, text in self.fields.items()}


@dataclass(frozen=True)
class Tour:
    """A tour: its `name` stands in addresses, and its `sentence` is offered to the visitor, who may keep it."""

    name: str
    title: str
    sentence: str
    cards: tuple[Card, ...]


def _filled(text: str, sentence: str) -> str:
    text = text.replace("{without_not}", without_negation(sentence) if "{without_not}" in text else "")
    text = text.replace("{beginning}", beginning(sentence) if "{beginning}" in text else "")
    return text.replace("{sentence}", sentence)


def without_negation(text: str) -> str:
    """`text` without its first “not”, “never” or “n't”; raises `InputError` where it has none."""
    found = _NEGATION.search(text)
    if not found:
        raise InputError(N_("Your sentence has no “not” to take out."))
    instead = next((full for short, full in _IN_FULL.items() if found[0].lower().startswith(short)), "")
    return text[: found.start()] + instead + text[found.end() :]


def beginning(text: str) -> str:
    """`text` up to its last word; raises `InputError` for one of fewer than three words."""
    words = text.split()
    if len(words) < 3:
        raise InputError(TOO_SHORT)
    return text[: text.rindex(words[-1])].rstrip()


def left_out(text: str, given: str, gap: str = "") -> str:
    """The word of `text` that `given` replaces by `gap`, or ends before without one; "" where the two do not match."""
    before, _, after = given.partition(gap) if gap else (given.rstrip(), "", "")
    if not (text.startswith(before) and text.endswith(after)) or len(before) + len(after) >= len(text):
        return ""
    words = re.findall(r"[\w'’-]+", text[len(before) : len(text) - len(after)])
    return words[0] if len(words) == 1 else ""


@cache
def tours_of(folder: str | None, limits: Limits) -> dict[str, Tour]:
    """The shipped tours and then those in `folder`, by name; one in `folder` replaces a shipped one of its name.

    Raises `LectureError` if `folder` is not a folder, and for the first file in it that cannot be used; of a shipped
    tour, the cards that `limits` refuse are left out.
    """
    found = {path.stem: _read(path, limits, shipped=True) for path in sorted(SHIPPED.glob("*.json"))}
    if folder is not None:
        if not Path(folder).is_dir():
            raise LectureError(f"CLEARHEAD_TOURS must name a folder, and {folder!r} is none.")
        found |= {path.stem: _read(path, limits, shipped=False) for path in sorted(Path(folder).glob("*.json"))}
    return {name: tour for name, tour in found.items() if tour.cards}


class _WrittenCard(Strict):
    title: str = Field(min_length=1, max_length=60)
    text: str = Field(min_length=1, max_length=240)
    do: str = Field(min_length=1, max_length=160)
    asks: str
    question: str = Field(min_length=1, max_length=160)
    task: str
    fields: dict[str, str]
    example: dict[str, str]


class _WrittenTour(Strict):
    title: str = Field(min_length=1, max_length=80)
    sentence: str = Field(min_length=1, max_length=200)
    cards: list[_WrittenCard] = Field(min_length=1, max_length=_MOST_CARDS)


def _read(path: Path, limits: Limits, shipped: bool) -> Tour:
    """The tour in a file; raises `LectureError` that names the file, the card and what is wrong with it."""
    written = written_in(path, _WrittenTour, "tour")
    cards = []
    for number, card in enumerate(written.cards, start=1):
        try:
            cards.append(_card(card, written.sentence, limits))
        except InputError as error:
            if not shipped:
                raise LectureError(f"{path.name}, card {number}: {error.sentence}") from error
            _log.warning("%s goes without card %d: %s", path.name, number, error.sentence)
    return Tour(path.stem, written.title, written.sentence, tuple(cards))


def _card(written: _WrittenCard, sentence: str, limits: Limits) -> Card:
    require_known(written.asks, ASKS, f"A card cannot ask “{written.asks}”; there are")
    tasks = {each.endpoint: each for each in ASKS[written.asks]}
    require_known(written.task, tasks, f"“{written.asks}” asks nothing about “{written.task}”; there are")
    task = tasks[written.task]
    for name in (*written.fields, *written.example):
        known = [field for field, each in FIELDS[task].items() if each.is_text]
        require_known(name, known, f"“{written.task}” has no text “{name}”; there are")
    clean(task, written.example, limits)
    card = Card(
        written.title, written.text, written.do, written.asks, written.question, task, written.fields, written.example
    )
    card.filled(sentence)
    return card
