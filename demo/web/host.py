"""The routes for the host and for what watches the process: alive, ready, and behind a password the host's numbers."""

import base64
import binascii
import hashlib
import hmac
import math
import time
from collections.abc import Callable

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from demo.web.admission import Pace
from demo.web.host_page import HostView
from demo.web.state import Ready
from demo.web.visitors import Visitors

_TRIES = 10
"""How many wrong passwords one caller may try in a minute."""

_NO_STORE = {"Cache-Control": "no-store"}


class Password:
    """The host's password: compared in constant time, and not at all for who gave ten wrong ones within a minute.

    Wrong ones are counted by caller, so that a stranger cannot keep the host out.
    """

    def __init__(self, password: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._digest = _digest(password.encode())
        self._wrong = Pace(_TRIES, clock)

    def refusal(self, authorization: str, caller: str) -> Response | None:
        """The answer for a caller who may not come in; None for the host."""
        if wait_s := self._wrong.wait_s(caller):
            wait = {"Retry-After": str(math.ceil(wait_s))}
            return PlainTextResponse("Too many wrong passwords. Please wait a minute.", 429, _NO_STORE | wait)
        if hmac.compare_digest(_digest(_given(authorization)), self._digest):
            return None
        if authorization:
            self._wrong.count(caller)
        ask = {"WWW-Authenticate": 'Basic realm="Clearhead, for its host", charset="UTF-8"'}
        return PlainTextResponse("This page is for the host.", 401, _NO_STORE | ask)


def routes(ready: Ready, view: Callable[[], HostView], password: str | None, visitors: Visitors) -> list[Route]:
    """The routes; without a password the host's page and the metrics are not there."""

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("alive", headers=_NO_STORE)

    async def readyz(_request: Request) -> Response:
        found = await ready()
        said = {"database": found.database, "model": found.model}
        return JSONResponse(said, 200 if found.ready else 503, _NO_STORE)

    watched = [Route("/healthz", healthz), Route("/readyz", readyz)]
    if not password:
        return watched
    door = Password(password)

    def refused(request: Request) -> Response | None:
        return door.refusal(request.headers.get("authorization", ""), visitors.caller(request.scope))

    async def host(request: Request) -> Response:
        refusal = refused(request)
        return refusal or HTMLResponse(await run_sync(view().page), headers=_NO_STORE)

    async def metrics(request: Request) -> Response:
        refusal = refused(request)
        return refusal or PlainTextResponse(
            view().prometheus(), headers=_NO_STORE, media_type="text/plain; version=0.0.4"
        )

    return [*watched, Route("/host", host), Route("/metrics", metrics)]


def _given(authorization: str) -> bytes:
    """The password in an `Authorization` header, whatever the name before it."""
    scheme, _, encoded = authorization.partition(" ")
    try:
        name_and_password = base64.b64decode(encoded, validate=True) if scheme.lower() == "basic" else b""
    except (binascii.Error, ValueError):
        return b""
    return name_and_password.partition(b":")[2]


def _digest(password: bytes) -> bytes:
    # Of one length, so that comparing takes the same time however long the guess is.
    return hashlib.sha256(password).digest()
