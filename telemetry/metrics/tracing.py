"""Spans for a collector of traces, through OpenTelemetry; installed where the operator has switched it on.

What makes and sends spans is made in each process with its first span, since its thread does not live on in a forked
child. A span holds names that stand in the code, numbers, names of models and the id of the request: what is longer or
has blanks is no such name and is left out, and of an error its class alone is told.
"""

from __future__ import annotations

import atexit
import multiprocessing
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings

from memory.ports.request_id import current_request_id
from memory.ports.tracing import Value, install_tracer
from memory.providers.per_process import PerProcess
from memory.services.gathering import write_at_end
from telemetry.metrics.definitions import PLAIN

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

REQUEST_ID: Final = "loci.request_id"
SERVICE: Final = "loci"
# How long the end of a process waits for a collector that does not answer.
FLUSH_SECONDS: Final = 3.0


def install() -> None:
    """Have spans made in this process and the ones it forks; for `AppConfig.ready`."""
    install_tracer(lambda name, attributes: span_of(name, attributes))
    write_at_end(flush)


@contextmanager
def span_of(name: str, attributes: Mapping[str, Value], *, caller: Mapping[str, str] | None = None) -> Iterator[Span]:
    """Measure a block as one span.

    Args:
        name: what is done, a constant.
        attributes: numbers, and words without blanks; others are left out.
        caller: headers of the request that the span answers, whose `traceparent` says what it is a part of.
    """
    from opentelemetry.trace import SpanKind, Status, StatusCode

    tracer = _provider.get().get_tracer(SERVICE, settings.VERSION)
    with tracer.start_as_current_span(
        name,
        context=None if caller is None else _context_of(caller),
        kind=SpanKind.INTERNAL if caller is None else SpanKind.SERVER,
        attributes=described(attributes),
        # Both would send the message, which can carry what somebody said.
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except BaseException as error:
            span.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def described(attributes: Mapping[str, Value]) -> dict[str, Value]:
    """Keep numbers and plain words, and add the id of the request under way."""
    found = {name: value for name, value in attributes.items() if not isinstance(value, str) or PLAIN.fullmatch(value)}
    request_id = current_request_id()
    return {**found, REQUEST_ID: request_id} if request_id else found


def flush() -> None:
    """Send what waits, where this is the end of the process or of a test; waits some seconds at most.

    A job's end is none of that: a worker goes on, and must not wait for a collector.
    """
    if multiprocessing.parent_process() is None:
        _within(FLUSH_SECONDS, lambda provider: provider.force_flush())


def end() -> None:
    """Send what waits and make no more spans in this process; waits some seconds at most."""
    _within(FLUSH_SECONDS, lambda provider: provider.shutdown())
    _provider.take()


def _within(seconds: float, act: Any) -> None:
    provider = _provider.made()
    if provider is not None:
        # Of itself it waits as long as the collector is tried again.
        thread = threading.Thread(target=act, args=[provider], name="end of traces", daemon=True)
        thread.start()
        thread.join(seconds)


def _context_of(headers: Mapping[str, str]) -> Any:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    # `tracestate` is left out: it goes on as it came, and may hold anything.
    carrier = {name: headers[name] for name in ("traceparent",) if name in headers}
    return TraceContextTextMapPropagator().extract(carrier, context=_nothing())


def _nothing() -> Any:
    from opentelemetry.context import Context

    return Context()


def _make() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.util.re import parse_env_headers

    resource = Resource.create({"service.version": settings.VERSION})
    if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": SERVICE}))
    exporter = OTLPSpanExporter(
        endpoint=settings.TRACES_ADDRESS, headers=parse_env_headers(settings.TRACES_HEADERS, liberal=True)
    )
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    atexit.register(end)
    # A worker of the queue ends without Python's own exit, but not without this.
    Finalize(None, end, exitpriority=10)
    return provider


_provider: Final[PerProcess[TracerProvider]] = PerProcess(_make)
