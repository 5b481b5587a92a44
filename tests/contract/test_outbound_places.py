"""Bytes leave for the network in one place, so that nothing leaves unrecorded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
APPS = [name for name in ("memory", "knowledge", "telemetry", "config") if (PROJECT / name).is_dir()]
# What can open a connection or start a program that does.
OUTWARD = frozenset(
    {
        "aiohttp", "asyncio.subprocess", "ftplib", "http.client", "httpcore", "httpx", "imaplib",
        "multiprocessing.connection", "openai", "opentelemetry.exporter", "poplib", "requests", "smtplib", "socket",
        "socketserver", "ssl", "subprocess", "telnetlib", "urllib.request", "urllib3", "websocket", "websockets",
        "xmlrpc.client",
    }
)  # fmt: skip
ALLOWED = {
    "memory/providers/json_over_http.py": "the place itself",
    "memory/providers/exchange_deadline.py": "the deadline of its connections",
    "memory/providers/outbound/policy.py": "resolves and checks hosts for it",
    "memory/providers/outbound/tls.py": "its TLS",
    "config/serving.py": "asks the own server whether it answers",
    "config/later.py": "waits for the own server's port",
    "config/probing.py": "asks the own server for health checks of containers",
    "memory/providers/minilm/build.py": "builds the model in a process of its own",
    "telemetry/metrics/tracing.py": "sends spans without content to the collector that the operator has named",
    "memory/services/vendored_files.py": "has npm fetch a newer package when a developer asks for it",
    "memory/management/commands/lint.py": "starts the linters",
    "memory/management/commands/test.py": "starts the tests",
}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def outward(path: Path) -> set[str]:
    return {name for name in imported(path) if any(name == one or name.startswith(f"{one}.") for one in OUTWARD)}


FILES = sorted(str(path.relative_to(PROJECT)) for app in APPS for path in (PROJECT / app).rglob("*.py"))


def test_only_these_modules_can_reach_outward() -> None:
    found = {name for name in FILES if outward(PROJECT / name)}
    assert found <= ALLOWED.keys(), "use memory.providers.json_over_http, which records and bounds what leaves"


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_no_exception_is_left_over(name: str) -> None:
    assert name in FILES
    assert outward(PROJECT / name), "this one needs no exception any more"
