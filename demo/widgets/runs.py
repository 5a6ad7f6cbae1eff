"""HTML of runs: the line above an answer, the list of the history, and how long runs are kept."""

import html
import re
from datetime import datetime
from html.entities import html5

from demo.language import N_, _, language, ngettext
from demo.log.export import answer_in_words
from demo.log.run import Run, keeps, load_answer
from demo.runs import DemoService
from demo.settings import Settings
from demo.teaching import by_class, form_text, texts_of
from models.outputs.base import TaskOutput
from models.registry import REGISTRY, Task

_SHOWN_OF_REVISION = 8
_ENGINES = {"openvino": "OpenVINO", "torch": "PyTorch", "numpy": "NumPy"}
_PRECISIONS = {
    "bfloat16": N_(
        "computed by {engine}; the numbers were rounded to about three digits on the way, which is quicker and moves "
        "no percentage by more than 2 points; attention is always computed exactly"
    ),
    "float16": N_(
        "computed by {engine}; the weights were read in half of their bits, which is quicker and moves no percentage "
        "by more than 2 points; attention is always computed exactly"
    ),
    "float32": N_("computed by {engine}; the numbers were not rounded on the way"),
}
_ASKED = ("question", "text", "changed", "context", "prompt", "a", "b", "beginning", "endings", "sentences", "other")
"""The fields that hold a visitor's own words, in the order in which forms show them."""

_FIRST = ("question", "text", "prompt", "a", "beginning", "sentences")
"""The fields that say most about a run, for a list of runs; the first that it has is shown."""

_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
_NAMED_ENTITIES = 3
"""The most HTML entities that the note names."""


def run_header(run: Run, output: TaskOutput | None = None, *, recorded: bool = False, kept: bool = True) -> str:
    """Checkpoint, revision, licence, duration, precision and engine of a run; says if it is recorded, or not `kept`.

    With `output`, it also holds, for the page's scripts, the texts of the run and the answer as screen readers speak
    it. A second line says so where HTML entities were read as typed.
    """
    version = _("which version of the model’s numbers: {revision}", revision=run.revision)
    revision = _("revision {revision}", revision=run.revision[:_SHOWN_OF_REVISION])
    parts = [
        f'<span title="{html.escape(run.checkpoint)}">{html.escape(_title(run))}</span>',
        f'<span title="{html.escape(version)}">{html.escape(revision)}</span>',
        f"<span>{html.escape(_(run.license))}</span>",
        f"<span>{_duration(run.duration_ms)}{_in_precision(run.precision, run.engine)}</span>",
        *([] if kept else [f"<span>{_('not kept in History')}</span>"]),
    ]
    mark = f'<strong class="recorded">{_("Recorded example")}</strong> ' if recorded else ""
    # In this task `word` is what is asked about; in others it is a setting.
    names = ("word", *_ASKED) if run.task is Task.WORD_IN_CONTEXT else _ASKED
    asked = " ".join(in_lines(run.inputs[name]) for name in names if name in run.inputs)
    if run.task is Task.TEACH:
        asked = form_text(run.inputs)
    note = _entity_note(asked)
    told = ""
    if output:
        answer = answer_in_words(output).strip() or _("No answer in this text")
        said = _("Answer: {answer}", answer=f"{answer} {note}".rstrip())
        told = f' data-asked="{html.escape(asked)}" data-said="{html.escape(said)}"'
    line = f'<p class="run-header"{told}>{mark}{" ".join(parts)}</p>'
    return line + (f'<p class="quiet run-note">{html.escape(note)}</p>' if note else "")


def _title(run: Run) -> str:
    known = REGISTRY.get(run.checkpoint)
    return _(known.title) if known else run.checkpoint


def in_lines(value: object) -> str:
    """The value of a field as its form shows it: several texts, one per line."""
    return "\n".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _entity_note(text: str) -> str:
    """A sentence about the HTML entities in `text`, such as `&amp;`; empty where it has none."""
    found = dict.fromkeys(each for each in _ENTITY.findall(text) if each[1] == "#" or each[1:] in html5)
    if not found:
        return ""
    named = ", ".join(_("“{token}”", token=each) for each in list(found)[:_NAMED_ENTITIES])
    if len(found) > _NAMED_ENTITIES:
        return _(
            "The model read {named} and others as typed, not as the characters that are meant on web pages.",
            named=named,
        )
    return _("The model read {named} as typed, not as the characters that are meant on web pages.", named=named)


def _duration(duration_ms: float) -> str:
    if duration_ms >= 1000:
        return _("{seconds:.1f} s", seconds=duration_ms / 1000)
    return _("{milliseconds} ms", milliseconds=max(1, round(duration_ms)))


def _in_precision(precision: str, engine: str) -> str:
    if precision not in _PRECISIONS:
        return ""
    told = html.escape(_(_PRECISIONS[precision], engine=_ENGINES.get(engine, engine)))
    return " " + _("in {precision}", precision=f'<abbr title="{told}">{precision}</abbr>')


