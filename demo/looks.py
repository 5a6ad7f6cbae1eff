"""Looks into an answer: attention, attribution, what-if changes, the tree of strategies. No look is a run or logged."""

import logging
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from demo.caches import HELD_FOR_S, Origin, SessionCache
from demo.limits import TOO_LONG, Turns, clean, plain_text
from demo.log.run import Run, keeps, owner
from demo.settings import Settings
from demo.web.traces import span
from models.backend import Backend, asks
from models.errors import InputError
from models.loading import Progress
from models.outputs.attention import MEAN, Attentions, Attribution, SwitchedOff
from models.outputs.base import TaskOutput
from models.outputs.before import GenerationsReading
from models.outputs.writing import DecodeTree, generated_ids
from models.registry import Task, find
from models.wording import Sentence

if TYPE_CHECKING:
    from models.tasks.base import AnyTaskModel


@dataclass(frozen=True)
class AttentionSource:
    """The inputs of a run and the ids that it wrote, from which one forward pass captures its attention again.

    `switched_off` are the heads that are off, none in any logged run. `origin` says whose text it is, and plays no part
    when sources are compared.
    """

    task: Task
    checkpoint: str
    inputs: tuple[tuple[str, Any], ...]
    written: tuple[int, ...]
    switched_off: SwitchedOff | None = None
    origin: Origin = field(default=Origin(), compare=False)

    @property
    def forgotten(self) -> "AttentionSource":
        """This source without its text, so that it cannot be looked into any more."""
        return replace(self, inputs=(), written=(), switched_off=None)

    @property
    def is_forgotten(self) -> bool:
        """Whether its text was deleted, at a visitor's wish or because its time was over."""
        return not self.inputs


def source_of(run: Run, output: TaskOutput) -> AttentionSource:
    """The source from which the attention of a run's answer can be captured."""
    fields = [(name, _hashable(value)) for name, value in run.fields.items()]
    # Callers without a session do not share one: each of their runs stands alone.
    session = owner(run.session_id) or run.id
    until = float("inf") if keeps(run.session_id) else run.created_utc.timestamp() + HELD_FOR_S
    origin = Origin((session,) if session else (), run.id, until, run.created_utc.timestamp())
    return AttentionSource(run.task, run.checkpoint, tuple(sorted(fields)), generated_ids(output), origin=origin)


def _hashable(value: Any) -> Any:
    """`value` with its lists turned into tuples, as lists (JSON has no tuples) cannot be hashed."""
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


OUR_FAULT = Sentence("Something went wrong on our side. What you typed is kept; please try again, or try another text.")
FORGOTTEN = Sentence(
    "This answer is no longer in this host's memory: it was deleted, or was not to be kept. Please run the text again."
)

_log = logging.getLogger(__name__)

Asked = ParamSpec("Asked")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Changed:
    """An answer before and after a change."""

    before: TaskOutput
    after: TaskOutput


