"""Every response, refusals included, has security headers for the browser, and only the page's own scripts run."""

import io
import re

import httpx
import pytest
from PIL import Image

from demo.web.headers import content_security_policy, with_preview
from tests.api.server import Server

_ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_ANSWERS = [
    ("GET", "", 200),
    ("HEAD", "", 200),
    ("GET", "config", 200),
    ("GET", "gradio_api/info", 200),
    ("GET", "theme.css", 200),
    ("GET", "manifest.json", 200),
    ("GET", "healthz", 200),
    ("GET", "host", 401),
    ("GET", "nothing", 404),
    ("GET", "assets/nothing.js", 404),
    ("POST", "gradio_api/upload", 403),
    ("POST", "gradio_api/queue/join", 400),
    ("POST", "gradio_api/call/sentiment", 400),
    ("OPTIONS", "", 404),
    ("TRACE", "", 404),
]


@pytest.mark.parametrize(("method", "path", "status"), _ANSWERS)
def test_every_answer_carries_the_headers(server: Server, method: str, path: str, status: int) -> None:
    answer = httpx.request(method, f"{server.url}{path}", timeout=60)
    assert answer.status_code == status
    assert {name: answer.headers.get(name) for name in _ALWAYS} == _ALWAYS
    assert "camera=()" in answer.headers["permissions-policy"]
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy and "frame-ancestors https://huggingface.co" in policy
    assert not {"server", "x-powered-by", "access-control-allow-origin"} & set(answer.headers)


def test_only_the_pages_own_scripts_have_its_nonce_and_each_load_has_another(server: Server) -> None:
    loads = [httpx.get(server.url, timeout=60) for _ in range(2)]
    nonces = [re.findall(r"'nonce-([\w-]+)'", load.headers["content-security-policy"]) for load in loads]
    assert nonces[0] != nonces[1]
    for load, (nonce,) in zip(loads, nonces, strict=True):
        scripts = re.findall(r"<script[^>]*>", load.text)
        assert len(scripts) >= 5
        assert all(f'nonce="{nonce}"' in script for script in scripts)
        assert int(load.headers["content-length"]) == load.num_bytes_downloaded


def test_no_inline_script_and_no_other_host_is_allowed() -> None:
    policy = dict(part.split(" ", 1) for part in content_security_policy(nonce="n").split("; "))
    assert policy["script-src"] == "'self' 'nonce-n' 'unsafe-eval'"
    assert policy["script-src-attr"] == policy["object-src"] == "'none'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'self'"
    sources = {source for rule in policy.values() for source in rule.split()}
    assert sources == {"'self'", "'none'", "'nonce-n'", "'unsafe-eval'", "'unsafe-inline'", "data:", "blob:"}


def test_a_link_to_the_page_is_previewed_as_the_page_and_not_as_the_library_that_draws_it(server: Server) -> None:
    page = httpx.get(server.url, timeout=60).text
    tags = re.findall(r'<meta\s+(?:property|name)="((?:og|twitter):[^"]+|description)"\s+content="([^"]*)"', page)
    told = dict(tags)
    assert len(tags) == len(told)
    assert told["og:title"] == "Clearhead: see what a Transformer reads"
    assert told["og:description"] == told["description"]
    assert not any("gradio" in value.lower() for value in told.values())
    picture = httpx.get(told["og:image"], timeout=60)
    assert picture.headers["content-type"] == "image/png"
    assert Image.open(io.BytesIO(picture.content)).size == (1200, 630)


def test_behind_a_proxy_the_preview_names_the_address_that_visitors_use() -> None:
    page = with_preview(b'<head><meta property="og:title" content="Gradio" /></head>', "https://a.b/x/")
    assert b'content="https://a.b/x/preview.png"' in page
    assert b"Gradio" not in page
