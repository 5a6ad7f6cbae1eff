"""Sends spans to a collector over OTLP; imported only where a host names one, as it needs requirements-traces.txt."""

import logging
import os
from collections.abc import Mapping, Sequence

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import Span, SpanKind, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_log = logging.getLogger(__name__)
_SENT_WITHIN_S = 5.0


class _Exporter(OTLPSpanExporter):
    """An OTLP exporter that logs once that the collector cannot be reached, and once that it can be again."""

    is_away = False
    is_closing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send `spans`; those that cannot be sent are lost."""
        if self.is_closing and self.is_away:
            return SpanExportResult.FAILURE
        result = super().export(spans)
        is_away = result is not SpanExportResult.SUCCESS
        if is_away and not self.is_away:
            _log.warning("traces are lost, because the collector at %s cannot be reached or refuses them", self.address)
        if self.is_away and not is_away:
            _log.warning("traces are sent again")
        self.is_away = is_away
        return result

    @property
    def address(self) -> str:
        """The URL that spans are sent to."""
        return self._endpoint


class Collector:
    """Begins spans and sends those that have ended to the collector at `address`, every few seconds.

    Its provider is not OpenTelemetry's global one, to which FastAPI would add a span of every call with its URL, where
    Gradio puts the session. OpenTelemetry's environment variables (`OTEL_…`) set the rest, such as headers for the
    collector and the share of calls to trace.
    """

    def __init__(self, address: str) -> None:
        # The library would log each batch that it could not send, and each span that finds no room.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME") or "clearhead"})
        self._exporter = _Exporter(f"{address.rstrip('/')}/v1/traces", timeout=_SENT_WITHIN_S)
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer("clearhead")
        self._propagator = TraceContextTextMapPropagator()

    def parent_in(self, traceparent: str) -> Context:
        """The context of the span that a W3C `traceparent` header names; an empty context where it names none."""
        return self._propagator.extract({"traceparent": traceparent}, Context())

    def begin(
        self,
        name: str,
        parent: Span | Context,
        attributes: Mapping[str, str],
        *,
        start_ns: int | None = None,
        is_call: bool = False,
    ) -> Span:
        """Begin a span under `parent`, now or at `start_ns` in nanoseconds of Unix time."""
        context = set_span_in_context(parent, Context()) if isinstance(parent, Span) else parent
        kind = SpanKind.SERVER if is_call else SpanKind.INTERNAL
        return self._tracer.start_span(name, context, kind, attributes, start_time=start_ns)

    def close(self) -> None:
        """Send what is left, unless the collector is away."""
        self._exporter.is_closing = True
        if self._exporter.is_away:
            # The exporter may be waiting to try again.
            self._exporter.shutdown()  # type: ignore[no-untyped-call]
        self._provider.shutdown()
