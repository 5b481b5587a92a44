"""A real HTTP server on loopback whose answers a test scripts; it records what it was sent."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

WIDTH = 48


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """What to answer; `before` runs first and may wait, `drip` sends the body in pieces with that wait between."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    before: Callable[[], object] | None = None
    close: bool = False
    drip: Callable[[], object] | None = None


def as_json(value: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(status, json.dumps(value).encode(), {name.replace("_", "-"): text for name, text in headers.items()})


Script = Callable[[Received], Reply]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about clients that give up, which is what many tests are about."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class LoopbackServer:
    """Serves a script on a port of 127.0.0.1, a free one unless it is named, until the `with` block ends."""

    def __init__(self, script: Script, *, port: int = 0) -> None:
        self.script = script
        self.received: list[Received] = []
        self.connections = 0
        self.released = threading.Event()
        self._server = _Server(("127.0.0.1", port), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> LoopbackServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def hang(self) -> None:
        """Wait as a stuck server does, until the block ends."""
        self.released.wait(30)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                outer.connections += 1
                super().setup()

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = Received(self.path, dict(self.headers.items()), json.loads(raw))
                outer.received.append(request)
                self._send(outer.script(request))

            def _send(self, reply: Reply) -> None:
                if reply.before:
                    reply.before()
                if reply.close:
                    self.close_connection = True
                    return
                try:
                    self.send_response(reply.status)
                    for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    if reply.drip:
                        for position in range(len(reply.body)):
                            self.wfile.write(reply.body[position : position + 1])
                            reply.drip()
                    else:
                        self.wfile.write(reply.body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *_: Any) -> None:
                return

        return Handler


def vector(text: str, width: int = WIDTH) -> list[float]:
    """Give a text its own reproducible vector, deliberately not of length 1."""
    stream = hashlib.shake_256(text.encode()).digest(width)
    return [byte / 16 - 7.97 for byte in stream]


def openai(request: Received) -> Reply:
    """Answer `/v1/embeddings`, rows in reverse to prove that `index` counts; 404 elsewhere."""
    if request.path != "/v1/embeddings":
        return Reply(404, b"404 page not found")
    rows = [{"index": i, "embedding": vector(text)} for i, text in enumerate(request.body["input"])]
    return as_json({"object": "list", "data": rows[::-1], "model": request.body["model"]})


def ollama_current(request: Received) -> Reply:
    """Answer `/api/embed` as Ollama does."""
    if request.path != "/api/embed":
        return Reply(404, b"404 page not found")
    return as_json({"model": request.body["model"], "embeddings": [vector(text) for text in request.body["input"]]})


def ollama_legacy(request: Received) -> Reply:
    """Answer `/api/embeddings` as older Ollama does; 405 elsewhere."""
    if request.path != "/api/embeddings":
        return Reply(405, b"method not allowed")
    return as_json({"embedding": vector(request.body["prompt"])})
