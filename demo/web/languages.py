"""Answers each call in its visitor's language, and makes the switch between the languages."""

import html

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from demo.language import LANGUAGES, _, asked_for, language, language_of, speak_to_callers
from demo.web.gradio_private import headers_of_call


class Languages:
    """Answers every call in the language that it asks for: its visitor's choice, kept in a cookie, or the browser's."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        # Gradio runs most handlers outside of the call that asked for them.
        speak_to_callers(headers_of_call)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on; an HTML answer gets a `Content-Language` header."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        code = language_of(Headers(scope=scope))

        async def send_in_language(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                if headers.get("content-type", "").startswith("text/html"):
                    headers["Content-Language"] = code
                    headers.add_vary_header("Accept-Language, Cookie")
            await send(message)

        with asked_for(code):
            await self.app(scope, receive, send_in_language)


def switch() -> str:
    """The HTML menu of languages, each by its own name; `assets/scripts/languages.js` keeps the choice."""
    options = "".join(
        f'<option value="{code}" lang="{code}"{" selected" if code == language() else ""}>{html.escape(name)}</option>'
        for code, name in LANGUAGES.items()
    )
    return f'<select class="languages" aria-label="{html.escape(_("Language of the page"))}">{options}</select>'
