"""Lectures: ordered steps for a room, each a few plain sentences and a view of the page, read from JSON files."""

import logging
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from demo.fields import FIELDS, INSIDE_FIELDS
from demo.language import _
from demo.limits import clean, clean_fields, clipped
from demo.reader.link import ReaderSettings
from demo.settings import Limits, SettingError
from demo.teaching import expanded
from demo.tour.questions import ASKS
from demo.walk.view import InsideRequest
from models.errors import InputError
from models.registry import REGISTRY, Task, checkpoints_for
from models.wording import Sentence

SHIPPED = Path(__file__).resolve().parent.parent / "assets" / "lectures"
LECTURE, STEP, ROOM = "lecture", "step", "room"
"""The names in an address: `?lecture=NAME&step=N&room=CODE`, steps counted from 1."""
ROOM_CODE = r"[0-9a-f]{8}"
"""The pattern of a room's code: the answers of all pages opened by one screen's link are counted together."""

_NAME = r"[a-z0-9-]{1,40}"
_LONGEST_ADDRESS = 2_000
_MOST_STEPS = 50

_log = logging.getLogger(__name__)


class LectureError(SettingError):
    """A file that is no lecture, or no tour; its message is one sentence for the host."""


@dataclass(frozen=True)
class TaskView:
    """A task's answer to fixed fields, by a bundled checkpoint, with its attention at `place`."""

    task: Task
    fields: Mapping[str, Any]
    checkpoint: str
    place: ReaderSettings


@dataclass(frozen=True)
class RoomQuestion:
    """A question to the room before a step shows its answer: of the kind `asks`, in the words of `text`.

    A question about attention is about `word`, in the layer and head that the step shows.
    """

    asks: str
    text: str
    word: str = ""


@dataclass(frozen=True)
class LectureStep:
    """A step: the text that the room reads and the view that it sees. `text` may mark technical terms with asterisks.

    A step of Inside has several pictures, and a projector shows number `picture`, counted from 1.
    """

    title: str
    text: str
    view: InsideRequest | TaskView
    picture: int = 1
    question: RoomQuestion | None = None


@dataclass(frozen=True)
class Lecture:
    """A set of steps; `name` stands in addresses, `about` says in a sentence what the room will learn."""

    name: str
    title: str
    about: str
    steps: tuple[LectureStep, ...]

    @property
    def asks(self) -> bool:
        """Whether a step has a question to the room."""
        return any(step.question for step in self.steps)


@dataclass(frozen=True)
class LecturePlace:
    """A step of a lecture, `number` counted from 1, and the address of the page (`base`) that it was opened at.

    `room` is the code under which the answers of a room are counted, "" where nobody is asked.
    """

    lecture: Lecture
    number: int
    base: str
    room: str = ""

    @property
    def step(self) -> LectureStep:
        """The step itself."""
        return self.lecture.steps[self.number - 1]

    @property
    def link(self) -> str:
        """The whole address that opens this step on any device that reaches the page."""
        return self.base + query_of(self.lecture, self.number, self.room)


def query_of(lecture: Lecture, number: int = 1, room: str = "") -> str:
    """The end of an address that opens step `number` of `lecture`, with the code of a `room` if there is one."""
    return "?" + urlencode({LECTURE: lecture.name, STEP: number} | ({ROOM: room} if room else {}))


def place_of(address: str, lectures: Mapping[str, Lecture]) -> LecturePlace | None:
    """The place that an address names, `None` where it names no lecture; raises `InputError` if it does not exist."""
    try:
        parts = urlsplit(address[:_LONGEST_ADDRESS])
    except ValueError:
        return None
    query = dict(parse_qsl(parts.query))
    if LECTURE not in query or parts.scheme not in ("http", "https"):
        return None
    lecture = lectures.get(query[LECTURE])
    if lecture is None:
        offered = ", ".join(_(each.title) for each in lectures.values())
        raise InputError(Sentence("There is no lecture of that name here; there are: {offered}.", offered=offered))
    number, count = query.get(STEP, "1"), len(lecture.steps)
    if not re.fullmatch(r"[0-9]{1,3}", number) or not 1 <= int(number) <= count:
        raise InputError(
            Sentence("“{title}” has no such step; its steps go from 1 to {count}.", title=_(lecture.title), count=count)
        )
    host = parts.netloc.rpartition("@")[2]
    room = query.get(ROOM, "") if lecture.asks else ""
    base = f"{parts.scheme}://{host}{parts.path}"
    return LecturePlace(lecture, int(number), base, room if re.fullmatch(ROOM_CODE, room) else "")


