"""The QR code on the page, read by a library that did not make it."""

import re

import numpy as np
import pytest
import zxingcpp

from demo.widgets import lecture_bar
from demo.widgets.lecture_bar import leads_only_here, qr_code, reach_notice


def modules(svg: str) -> np.ndarray:
    """The dark modules `[row, column]` of a code, drawn anew from its path: moves and runs of one module's height."""
    size = int(re.findall(r'viewBox="0 0 (\d+) \1"', svg)[0])
    dark = np.zeros((size, size), dtype=bool)
    path = re.findall(r'stroke="#000" d="([^"]+)"', svg)[0]
    x, y = 0.0, 0.0
    for command, numbers in re.findall(r"([Mmh])([-\d. ]+)", path):
        by = [float(each) for each in re.findall(r"-?[\d.]+", numbers)]
        if command == "M":
            x, y = by
        elif command == "m":
            x, y = x + by[0], y + by[1]
        else:
            dark[int(y), int(x) : int(x + by[0])] = True
            x += by[0]
    return dark


@pytest.mark.parametrize(
    "link",
    [
        "http://127.0.0.1:7860/?lecture=attention&step=1",
        "https://clearhead.example.org/demo/?lecture=how-bert-was-trained-in-our-own-words&step=12",
        "http://[2001:db8::7]:7860/?lecture=gpt-2&step=9",
    ],
)
def test_a_phone_reads_the_link(link: str) -> None:
    dark = modules(qr_code(link))
    picture = np.where(np.kron(dark, np.ones((6, 6), dtype=bool)), 0, 255).astype(np.uint8)
    assert [each.text for each in zxingcpp.read_barcodes(picture)] == [link]


def test_the_code_says_what_it_is_and_nothing_in_it_can_break_out() -> None:
    svg = qr_code('http://host/"><script>?lecture=bert&step=1')
    assert svg.startswith(
        '<svg role="img" aria-label="QR code of http://host/&quot;&gt;&lt;script&gt;?lecture=bert&amp;step=1"'
    )
    assert "<script" not in svg


@pytest.mark.parametrize("address", ["http://127.0.0.1:7860/", "http://localhost/", "http://[::1]:7860/"])
def test_an_address_of_this_computer_alone_is_known(address: str) -> None:
    assert leads_only_here(address)


@pytest.mark.parametrize("address", ["http://192.168.0.7:7860/", "https://example.org/", "http://lab-pc:7860/"])
def test_an_address_that_phones_reach_is_known(address: str) -> None:
    assert not leads_only_here(address)


@pytest.mark.parametrize(
    ("host", "own", "said", "offered"),
    [
        (None, True, "CLEARHEAD_HOST=0.0.0.0", True),
        ("127.0.0.1", False, "CLEARHEAD_HOST=0.0.0.0", False),
        ("::", True, "Open the page here at an address", True),
        ("0:0:0:0:0:0:0:0", False, "Open the page here at an address", False),
    ],
)
def test_the_host_is_told_what_to_do_and_nobody_else_learns_the_addresses(
    monkeypatch: pytest.MonkeyPatch, host: str | None, own: bool, said: str, offered: bool
) -> None:
    monkeypatch.setattr(lecture_bar, "network_addresses", lambda: ["192.168.0.7"])
    notice = reach_notice("http://localhost:7860/?lecture=bert&step=2", host, own=own)
    assert said in notice
    assert ("CLEARHEAD_HOST" in notice) == (host in (None, "127.0.0.1"))
    assert ('href="http://192.168.0.7:7860/?lecture=bert&amp;step=2"' in notice) == offered
    assert not reach_notice("http://lab-pc:7860/?lecture=bert&step=2", host, own=own)
