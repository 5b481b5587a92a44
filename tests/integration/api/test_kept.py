"""What errors say of what was kept: a write that is refused keeps nothing, and a read has nothing to keep."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.api.conftest import API, Client, remember

Refused = tuple[str, str, Any, int]

READS: list[Refused] = [
    ("post", "/recall", {"query": ""}, 422),
    ("post", "/recall", {"query": "x", "limit": 0}, 422),
    ("post", "/recall", {"query": "x", "tags": ["t" * 900]}, 413),
    ("post", "/recall", {"query": "x", "occurred_from": "1066-10-14"}, 422),
    ("post", "/context", {"query": "x", "max_tokens": 7}, 422),
    ("get", "/memories?kind=opinion", None, 422),
    ("get", "/memories?created_from=1066-10-14", None, 422),
    ("get", "/memories?colour=red", None, 422),
    ("get", "/export?form=csv", None, 422),
]
WRITES: list[Refused] = [
    ("post", "/memories", {"text": ""}, 422),
    ("post", "/memories", {"text": "x" * 270_000}, 413),
    ("post", "/memories", {"text": "x", "importance": 2}, 422),
    ("post", "/memories", {"text": "x", "occurred_at": "1066-10-14"}, 422),
    ("post", "/memories/batch", {"items": [{"text": ""}]}, 422),
    ("post", "/turns", {"session": "", "turns": [{"text": "x"}]}, 422),
    ("post", "/groups", {"kind": "crowd", "name": "x"}, 422),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), READS, ids=lambda value: str(value)[:40])
def test_a_read_keeps_nothing_and_speaks_of_no_storing(
    agent: Client, method: str, path: str, body: Any, status: int
) -> None:
    answer = agent.json(method, path, body)
    assert answer.status_code == status
    assert "stored" not in answer.json()["detail"]
    assert "changed" not in answer.json()["detail"]


@pytest.mark.parametrize(("method", "path", "body", "status"), WRITES, ids=lambda value: str(value)[:40])
def test_a_refused_write_says_that_nothing_was_stored(
    agent: Client, method: str, path: str, body: Any, status: int
) -> None:
    answer = agent.json(method, path, body)
    assert answer.status_code == status
    assert answer.json()["detail"].endswith(". Nothing was stored.")
    assert answer.json()["detail"].count("Nothing was") == 1


def test_what_says_by_itself_what_was_not_done_says_it_once(woman: Client) -> None:
    answer = woman.json("post", "/purges", {})
    assert answer.status_code == 422
    assert answer.json()["detail"].endswith("Nothing was erased.")
    assert answer.json()["detail"].count("Nothing was") == 1


@pytest.mark.parametrize("path", ["/recall", "/memories"])
def test_a_body_that_cannot_be_parsed_says_what_fits_its_address(agent: Client, path: str) -> None:
    for content_type, raw in (("application/json", "{"), ("text/plain", "{}")):
        detail = agent.generic("POST", f"{API}{path}", raw, content_type=content_type).json()["detail"]
        assert ("Nothing was stored." in detail) is (path == "/memories")


def test_a_refused_change_says_that_nothing_was_changed(agent: Client) -> None:
    memory = remember(agent, "tea")
    for body in ({}, {"importance": 2}, {"text": ""}, {"colour": "red"}):
        detail = agent.json("patch", f"/memories/{memory}", body).json()["detail"]
        assert detail.endswith(". Nothing was changed.")


def test_one_item_of_several_says_nothing_of_the_others(agent: Client) -> None:
    body = agent.json("post", "/memories/batch", {"items": [{"text": "sound"}, {"text": ""}, {"importance": 2}]}).json()
    assert body["created"] == 1
    details = [result["error"]["detail"] for result in body["results"][1:]]
    assert len(details) == 2
    assert not any("Nothing was" in detail for detail in details)
