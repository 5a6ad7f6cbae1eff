"""The bar of a lecture: title, text, step and the QR code that opens it on a phone."""

import html
import ipaddress
import re
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

import psutil

from demo.language import _, ngettext
from demo.lectures import Lecture, LecturePlace, query_of
from demo.widgets.glossary import with_terms

_VIRTUAL = re.compile(r"^(docker|br-|veth|virbr|vmnet|vboxnet|cni|flannel)")
"""Virtual networks between this computer and programs in it, which no phone can reach."""


def qr_code(link: str) -> str:
    """The QR code of `link` as an SVG of its container's width; dark on light in both themes, as some phones need."""
    import segno  # only lectures need it: the page opens without

    # The standard asks for four light modules around the code.
    picture = segno.make_qr(link, error="m").svg_inline(
        omitsize=True, border=4, dark="#000", light="#fff", svgclass=None, lineclass=None
    )
    name = html.escape(_("QR code of {link}", link=link))
    return picture.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)


def lecture_bar(place: LecturePlace, notice: str = "") -> str:
    """HTML of the bar at a step; its links also work without scripts. `notice` is HTML above the QR code."""
    lecture, number, count = place.lecture, place.number, len(place.lecture.steps)
    title, step, text = _(lecture.title), _(place.step.title), _(place.step.text)
    said = _(
        "{lecture}, step {number} of {count}: {step}. {text}",
        lecture=title,
        number=number,
        count=count,
        step=step,
        text=text.replace("*", ""),
    )
    where = _("step {number} of {count}", number=number, count=count)
    whole_page = (
        '<button type="button" class="lecture-whole" aria-pressed="false" aria-keyshortcuts="m">'
        f"{_('Whole page')} <kbd>m</kbd></button>"
    )
    return (
        f'<section class="lecture-step in-lecture" aria-label="{_("Lecture")}" data-step="{lecture.name} {number}" '
        f'data-picture="{place.step.picture}" data-said="{html.escape(said)}">'
        f'<div class="lecture-main"><p><strong>{html.escape(title)}</strong> <span class="quiet">{where}</span></p>'
        f'<h2>{html.escape(step)}</h2><p class="lecture-text">{marked(text)}</p>'
        f'<nav aria-label="{_("Steps of the lecture")}">{_link(place, -1, "back", _("Back"))}'
        f'{_link(place, 1, "next", _("Next"))}<a href="?" data-go="leave">{_("Leave lecture")}</a>{whole_page}'
        f'<details class="lecture-link"><summary>{_("On your phone")}</summary><div class="lecture-card">{notice}'
        f'<div class="lecture-code">{qr_code(place.link)}</div>'
        f'<p><a href="{html.escape(place.link)}">{_breakable(place.link)}</a></p></div></details>'
        "</nav></div></section>"
    )


def lecture_refused(sentence: str) -> str:
    """HTML of `sentence` in place of the bar, for an address whose lecture or step does not exist."""
    said = f'{html.escape(sentence)} <a href="?">{_("Go to the page.")}</a>'
    return f'<p class="lecture-refused in-lecture" role="alert">{said}</p>'


def lecture_list(lectures: Iterable[Lecture]) -> str:
    """HTML list of the lectures, each with a link to its first step."""
    items = "".join(
        f'<li><a href="{html.escape(query_of(each))}">{html.escape(_(each.title))}</a> <span class="quiet">'
        f"{ngettext('{count} step.', '{count} steps.', len(each.steps))} {html.escape(_(each.about))}</span></li>"
        for each in lectures
    )
    return f"<ul>{items}</ul>"


def leads_only_here(address: str) -> bool:
    """Whether `address` has a loopback host, which no other device can open."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def reach_notice(link: str, host: str | None, *, own: bool) -> str:
    """HTML that tells how to make `link` open on phones; "" where it does already.

    `host` is the address that the app listens on. This computer's addresses are shown to its `own` user only.
    """
    if not leads_only_here(link):
        return ""
    sentences = [_("No phone can open this address.")]
    if not _on_all_addresses(host):
        sentences.append(_("Start the app with <code>CLEARHEAD_HOST=0.0.0.0</code>."))
    parts = urlsplit(link)
    port = f":{parts.port}" if parts.port else ""
    links = [parts._replace(netloc=each + port).geturl() for each in network_addresses()] if own else []
    items = "".join(f'<li><a href="{html.escape(each)}">{_breakable(each)}</a></li>' for each in links)
    sentences.append(
        _("Open the page here at an address that phones reach too:")
        if links
        else _("Open the page here at an address that phones reach too.")
    )
    return f'<div class="lecture-reach"><p>{" ".join(sentences)}</p><ul>{items}</ul></div>'


def _on_all_addresses(host: str | None) -> bool:
    try:
        return host is not None and ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def network_addresses() -> list[str]:
    """The IPv4 addresses at which other devices may reach this computer."""
    running = psutil.net_if_stats()
    found = [
        each.address
        for name, addresses in psutil.net_if_addrs().items()
        if name in running and running[name].isup and not _VIRTUAL.match(name)
        for each in addresses
        if each.family == socket.AF_INET
    ]
    return [each for each in found if not (ipaddress.ip_address(each).is_loopback or each.startswith("169.254."))]


def marked(text: str) -> str:
    """A step's text as HTML: words between asterisks are emphasised, and glossary terms open their sentences."""
    return with_terms(re.sub(r"\*([^*]+)\*", r"<em>\1</em>", html.escape(text)))


def _link(place: LecturePlace, by: int, name: str, shown: str) -> str:
    number = place.number + by
    if not 1 <= number <= len(place.lecture.steps):
        return f'<a role="link" aria-disabled="true" data-go="{name}">{shown}</a>'
    return f'<a href="{html.escape(query_of(place.lecture, number, place.room))}" data-go="{name}">{shown}</a>'


def _breakable(link: str) -> str:
    """The link as text that may break before its question mark."""
    return html.escape(link).replace("?", "<wbr>?", 1)
