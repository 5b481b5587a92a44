"""Compressing over REST: a dry run, the run, the list, and the undoing; with walls and permissions."""

from __future__ import annotations

from collections.abc import Callable

from memory.services.actors import Actor, Permission
from tests.integration.api.conftest import Client, problem, remember

TEXTS = [f"Renée counted {number} boats in the harbour of Faro on day {number}." for number in range(3)]


def test_compress_and_undo(agent: Client, colleague: Client, stranger: Client) -> None:
    ids = [remember(agent, text, occurred_at="2020-05-01T10:00:00Z") for text in TEXTS]
    recent = remember(agent, "Al bought a bicycle.")
    body = {"older_than_days": 30, "least": 3}
    dry = agent.json("post", "/memories/compress", {**body, "dry_run": True}).json()
    assert (dry["dry_run"], dry["left_alone"]) == (True, 0)
    assert dry["made"] == [{"summary_id": None, "scope": "owner", "memory_ids": sorted(ids), "way": ""}]
    assert agent.json("get", f"/memories/{ids[0]}").json()["status"] == "live"
    headers = {"Idempotency-Key": "one"}
    (made,) = agent.json("post", "/memories/compress", body, **headers).json()["made"]
    again = agent.json("post", "/memories/compress", body, **headers)
    assert again.json()["made"] == [made]
    assert (sorted(made["memory_ids"]), made["way"]) == (sorted(ids), "rules")
    shown = agent.json("get", f"/memories/{ids[0]}").json()
    assert (shown["status"], shown["archive_reason"]) == ("archived", "compressed")
    assert agent.json("get", f"/memories/{recent}").json()["status"] == "live"
    (listed,) = colleague.json("get", "/compressions").json()["items"]
    assert (listed["id"], listed["memories"], listed["scope"]) == (made["summary_id"], 3, "owner")
    assert "Renée counted 2 boats" in listed["text"]
    assert stranger.json("get", "/compressions").json() == {"items": [], "next": None}
    path = f"/compressions/{made['summary_id']}/undo"
    problem(stranger.json("post", path), 404, "not_found")
    undone = agent.json("post", path).json()
    assert undone == {"summary_id": made["summary_id"], "restored": 3, "refused": []}
    assert agent.json("get", f"/memories/{ids[0]}").json()["status"] == "live"
    assert agent.json("get", "/compressions").json()["items"] == []
    problem(agent.json("post", f"/compressions/{recent}/undo"), 404, "compression.unknown")


def test_bad_requests_and_permissions(agent: Client, alice: Actor, make_client: Callable[..., Client]) -> None:
    for body, code in (
        ({"least": 1}, "least.out_of_range"),
        ({"most": 10_000}, "most.out_of_range"),
        ({"tier": "working"}, "tier.invalid"),
        ({"category": "nonsense"}, "category.unknown"),
        ({"session": "x"}, "id.invalid"),
        ({"scope": None}, "scope.invalid"),
        ({"days": 3}, "field.unknown"),
        ({"older_than_days": "30"}, "field.type"),
    ):
        problem(agent.json("post", "/memories/compress", body), 422, code)
    unknown = {"session": "0190aaaa-0000-7000-8000-000000000000", "dry_run": True}
    problem(agent.json("post", "/memories/compress", unknown), 404, "not_found")
    for scopes in ([Permission.READ, Permission.WRITE], [Permission.DELETE]):
        weak = make_client(alice, f"weak {len(scopes)}", scopes=scopes)
        problem(weak.json("post", "/memories/compress", {}), 403, "auth.forbidden")