class Inspection:
    """Looks again at what a model read and wrote; safe to call from many threads.

    Results are held in `cache`, so that an equal question of the same session is not computed again. Every look raises
    `InputError` where it fails, and logs the details of any other error.
    """

    def __init__(self, settings: Settings, backend: Backend, turns: Turns, cache: SessionCache) -> None:
        self._settings = settings
        self._backend = backend
        self._turns = turns
        self._cache = cache

    def attention(self, source: AttentionSource) -> Attentions:
        """The attention of a run, captured in one forward pass unless it still is in memory."""
        return self._look(source, ("attention", source), asks.attention, source.written)

    def holds_attention(self, source: AttentionSource) -> bool:
        """Whether the attention of a run is in memory, so that showing it needs no model."""
        return self._cache.get(source.origin, ("attention", source)) is not None

    def attribution(self, source: AttentionSource, target: str = "") -> Attribution:
        """The attribution of each token to the decision called `target`, or to the one that made the answer."""
        target = self._word(target, Sentence("The target"), "target")
        return self._look(source, ("attribution", source, target), asks.attribution, source.written, target)

    def decided(self, source: AttentionSource) -> tuple[int | None, ...]:
        """For each token of a completion the layer, from 0, after which it first was the likeliest, `None` if none."""
        return self._look(source, ("decided", source), asks.decided, source.written)

    def generations(self, source: AttentionSource) -> GenerationsReading:
        """The reading of a run's text by each generation before Transformers, and the reach of gradients in it."""
        return self._look(source, ("generations", source), asks.generations)

    def ablate(self, source: AttentionSource, layer: int, head: int = MEAN, kind: str = "") -> Changed:
        """The answer with all heads on, and without one head, or without all heads of a layer (`MEAN`).

        Layers and heads are counted from 0 in the attention of `kind`, the first that the task has where it is empty.
        """
        off = SwitchedOff(kind or source.task.kinds[0], layer, head)
        before = self._answer(replace(source, switched_off=None), exact=True)
        return Changed(before, self._answer(replace(source, switched_off=off)))

    def replace_token(self, source: AttentionSource, position: int, token: str, last: int | None = None) -> Changed:
        """The answer to the text, and to the text with `token` in place of the one at `position`, counted from 0.

        With `last`, all tokens from `position` to `last` are replaced. `[MASK]` or an empty `token` is a blank; for a
        model without blanks, an empty `token` leaves the word out.
        """
        token = self._word(token, Sentence("The word"), "token")
        before = self._answer(source)
        changed = asdict(self._ask(source, asks.replaced, before.tokens, position, token, last))
        fields = clean(source.task, changed, self._settings.limits)
        return Changed(before, self._answer(replace(source, inputs=tuple(sorted(fields.items())))))

    def _answer(self, source: AttentionSource, *, exact: bool = False) -> TaskOutput:
        """The answer of the engine or, where `exact`, of the exact network that looks inside a model use."""
        asked = replace(source, written=())
        return self._look(asked, ("answer", asked, exact), asks.exact_answer if exact else asks.answer)

    def _look(
        self,
        source: AttentionSource,
        key: Hashable,
        at: "Callable[Concatenate[AnyTaskModel, Any, Asked], Result]",
        *arguments: Asked.args,
        **options: Asked.kwargs,
    ) -> Result:
        """The result of `at`, from the cache if it is there."""
        return self._cache.get_or_make(source.origin, key, lambda: self._ask(source, at, *arguments, **options))

    def _ask(
        self,
        source: AttentionSource,
        at: "Callable[Concatenate[AnyTaskModel, Any, Asked], Result]",
        *arguments: Asked.args,
        **options: Asked.kwargs,
    ) -> Result:
        """The result of `at` with the model of `source`, without the heads that are switched off for it."""
        if source.is_forgotten:
            raise InputError(FORGOTTEN)
        traced = span("look", task=source.task.endpoint, checkpoint=source.checkpoint)
        with errors_in_a_sentence(f"looking into a {source.task} run"), traced:
            checkpoint, task, off = find(source.checkpoint, source.task), source.task, source.switched_off
            self._backend.load(checkpoint, task=task)
            with self._turns.large():
                fields = dict(source.inputs)
                return self._backend.ask(asks.look, checkpoint, task, at, fields, off, *arguments, **options)

    def _word(self, value: object, label: str, field: str) -> str:
        word, most = plain_text(value, label, field), self._settings.limits.word
        if len(word) > most:
            raise InputError(Sentence(TOO_LONG, name=label, length=len(word), most=most), field)
        return word


def grow_tree(
    settings: Settings, backend: Backend, fields: Mapping[str, Any], checkpoint: str, progress: Progress
) -> DecodeTree:
    """The tree of strategies for the fields of a completion, whose own strategy plays no part; raises `InputError`."""
    cleaned = clean(Task.COMPLETION, fields, settings.limits)
    found = find(plain_text(checkpoint, Sentence("The checkpoint"), "checkpoint"), Task.COMPLETION)
    with errors_in_a_sentence("a decode tree"), span("look", task=Task.COMPLETION.endpoint, checkpoint=found.name):
        backend.load(found, progress)
        return backend.ask(asks.tree_of, found, None, cleaned)


@contextmanager
def errors_in_a_sentence(what: str) -> Iterator[None]:
    """Log any error but an `InputError` as a failure of `what`, and raise an `InputError` for the visitor instead."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        _log.exception("%s failed", what)
        raise InputError(OUR_FAULT) from error
