"""Reviews and merges over REST: lists, decisions with versions, and what each may see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from memory.ids import new_id
from memory.models import ReviewKind
from memory.services.actors import Actor, Permission, Target
from tests.integration.api.conftest import Client, problem, remember
from tests.integration.consolidation.reviewing import fact, opened

Json = dict[str, Any]


@pytest.fixture
def doubts(alice: Actor) -> list[str]:
    return [str(opened(alice, payload=fact(f"Fact {number} about Alice.")).pk) for number in range(3)]


def listed(client: Client, query: str = "") -> list[str]:
    return [row["id"] for row in client.json("get", f"/reviews{query}").json()["items"]]


def test_items_are_listed_shown_and_counted(alice: Actor, agent: Client, woman: Client, doubts: list[str]) -> None:
    said = remember(agent, "Alice eats no peanuts.")
    event: Json = {"text": "Alice left.", "occurred_at": "2026-01-01T00:00:00+00:00", "participants": []}
    doubts.append(str(opened(alice, ReviewKind.EVENT, event, evidence=[(new_id(), "")]).pk))
    doubts.append(str(opened(alice, payload=fact("Peanuts."), evidence=[]).pk))
    assert listed(agent) == doubts[::-1]
    first = agent.json("get", "/reviews?limit=2&kind=fact").json()
    assert [row["id"] for row in first["items"]] == [doubts[4], doubts[2]]
    assert listed(agent, f"?kind=fact&cursor={first['next']}") == [doubts[1], doubts[0]]
    assert agent.json("get", "/stats").json()["open_reviews"] == 5
    woman.json("post", f"/reviews/{doubts[0]}/reject")
    assert (listed(agent, "?state=rejected"), len(listed(agent, "?state=all"))) == ([doubts[0]], 5)
    assert agent.json("get", "/stats").json()["open_reviews"] == 4
    shown = agent.json("get", f"/reviews/{doubts[1]}")
    assert (shown["ETag"], shown.json()["payload"]["text"], shown.json()["scope"]) == (
        '"1"',
        "Fact 1 about Alice.",
        "owner",
    )
    assert said not in str(shown.json())
    problem(agent.json("get", "/reviews?state=new"), 422, "state.invalid")
    problem(agent.json("get", f"/memories?cursor={first['next']}"), 422, "cursor.invalid")


def test_a_person_approves_changes_and_undoes(woman: Client, doubts: list[str]) -> None:
    path = f"/reviews/{doubts[0]}"
    problem(woman.json("post", f"{path}/approve", {"changes": {"turns": []}}), 422, "field.unknown")
    problem(woman.json("post", f"{path}/approve", {"text": "x"}), 422, "field.unknown")
    problem(woman.json("post", f"{path}/undo"), 409, "review.open")
    body = {"changes": {"text": "Alice likes tea."}}
    done = woman.json("post", f"{path}/approve", body, **{"If-Match": '"1"', "Idempotency-Key": "one"})
    assert (done.status_code, done["ETag"], done.json()["state"]) == (200, '"2"', "approved")
    again = woman.json("post", f"{path}/approve", body, **{"If-Match": '"1"', "Idempotency-Key": "one"})
    assert (again["Idempotency-Replayed"], again.json()) == ("true", done.json())
    made = done.json()["outcome"]["memory"]
    assert woman.json("get", f"/memories/{made}").json()["text"] == "Alice likes tea."
    assert set(done.json()["outcome"]) == {"changes", "memory", "created"}
    problem(woman.json("post", f"{path}/approve", {}), 409, "review.decided")
    problem(woman.json("post", f"{path}/undo", None, **{"If-Match": '"1"'}), 412, "precondition.failed")
    assert woman.json("post", f"{path}/undo", None, **{"If-Match": '"2"'}).json()["state"] == "open"
    assert woman.json("get", f"/memories/{made}").json()["status"] == "archived"
    woman.json("post", f"{path}/approve", {})
    woman.json("patch", f"/memories/{made}", {"importance": 0.1})


def test_items_are_put_off(woman: Client, doubts: list[str]) -> None:
    problem(woman.json("post", f"/reviews/{doubts[0]}/snooze", {"until": "2020-01-01"}), 422, "date.past")
    problem(woman.json("post", f"/reviews/{doubts[0]}/snooze", {}), 422, "field.required")
    assert woman.json("post", f"/reviews/{doubts[0]}/snooze", {"until": "2150-01-01"}).json()["state"] == "snoozed"
    assert (doubts[0] in listed(woman), listed(woman, "?state=snoozed")) == (False, [doubts[0]])


def test_many_are_decided_at_once(woman: Client, doubts: list[str]) -> None:
    unknown = str(new_id())
    ids = [*doubts, unknown, "x" * 100]
    answer = woman.json("post", "/reviews/decide", {"ids": ids, "decision": "approve"}).json()
    assert (answer["decided"], answer["refused"]) == (3, 2)
    assert [(row["id"], row["outcome"]) for row in answer["results"]] == [
        *((item, "decided") for item in doubts),
        (unknown, "refused"),
        ("x" * 64, "refused"),
    ]
    assert [row["error"]["code"] for row in answer["results"][3:]] == ["not_found", "id.invalid"]
    assert len(woman.json("get", "/memories?kind=fact").json()["items"]) == 3
    for body, code in (
        ({"ids": [], "decision": "reject"}, "batch.size"),
        ({"ids": [unknown] * 101, "decision": "reject"}, "batch.size"),
        ({"ids": [7], "decision": "reject"}, "field.type"),
        ({"ids": doubts, "decision": "burn"}, "decision.invalid"),
        ({"ids": doubts, "decision": "snooze"}, "date.invalid"),
    ):
        problem(woman.json("post", "/reviews/decide", body), 422, code)


def test_a_key_decides_only_with_the_permission_and_sees_only_its_scopes(
    alice: Actor, agent: Client, make_client: Callable[..., Client], doubts: list[str]
) -> None:
    writer = make_client(alice, "writer")
    problem(writer.json("post", f"/reviews/{doubts[0]}/approve", {}), 403, "auth.forbidden")
    assert writer.actor.agent_id is not None
    private = str(opened(alice, payload=fact("A secret."), target=Target("agent", writer.actor.agent_id)).pk)
    assert (private in listed(writer), private in listed(agent)) == (True, False)
    problem(agent.json("post", f"/reviews/{private}/approve", {}), 404, "not_found")
    blind = make_client(alice, "blind", scopes=[Permission.REVIEW, Permission.WRITE])
    answer = blind.json("post", f"/reviews/{doubts[0]}/approve", {})
    assert (answer.json()["state"], answer.json()["version"]) == ("approved", 2)
    assert "payload" not in answer.json()


def test_duplicates_are_proposed_merged_kept_apart_and_taken_apart(agent: Client, woman: Client) -> None:
    ids = {}
    for name, type_ in (
        ("Merrivale", "topic"), ("Merryvale", "topic"), ("Git Hub", "tool"), ("GitHub", "tool"),
        ("Room 101", "topic"), ("Room 102", "topic"),
    ):  # fmt: skip
        ids[name] = agent.json("post", "/graph/entities", {"name": name, "type": type_}).json()["id"]

    def pairs(query: str = "") -> list[tuple[set[str], str, str]]:
        rows = agent.json("get", f"/graph/duplicates{query}").json()["items"]
        return [({row["first"]["name"], row["second"]["name"]}, row["rule"], row["verdict"]) for row in rows]

    hubs, vales = ({"Git Hub", "GitHub"}, "spelling", "same"), ({"Merrivale", "Merryvale"}, "near", "ask")
    assert pairs() == [hubs, vales]
    assert pairs("?type=tool") == [hubs]
    walked, cursor = [], ""
    while True:
        page = agent.json("get", f"/graph/duplicates?limit=1{cursor}").json()
        walked += [row["rule"] for row in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert sorted(walked) == ["near", "spelling"]
    path = f"/graph/entities/{ids['Git Hub']}"
    made = woman.json("post", f"{path}/merge", {"other": ids["GitHub"]})
    assert (made.status_code, made["Location"]) == (201, f"/api/v1{path}")
    assert (
        woman.json("post", f"/graph/entities/{ids['Merrivale']}/apart", {"other": ids["Merryvale"]}).status_code == 204
    )
    assert pairs() == []
    [row] = agent.json("get", f"/graph/merges?entity={ids['Git Hub']}").json()["items"]
    assert (row["kept_name"], row["merged_name"], row["rule"], row["undone_at"]) == (
        "Git Hub",
        "GitHub",
        "by_hand",
        None,
    )
    assert agent.json("get", "/graph/entities?name=github").json()["items"][0]["id"] == ids["Git Hub"]
    assert woman.json("post", f"/graph/merges/{row['id']}/undo").status_code == 200
    problem(woman.json("post", f"/graph/merges/{row['id']}/undo"), 409, "merge.undone")
    assert pairs() == [hubs]
    problem(woman.json("post", f"{path}/merge", {"other": ids["Git Hub"]}), 422, "entities.pair")


def test_items_of_an_entity_are_told_by_what_the_reader_may_read(
    alice: Actor, agent: Client, colleague: Client, woman: Client
) -> None:
    said, hidden = remember(agent, "Al left."), remember(agent, "Al is ill.", scope="agent")
    shared = agent.json("post", "/graph/entities", {"name": "Al", "memory": said}).json()["id"]
    private = agent.json("post", "/graph/entities", {"name": "Al", "memory": hidden}).json()["id"]
    item = str(opened(alice, evidence=[(UUID(said), ""), (UUID(hidden), "")]).pk)
    for client in (agent, colleague, woman):
        assert listed(client, f"?entity={shared}") == [item]
    assert listed(agent, f"?entity={private}") == [item]
    problem(colleague.json("get", f"/reviews?entity={private}"), 404, "not_found")
    # The evidence goes out of the colleague's sight, and so does what it alone speaks of.
    assert agent.json("patch", f"/memories/{said}", {"scope": "agent"}).status_code == 200
    problem(colleague.json("get", f"/reviews?entity={shared}"), 404, "not_found")
    own = agent.json("get", "/graph/entities?name=Al").json()["items"]
    assert own
    assert all(listed(agent, f"?entity={row['id']}") == [item] for row in own)


def test_an_entity_is_changed_deleted_and_its_memories_listed(agent: Client, woman: Client) -> None:
    said = remember(agent, "Al came.")
    entity = agent.json("post", "/graph/entities", {"name": "Al", "type": "person", "memory": said}).json()["id"]
    path = f"/graph/entities/{entity}"
    assert [row["id"] for row in agent.json("get", f"{path}/mentions").json()["items"]] == [said]
    problem(agent.json("patch", path, {}), 422, "change.empty")
    problem(agent.json("patch", path, {"aliases": []}), 422, "field.unknown")
    changed = agent.json("patch", path, {"name": "Allan", "properties": {"team": "red"}})
    shown = agent.json("get", path).json()
    assert (changed.status_code, changed.json()) == (200, shown)
    assert (shown["name"], shown["aliases"], shown["properties"]) == ("Allan", ["Al"], {"team": "red"})
    agent.json("post", "/graph/entities", {"name": "Bob", "type": "person"})
    problem(agent.json("patch", path, {"name": "bob"}), 409, "alias.taken")
    assert woman.json("delete", path).status_code == 204
    problem(agent.json("get", path), 404, "not_found")
    assert agent.json("get", f"/memories/{said}").status_code == 200
