"""A collector of traces on this machine: takes OTLP over HTTP and keeps the spans that come."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

PATIENCE = 60.0


@dataclass
class Receiver:
    """What has come so far."""

    address: str
    status: int = 200
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def requests(self) -> list[ExportTraceServiceRequest]:
        return [ExportTraceServiceRequest.FromString(body) for body in list(self.bodies)]

    def spans(self) -> list[Span]:
        return [
            span
            for request in self.requests()
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def resource(self) -> dict[str, Any]:
        return attributes(self.requests()[0].resource_spans[0].resource)

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans() if span.name == name]

    def wait_for(self, *names: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while missing := [name for name in names if not self.named(name)]:
            assert time.monotonic() < deadline, f"{missing} have not come: {sorted({s.name for s in self.spans()})}"
            time.sleep(0.05)


def attributes(thing: Any) -> dict[str, Any]:
    """Give the attributes of a span or a resource."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in thing.attributes}


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a collector."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if found.status == 200:
                found.bodies.append(body)
                found.headers.append({name.lower(): value for name, value in self.headers.items()})
                found.paths.append(self.path)
            self.send_response(found.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Receiver(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
