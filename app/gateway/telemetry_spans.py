"""Events as spans and a duration metric over OTLP/HTTP, by the OpenTelemetry SDK."""

from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode

from app.core.own_code import own_version
from app.gateway.event_fields import attributes_of, span_name
from store.records import EventRecord

_DURATION = "mcp.server.operation.duration"
_WAIT_MS = 2_000  # that a receiver which does not answer can hold up an end
_SECONDS = 2  # of one delivery
_EVERY_MS = 5_000
_FEW = ("mcp.method.name", "gen_ai.tool.name", "gen_ai.operation.name", "error.type")


class SpanSender:
    """Spans and durations to one receiver; delivered on the SDK's own threads."""

    def __init__(self, endpoint: str, *, texts: bool) -> None:
        self._texts = texts
        base = endpoint.rstrip("/")
        named = {"service.name": "toolcrib-gateway", "service.version": own_version()}
        resource = Resource.create(named)
        self._tracers = TracerProvider(resource=resource)
        spans = OTLPSpanExporter(endpoint=f"{base}/v1/traces", timeout=_SECONDS)
        self._tracers.add_span_processor(BatchSpanProcessor(spans, schedule_delay_millis=_EVERY_MS))
        self._tracer = self._tracers.get_tracer("toolcrib")
        metrics = OTLPMetricExporter(endpoint=f"{base}/v1/metrics", timeout=_SECONDS)
        reader = PeriodicExportingMetricReader(metrics, export_interval_millis=12 * _EVERY_MS)
        self._meters = MeterProvider(resource=resource, metric_readers=[reader])
        self._duration = self._meters.get_meter("toolcrib").create_histogram(
            _DURATION, unit="s", description="Duration of a request as the gateway sees it."
        )

    def send(self, events: Sequence[EventRecord]) -> None:
        """One span an event, over the time that it took."""
        for event in events:
            attributes = attributes_of(event, texts=self._texts)
            end = int(event.at * 1e9)
            span = self._tracer.start_span(
                span_name(event),
                kind=SpanKind.SERVER,
                attributes=attributes,
                start_time=end - int((event.ms or 0.0) * 1e6),
            )
            if event.problem:
                span.set_status(Status(StatusCode.ERROR))
            span.end(end)
            if "mcp.method.name" in attributes:
                few = {key: attributes[key] for key in _FEW if key in attributes}
                self._duration.record((event.ms or 0.0) / 1000, few)

    def close(self) -> None:
        """Send what is left."""
        self._tracers.force_flush(_WAIT_MS)
        self._tracers.shutdown()
        self._meters.shutdown(_WAIT_MS)
