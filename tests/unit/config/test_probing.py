"""What the health checks of containers read out of an answer."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from config import probing

WELL = {"status": "ok", "checks": [{"name": "worker", "status": "ok"}]}


@pytest.fixture
def server() -> Iterator[tuple[dict[str, Any], str]]:
    """A web process that answers what a test says."""
    said: dict[str, Any] = {"status": 200, "body": json.dumps(WELL)}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/health/ready"
            self.send_response(said["status"])
            self.end_headers()
            self.wfile.write(said["body"].encode())

        def log_request(self, code: Any = "-", size: Any = "-") -> None:
            return

    found = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    yield said, f"http://127.0.0.1:{found.server_port}"
    found.shutdown()
    found.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("what", "status", "body", "code"),
    [
        ("ready", 200, WELL, 0),
        ("ready", 200, {**WELL, "status": "degraded"}, 0),
        ("ready", 503, {**WELL, "status": "failing"}, 1),
        ("ready", 200, [], 1),
        ("ready", 500, "no JSON", 1),
        ("worker", 200, WELL, 0),
        ("worker", 503, {"status": "failing", "checks": WELL["checks"]}, 0),
        ("worker", 200, {"status": "ok", "checks": [{"name": "worker", "status": "degraded"}]}, 1),
        ("worker", 200, {"status": "ok", "checks": []}, 1),
        ("worker", 200, {"status": "ok", "checks": 7}, 1),
    ],
)
def test_the_exit_code_says_it(
    server: tuple[dict[str, Any], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    what: str,
    status: int,
    body: Any,
    code: int,
) -> None:
    said, address = server
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    said |= {"status": status, "body": body if isinstance(body, str) else json.dumps(body)}
    monkeypatch.setattr(sys, "argv", ["probing", what, address])
    assert probing.main() == code
    assert capsys.readouterr().out.startswith(f"{what}: ")


def test_nobody_there_is_no(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["probing", "ready", "http://127.0.0.1:9"])
    assert probing.main() == 1
    assert capsys.readouterr().out == "ready: unknown\n"
