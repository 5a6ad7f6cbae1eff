"""What stands on the page before Gradio's JavaScript has arrived and drawn it: the masthead, in the page's colours."""

from demo.page import ASSETS

_MASTHEAD = (ASSETS / "first_paint.html").read_bytes()
_APP = b"<gradio-app"


def with_first_paint(page: bytes) -> bytes:
    """The page's HTML with the masthead before Gradio's element; it hides itself once Gradio has drawn its own."""
    return page.replace(_APP, _MASTHEAD + _APP, 1)
