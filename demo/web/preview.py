"""Link previews: how chats and social sites show a link to this page (the Open Graph protocol, ogp.me).

Gradio's page says "Gradio", with a picture from another host; these tags say what the page is, with one of its own.
"""

import html
import re

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from demo.page import ASSETS

TITLE = "Clearhead: see what a Transformer reads"
DESCRIPTION = (
    "Type a sentence: a Transformer fills blanks, judges, answers, translates or writes on, and the page shows in your "
    "own words what it looked at and how sure it was."
)
_PICTURE = "preview.png"
_FOREIGN_TAGS = re.compile(rb'\s*<meta\s+(?:property="og:|name="twitter:)[^>]*>')


def with_preview(page: bytes, address: str) -> bytes:
    """The HTML of the page at `address` with our tags in the place of Gradio's; a page without those stays as it is."""
    if not _FOREIGN_TAGS.search(page):
        return page
    tags = {
        'name="description"': DESCRIPTION,
        'property="og:type"': "website",
        'property="og:site_name"': "Clearhead",
        'property="og:title"': TITLE,
        'property="og:description"': DESCRIPTION,
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
"""Where the picture is."""
