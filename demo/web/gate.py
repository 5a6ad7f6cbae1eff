"""The gate: which paths exist, who may post to them, and how much.

Gradio brings routes for uploads, files, proxies, recordings, deep links and more. The page needs none of them, so what
is not listed here is not there.
"""

import asyncio
import logging
import re
from collections import Counter
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from demo.web.asgi import TooLarge, read_body, refuse, replay
from demo.web.call import MALFORMED, NO_FILES
from demo.web.streams import counted
from demo.web.visitors import Visitors

_log = logging.getLogger(__name__)

_NAME = r"[A-Za-z0-9_]{1,64}"
_ID = r"[A-Za-z0-9_.-]{1,128}"
_READ = re.compile(
    rf"""/|/config/?|/theme\.css|/favicon\.ico|/manifest\.json|/robots\.txt|/pwa_icon|/preview\.png|/monitoring/summary
    |/(assets|static|svelte)/[A-Za-z0-9_./+@-]+
    |/(healthz|readyz|metrics|host)
    |/gradio_api/(info/?|openapi\.json|theme\.css|startup-events|app_id/?|user/?|login_check/?)
    |/gradio_api/(queue/data|queue/status|heartbeat/{_ID}|call/(v2/)?{_NAME}/{_ID})
    |/gradio_api/mcp(/|/http/?|/schema/?)?""",
    re.VERBOSE,
)
_POST = re.compile(
    rf"""/gradio_api/(queue/join|cancel|reset/?|(run|api|call|call/v2)/{_NAME}/?|mcp(/|/http/?)?)""", re.VERBOSE
)
_CALLED = re.compile(r"/gradio_api/call/")
_UPLOADS = re.compile(r"(/gradio_api)?/(upload|process_recording|component_server)")
_NOT_HERE = "There is nothing here."
_NOT_FROM_THERE = "Calls from the pages of other sites are not answered."
_TOO_LARGE = "That is more than this page reads at once. Please shorten it."
_TOO_SLOW = "The rest of this call did not arrive. Please try again."
_TOO_MANY = "Very many calls from your address have arrived in part. Please try again in a second."
_MCP = "/gradio_api/mcp"

BODY_WITHIN_S = 60.0
"""How long the body of a call may take to arrive: the largest in a fifth of that over a slow phone."""

_MOST_UNREAD = 100
"""How many calls of one caller may be on their way at once: each holds memory until it is whole."""


class Gate:
    """Lets a call through whose path is known, whose origin is this page or no page, and that is not too large."""

    def __init__(self, app: ASGIApp, most_bytes: int, visitors: Visitors, body_within_s: float = BODY_WITHIN_S) -> None:
        self.app = app
        self.most_bytes = most_bytes
        self.visitors = visitors
        self.body_within_s = body_within_s
        self._arriving: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse with one sentence, or pass the call on with its body whole."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        path, method = scope["path"], scope["method"]
        if _UPLOADS.match(path):
            await refuse(scope, receive, send, 403, NO_FILES)
        elif not _is_known(path, method):
            await refuse(scope, receive, send, 404, _NOT_HERE)
        elif _is_foreign(scope):
            await refuse(scope, receive, send, 403, _NOT_FROM_THERE)
        elif method == "POST":
            await self._post(scope, receive, send)
        else:
            await self._pass_on(scope, receive, send)

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = self.visitors.caller(scope)
        if self._arriving[caller] >= _MOST_UNREAD:
            await refuse(scope, receive, send, 429, _TOO_MANY, {"Retry-After": "1"})
            return
        try:
            with counted(self._arriving, caller):
                async with asyncio.timeout(self.body_within_s):
                    body = await read_body(scope, receive, self.most_bytes)
        except TooLarge:
            await refuse(scope, receive, send, 413, _TOO_LARGE)
            return
        except TimeoutError:
            await refuse(scope, receive, send, 408, _TOO_SLOW, {"Connection": "close"})
            return
        await self._pass_on(scope, replay(body, receive), send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        # FastAPI answers a call that does not fit with a list of what is wrong, in a shape of its own. Of a call to an
        # endpoint, the function itself runs later, in the queue: what fails at once is a call that does not fit it.
        called = _CALLED.match(scope["path"]) is not None
        answer = _Unless(send, (422, 500) if called else (422,))
        try:
            await self.app(_without_origin(scope), receive, answer)
        except Exception:
            if not answer.kept_back:
                raise
            _log.info("a malformed call to %s", scope["path"])
        if answer.kept_back:
            await refuse(scope, receive, send, 400, MALFORMED)


class _Unless:
    """A `send` that keeps answers of some statuses to itself."""

    def __init__(self, send: Send, statuses: tuple[int, ...]) -> None:
        self.send = send
        self.statuses = statuses
        self.kept_back = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] in self.statuses:
            self.kept_back = True
        if not self.kept_back:
            await self.send(message)


def _is_known(path: str, method: str) -> bool:
    if ".." in path or "//" in path:
        return False
    if method in ("GET", "HEAD"):
        return _READ.fullmatch(path) is not None
    if method == "DELETE":
        return path.startswith(_MCP) and _POST.fullmatch(path) is not None
    return method == "POST" and _POST.fullmatch(path) is not None


def _is_foreign(scope: Scope) -> bool:
    """Whether a page of another site sends this call: only that page's browser would say so, and it always does.

    Reading is let through: without a header that shares it, no other page gets to see the answer.
    """
    headers = Headers(scope=scope)
    origin = headers.get("origin")
    if origin is None or scope["method"] in ("GET", "HEAD"):
        return False
    hosts = {_host_name(headers.get("host", "")), _host_name(headers.get("x-forwarded-host", "").split(",")[0])}
    return _host_name(origin) not in hosts - {""}


def _without_origin(scope: Scope) -> Scope:
    """The call without its origin, so that Gradio, which shares answers with whoever asks, shares them with nobody."""
    headers = MutableHeaders(raw=list(scope["headers"]))
    del headers["origin"]
    return {**scope, "headers": headers.raw}


def _host_name(address: str) -> str:
    """The name of the host in an origin or a `Host` header, "" for none."""
    try:
        return urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        return ""
