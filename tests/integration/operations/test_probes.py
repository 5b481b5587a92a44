"""The web process as a real server whose database is away: what its probes answer, and what it logs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.environment import PROJECT
from tests.ports import reserved_port

PATIENCE = 60.0
PLANTED = "planted@example.org"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[httpx.Client, subprocess.Popen[str]]]:
    """Run the web process with a database where nobody listens."""
    port = reserved_port()
    places = {f"LOCI_{name}_DIR": str(tmp_path / name.lower()) for name in ("DATA", "CONFIG", "KEYS", "CACHE")}
    environment = {
        **os.environ,
        **places,
        "LOCI_NO_BOOTSTRAP": "1",
        "DATABASE_URL": f"postgresql://loci_app:x@127.0.0.1:{reserved_port()}/loci",
        "LOCI_LOG_FORMAT": "json",
        "LOCI_ACCESS_LOG": "true",
    }
    command = ["-m", "uvicorn", "config.asgi:application", "--port", str(port), "--no-access-log"]
    process = subprocess.Popen(
        [sys.executable, *command], cwd=PROJECT, env=environment, stderr=subprocess.PIPE, text=True
    )
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and process.poll() is None:
            try:
                client.get("/health/live")
            except httpx.ConnectError:
                time.sleep(0.2)
            else:
                break
        yield client, process
    process.kill()
    process.communicate()


def too_long(port: int) -> bytes:
    """Announce a body that is too large, and give the beginning of the answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        headers = (b"Host: localhost", b"X-Request-ID: long-1", b"Content-Length: 99999999")
        connection.sendall(b"\r\n".join((b"POST /api/v1/memories HTTP/1.1", *headers, b"", b"")))
        answer = connection.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 413")
    return answer.lower()


@pytest.mark.slow
def test_it_lives_and_is_not_ready(server: tuple[httpx.Client, subprocess.Popen[str]]) -> None:
    client, process = server
    alive = client.get("/health/live", headers={"Host": "10.0.0.9", "X-Request-ID": "probe-1"})
    assert (alive.status_code, alive.json(), alive.headers["X-Request-ID"]) == (200, {"status": "ok"}, "probe-1")
    ready = client.get("/health/ready", headers={"Host": "10.0.0.9"})
    assert ready.status_code == 503
    assert {"name": "database", "status": "failing"} in ready.json()["checks"]
    refused = client.get(
        f"/api/v1/memories/{PLANTED}", params={"q": PLANTED}, headers={"Authorization": "Bearer loci_x"}
    )
    assert refused.status_code == 503
    assert b"x-request-id: long-1" in too_long(client.base_url.port or 0)
    process.send_signal(signal.SIGTERM)
    _, logged = process.communicate(timeout=PATIENCE)
    lines = [json.loads(line) for line in logged.splitlines() if line.startswith("{")]
    (line,) = [one for one in lines if one["logger"] == "loci.access"]
    assert line["route"] == "/api/v1/memories/<str:memory_id>"
    assert (line["status"], line["request_id"]) == (503, refused.headers["X-Request-ID"])
    assert [one for one in lines if one.get("request_id") == line["request_id"] and one["level"] == "ERROR"]
    assert PLANTED not in logged
