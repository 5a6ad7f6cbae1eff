"""A server on this machine that imitates the Hugging Face Hub, so that no test reaches the network."""

import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

WEIGHTS = "model.safetensors"


@dataclass
class Hub:
    """A server that answers as the Hub does for the repositories in `folder`, each in a folder of its own name."""

    folder: Path
    requests: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    address: str = ""
    commit: str = ""
    """The commit in every answer; if empty, the revision that was requested."""

    ends_after: int = 0
    """The number of bytes of a file after which the Hub hangs up, and is then down; 0 for never."""

    is_down: bool = False
    damages: str = ""
    """The repository whose weights are sent with their last byte changed."""

    def environment(self, cache: Path) -> dict[str, str]:
        """The environment of a process that uses this Hub and caches its files in `cache`."""
        own = {"HF_HOME": str(cache), "HF_ENDPOINT": self.address, "HF_HUB_OFFLINE": "0"}
        return {**os.environ, **own}

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = unquote(request.path.split("?")[0])
        self.requests.append(path)
        asked = re.fullmatch(r"(?:/api/models)?/[^/]+/([^/]+)/(revision|tree|resolve|discussions)/?([^/]*)/?(.*)", path)
        body, headers, status = b"", {}, 503 if self.is_down else 404
        if asked and not self.is_down:
            repository, what, revision, name = asked.groups()
            folder, commit = self.folder / repository, self.commit or revision
            if what != "resolve":
                body, status = self.describe(folder, what, commit), 200
            elif (folder / name).exists():
                body, status = (folder / name).read_bytes(), 200
                headers = {"X-Repo-Commit": commit, "ETag": f'"{sha256(body).hexdigest()}"', "Accept-Ranges": "bytes"}
                if repository == self.damages and name == WEIGHTS:
                    body = body[:-1] + bytes([body[-1] ^ 1])
        if start := re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", "")):
            self.ranges.append(start[0])
            headers["Content-Range"] = f"bytes {start[1]}-{len(body) - 1}/{len(body)}"
            body, status = body[int(start[1]) :], 206
        request.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            request.send_header(key, value)
        request.end_headers()
        if request.command == "GET":
            self.is_down = self.is_down or 0 < self.ends_after < len(body)
            request.wfile.write(body[: self.ends_after] if self.is_down else body)

    def describe(self, folder: Path, what: str, commit: str) -> bytes:
        names = sorted(file.name for file in folder.iterdir())
        if what == "discussions":
            return json.dumps({"discussions": [], "count": 0, "start": 0}).encode()
        if what == "tree":
            sizes = [(name, (folder / name).stat().st_size) for name in names]
            return json.dumps([{"type": "file", "path": n, "size": s, "oid": "0" * 40} for n, s in sizes]).encode()
        return json.dumps({"id": folder.name, "sha": commit, "siblings": [{"rfilename": n} for n in names]}).encode()


@contextmanager
def hub_of(folder: Path) -> Iterator[Hub]:
    """Run a Hub of the repositories in `folder`."""
    hub = Hub(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.answer(self)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Log nothing, so that the test's own output stays readable."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield hub
    server.shutdown()
    server.server_close()