TASK_TITLES = {
    Task.FILL_MASK: N_("Fill the blank"),
    Task.SENTIMENT: N_("Sentiment"),
    Task.QUESTION_ANSWERING: N_("Questions"),
    Task.NAMES: N_("Names"),
    Task.SENTENCE_PAIR: N_("Two sentences"),
    Task.ENDINGS: N_("Which ending?"),
    Task.TRANSLATION: N_("Translate"),
    Task.TRANSLATORS: N_("Translating before Transformers"),
    Task.COMPLETION: N_("Write on"),
    Task.WORD_IN_CONTEXT: N_("One word"),
    Task.TEACH: N_("Teach it"),
    Task.SURPRISE: N_("Surprise"),
    Task.WRITTEN_BY: N_("Is it machine-written?"),
    Task.GENERATIONS: N_("Before"),
    Task.CELLS: N_("Single cells"),
    Task.TRAINING_STEP: N_("Training"),
    Task.TINY_MODEL: N_("A tiny model that learns"),
}
"""The tabs' names in plain words, to be translated where they are shown."""

_NOTHING_YET = N_("Nothing here yet. Every run of this browser will be listed, newest first.")
_NOT_KEPT = N_("The session log cannot be written at the moment: what you run now is lost when this server restarts.")
_SHARED = N_("shared: whoever has the link can see it")
_LONGEST_EXCERPT = 140


def run_list(runs: tuple[Run, ...], kept: bool = True, shared: frozenset[str] = frozenset()) -> str:
    """HTML list of the runs in the order given, newest first; a warning stands above it when runs are not `kept`.

    `shared` are the ids of runs that anyone with their link can see: they are marked, and sharing can be stopped.
    """
    warning = "" if kept else f'<p role="alert">{_(_NOT_KEPT)}</p>'
    if not runs:
        return f'{warning}<p class="quiet">{_(_NOTHING_YET)}</p>'
    entries = "".join(_entry(run, run.id in shared) for run in runs)
    return f'{warning}<ol class="runs" aria-label="{html.escape(_("Runs, newest first"))}">{entries}</ol>'


def _entry(run: Run, shared: bool) -> str:
    title = _(TASK_TITLES[run.task])
    # A question says more about a run than the text it was asked about.
    given = str(next((run.inputs[name] for name in _FIRST if name in run.inputs), ""))
    if run.task is Task.TEACH:
        classes = _(" or ").join(by_class(run.inputs.get("examples")))
        given = f"{classes}: {' '.join(texts_of(run.inputs))}".strip(": ")
    when = f"{run.created_utc:%Y-%m-%dT%H:%M:%SZ}"
    said = f"{title}: {_excerpt(given, 40)}"
    mark = f'<strong class="shared">{_(_SHARED)}</strong>' if shared else ""
    return (
        f'<li><div class="run-text"><p class="quiet facts"><strong>{title}</strong> '
        f'<time datetime="{when}">{_when(run.created_utc)}</time> '
        f"<span>{html.escape(_title(run))}</span>{mark}</p>"
        f"<p><bdi>{html.escape(_excerpt(given) or _('(empty)'))}</bdi></p>{_outcome(run)}</div>"
        f'<div class="run-actions">{_button(run, "clear", _("Stop sharing"), said) if shared else ""}'
        f"{_button(run, 'select', _('Open'), said)}"
        f"{_button(run, 'delete', _('Delete'), said)}</div></li>"
    )


def _when(time: datetime) -> str:
    if language() == "en":
        return f"{time:%d %b %Y, %H:%M} UTC"
    from babel.dates import format_datetime

    return format_datetime(time, "dd MMM y, HH:mm 'UTC'", locale=language())


def _outcome(run: Run) -> str:
    if run.answer is None:
        return f'<p class="failed">{html.escape(_(run.error or ""))}</p>'
    words = _excerpt(answer_in_words(load_answer(run.task, run.answer))) or _("No answer in this text")
    return f'<p class="outcome">→ <bdi>{html.escape(words)}</bdi></p>'


def _button(run: Run, action: str, name: str, said: str) -> str:
    """A button that asks for the run to be opened (`select`), deleted (`delete`) or no longer shared (`clear`)."""
    return (
        f'<button type="button" data-run="{html.escape(run.id)}" data-action="{action}" '
        f'aria-label="{html.escape(name)}: {html.escape(said)}">{name}</button>'
    )


def _excerpt(text: str, most: int = _LONGEST_EXCERPT) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def kept_note(service: DemoService, session_id: str) -> str:
    """An HTML line on whether and how long runs of this session are kept."""
    settings = service.settings
    name, more = html.escape(_("More on what is kept")), _("More")
    link = f'<a href="?tab=about#kept" aria-label="{name}">{more}</a>'
    if not keeps(session_id):
        return f'<p class="quiet">{_("Your runs are not kept.")} {link}</p>'
    if not settings.forgets_at_restart and not service.history_is_kept:
        said = _("History is not being kept at the moment: your answers may be gone tomorrow.")
        return f'<p class="quiet" role="alert">{said}</p>'
    return f'<p class="quiet">{kept_for(settings)} {link}</p>'


def kept_for(settings: Settings) -> str:
    """The sentence on how long this host keeps runs."""
    if settings.forgets_at_restart:
        return _("Your runs are kept until this host restarts.")
    if settings.retention_days is None:
        return _("Your runs are kept until you delete them.")
    return ngettext("Your runs are kept for a day.", "Your runs are kept for {count:,} days.", settings.retention_days)
