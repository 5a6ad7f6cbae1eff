"""What can be asked about an answer once it is there; nothing of it is a run of its own, and nothing is logged."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from demo.attention import AttentionSource
from demo.caches import SessionCache
from demo.limits import clean, plain_text
from demo.settings import Settings
from demo.turns import Turns
from models.errors import InputError
from models.loading import import_looks
from models.loading.store import ModelStore
from models.outputs import MEAN, Attentions, Attribution, SwitchedOff, TaskOutput, generated_ids
from models.registry import find

if TYPE_CHECKING:
    from models.tasks.base import AnyTaskModel
    from models.tasks.text_generation import TextGeneration

OUR_FAULT = "Something went wrong on our side. What you typed is kept; please try again, or try another text."
FORGOTTEN = (
    "This answer is no longer in this host's memory: it was deleted, or was not to be kept. Please run the text again."
)

_log = logging.getLogger(__name__)

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Changed:
    """An answer before and after a change, and where the attention behind the second one can be had."""

    before: TaskOutput
    after: TaskOutput
    source: AttentionSource


class Inspection:
    """Looks again at what a model read and wrote; safe to call from many threads.

    What is found is held in `cache`, so that an equal question of the same session is not computed again.
    """

    def __init__(self, settings: Settings, store: ModelStore, turns: Turns, cache: SessionCache) -> None:
        self._settings = settings
        self._store = store
        self._turns = turns
        self._cache = cache

    def attention(self, source: AttentionSource) -> Attentions:
        """The attention of a run, captured in one forward pass unless it still is in memory."""

        def capture() -> Attentions:
            return self._ask(source, lambda model, inputs: model.attend(inputs, source.written))

        return self._cache.get_or_make(source.origin, ("attention", source), capture)

    def holds_attention(self, source: AttentionSource) -> bool:
        """Whether the attention of a run is in memory, so that showing it needs no model."""
        return self._cache.get(source.origin, ("attention", source)) is not None

    def attribution(self, source: AttentionSource, target: str = "") -> Attribution:
        """What each token did for the decision called `target`, or for the one that made the answer."""
        target = self._word(target, "The target", "target")

        def attributed(model: "AnyTaskModel", inputs: Any) -> Attribution:
            from models.explain.attribution import attribute

            return attribute(model, inputs, source.written, target)

        key = "attribution", source, target
        return self._cache.get_or_make(source.origin, key, lambda: self._ask(source, attributed))

    def decided(self, source: AttentionSource) -> tuple[int | None, ...]:
        """For each token of a completion the layer, from 0, after which it first was the likeliest; `None`: none."""

        def decided(model: "AnyTaskModel", inputs: Any) -> tuple[int | None, ...]:
            from models.inside.decided import decided_layers

            return decided_layers(cast("TextGeneration", model), inputs, source.written)

        key = "decided", source
        return self._cache.get_or_make(source.origin, key, lambda: self._ask(source, decided))

    def ablate(self, source: AttentionSource, layer: int, head: int = MEAN, kind: str = "") -> Changed:
        """The answer with everything on, and without one head, or without all heads of a layer (`MEAN`).

        Layers and heads are counted from 0 in the attention of `kind`, the first that the task has where it is empty.
        """
        off = SwitchedOff(kind or source.task.kinds[0], layer, head)
        before = self._answer(replace(source, switched_off=None), exact=True)
        return self._changed(before, replace(source, switched_off=off))

    def replace_token(self, source: AttentionSource, position: int, token: str, last: int | None = None) -> Changed:
        """The answer to the text, and to the text with `token` in place of the one at `position`, counted from 0.

        With `last`, all tokens from `position` to `last` give way. `[MASK]` or nothing is a blank; where the model
        knows none, nothing leaves the word out.
        """
        token = self._word(token, "The word", "token")
        tokens = self._answer(source).tokens

        def changed(model: "AnyTaskModel", inputs: Any) -> dict[str, Any]:
            from models.explain.replacement import replaced

            return asdict(replaced(model, inputs, tokens, position, token, last))

        fields = clean(source.task, self._ask(source, changed), self._settings.limits)
        return self._changed(self._answer(source), replace(source, inputs=tuple(sorted(fields.items()))))

    def _changed(self, before: TaskOutput, other: AttentionSource) -> Changed:
        after = self._answer(other)
        return Changed(before, after, replace(other, written=generated_ids(after)))

    def _answer(self, source: AttentionSource, *, exact: bool = False) -> TaskOutput:
        """The answer of the engine, or of the exact network that looks inside use."""
        asked = replace(source, written=())

        def ask(model: "AnyTaskModel", inputs: Any) -> TaskOutput:
            return cast(TaskOutput, (model.exact if exact else model).answer(inputs))

        return self._cache.get_or_make(source.origin, ("answer", asked, exact), lambda: self._ask(asked, ask))

    def _ask(self, source: AttentionSource, ask: Callable[["AnyTaskModel", Any], Result]) -> Result:
        """What the model of `source` says; raises `InputError`, the details of any other error for the host's log."""
        if source.is_forgotten:
            raise InputError(FORGOTTEN)
        try:
            model = self._store.load(find(source.checkpoint, source.task))
            import_looks()
            with self._turns.large(), _as_in(source, model) as asked:
                return ask(asked, asked.inputs_type(**dict(source.inputs)))
        except InputError:
            raise
        except Exception as error:
            _log.exception("looking into a %s run failed", source.task)
            raise InputError(OUR_FAULT) from error

    def _word(self, value: object, label: str, field: str) -> str:
        word, most = plain_text(value, label, field), self._settings.limits.word
        if len(word) > most:
            raise InputError(
                f"{label} is {len(word):,} characters long, and at most {most:,} are read here. Please shorten it.",
                field,
            )
        return word


@contextmanager
def _as_in(source: AttentionSource, model: "AnyTaskModel") -> Iterator["AnyTaskModel"]:
    """The model with the heads switched off that were off for `source`."""
    if source.switched_off is None:
        yield model
        return
    from models.explain.ablation import without

    with without(model, source.switched_off):
        yield model.exact
