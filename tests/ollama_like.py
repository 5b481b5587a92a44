"""A server that behaves as Ollama does, as far as Loci asks it: models, pulls line by line, embeddings of three ages.

As a program it listens where OLLAMA_HOST says, as `ollama serve` does.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final

WIDTH: Final = 12
PATIENCE: Final = 30.0
NOT_FOUND: Final = "404 page not found"


@dataclass
class Shop:
    """What can be fetched, and how that goes.

    Attributes:
        layers: bytes of the parts of each model.
        steps: in how many steps a part comes.
        error: what a fetch ends with after half of its first part; empty for none.
        breaks: whether it breaks off there instead.
        gate: what a fetch waits for after half of its first part; None for nothing.
    """

    layers: dict[str, list[int]] = field(default_factory=lambda: {"nomic-embed-text": [600_000, 400_000], "tiny": [10]})
    steps: int = 4
    error: str = ""
    breaks: bool = False
    gate: threading.Event | None = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about clients that leave off."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class OllamaLike:
    """Serves on a port of 127.0.0.1 until the `with` block ends; what it is can be changed meanwhile."""

    def __init__(self, *models: str, speaks: str = "/api/embed", port: int = 0) -> None:
        """Prepare.

        Args:
            models: what it has at first, with tags.
            speaks: the one path at which it embeds.
            port: a free one when 0.
        """
        self.models = list(models)
        self.speaks = speaks
        self.shop = Shop()
        self.kept: dict[str, int] = {}
        self.pulls = 0
        self.left_off = threading.Event()
        self.half_way = threading.Event()
        self.asked: list[tuple[str, str]] = []
        self.headers: dict[str, str] = {}
        self._server = _Server(("127.0.0.1", port), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> OllamaLike:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.shop.gate is not None:
            self.shop.gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def serve(self) -> None:
        """Serve in this thread until the process ends."""
        self._server.serve_forever()

    def has(self, name: str) -> bool:
        return _tagged(name) in self.models

    def pull(self, name: str, write: Callable[[dict[str, Any]], None]) -> None:
        """Send the lines of a fetch; what a former one has got is kept."""
        self.pulls += 1
        write({"status": "pulling manifest"})
        layers = self.shop.layers.get(name.removesuffix(":latest"))
        if layers is None:
            write({"error": "pull model manifest: file does not exist"})
            return
        for place, total in enumerate(layers):
            digest = "sha256:" + hashlib.sha256(f"{name} {place}".encode()).hexdigest()
            for step in range(self.kept.get(digest, 0), self.shop.steps + 1):
                self.kept[digest] = step
                line = {"status": f"pulling {digest[7:19]}", "digest": digest, "total": total}
                # Ollama leaves a number out that is none.
                done = total * step // self.shop.steps
                write({**line, "completed": done} if done else line)
                if place == 0 and step == self.shop.steps // 2 and self._half_way(write):
                    return
        for status in ("verifying sha256 digest", "writing manifest"):
            write({"status": status})
        self.models.append(_tagged(name))
        write({"status": "success"})

    def _half_way(self, write: Callable[[dict[str, Any]], None]) -> bool:
        self.half_way.set()
        if self.shop.gate is not None:
            # As Ollama does it says again and again how far it is, and notices a client that is gone.
            for _ in range(int(PATIENCE / 0.02)):
                if self.shop.gate.wait(0.02):
                    break
                write({"status": "pulling manifest"})
        if self.shop.error:
            write({"error": self.shop.error})
        return bool(self.shop.error) or self.shop.breaks

    def embed(self, path: str, body: Any) -> tuple[int, Any]:
        """Answer as the server of its age does."""
        if path != self.speaks:
            return 404, NOT_FOUND
        if not self.has(body["model"]):
            return 404, {"error": f'model "{body["model"]}" not found, try pulling it first'}
        if path == "/api/embeddings":
            return 200, {"embedding": vector(body["prompt"])}
        rows = [vector(text) for text in body["input"]]
        if path == "/api/embed":
            return 200, {"model": body["model"], "embeddings": rows}
        return 200, {"data": [{"index": place, "embedding": row} for place, row in enumerate(rows)]}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._note()
                answers = {
                    "/api/version": {"version": "0.9.6"},
                    "/api/tags": {"models": [{"name": name, "size": 1} for name in outer.models]},
                }
                found = answers.get(self.path)
                self._send(*((200, found) if found is not None else (404, NOT_FOUND)))

            def do_POST(self) -> None:
                self._note()
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path != "/api/pull":
                    self._send(*outer.embed(self.path, body))
                    return
                self.send_response(200)
                self.send_header("Content-Type", "application/x-ndjson")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                try:
                    outer.pull(body["model"], self._write)
                    if outer.shop.breaks:
                        self.close_connection = True
                        return
                    self.wfile.write(b"0\r\n\r\n")
                except ConnectionError:
                    outer.left_off.set()
                    self.close_connection = True

            def _write(self, line: dict[str, Any]) -> None:
                data = json.dumps(line).encode() + b"\n"
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

            def _note(self) -> None:
                outer.asked.append((self.command, self.path))
                outer.headers = dict(self.headers.items())

            def _send(self, status: int, said: Any) -> None:
                data = said.encode() if isinstance(said, str) else json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                return

        return Handler


def vector(text: str) -> list[float]:
    """Give a text its own reproducible vector."""
    return [byte / 16 - 7.97 for byte in hashlib.shake_256(text.encode()).digest(WIDTH)]


def _tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


if __name__ == "__main__":
    if sys.argv[1:] != ["serve"]:
        sys.exit("only `serve` is known here")
    if "OLLAMA_LIKE_FAILS" in os.environ:
        print("no room for models", flush=True)
        sys.exit(7)
    OllamaLike(port=int(os.environ["OLLAMA_HOST"].rpartition(":")[2])).serve()
