"""How much a request may bring: refused by bytes, and by values before they are parsed."""

from __future__ import annotations

import io
import json
import tracemalloc
from typing import Any

import pytest

from memory.api.parsers import StrictJSONParser
from memory.errors import TooLarge
from memory.text.strict_json import BYTES_A_VALUE
from tests.apps import API as API_ROUTES
from tests.integration.api.conftest import API, Client, problem

MIB = 1024 * 1024
LARGER = {
    "create_file": 2,
    "write_file": 2,
    "ingest_turns": 8,
    "remember_batch": 8,
    "record_turn_events": 8,
    "import_memories": 32,
    "import_archive": 32,
    "restore_snapshot": 32,
}
# An endpoint, a body that it takes, and its limit in MiB.
BODIES: list[tuple[str, Any, int]] = [
    ("/memories", {"text": "tea"}, 1),
    ("/recall", {"query": "tea"}, 1),
    ("/context", {"query": "tea"}, 1),
    ("/files", {"path": "SOUL.md", "content": "tea"}, 2),
    ("/memories/batch", {"items": [{"text": "tea"}]}, 8),
    ("/turns", {"session": "s", "turns": [{"text": "tea"}]}, 8),
    ("/telemetry/pipeline-coverage/events", {"request": "tea"}, 8),
    ("/import", {"memories": [{"content": "tea"}]}, 32),
]


def send(client: Client, path: str, raw: bytes) -> Any:
    return client.generic("POST", f"{API}{path}", raw.decode(), content_type="application/json")


def test_every_other_endpoint_takes_a_mebibyte() -> None:
    for pattern in API_ROUTES:
        for action in getattr(getattr(pattern.callback, "cls", None), "actions", {}).values():
            assert action.most_bytes == LARGER.get(action.id, 1) * MIB, action.id


@pytest.mark.parametrize(("path", "body", "most"), BODIES, ids=[path for path, _, _ in BODIES])
def test_a_body_may_fill_its_limit_and_no_more(agent: Client, path: str, body: Any, most: int) -> None:
    raw = json.dumps(body).encode()
    filled = raw + b" " * (most * MIB - len(raw))
    assert send(agent, path, filled).status_code in (200, 201)
    refused = problem(send(agent, path, filled + b" "), 413, "body.too_large")
    assert refused["limit"] == most * MIB


def test_what_takes_no_body_takes_no_large_one(agent: Client) -> None:
    memory = agent.json("post", "/memories", {"text": "tea"}).json()["id"]
    problem(send(agent, f"/memories/{memory}/archive", b" " * (MIB + 1)), 413, "body.too_large")


SMALL = {"objects": b"{},", "lists": b"[],", "numbers": b"1,", "members": b'{"a":1},', "strings": b'"",'}


@pytest.mark.parametrize("piece", SMALL.values(), ids=list(SMALL))
@pytest.mark.parametrize("name", ["text", "items", "turns", "memories"])
def test_many_small_values_are_refused_whatever_they_are_for(agent: Client, name: str, piece: bytes) -> None:
    path, most = {"text": ("/memories", 1), "items": ("/memories/batch", 8), "turns": ("/turns", 8)}.get(
        name, ("/import", 32)
    )
    values = piece * (most * MIB // BYTES_A_VALUE)
    raw = b'{"%s":[%s0]}' % (name.encode(), values)
    refused = problem(send(agent, path, raw), 413, "body.too_large")
    assert refused["limit"] == most * MIB // BYTES_A_VALUE


@pytest.mark.parametrize("piece", SMALL.values(), ids=list(SMALL))
def test_refusing_them_takes_no_more_memory_than_the_body(piece: bytes) -> None:
    raw = b'{"text":[' + piece * ((MIB - 20) // len(piece)) + b"0]}"
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            StrictJSONParser().parse(io.BytesIO(raw))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * len(raw)


@pytest.mark.parametrize("text", ["," * 200_000, "{[," * 80_000, '\\"{' * 60_000, '",' * 100_000, "\\," * 100_000])
def test_what_a_text_holds_does_not_count(agent: Client, text: str) -> None:
    response = agent.json("post", "/memories", {"text": f"code {text}"})
    assert response.status_code == 201
    assert agent.json("get", f"/memories/{response.json()['id']}").json()["text"] == f"code {text}"


@pytest.mark.parametrize("end", [b"", b"\\", b'"'])
def test_a_text_that_does_not_end_is_not_searched_again_and_again(agent: Client, end: bytes) -> None:
    raw = b'{"text": "' + b'\\",' * 300_000 + end
    problem(send(agent, "/memories", raw), 400, "json.malformed")
