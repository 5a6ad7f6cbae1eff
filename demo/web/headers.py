"""Adds security headers to every answer, and a nonce, a link preview and a masthead to the page."""

import html
import re
import secrets

import brotli
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from demo.language import N_, _, direction, language
from demo.language.scripts import script_texts
from demo.theme import ASSETS

_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Permitted-Cross-Domain-Policies": "none",
    "X-Robots-Tag": "noarchive",
}
_MASTHEAD = (ASSETS / "first_paint.html").read_text(encoding="utf-8")
"""The HTML shown until Gradio's JavaScript has drawn the page, when it hides itself; `{motto}` is filled in."""

MOTTO = N_("see what a Transformer reads")
TITLE = N_("Clearhead: see what a Transformer reads")
DESCRIPTION = N_(
    "Type a sentence: a Transformer fills blanks, judges, answers, translates or writes on, and the page shows in your "
    "own words what it looked at and how sure it was."
)
_PICTURE = "preview.png"
_FOREIGN_TAGS = re.compile(rb'\s*<meta\s+(?:property="og:|name="twitter:)[^>]*>')
_PACKED = ("/", "/config", "/config/")


def content_security_policy(frame_ancestors: str | None = None, nonce: str = "") -> str:
    """The Content-Security-Policy: everything from this server only, and scripts only with `nonce`.

    Gradio builds the scripts of its HTML components and plotly its drawing code from text, hence 'unsafe-eval'; both
    set styles on elements, hence 'unsafe-inline' for styles. Neither lets markup in a text run a script: an `onerror`
    or a `<script>` that slipped into the page has no nonce.
    """
    allowed = f" 'nonce-{nonce}'" if nonce else ""
    framed_by = frame_ancestors or "'self'"
    return (
        f"default-src 'self'; script-src 'self'{allowed} 'unsafe-eval'; script-src-attr 'none'; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
        "media-src 'self' data: blob:; worker-src 'self' blob:; connect-src 'self' data: blob:; object-src 'none'; "
        f"base-uri 'self'; form-action 'self'; frame-ancestors {framed_by}"
    )


class PackedPage:
    """Compresses the page and its configuration for clients that read gzip and no Brotli.

    Gradio compresses its files, `SecurityHeaders` the page for browsers, and nothing compresses anything else.

    The length of a compressed answer tells a little about its content (the BREACH attack, breachattack.com). The page
    and its configuration hold neither a session nor a visitor's text, and the page's nonce is new at each load.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.packed = GZipMiddleware(app, minimum_size=500, compresslevel=6)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on, and compress the answer if it is the page."""
        is_page = scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and scope["path"] in _PACKED
        await (self.packed if is_page else self.app)(scope, receive, send)


class SecurityHeaders:
    """Adds the headers to every answer, and to each script of a page the nonce of its policy; compresses the page."""

    def __init__(self, app: ASGIApp, frame_ancestors: str | None = None, root_path: str | None = None) -> None:
        self.app = app
        self.frame_ancestors = frame_ancestors
        self.root_path = root_path or ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on; the start of a page is held back until its scripts have their nonce."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start: Message | None = None
        page = b""

        async def send_with_headers(message: Message) -> None:
            nonlocal start, page
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                headers.update(_ALWAYS)
                headers["Content-Security-Policy"] = content_security_policy(self.frame_ancestors)
                if headers.get("content-type", "").startswith("text/html"):
                    start = message
                    return
            elif start is not None:
                page += message.get("body", b"")
                if not message.get("more_body", False):
                    await self._send_page(start, page, scope, send)
                return
            await send(message)

        await self.app(scope, receive, send_with_headers)

    async def _send_page(self, start: Message, page: bytes, scope: Scope, send: Send) -> None:
        nonce = secrets.token_urlsafe(16)
        page = with_preview(page, str(Request(scope).base_url.replace(path=f"{self.root_path}/")))
        code = language()
        page = page.replace(b'lang="en"', f'lang="{code}" dir="{direction(code)}"'.encode(), 1)
        masthead = _MASTHEAD.replace("{motto}", html.escape(_(MOTTO)))
        page = page.replace(b"<gradio-app", f"{masthead}<script>{script_texts()}</script><gradio-app".encode(), 1)
        # Gradio escapes "<" in everything that it writes into its scripts, so each "<script" does begin a script.
        page = page.replace(b"<script", f'<script nonce="{nonce}"'.encode())
        headers = MutableHeaders(raw=start["headers"])
        headers["Content-Security-Policy"] = content_security_policy(self.frame_ancestors, nonce)
        if page and "br" in Headers(scope=scope).get("accept-encoding", ""):
            # Brotli makes the page three fifths of its size in gzip, in less time.
            page = brotli.compress(page, quality=5)
            headers["Content-Encoding"] = "br"
            headers.add_vary_header("Accept-Encoding")
        if "content-length" in headers and page:
            headers["Content-Length"] = str(len(page))
        await send(start)
        await send({"type": "http.response.body", "body": page})


def with_preview(page: bytes, address: str) -> bytes:
    """The HTML of the page at `address` with tags that tell chats how to show a link to it (Open Graph, ogp.me).

    They take the place of Gradio's, which say "Gradio"; a page without those stays as it is.
    """
    if not _FOREIGN_TAGS.search(page):
        return page
    tags = {
        'name="description"': _(DESCRIPTION),
        'property="og:type"': "website",
        'property="og:site_name"': "Clearhead",
        'property="og:title"': _(TITLE),
        'property="og:description"': _(DESCRIPTION),
        'property="og:url"': address,
        'property="og:image"': address + _PICTURE,
        'property="og:image:width"': "1200",
        'property="og:image:height"': "630",
        'name="twitter:card"': "summary_large_image",
    }
    ours = "".join(f'<meta {name} content="{html.escape(content)}" />\n' for name, content in tags.items())
    return _FOREIGN_TAGS.sub(b"", page).replace(b"</head>", ours.encode() + b"</head>", 1)


async def _picture(_request: Request) -> Response:
    return FileResponse(ASSETS / _PICTURE, headers={"Cache-Control": "max-age=86400"})


preview_route = Route(f"/{_PICTURE}", _picture)