@cache
def lectures_of(folder: str | None, inside_steps: Collection[str], limits: Limits) -> dict[str, Lecture]:
    """The shipped lectures and then those in `folder`, by name; a lecture there replaces a shipped one of its name.

    `inside_steps` are the keys of the steps of the tab Inside. A shipped lecture keeps to `limits`: its numbers are
    lowered to them, and a step that they refuse is left out and logged. Raises `LectureError` for the first lecture of
    the host's own that cannot be used.
    """
    shipped = (_read(path, inside_steps, limits, shipped=True) for path in sorted(SHIPPED.glob("*.json")))
    found = {each.name: each for each in shipped if each.steps}
    if folder is not None:
        if not Path(folder).is_dir():
            raise LectureError(f"CLEARHEAD_LECTURES must name a folder, and {folder!r} is none.")
        own = sorted(Path(folder).glob("*.json"))
        found |= {path.stem: _read(path, inside_steps, limits, shipped=False) for path in own}
    return found


def _read(path: Path, inside_steps: Collection[str], limits: Limits, shipped: bool) -> Lecture:
    """The lecture in a file; raises `LectureError` that names the file, the step and what is wrong with it."""
    written = written_in(path, _WrittenLecture, "lecture")
    steps = []
    for number, step in enumerate(written.steps, start=1):
        try:
            if (step.inside is None) == (step.tab is None):
                raise InputError("It needs a view, either “inside” or “tab”.")
            view: InsideRequest | TaskView
            if step.inside is not None:
                view = _inside_view(step.inside, inside_steps, limits, written.counts_from)
            elif step.tab is not None:
                view = _task_view(step.tab, limits, clip=shipped)
            picture, question = step.inside.picture if step.inside else 1, _room_question(step.question, view)
            steps.append(LectureStep(step.title, step.text, view, picture, question))
        except InputError as error:
            if not shipped:
                raise LectureError(f"{path.name}, step {number}: {error.sentence}") from error
            _log.warning("%s goes without step %d: %s", path.name, number, error.sentence)
    return Lecture(path.stem, written.title, written.about, tuple(steps))


