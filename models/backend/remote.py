"""The backend whose models are in workers, over HTTP; this process then needs neither torch nor OpenVINO."""

import logging
import time
from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any

import httpx2

from models import errors
from models.backend import Ask, Asked, Result, asks
from models.backend.wire import (
    ALIVE_EVERY_S,
    RELEASE,
    Ended,
    Failed,
    Refused,
    Request,
    Value,
    dump,
    read_frames,
    release,
)
from models.cancellation import go_on
from models.errors import InputError
from models.loading import Progress, silent
from models.registry import Checkpoint, Task
from models.wording import Sentence

_log = logging.getLogger(__name__)
_CONNECTS_WITHIN_S = 3.0
_SILENT_FOR_S = 20 * ALIVE_EVERY_S
"""After this long without a frame a worker counts as gone."""

_TRIED_AGAIN_AFTER_S = (0.2, 1.0, 3.0)
"""The pauses before a request whose worker died is repeated; until the proxy knows, it may reach that one again."""

_OF_ANOTHER_RELEASE = 409
_AWAY = Sentence("The models of this page cannot be reached at the moment. Please try again in a minute.")
_RENEWED = Sentence("The models of this page are being renewed. Please try again in a minute.")


class WorkersAway(InputError):
    """No worker answers, or those that do have other models than this page knows."""


class _Broken(Exception):
    """A worker is not there, or disconnected before its answer was complete."""


class RemoteBackend:
    """The backend of the workers at `address`, such as `http://host:8000`; safe to call from many threads."""

    def __init__(self, address: str) -> None:
        timeout = httpx2.Timeout(_CONNECTS_WITHIN_S, read=_SILENT_FOR_S)
        unlimited = httpx2.Limits(max_connections=None, max_keepalive_connections=40)
        self._client = httpx2.Client(
            base_url=address, timeout=timeout, limits=unlimited, headers={RELEASE: release()}, trust_env=False
        )
        self._inputs: dict[tuple[str, Task | None], type] = {}
        self._why_not = ""

    def load(self, checkpoint: Checkpoint, progress: Progress = silent, task: Task | None = None) -> None:
        """Do nothing, since a worker loads a model when it is asked."""

    def ask(
        self,
        ask: Ask[Asked, Result],
        checkpoint: Checkpoint,
        task: Task | None,
        *arguments: Asked.args,
        **options: Asked.kwargs,
    ) -> Result:
        """Call `ask` in a worker; also raises `WorkersAway`."""
        if ask is asks.read_fields:
            return self._read(checkpoint, task, *arguments)  # type: ignore[no-any-return, arg-type]
        (result,) = self._values(Request(ask, checkpoint.name, task, arguments, options))
        return result  # type: ignore[no-any-return]

    def _read(self, checkpoint: Checkpoint, task: Task | None, fields: Mapping[str, Any]) -> Any:
        """`fields` as typed inputs; their class is remembered, which saves each later run a request."""
        if known := self._inputs.get((checkpoint.name, task)):
            return known(**fields)
        (inputs,) = self._values(Request(asks.read_fields, checkpoint.name, task, (fields,), {}))
        self._inputs[checkpoint.name, task] = type(inputs)
        return inputs

    def write(self, checkpoint: Checkpoint, task: Task, inputs: Any) -> Generator[Any]:
        """Yield an answer as it grows in a worker; also raises `WorkersAway`."""
        yield from self._values(Request(asks.write, checkpoint.name, task, (inputs,), {}))

    def _values(self, request: Request) -> Generator[Any]:
        """Yield the values that a worker answers; repeat the request if it disconnects before the first one."""
        body, came = dump(request), False
        for pause_s in (*_TRIED_AGAIN_AFTER_S, None):
            try:
                with closing(self._answered(request, body)) as values:
                    for value in values:
                        came = True
                        yield value
            except (httpx2.TransportError, _Broken) as error:
                if came or pause_s is None:
                    self._fails(repr(error))
                    raise WorkersAway(_AWAY) from error
                go_on()
                time.sleep(pause_s)
            else:
                self._works()
                return

    def _answered(self, request: Request, body: bytes) -> Generator[Any]:
        route = {"serve_multiplexed_model_id": request.checkpoint}
        with self._client.stream("POST", f"/ask/{request.checkpoint}", content=body, headers=route) as response:
            if response.status_code == _OF_ANOTHER_RELEASE:
                self._fails(f"{response.read().decode()} This page knows {release()}.")
                raise WorkersAway(_RENEWED)
            if response.status_code != 200:
                raise _Broken(f"status {response.status_code}")
            ended = False
            # The response is read to its end, so that the connection can serve the next call.
            for each in read_frames(response.iter_raw()):
                go_on()
                match each:
                    case Value(value):
                        yield value
                    case Refused(kind, sentence, field):
                        raise _error(kind, sentence, field)
                    case Failed():
                        raise RuntimeError("a worker failed; its log says why")
                    case Ended():
                        ended = True
            if not ended:
                raise _Broken("the answer broke off")

    def _fails(self, why: str) -> None:
        if why != self._why_not:
            _log.error("models cannot be asked: %s", why)
        self._why_not = why

    def _works(self) -> None:
        if self._why_not:
            _log.warning("models answer again; they could not be asked: %s", self._why_not)
        self._why_not = ""


def _error(kind: str, sentence: str, field: str) -> InputError:
    """The error that a worker raised, made without the constructor of its own class."""
    known = getattr(errors, kind, InputError)
    error: InputError = known.__new__(known)
    InputError.__init__(error, sentence, field)
    return error
