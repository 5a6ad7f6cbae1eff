"""A worker: an ASGI application whose models answer the pages of other processes over HTTP.

`uvicorn --factory models.backend.worker:create_worker` serves one; `models.backend.ray_serve` lets Ray Serve keep
several. It trusts every caller, so keep its port within the pages' own network.
"""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from inspect import isgenerator
from pickle import UnpicklingError

from starlette.applications import Starlette
from starlette.requests import Request as Call
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from models.backend.wire import (
    ALIVE,
    ALIVE_EVERY_S,
    RELEASE,
    Ended,
    Failed,
    Request,
    Value,
    frame,
    load,
    refusal,
    release,
)
from models.cancellation import only_while
from models.engine import DEFAULT_SETTINGS
from models.errors import InputError
from models.loading import silent
from models.loading.store import ModelStore
from models.registry import REGISTRY, Checkpoint, find

_log = logging.getLogger(__name__)
_AT_ONCE = 8
_STEPS_EVERY_S = 0.02
"""Steps within this time are sent in one chunk, since a chunk costs the proxy more work than a step."""

_ENDED = object()


class Worker:
    """A worker, which answers the requests of pages by the models of `store`, at most `at_once` at the same time."""

    def __init__(self, store: ModelStore, at_once: int = _AT_ONCE) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(at_once, "ask")

    async def answer(self, call: Call) -> Response:
        """Stream the frames that answer a request; if the page disconnects, the computation is cancelled."""
        if call.headers.get(RELEASE) != release():
            return PlainTextResponse(f"This worker has models {release()}.", 409)
        try:
            asked = load(await call.body())
        except UnpicklingError as error:
            return PlainTextResponse(str(error), 400)
        return StreamingResponse(self._frames(asked), media_type="application/octet-stream")

    async def _frames(self, asked: Request) -> AsyncIterator[bytes]:
        loop, found, gone = asyncio.get_running_loop(), asyncio.Queue[bytes | None](), threading.Event()

        def send(each: bytes | None) -> None:
            loop.call_soon_threadsafe(found.put_nowait, each)

        job = self._threads.submit(self._work, asked, send, lambda: not gone.is_set())
        try:
            while True:
                try:
                    each = await asyncio.wait_for(found.get(), ALIVE_EVERY_S)
                except TimeoutError:
                    yield ALIVE
                    continue
                if each is None:
                    return
                yield each
        finally:
            gone.set()
            # A job that still waits for a thread is never run.
            job.cancel()

    def _work(self, asked: Request, send: Callable[[bytes | None], None], wanted: Callable[[], bool]) -> None:
        """Send the frames of an answer, then `None`."""
        try:
            with only_while(wanted):
                model = self._store.load(_checkpoint(asked), silent, asked.task)
                result = asked.ask(model, *asked.arguments, **asked.options)
            if isgenerator(result):
                steps, sent_at = b"", 0.0
                # `only_while` is opened for each step, since it must not stay open while a generator is suspended.
                while True:
                    with only_while(wanted):
                        step = next(result, _ENDED)
                    if step is _ENDED:
                        break
                    steps += frame(Value(step))
                    if time.monotonic() - sent_at >= _STEPS_EVERY_S:
                        send(steps)
                        steps, sent_at = b"", time.monotonic()
                send(steps + frame(Ended()))
            else:
                send(frame(Value(result)) + frame(Ended()))
        except InputError as error:
            send(frame(refusal(error)))
        except Exception:
            _log.exception("%s of %s failed", getattr(asked.ask, "__name__", asked.ask), asked.checkpoint)
            send(frame(Failed()))
        send(None)


def _checkpoint(asked: Request) -> Checkpoint:
    return REGISTRY[asked.checkpoint] if asked.task is None else find(asked.checkpoint, asked.task)


async def _healthz(_call: Call) -> Response:
    return PlainTextResponse("alive")


def create_worker() -> Starlette:
    """The application of a worker with its own store."""
    worker = Worker(ModelStore(engine=DEFAULT_SETTINGS))
    asked = [Route(path, worker.answer, methods=["POST"]) for path in ("/ask", "/ask/{checkpoint}")]
    return Starlette(routes=[*asked, Route("/healthz", _healthz)])
