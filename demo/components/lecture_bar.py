"""The bar above the page in a lecture: where the room is, what it is to see, and the way on."""

import html
import ipaddress
import re
from collections.abc import Iterable
from functools import cache
from urllib.parse import urlsplit

from demo.components.glossary import with_terms
from demo.components.qr import qr_code
from demo.lectures import Lecture, LecturePlace, query_of
from demo.recorded import EXAMPLES

_SCRIPT = EXAMPLES.parent / "scripts" / "lecture_bar.js"
_ONLY_HERE = (
    "This address leads to this computer alone. For phones, open the page under the name or number that this computer "
    "has in your network."
)


@cache
def stepping() -> str:
    """The script of the bar: keys and links turn to other steps without loading the page anew."""
    return _SCRIPT.read_text(encoding="utf-8")


def lecture_bar(place: LecturePlace) -> str:
    """The bar at a step; its links work by themselves as well."""
    lecture, number, count = place.lecture, place.number, len(place.lecture.steps)
    title = html.escape(lecture.title)
    return (
        f'<section class="lecture-step in-lecture" aria-label="Lecture" data-step="{lecture.name} {number}" '
        f'data-said="{title}, step {number} of {count}: {html.escape(place.step.title)}. {_plain(place.step.text)}">'
        f'<div class="lecture-main"><p><strong>{title}</strong> <span class="quiet">step {number} of {count}</span></p>'
        f'<h2>{html.escape(place.step.title)}</h2><p class="lecture-text">{marked(place.step.text)}</p>'
        f'<nav aria-label="Steps of the lecture">{_link(lecture, number - 1, "back", "Back")}'
        f'{_link(lecture, number + 1, "next", "Next")}<a href="?" data-go="leave">Leave lecture</a></nav>'
        f"{_reach(place.link)}</div>{_for_phones(place.link)}</section>"
    )


def lecture_refused(sentence: str) -> str:
    """What stands in the bar's place where an address names no step that there is."""
    said = f'{html.escape(sentence)} <a href="?">Go to the page.</a>'
    return f'<p class="lecture-refused in-lecture" role="alert">{said}</p>'


def lecture_list(lectures: Iterable[Lecture]) -> str:
    """The lectures to open, each by a link to its first step."""
    items = "".join(
        f'<li><a href="{html.escape(query_of(each))}">{html.escape(each.title)}</a> '
        f'<span class="quiet">{len(each.steps)} steps. {html.escape(each.about)}</span></li>'
        for each in lectures
    )
    return f"<ul>{items}</ul>"


def leads_only_here(address: str) -> bool:
    """Whether no other device can open this address."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def marked(text: str) -> str:
    """A step's text as HTML: *terms of the trade* are marked, and those of the glossary explain themselves."""
    return with_terms(re.sub(r"\*([^*]+)\*", r"<em>\1</em>", html.escape(text)))


def _link(lecture: Lecture, number: int, name: str, shown: str) -> str:
    if not 1 <= number <= len(lecture.steps):
        return f'<a role="link" aria-disabled="true" data-go="{name}">{shown}</a>'
    return f'<a href="{html.escape(query_of(lecture, number))}" data-go="{name}">{shown}</a>'


def _reach(link: str) -> str:
    return f'<p class="quiet lecture-reach">{_ONLY_HERE}</p>' if leads_only_here(link) else ""


def _for_phones(link: str) -> str:
    return (
        '<details class="lecture-link" open><summary>On your phone</summary>'
        f'<div class="lecture-code">{qr_code(link)}</div>'
        f'<p><a href="{html.escape(link)}">{_breakable(link)}</a></p></details>'
    )


def _breakable(link: str) -> str:
    """The link as text that may break before its question mark."""
    return html.escape(link).replace("?", "<wbr>?", 1)


def _plain(text: str) -> str:
    return html.escape(text.replace("*", ""))
