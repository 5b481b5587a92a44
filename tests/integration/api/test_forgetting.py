"""Purging, bringing back and the policies over REST, and strength where memories are shown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memory.models import Memory, owner_scope
from memory.services import bringing_back
from memory.services.clock import now
from tests.integration.api.conftest import Client, problem, remember


def listed(client: Client, status: str = "live") -> set[str]:
    return {item["text"] for item in client.json("get", f"/memories?status={status}").json()["items"]}


def test_a_purge_by_source_and_back(agent: Client, stranger: Client) -> None:
    for client in (agent, stranger):
        for source in ("user:al", "user:al/chat", "user:alice"):
            remember(client, f"from {source}", source=source)
    asked = {"provenance": "user:al", "dry_run": True}
    would = agent.json("post", "/memories/purge", asked).json()
    assert (would["provenance"], would["dry_run"], would["erased"], would["more"]) == (2, True, False, False)
    assert len(listed(agent)) == 3
    did = agent.json("post", "/memories/purge", {"provenance": "user:al"}).json()
    assert did["provenance"] == 2
    assert listed(agent) == {"from user:alice"}
    assert len(listed(stranger)) == 3
    archive = agent.json("get", "/memories?status=archived").json()["items"]
    assert {item["archive_reason"] for item in archive} == {"purge.provenance"}
    problem(stranger.json("post", "/memories/restore", {"run": did["id"]}), 404, "archive.unknown")
    back = agent.json("post", "/memories/restore", {"run": did["id"]}).json()
    assert back == {"restored": 2, "relations": 0, "refused": [], "more": False, "next": None}
    assert len(listed(agent)) == 3


def test_what_cannot_come_back_does_not_keep_the_rest_from_it(agent: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bringing_back, "MOST_AT_ONCE", 2)
    for number in range(5):
        remember(agent, f"number {number}", source="user:al")
    did = agent.json("post", "/memories/purge", {"provenance": "user:al"}).json()
    for number in range(3):
        remember(agent, f"number {number}")
    pages: list[Any] = []
    after = None
    while not pages or pages[-1]["more"]:
        body = {"run": did["id"]} if after is None else {"run": did["id"], "after": after}
        pages.append(agent.json("post", "/memories/restore", body).json())
        after = pages[-1]["next"]
    assert [(page["restored"], len(page["refused"])) for page in pages] == [(0, 2), (1, 1), (1, 0)]
    assert {one["code"] for page in pages for one in page["refused"]} == {"memory.duplicate"}
    assert listed(agent) == {f"number {number}" for number in range(5)}


def test_some_that_are_named(agent: Client) -> None:
    ids = [remember(agent, f"number {number}") for number in range(2)]
    for one in ids:
        agent.json("post", f"/memories/{one}/archive")
    remember(agent, "number 0")
    back = agent.json("post", "/memories/restore", {"ids": [*ids, "0190aaaa-0000-7000-8000-000000000000"]}).json()
    assert back["restored"] == 1
    assert [(one["status"], one["code"]) for one in back["refused"]] == [(409, "memory.duplicate"), (404, "not_found")]
    assert [one["id"] for one in back["refused"]][0] == ids[0]


def test_a_person_erases_and_an_agent_does_not(agent: Client, woman: Client) -> None:
    remember(agent, "mine", source="user:al")
    problem(agent.json("post", "/memories/purge", {"provenance": "user:al", "erase": True}), 403, "auth.forbidden")
    did = woman.json("post", "/memories/purge", {"provenance": "user:al", "erase": True}).json()
    assert (did["provenance"], did["erased"]) == (1, True)
    assert listed(woman, "archived") == set()


def test_a_purge_under_a_key_is_done_once(agent: Client) -> None:
    remember(agent, "one", source="user:al")
    headers = {"Idempotency-Key": "purge-1"}
    first = agent.json("post", "/memories/purge", {"provenance": "user:al"}, **headers).json()
    remember(agent, "two", source="user:al")
    assert agent.json("post", "/memories/purge", {"provenance": "user:al"}, **headers).json() == first
    assert listed(agent) == {"two"}


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("purge", {}, "purge.empty"),
        ("purge", {"dry_run": True}, "purge.empty"),
        ("purge", {"expired": "yes"}, "field.type"),
        ("purge", {"decay_days": "90"}, "field.type"),
        ("purge", {"decay_days": -1}, "decay_days.out_of_range"),
        ("purge", {"decay_days": 1, "salience_floor": 2}, "salience_floor.out_of_range"),
        ("purge", {"provenance": " "}, "text.empty"),
        ("purge", {"owner": "x"}, "field.unknown"),
        ("restore", {}, "restore.empty"),
        ("restore", {"ids": [], "run": "0190aaaa-0000-7000-8000-000000000000"}, "restore.empty"),
        ("restore", {"ids": []}, "batch.size"),
        ("restore", {"ids": ["0190aaaa-0000-7000-8000-000000000000"], "after": "x"}, "id.invalid"),
        (
            "restore",
            {"ids": ["0190aaaa-0000-7000-8000-000000000000"], "after": "0190aaaa-0000-7000-8000-000000000000"},
            "restore.empty",
        ),
        ("restore", {"run": "x"}, "id.invalid"),
    ],
)
def test_what_cannot_be_used(agent: Client, path: str, body: Any, code: str) -> None:
    remember(agent, "stays", source="user:al")
    response = agent.json("post", f"/memories/{path}", body)
    assert response.status_code == 422
    found = response.json()
    assert code in {found["code"], *(one["code"] for one in found.get("errors", ()))}, found
    assert listed(agent) == {"stays"}


def test_policies(agent: Client) -> None:
    answer = agent.json("get", "/retention-policies").json()
    assert answer["current"] == "default"
    items = {item["name"]: item for item in answer["items"]}
    assert list(items) == ["default", "prax", "praxis", "cortex", "engram", "keep"]
    assert items["default"]["tiers"]["episodic"] == {
        "older_than_days": 90.0,
        "least_strength": 0.05,
        "salience_floor": None,
        "stale_after_days": None,
    }
    assert items["default"]["graph"] == {"half_life_days": 60.0, "least_relation": 0.025, "least_entity": 0.05}
    assert (items["praxis"]["clip_characters"], items["prax"]["half_life_days"]) == (280, 7.0)
    agent.json("patch", "/settings", {"retention_policy": "prax"})
    assert agent.json("get", "/retention-policies").json()["current"] == "prax"


def test_strength_is_shown_and_follows_the_policy(agent: Client) -> None:
    memory_id = remember(agent, "Tea is warm.", importance=0.6)
    with owner_scope(agent.actor.owner_id):
        Memory.objects.filter(pk=memory_id).update(created_at=now() - timedelta(days=14))
    shown = agent.json("get", f"/memories/{memory_id}").json()["strength"]
    assert shown == pytest.approx(0.6 * 0.5 ** (14 / 30), abs=1e-4)
    assert agent.json("get", "/memories").json()["items"][0]["strength"] == pytest.approx(shown, abs=1e-4)
    agent.json("patch", "/settings", {"retention_policy": "prax"})
    assert agent.json("get", f"/memories/{memory_id}").json()["strength"] == pytest.approx(0.15, abs=1e-4)
    past = agent.json("get", f"/memories/{memory_id}?as_of=2090-01-01T00:00:00Z").json()
    assert past["strength"] is None
