"""The gate: lists the paths that exist, and limits the origin, size and duration of what is posted to them.

Gradio brings routes for uploads, files, proxies, recordings, deep links and more. The page needs none of them, so any
path that is not listed here is refused.
"""

import asyncio
import logging
import re
from collections import Counter
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from demo.language import N_, _
from demo.web.call import MALFORMED, NO_FILES, refuse, replay
from demo.web.visitors import Visitors, counted

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
_DELETE = re.compile(r"/gradio_api/mcp(/|/http/?)?")
_POST = re.compile(rf"/gradio_api/(queue/join|cancel|reset/?|(run|api|call|call/v2)/{_NAME}/?)|{_DELETE.pattern}")
_PATHS = {"GET": _READ, "HEAD": _READ, "POST": _POST, "DELETE": _DELETE}
_UPLOADS = re.compile(r"(/gradio_api)?/(upload|process_recording|component_server)")
_NOT_HERE = N_("There is nothing here.")
_NOT_FROM_THERE = N_("Calls from the pages of other sites are not answered.")
_TOO_LARGE = N_("That is more than this page reads at once. Please shorten it.")
_TOO_SLOW = N_("The rest of this call did not arrive. Please try again.")
_TOO_MANY = N_("Very many calls from your address have arrived in part. Please try again in a second.")

BODY_WITHIN_S = 60.0
"""The seconds that the body of a call may take to arrive; the largest takes a fifth of that over a slow phone."""

_MOST_UNREAD = 100
"""The most calls of one caller that may be arriving at once: each holds memory until its body is complete."""


class Gate:
    """ASGI middleware that passes a call with a known path, from this page or no page, and of an allowed size."""

    def __init__(self, app: ASGIApp, most_bytes: int, visitors: Visitors, body_within_s: float = BODY_WITHIN_S) -> None:
        self.app = app
        self.most_bytes = most_bytes
        self.visitors = visitors
        self.body_within_s = body_within_s
        self._arriving: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the call with one sentence, or pass it on with its complete body."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        path, known = scope["path"], _PATHS.get(scope["method"])
        if _UPLOADS.match(path):
            await refuse(scope, receive, send, 403, _(NO_FILES))
        elif not known or not known.fullmatch(path) or ".." in path or "//" in path:
            await refuse(scope, receive, send, 404, _(_NOT_HERE))
        elif _is_foreign(scope):
            await refuse(scope, receive, send, 403, _(_NOT_FROM_THERE))
        elif scope["method"] == "POST":
            await self._post(scope, receive, send)
        else:
            await self._pass_on(scope, receive, send)

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = self.visitors.caller(scope)
        if self._arriving[caller] >= _MOST_UNREAD:
            await refuse(scope, receive, send, 429, _(_TOO_MANY), {"Retry-After": "1"})
            return
        body = bytearray()
        try:
            with counted(self._arriving, caller):
                async with asyncio.timeout(self.body_within_s):
                    async for part in Request(scope, receive).stream():
                        body += part
                        if len(body) > self.most_bytes:
                            await refuse(scope, receive, send, 413, _(_TOO_LARGE))
                            return
        except TimeoutError:
            await refuse(scope, receive, send, 408, _(_TOO_SLOW), {"Connection": "close"})
        except ClientDisconnect:
            return
        else:
            await self._pass_on(scope, replay(bytes(body), receive), send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        # FastAPI answers a malformed call with a list of its faults, in a format of its own. An endpoint's function
        # runs later, in the queue, so a call to an endpoint that fails at once is malformed.
        misfits = (422, 500) if scope["path"].startswith("/gradio_api/call/") else (422,)
        misfit = False

        async def send_unless_misfit(message: Message) -> None:
            nonlocal misfit
            misfit = misfit or (message["type"] == "http.response.start" and message["status"] in misfits)
            if not misfit:
                await send(message)

        # Without its origin, because Gradio would share the answer with any origin that asks.
        headers = [(name, value) for name, value in scope["headers"] if name != b"origin"]
        try:
            await self.app({**scope, "headers": headers}, receive, send_unless_misfit)
        except Exception:
            if not misfit:
                raise
            _log.info("a malformed call to %s", scope["path"])
        if misfit:
            await refuse(scope, receive, send, 400, _(MALFORMED))


def _is_foreign(scope: Scope) -> bool:
    """Whether a page of another site sends this call, as the `Origin` header says, which browsers send with every post.

    Reading is let through: without a header that shares it, no page of another site gets to see the answer.
    """
    headers = Headers(scope=scope)
    origin = headers.get("origin")
    if origin is None or scope["method"] in ("GET", "HEAD"):
        return False
    hosts = {_host_name(headers.get("host", "")), _host_name(headers.get("x-forwarded-host", "").split(",")[0])}
    return _host_name(origin) not in hosts - {""}


def _host_name(address: str) -> str:
    """The name of the host in an origin or a `Host` header, "" for none."""
    try:
        return urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        return ""