class Strict(BaseModel):
    """A part of a file that has these fields and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


Written = TypeVar("Written", bound=Strict)


def written_in(path: Path, form: type[Written], what: str) -> Written:
    """The content of the JSON file of a `what`, parsed as `form`; raises `LectureError` for a file of another form."""
    if not re.fullmatch(_NAME, path.stem):
        raise LectureError(f"{path.name}: a {what}'s file name is made of a to z, digits and hyphens, 40 at most.")
    try:
        return form.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise LectureError(f"{path.name} cannot be read as a text file.") from error
    except ValidationError as error:
        raise LectureError(f"{path.name}: {_first_fault(error)}") from error


class _WrittenInside(Strict):
    step: str
    text: str
    checkpoint: str = ""
    layer: int | None = Field(default=None, ge=0, le=999)
    head: int | None = Field(default=None, ge=0, le=999)
    position: int = Field(default=-1, ge=-999, le=999)
    picture: int = Field(default=1, ge=1, le=2)


class _WrittenPlace(Strict):
    kind: str = ""
    how: str = Field(default="mean", pattern="^(mean|maximum|head|rollout)$")
    layer: int = Field(default=0, ge=0, le=999)
    head: int = Field(default=1, ge=1, le=999)
    step: int = Field(default=0, ge=0, le=999)


class _WrittenTask(Strict):
    task: str
    fields: dict[str, JsonValue]
    checkpoint: str = ""
    attention: _WrittenPlace = _WrittenPlace()


class _WrittenQuestion(Strict):
    asks: str
    text: str = Field(min_length=1, max_length=160)
    word: str = Field(default="", max_length=80)


class _WrittenStep(Strict):
    title: str = Field(min_length=1, max_length=80)
    text: str = Field(min_length=1, max_length=400)
    inside: _WrittenInside | None = None
    tab: _WrittenTask | None = None
    question: _WrittenQuestion | None = None


class _WrittenLecture(Strict):
    title: str = Field(min_length=1, max_length=80)
    about: str = Field(min_length=1, max_length=200)
    # The number of the first layer, head and token of Inside: 1 as on the page, or 0 in older files, which lack this.
    counts_from: Literal[0, 1] = 0
    steps: list[_WrittenStep] = Field(min_length=1, max_length=_MOST_STEPS)


def _inside_view(asked: _WrittenInside, inside_steps: Collection[str], limits: Limits, first: int) -> InsideRequest:
    require_known(asked.step, inside_steps, f"Inside has no step “{asked.step}”; there are")
    bundled = [each.name for each in REGISTRY.values() if not each.hub_id]
    checkpoint = asked.checkpoint or bundled[0]
    require_known(checkpoint, bundled, f"“{checkpoint}” is no bundled model; there are")
    text = clean_fields(INSIDE_FIELDS, {"text": asked.text}, limits)["text"]
    layer, head = (first if each is None else each for each in (asked.layer, asked.head))
    position = max(0, asked.position - first) if asked.position >= 0 else asked.position
    return InsideRequest(asked.step, text, checkpoint, max(0, layer - first), max(0, head - first), position)


def _task_view(asked: _WrittenTask, limits: Limits, clip: bool) -> TaskView:
    tasks = {each.endpoint: each for each in Task}
    require_known(asked.task, tasks, f"There is no task “{asked.task}”; there are")
    task = tasks[asked.task]
    given = expanded(asked.fields) if task is Task.TEACH else asked.fields
    for name in given:
        require_known(name, FIELDS[task], f"“{asked.task}” has no field “{name}”; there are")
    # A room may have no network beyond this host.
    bundled = [each.name for each in checkpoints_for(task) if not each.hub_id]
    checkpoint = asked.checkpoint or bundled[0]
    require_known(checkpoint, bundled, f"“{checkpoint}” is no bundled model for “{asked.task}”; there is")
    fields = clipped(task, given, limits) if clip else given
    return TaskView(task, clean(task, fields, limits), checkpoint, ReaderSettings(**asked.attention.model_dump()))


def _room_question(written: _WrittenQuestion | None, view: InsideRequest | TaskView) -> RoomQuestion | None:
    if written is None:
        return None
    # A step shows one head, so it cannot ask the room to find another.
    known = {asks: tasks for asks, tasks in ASKS.items() if asks != "head"}
    require_known(written.asks, known, f"A step cannot ask “{written.asks}”; there are")
    tasks = {each.endpoint: each for each in known[written.asks]}
    if not isinstance(view, TaskView) or view.task not in tasks.values():
        raise InputError(f"“{written.asks}” is a question about a “tab” with the task {' or '.join(tasks)}.")
    if (written.asks == "looks") != bool(written.word):
        raise InputError("A question has a “word” where it asks “looks”, and there alone.")
    return RoomQuestion(written.asks, written.text, written.word)


def require_known(name: str, known: Iterable[str], complaint: str) -> None:
    """Raise `InputError` with the complaint and the known names, unless `name` is one of them."""
    if name not in known:
        raise InputError(f"{complaint} {', '.join(known)}.")


_ONE_OF = {"steps": "step", "cards": "card"}


def _first_fault(error: ValidationError) -> str:
    """The first fault of a file in words, with steps and cards counted from 1."""
    fault = error.errors()[0]
    one = _ONE_OF.get(str(next(iter(fault["loc"]), "")), "")
    place = [f"{one} {part + 1}" if isinstance(part, int) else f"“{part}”" for part in fault["loc"]]
    if len(place) > 1 and one:
        place = place[1:]
    return ", ".join([*place, fault["msg"][0].lower() + fault["msg"][1:]]) + "."
