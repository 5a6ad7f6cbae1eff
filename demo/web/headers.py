"""The headers that every answer carries; the page also gets a nonce for its scripts, link preview and masthead."""

import secrets

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from demo.web.first_paint import with_first_paint
from demo.web.preview import with_preview

_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Permitted-Cross-Domain-Policies": "none",
    "X-Robots-Tag": "noarchive",
}
_UNTOLD = ("server", "x-powered-by")
_SCRIPT = b"<script"


def content_security_policy(frame_ancestors: str | None = None, nonce: str = "") -> str:
    """What the page may load: from this server only, and scripts in it only with `nonce`.

    Gradio builds the scripts of its HTML components and plotly its drawing code from text, hence 'unsafe-eval'; both
    set styles on elements, hence 'unsafe-inline' for styles. Neither lets markup in a text run a script: an `onerror`
    or a `<script>` that slipped into the page has no nonce.
    """
    allowed = f" 'nonce-{nonce}'" if nonce else ""
    framed_by = frame_ancestors or "'self'"
    return "; ".join(
        [
            "default-src 'self'",
            f"script-src 'self'{allowed} 'unsafe-eval'",
            "script-src-attr 'none'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "media-src 'self' data: blob:",
            "worker-src 'self' blob:",
            "connect-src 'self' data: blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            f"frame-ancestors {framed_by}",
        ]
    )


class SecurityHeaders:
    """Adds the headers to every answer, and the policy's nonce to each script that a page of ours brings."""

    def __init__(self, app: ASGIApp, frame_ancestors: str | None = None, root_path: str | None = None) -> None:
        self.app = app
        self.frame_ancestors = frame_ancestors
        self.root_path = root_path or ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on; nothing but the answer is touched."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        address = str(Request(scope).base_url.replace(path=f"{self.root_path}/"))
        await self.app(scope, receive, _Answer(send, address, self.frame_ancestors))


class _Answer:
    """A `send` that holds the start of a page back until its scripts have their nonce."""

    def __init__(self, send: Send, address: str, frame_ancestors: str | None) -> None:
        self.send = send
        self.address = address
        self.frame_ancestors = frame_ancestors
        self.start: Message | None = None
        self.page = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message["headers"]))
            for name in _UNTOLD:
                del headers[name]
            headers.update(_ALWAYS)
            is_page = headers.get("content-type", "").startswith("text/html") and "content-encoding" not in headers
            message["headers"] = headers.raw
            if is_page:
                self.start = message
                return
            headers["Content-Security-Policy"] = content_security_policy(self.frame_ancestors)
            await self.send(message)
        elif self.start is None:
            await self.send(message)
        else:
            self.page += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_page(self.start)

    async def _send_page(self, start: Message) -> None:
        nonce = secrets.token_urlsafe(16)
        # Gradio escapes "<" in everything that it writes into its scripts, so each of these begins a script of its own.
        page = with_first_paint(with_preview(self.page, self.address)) if self.page else b""
        page = page.replace(_SCRIPT, _SCRIPT + f' nonce="{nonce}"'.encode())
        headers = MutableHeaders(raw=start["headers"])
        headers["Content-Security-Policy"] = content_security_policy(self.frame_ancestors, nonce)
        if "content-length" in headers and page:
            headers["Content-Length"] = str(len(page))
        self.start = None
        await self.send(start)
        await self.send({"type": "http.response.body", "body": page})
