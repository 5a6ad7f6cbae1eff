"""OpenTelemetry traces of runs for the host: where the time of a call went, and nothing about a visitor.

The trace of a call that asks for a run or a look holds the call itself, and under it `wait` (in the line) and `handle`;
under `handle` are `load` (of a model), `answer` or `look`, and `log` (the commit). A span names kinds of things only:
never a text, a sentence, an address or a session. Without `set_up` every function here does nothing.

A span's parent is kept in the call's scope and in a context variable of this module. Gradio handles a call in another
context than the one in which it arrived, and each step of a generator in a copy of that, where OpenTelemetry's own
current span could not be reset.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from demo.settings import SettingError

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from demo.web.collector import Collector

_SPAN = "clearhead.span"
"""The key of a request's scope under which the span of its call is."""

_collector: "Collector | None" = None
_current: ContextVar["Span | None"] = ContextVar("span", default=None)


def set_up(address: str | None) -> None:
    """Send the traces of this process to the collector at `address`, if one is named; raises `SettingError`."""
    global _collector
    if not address:
        return
    named = urlsplit(address)
    if named.scheme not in ("http", "https") or not named.hostname:
        raise SettingError(
            f"CLEARHEAD_TRACES must be the address of a collector, such as http://localhost:4318, not {address!r}."
        )
    try:
        # Only hosts that want traces have the packages that this needs.
        from demo.web.collector import Collector
    except ImportError as error:
        raise SettingError(
            "CLEARHEAD_TRACES needs packages of its own: pip install -r requirements-traces.txt -c constraints.txt."
        ) from error
    _collector = Collector(address)


def close() -> None:
    """Send what has not been sent yet, which takes a few seconds at most."""
    if _collector is not None:
        _collector.close()


@contextmanager
def of_call(scope: Scope) -> Iterator[Scope]:
    """Open the span of a call that asks for a run, as part of its proxy's trace; yields the scope to pass on."""
    if _collector is None:
        yield scope
        return
    route = str(scope["path"]).rstrip("/")
    # The other header of a trace, tracestate, may hold anything, so it is not passed on.
    parent = _collector.parent_in(Headers(scope=scope).get("traceparent", ""))
    attributes = {"http.request.method": scope["method"], "http.route": route}
    with _within(_collector.begin(f"{scope['method']} {route}", parent, attributes, is_call=True)) as span:
        yield {**scope, _SPAN: span}


@contextmanager
def handling(scope: Scope, handler: str, waited_s: float) -> Iterator[None]:
    """Open the span of a call's handler, as the call leaves the queue after `waited_s` seconds, if it is traced."""
    call = scope.get(_SPAN)
    if _collector is None or call is None:
        yield
        return
    now = time.time_ns()
    _collector.begin("wait", call, {}, start_ns=now - int(waited_s * 1e9)).end(now)
    with _within(_collector.begin("handle", call, {"clearhead.handler": handler})):
        yield


def span(name: str, **attributes: Any) -> AbstractContextManager[dict[str, Any]]:
    """Open a span within the current one; yields its attributes, to which more may be added until it ends."""
    parent = _current.get()
    if _collector is None or parent is None:
        return nullcontext(attributes)
    return _part(_collector.begin(name, parent, {}), attributes)


def failed(error: Exception | str) -> None:
    """Mark the span of the call, or of its handler, as failed, with an error's class or the name of a limit."""
    if (current := _current.get()) is not None:
        _fail(current, error)


@contextmanager
def _part(part: "Span", attributes: dict[str, Any]) -> Iterator[dict[str, Any]]:
    try:
        yield attributes
    except Exception as error:
        _fail(part, error)
        raise
    finally:
        part.set_attributes({f"clearhead.{key}": str(value) for key, value in attributes.items()})
        part.end()


@contextmanager
def _within(current: "Span") -> Iterator["Span"]:
    """Make `current` the parent of the spans of this task and its threads, until it ends with the block."""
    token = _current.set(current)
    try:
        yield current
    except Exception as error:
        _fail(current, error)
        raise
    finally:
        _current.reset(token)
        current.end()


def _fail(failing: "Span", error: Exception | str) -> None:
    from opentelemetry.trace import StatusCode

    # An error's message may hold a visitor's text, so its class is sent; the cause of one for visitors says more.
    failing.set_attribute("error.type", error if isinstance(error, str) else type(error.__cause__ or error).__name__)
    failing.set_status(StatusCode.ERROR)
