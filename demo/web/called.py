"""A call of an endpoint as an event in Gradio's line, with nothing of what Gradio does for components."""

import asyncio
import inspect
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.block_function import BlockFunction
from gradio.exceptions import Error
from gradio.helpers import special_args
from gradio.queueing import Event
from gradio.utils import error_payload, get_function_with_locals
from starlette.requests import Request

from demo.quick_json import as_json

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Told:
    """How a call ended: `text` is what its stream says, with the answer, or what went wrong, as JSON."""

    success: bool
    text: bytes

    @classmethod
    def of(cls, success: bool, output: Any) -> "Told":
        """The end with this answer or failure."""
        return cls(success, f"{_event(success)}{as_json(output)}\n\n".encode())

    @property
    def output(self) -> Any:
        """What is in the text. It is not kept beside it: numbers take several times as much memory as their text."""
        return json.loads(self.text.removeprefix(_event(self.success).encode()))


def _event(success: bool) -> str:
    return f"event: {'complete' if success else 'error'}\ndata: "


CANCELLED, SERVER_STOPPED = Told.of(True, None), Told.of(False, "Server stopped unexpectedly.")


@dataclass(frozen=True, eq=False)
class Endpoint:
    """A function that takes and gives plain JSON; the caller's request is its argument at `request_at`, if any.

    `least` values must be given; those that may follow have defaults.
    """

    fn: BlockFunction
    request_at: int | None
    least: int

    def takes(self, values: int) -> bool:
        """Whether it can be called with so many values."""
        return self.least <= values <= len(self.fn.inputs)

    @classmethod
    def of(cls, fn: BlockFunction) -> "Endpoint | None":
        """The function of an event that is no more than that; None for every other."""
        function = fn.fn
        plain = not (fn.preprocess or fn.postprocess or fn.batch or fn.validator or fn.cancels or fn.renderable)
        if function is None or not plain or fn.connection == "stream" or hasattr(function, "cache"):
            return None
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            return None
        if inspect.iscoroutinefunction(function) or len(fn.outputs) != 1:
            return None
        marks: list[Any] = [object() for _ in fn.inputs]
        request = gr.Request()
        given, progress_at, event_data_at, props_at = special_args(function, list(marks), request)
        places = [place for place, each in enumerate(given) if each is request]
        if progress_at is not None or event_data_at is not None or props_at or len(given) != len(marks) + len(places):
            return None
        needed = [each.default is each.empty for each in inspect.signature(function).parameters.values()]
        # Gradio's own routes ask for every value, so that a parameter more would break each call that lacks it.
        return cls(fn, places[0] if places else None, sum(needed) - len(places))


class Called(Event):
    """A call in the line; `answer` is there when it ended."""

    def __init__(self, endpoint: Endpoint, data: list[Any], session_hash: str | None, request: Request) -> None:
        super().__init__(session_hash, endpoint.fn, request, None)
        self.endpoint = endpoint
        self.given = data
        self.answer: asyncio.Future[Told] = asyncio.get_running_loop().create_future()

    def run(self, blocks: gr.Blocks) -> Told:
        """Call the endpoint in this thread, as Gradio would."""
        request = gr.Request(self.request, session_hash=self.session_hash)
        # Whoever asked may not fetch the answer for a while.
        given, self.given = list(self.given), []
        if self.endpoint.request_at is not None:
            given.insert(self.endpoint.request_at, request)
        assert self.fn.fn is not None  # noqa: S101
        function = get_function_with_locals(self.fn.fn, blocks, self._id, True, request, None)
        try:
            return Told.of(True, [function(*given)])
        except Exception as error:
            if not isinstance(error, Error) or error.print_exception:
                _log.exception("%s failed", self.fn.api_name)
            said: Mapping[str, Any] = error_payload(error, show_error=False)
            return Told.of(False, said)
