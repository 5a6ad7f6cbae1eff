"""A trace collector for tests: a server that keeps what it is sent over OTLP."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.web.calls import PATIENCE_S

_ERROR = 2


@dataclass(frozen=True)
class Sent:
    """A span as it was sent."""

    trace: str
    id: str
    parent: str
    name: str
    begin: int
    end: int
    attributes: dict[str, str]
    failed: bool
    said: str


@dataclass
class Collector:
    """The requests that were sent to `url` so far."""

    url: str
    bodies: list[bytes] = field(default_factory=list)

    @property
    def spans(self) -> list[Sent]:
        """Every span that was sent, in the order in which they ended."""
        found = []
        for body in list(self.bodies):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    found += [_sent(each) for each in scope.spans]
        return found

    def trace_with(self, name: str, **attributes: str) -> list[Sent]:
        """Wait until the `handle` span of the one trace with this span has ended; return all spans of the trace."""
        ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends:
            spans = self.spans
            wanted = {f"clearhead.{key}": value for key, value in attributes.items()}.items()
            traces = {each.trace for each in spans if each.name == name and wanted <= each.attributes.items()}
            of_it = [each for each in spans if each.trace in traces]
            if any(each.name == "handle" for each in of_it):
                assert len(traces) == 1
                return of_it
            time.sleep(0.05)
        raise AssertionError(f"no trace has {name} {attributes}: {self.spans}")


def _sent(span: Any) -> Sent:
    return Sent(
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        name=span.name,
        begin=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        attributes={each.key: each.value.string_value for each in span.attributes},
        failed=span.status.code == _ERROR,
        said=span.status.message + "".join(event.name for event in span.events) + span.trace_state,
    )


@contextmanager
def collecting(port: int = 0) -> Iterator[Collector]:
    """Run a collector that listens at `port`, or at any free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            collector.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
