"""Every public Gradio advisory that touches what this app uses, replayed against the running app."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.server import ROOT, Server
from tests.web.calls import PATIENCE_S

_LEAKS = re.compile(r"root:x:0:0|CLEARHEAD_|SQLite format 3|Traceback|site-packages|\[project\]")
_ELSEWHERE = "http://169.254.169.254/latest/meta-data/"
_EVIL = "https://evil.example"


@dataclass(frozen=True)
class Attack:
    """A call of an advisory, and the only status that it may get."""

    advisory: str
    what: str
    method: str
    path: str
    status: int = 404
    headers: tuple[tuple[str, str], ...] = ()
    body: Any = None


def _read(advisory: str, what: str, *paths: str) -> list[Attack]:
    return [Attack(advisory, what, "GET", path) for path in paths]


_FILE_DATA = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
_FORM = (("content-type", "multipart/form-data; boundary=x"),)
_PART = b'Content-Disposition: form-data; name="files"; filename="a.html"'
_UPLOAD = b"--x\r\n" + _PART + b"\r\n\r\n<script>1</script>\r\n--x--\r\n"

ATTACKS = [
    *_read(
        "CVE-2021-43831",
        "files of the host through the interface",
        "file/etc/passwd",
        "gradio_api/file/etc/passwd",
        "gradio_api/file=/etc/passwd",
    ),
    *_read("CVE-2023-34239", "proxying of any address", f"proxy={_ELSEWHERE}", f"gradio_api/proxy={_ELSEWHERE}"),
    *_read(
        "CVE-2023-51449",
        "traversal through /file",
        "file=../../../../etc/passwd",
        "gradio_api/file=..%2f..%2f..%2fetc%2fpasswd",
        "gradio_api/file=%2e%2e/%2e%2e/etc/passwd",
        "gradio_api/file=....//....//etc/passwd",
        "gradio_api/file=%252e%252e%252fetc%252fpasswd",
        "gradio_api/file=/proc/self/environ",
        "gradio_api/file=/dev/stdin",
        "gradio_api/file=app.py",
    ),
    Attack(
        "CVE-2024-2206",
        "a proxy widened by X-Direct-Url",
        "GET",
        f"gradio_api/proxy={_ELSEWHERE}",
        headers=(("x-direct-url", _ELSEWHERE),),
    ),
    *_read("CVE-2024-34510", "credentials sent to a share", r"gradio_api/file=\\evil.example\share\a", "file=//evil/a"),
    Attack(
        "CVE-2024-1561",
        "any method of a component",
        "POST",
        "gradio_api/component_server",
        403,
        body={"component_id": 1, "data": "/etc/passwd", "fn_name": "move_resource_to_block_cache", "session_hash": "a"},
    ),
    Attack(
        "CVE-2024-1561",
        "any method of a component, older path",
        "POST",
        "component_server",
        403,
        body={"component_id": 1, "data": "/etc/passwd", "fn_name": "get_config", "session_hash": "a"},
    ),
    Attack("CVE-2024-1728", "an upload that names a file", "POST", "upload", 403, _FORM, _UPLOAD),
    Attack("CVE-2024-47872", "an uploaded page with a script", "POST", "gradio_api/upload", 403, _FORM, _UPLOAD),
    Attack("CVE-2024-8966", "a boundary that never ends", "POST", "gradio_api/upload", 403, _FORM, b"-" * 200_000),
    Attack("CVE-2024-12217", "a stream beside a file", "GET", "gradio_api/file=C:/app/app.py::$DATA"),
    Attack("CVE-2025-23042", "a blocked path in other letters", "GET", "gradio_api/file=/ETC/passwd"),
    *_read(
        "CVE-2024-47166",
        "traversal out of a custom component",
        "gradio_api/custom_component/a/client/component/..%2f..%2f__init__.py",
        "custom_component/a/client/component/style.css",
    ),
    *_read("CVE-2024-47168", "monitoring that is off", "monitoring", "monitoring/key", "gradio_api/monitoring"),
    Attack("CVE-2024-1729", "a login to be timed", "POST", "login", body=b"username=a&password=b"),
    *_read("CVE-2026-27167", "a login of somebody else", "login/huggingface", "login/callback", "logout"),
    *_read("CVE-2026-28415", "a redirect to another site", f"logout?_target_url={_EVIL}", f"login?target={_EVIL}"),
    *_read(
        "CVE-2026-28414",
        "paths that only Windows calls absolute",
        r"gradio_api/file=\windows\win.ini",
        "static/%5cwindows%5cwin.ini",
        "assets//windows/win.ini",
        "svelte/C:/windows/win.ini",
    ),
    *_read("CVE-2026-48545", "cookies between proxied sites", "gradio_api/proxy=https://evil-demo.hf.space/set"),
    *_read(
        "CVE-2026-59806",
        "a redirect, or a fetch, of a file elsewhere",
        f"gradio_api/file={_EVIL}/a",
        f"gradio_api/file={_ELSEWHERE}",
        f"gradio_api/file/{_ELSEWHERE}",
    ),
    *_read(
        "CVE-2024-10648",
        "files that a component leaves behind",
        "gradio_api/stream/a/b/1/playlist.m3u8",
        "gradio_api/stream/a/b/1/playlist-file",
    ),
    *_read("GHSA-5cpq-9538-jm2j", "one file of the tree more", "assets/../../../app.py", "static/..%2f..%2froutes.py"),
    Attack("deep links", "the state of another page", "GET", "gradio_api/deep_link?session_hash=anybody"),
    Attack("recordings", "a file sent as a recording", "POST", "gradio_api/process_recording", 403, _FORM, _UPLOAD),
    Attack("vibe mode", "the source of the app", "GET", "gradio_api/vibe-code"),
    Attack("vibe mode", "another source for the app", "POST", "gradio_api/vibe-edit", body={"prompt": "a"}),
    Attack("reload mode", "the changes of the source", "GET", "gradio_api/dev/reload"),
    Attack("profiling", "the times of others", "GET", "gradio_api/profiling/traces"),
    Attack("run history", "a store of runs elsewhere", "POST", "gradio_api/run-history/connect", body={}),
    Attack("tokens", "the cookie of a login", "GET", "gradio_api/token"),
    Attack("docs", "FastAPI's own pages", "GET", "docs"),
    Attack("docs", "FastAPI's own description", "GET", "openapi.json"),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: f"{each.advisory} {each.what} {each.path}"[:90])
def test_the_attack_finds_nothing(server: Server, attack: Attack) -> None:
    content = attack.body if isinstance(attack.body, bytes) else json.dumps(attack.body) if attack.body else None
    headers = {"content-type": "application/json"} | dict(attack.headers)
    request = httpx.Request(attack.method, f"{server.url}{attack.path}", headers=headers, content=content)
    # httpx would tidy the path; what is sent is what the advisory sends.
    request.url = request.url.copy_with(raw_path=f"/{attack.path}".encode())
    with httpx.Client(timeout=PATIENCE_S) as client:
        answer = client.send(request, follow_redirects=False)
    assert answer.status_code == attack.status
    assert not _LEAKS.search(answer.text)
    assert "location" not in answer.headers
    assert "asked for the outside" not in server.output.read_text()


def _post(server: Server, path: str, body: Any, **headers: str) -> httpx.Response:
    return httpx.post(f"{server.url}{path}", json=body, headers=headers, timeout=PATIENCE_S)


@pytest.mark.parametrize("origin", [_EVIL, "null", "http://localhost.evil.example", "https://127.0.0.1.evil.example"])
def test_another_site_may_neither_call_nor_read(server: Server, origin: str) -> None:
    """CVE-2024-1727 (CSRF), CVE-2024-47084, CVE-2024-47165 and CVE-2025-5320 (CORS)."""
    refused = _post(server, "gradio_api/call/sentiment", {"data": ["Fine.", ""]}, origin=origin)
    assert refused.status_code == 403
    for method, path in (("GET", "config"), ("GET", "gradio_api/info"), ("OPTIONS", "gradio_api/queue/join")):
        asked = {"origin": origin, "access-control-request-method": "POST"}
        answer = httpx.request(method, f"{server.url}{path}", headers=asked, timeout=PATIENCE_S)
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_the_page_itself_may_call(server: Server) -> None:
    own = server.url.rstrip("/")
    assert _post(server, "gradio_api/call/sentiment", {"data": ["Fine.", ""]}, origin=own).status_code == 200


@pytest.mark.parametrize(
    "given",
    [
        _FILE_DATA,
        {"path": _ELSEWHERE, "url": _ELSEWHERE, "meta": {"_type": "gradio.FileData"}},
        {"url": "file:///etc/passwd", "path": "a", "orig_name": "a", "meta": {"_type": "gradio.FileData"}},
        [_FILE_DATA],
        f"{_ELSEWHERE}",
    ],
)
def test_a_file_in_the_place_of_a_text_is_neither_read_nor_fetched(server: Server, given: Any) -> None:
    """CVE-2024-0964, CVE-2024-4325, CVE-2024-4941, CVE-2024-47167, CVE-2024-47868, CVE-2024-48052, CVE-2024-51751."""
    for path, body in (
        ("gradio_api/call/sentiment", {"data": [given, ""]}),
        ("gradio_api/call/v2/sentiment", {"text": given}),
    ):
        call = _post(server, path, body)
        said = call.text
        if call.status_code == 200:
            address = f"{server.url}{path}/{call.json()['event_id']}"
            said = httpx.get(address, timeout=PATIENCE_S).text
        assert not _LEAKS.search(said)
    assert "asked for the outside" not in server.output.read_text()


def test_a_forged_host_does_not_move_the_page_of_others(server: Server) -> None:
    """CVE-2024-47870: one caller's headers in another caller's configuration."""
    for header in ("x-forwarded-host", "host", "x-forwarded-proto", "x-gradio-server"):
        httpx.get(f"{server.url}config", headers={header: "evil.example"}, timeout=PATIENCE_S)
    assert "evil.example" not in httpx.get(f"{server.url}config", timeout=PATIENCE_S).text
    assert "evil.example" not in httpx.get(server.url, timeout=PATIENCE_S).text


def test_a_deep_link_shows_the_page_as_it_is(server: Server) -> None:
    """Saved states are off: a link to one, made up or not, changes nothing."""
    for link in ("a", "../../../../etc", "%00"):
        answer = httpx.get(f"{server.url}config", params={"deep_link": link}, timeout=PATIENCE_S)
        assert answer.status_code == 200
        assert answer.json()["deep_link_state"] == "invalid"


def test_nothing_tells_where_the_app_lies(server: Server) -> None:
    places = (str(ROOT), str(Path.home()), str(server.output.parent), "site-packages", "python3.")
    for path in ("", "config", "gradio_api/info", "gradio_api/openapi.json", "manifest.json", "readyz", "nothing"):
        text = httpx.get(f"{server.url}{path}", timeout=PATIENCE_S).text
        assert not [place for place in places if place in text], path


def test_a_queued_event_cannot_be_had_past_the_line(server: Server) -> None:
    for kind in ("run", "api"):
        answer = _post(server, f"gradio_api/{kind}/sentiment", {"data": ["Fine.", ""]})
        assert answer.status_code == 404


_MISFITS = [{}, {"data": 5}, {"nothing": 1}, [], "text", {"data": []}, {"data": [1, 2, 3, 4, 5]}]
_POSTED = ["call/sentiment", "call/v2/sentiment", "call/nothing", "queue/join", "cancel", "run/predict"]


@pytest.mark.parametrize("body", [*map(json.dumps, _MISFITS), "", "{", "data=1", "\x00"])
@pytest.mark.parametrize("path", _POSTED)
def test_a_call_that_fits_no_endpoint_is_told_so_in_a_sentence(server: Server, path: str, body: str) -> None:
    headers = {"content-type": "application/json"}
    answer = httpx.post(f"{server.url}gradio_api/{path}", content=body, headers=headers, timeout=PATIENCE_S)
    assert answer.status_code in (200, 400, 404) or (path == "run/predict" and answer.status_code == 500)
    assert not _LEAKS.search(answer.text)
    if answer.status_code == 400:
        said = answer.json()["detail"]
        assert isinstance(said, str) and said.endswith(".")
        assert "pydantic" not in answer.text and "loc" not in answer.json()


def test_a_stream_of_no_session_is_told_so_in_a_sentence(server: Server) -> None:
    answer = httpx.get(f"{server.url}gradio_api/queue/data", timeout=PATIENCE_S)
    assert answer.status_code == 400
    assert answer.json()["detail"] == answer.json()["error"]


def test_a_tool_call_does_not_follow_a_forged_host(server: Server) -> None:
    """The tool server calls the page at the address it was started on, whatever a caller's headers say."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    call["params"] = {"name": "sentiment", "arguments": {"text": "Fine."}}  # type: ignore[assignment]
    headers = {"accept": "application/json, text/event-stream", "x-forwarded-host": "evil.example"}
    answer = _post(server, "gradio_api/mcp/", call, **headers)
    assert answer.status_code == 200 and "positive" in answer.text
    assert "asked for the outside: evil.example" not in server.output.read_text()
