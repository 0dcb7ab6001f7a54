"""Spans over OTLP/HTTP by the OpenTelemetry SDK."""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from app.core.own_code import own_version
from app.team_server.tracing import Headers, Settled, Tracing

_SECONDS = 2  # of one delivery
_WAIT_MS = 2_000  # that a receiver which does not answer can hold up an end
_TRACE = ("traceparent", "tracestate")


class Spans(Tracing):
    """Spans to one receiver; delivered on the SDK's own thread."""

    def __init__(self, endpoint: str) -> None:
        named = {"service.name": "toolcrib-team", "service.version": own_version()}
        self._provider = TracerProvider(resource=Resource.create(named))
        exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces", timeout=_SECONDS)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("toolcrib")
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def request(self, method: str, headers: Headers) -> Iterator[Settled]:
        """Span of one HTTP request, of the trace that its client began if it did."""
        given = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        parent = self._propagator.extract({name: given[name] for name in _TRACE if name in given})
        with self._tracer.start_as_current_span(
            method, context=parent, kind=SpanKind.SERVER, record_exception=False
        ) as span:

            def settled(route: str, status: int) -> None:
                span.update_name(f"{method} {route}")
                span.set_attribute("http.request.method", method)
                span.set_attribute("http.route", route)
                span.set_attribute("http.response.status_code", status)
                if status >= 500:
                    span.set_status(Status(StatusCode.ERROR))

            yield settled

    @contextmanager
    def part(self, name: str, tool: str = "") -> Iterator[None]:
        """Span of a part of the present request."""
        attributes = {"gen_ai.tool.name": tool} if tool else {}
        with self._tracer.start_as_current_span(
            name, attributes=attributes, record_exception=False
        ):
            yield

    def close(self) -> None:
        """Send what is left."""
        self._provider.force_flush(_WAIT_MS)
        self._provider.shutdown()
