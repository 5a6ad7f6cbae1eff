"""Options and wrappers of events: run at once or in the models' queue, errors as one sentence, end if a client left."""

import html
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import gradio as gr

from demo.language import _, language, spoken
from demo.looks import OUR_FAULT
from demo.settings import MODEL_QUEUE, Settings
from demo.web.gradio_private import asker_is_there
from demo.web.traces import failed
from models.cancellation import only_while
from models.errors import InputError
from models.loading import Progress

_log = logging.getLogger(__name__)
_ENDED = object()

QUICK: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
"""The options of an event that needs no model: it waits in no line."""


def in_line(settings: Settings) -> dict[str, Any]:
    """The options of an event that may need a model: it waits in the line of the models."""
    return {"concurrency_id": MODEL_QUEUE, "concurrency_limit": settings.concurrency, "api_visibility": "private"}


PROGRESS = gr.Progress()
"""The default of a handler's parameter, by which Gradio knows to pass its progress bar there."""


def told(progress: gr.Progress) -> Progress:
    """The function through which models report to Gradio's progress bar, in the language of this thread's call."""
    code = language()

    def tell(fraction: float, message: str) -> None:
        # A download reports from a thread of its own, which answers no call.
        with spoken(code):
            progress(fraction, desc=_(message))

    return tell


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def for_visitors(handler: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Wrap a handler of the page so that its errors are shown as one sentence, escaped, as Gradio reads it as HTML."""
    return _speaking(handler, lambda sentence: html.escape(sentence, quote=False))


def for_callers(endpoint: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Wrap an endpoint so that its errors reach its caller as one sentence, unescaped."""
    return _speaking(endpoint, str)


def _speaking(function: Callable[Parameters, Result], as_message: Callable[[str], str]) -> Callable[Parameters, Result]:
    @contextmanager
    def errors_as_messages() -> Iterator[None]:
        try:
            yield
        except gr.Error:
            raise
        except Exception as error:
            failed(error)
            if not isinstance(error, InputError):
                _log.error("%s failed", getattr(function, "__name__", function), exc_info=error)
            sentence = error.sentence if isinstance(error, InputError) else OUR_FAULT
            raise gr.Error(as_message(_(sentence)), print_exception=False) from error

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def speaking_later(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
            with errors_as_messages():
                return await function(*args, **kwargs)

        return cast(Callable[Parameters, Result], speaking_later)

    if inspect.isgeneratorfunction(function):

        @wraps(function)
        def speaking_stream(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Iterator[Any]:
            with closing(function(*args, **kwargs)) as steps:
                while True:
                    with errors_as_messages(), only_while(asker_is_there()):
                        step = next(steps, _ENDED)
                    if step is _ENDED:
                        return
                    yield step

        return cast(Callable[Parameters, Result], speaking_stream)

    @wraps(function)
    def speaking(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with errors_as_messages(), only_while(asker_is_there()):
            return function(*args, **kwargs)

    return speaking


class Stops:
    """The pages, by Gradio's session, whose visitor pressed Stop since their last run began."""

    def __init__(self) -> None:
        self._pages: set[str] = set()

    def begins(self, request: gr.Request) -> Callable[[], bool]:
        """Note that a run of this page begins; returns a function that says whether the run is still wanted."""
        page = str(request.session_hash)
        self._pages.discard(page)
        return lambda: page not in self._pages

    def stop(self, request: gr.Request) -> None:
        """Note that the visitor pressed Stop."""
        self._pages.add(str(request.session_hash))
