"""The web process as it is started for people."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException

import pytest

from config.serving import web_service
from tests.ports import reserved_port

PATIENCE = 60.0
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def ask(port: int, path: str, headers: dict[str, str]) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.fixture
def server() -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Start the web process as the supervisor does, and wait until it answers."""
    port = reserved_port()
    service = web_service("127.0.0.1", port)
    process = subprocess.Popen(
        service.command,
        cwd=service.directory,
        env={**os.environ, **service.environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            ask(port, "/api/v1/nowhere", {})
            break
        except (OSError, HTTPException):
            time.sleep(0.1)
    yield port, process
    if process.poll() is None:
        process.kill()
    process.communicate()


@pytest.mark.slow
def test_an_upgrade_where_there_is_no_socket_is_refused(server: tuple[int, subprocess.Popen[str]]) -> None:
    port, process = server
    assert ask(port, "/login/", UPGRADE) == 403
    assert ask(port, "/", UPGRADE) == 403
    assert ask(port, "/login/", {}) == 200
    process.terminate()
    _, complaints = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in complaints
