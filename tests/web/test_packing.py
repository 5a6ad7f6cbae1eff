"""What a browser reads is sent packed, once, and says what it says unpacked; streams and visitors' answers are not."""

import asyncio
import gzip
import re
from typing import Any

import brotli
import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from demo.web.packing import Packing, chosen_coding
from tests.api.server import Server
from tests.web.calls import PATIENCE_S

MOST_HTML_BYTES = 400_000
_UNPACK = {"br": brotli.decompress, "gzip": gzip.decompress, None: bytes}
_NONCE = re.compile(rb'nonce="([\w-]+)"')


def _asked(url: str, accept: str, method: str = "GET", **headers: str) -> tuple[httpx.Headers, bytes, int]:
    """The headers, the bytes as they came over the line, and the status."""
    asked = {"Accept-Encoding": accept, **headers}
    with httpx.stream(method, url, headers=asked, timeout=PATIENCE_S) as answer:
        return answer.headers, b"".join(answer.iter_raw()), answer.status_code


@pytest.mark.parametrize(
    ("accept", "coding"),
    [
        ("br, gzip", "br"),
        ("gzip, deflate", "gzip"),
        ("GZIP;q=1.0, br;q=0", "gzip"),
        ("br;q=0.2,gzip;q=0.0", "br"),
        ("*", "br"),
        ("br;q=0, *;q=0.5", "gzip"),
        ("*;q=0", None),
        ("identity", None),
        ("gzipped, bread", None),
        ("", None),
    ],
)
def test_the_coding_is_one_that_the_client_allows(accept: str, coding: str | None) -> None:
    assert chosen_coding(accept) == coding


@pytest.mark.parametrize(("accept", "coding"), [("br, gzip", "br"), ("gzip", "gzip")])
def test_the_page_is_small_over_the_line_and_unpacks_to_itself(server: Server, accept: str, coding: str) -> None:
    headers, packed, _ = _asked(server.url, accept)
    assert headers["content-encoding"] == coding and headers["vary"] == "Accept-Encoding"
    assert int(headers["content-length"]) == len(packed) <= MOST_HTML_BYTES
    page = _UNPACK[coding](packed)
    (nonce,) = re.findall(r"'nonce-([\w-]+)'", headers["content-security-policy"])
    assert set(_NONCE.findall(page)) == {nonce.encode()}
    assert page.count(b"<script") == len(_NONCE.findall(page))
    plain_headers, plain, _ = _asked(server.url, "identity")
    assert "content-encoding" not in plain_headers and plain_headers["vary"] == "Accept-Encoding"
    assert _NONCE.sub(b"", page) == _NONCE.sub(b"", plain)


def test_a_head_call_has_the_headers_of_the_page_and_no_body(server: Server) -> None:
    headers, body, status = _asked(server.url, "br", "HEAD")
    assert (status, body, headers["content-encoding"]) == (200, b"", "br")
    # Each page has a nonce of its own, which packs into a few bytes more or fewer.
    assert abs(int(headers["content-length"]) - len(_asked(server.url, "br")[1])) < 100
    headers, body, _ = _asked(server.url, "identity", "HEAD")
    assert (int(headers["content-length"]), body) == (len(_asked(server.url, "identity")[1]), b"")


def test_all_that_the_page_reads_is_packed_once_and_files_the_same_way_each_time(server: Server) -> None:
    page = _asked(server.url, "identity")[1].decode()
    files = re.findall(r"assets/[\w-]+\.(?:js|css)", page)
    assert len(files) >= 2
    for path in ["config", "gradio_api/info", "theme.css", *files]:
        _, plain, _ = _asked(f"{server.url}{path}", "identity")
        for _ in range(2):
            headers, packed, status = _asked(f"{server.url}{path}", "gzip, br")
            assert (status, headers["content-encoding"]) == (200, "br"), path
            assert int(headers["content-length"]) == len(packed) < len(plain) / 2
            assert brotli.decompress(packed) == plain
            assert headers["x-content-type-options"] == "nosniff"


def test_streams_pictures_and_what_visitors_are_answered_stay_as_they_are(server: Server) -> None:
    for path in ("preview.png", "healthz", "nothing"):
        assert "content-encoding" not in _asked(f"{server.url}{path}", "br")[0]
    call = {"data": ["a" * 2_000, ""]}
    with httpx.Client(headers={"Accept-Encoding": "br"}, timeout=PATIENCE_S) as client:
        begun = client.post(f"{server.url}gradio_api/call/sentiment", json=call)
        answer = client.get(f"{server.url}gradio_api/call/sentiment/{begun.json()['event_id']}")
        with client.stream("GET", f"{server.url}gradio_api/heartbeat/abcdefghij") as heartbeat:
            assert next(heartbeat.iter_raw())
    for each in (begun, answer, heartbeat):
        assert "content-encoding" not in each.headers
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_a_file_is_packed_for_all_at_once_and_no_caller_fills_the_memory() -> None:
    called: list[str] = []

    async def file(request: Request) -> Response:
        called.append(request.url.path)
        return PlainTextResponse("a word, " * 1_000)

    async def ask() -> None:
        app = Starlette(
            routes=[Route("/assets/{name:path}", file)], middleware=[Middleware(Packing, most_kept_bytes=30)]
        )
        transport: Any = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
            await asyncio.gather(*(client.get("/assets/a.js") for _ in range(5)))
            assert called == ["/assets/a.js"]
            for name in ("b.js", "c.js", "b.js", "a.js"):
                assert (await client.get(f"/assets/{name}")).text == "a word, " * 1_000
        # The first fits in, the others do not.
        assert called[1:] == ["/assets/b.js", "/assets/c.js", "/assets/b.js"]

    asyncio.run(ask())
