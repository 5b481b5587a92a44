"""The graph over REST: what is written is found, shown to its readers only, and refused with a code when it is bad."""

from __future__ import annotations

from typing import Any

import pytest

from memory.services.actors import Actor, Permission
from tests.integration.api.conftest import Client, problem, remember

Json = dict[str, Any]


@pytest.fixture
def al(agent: Client) -> str:
    for name, type_ in (("Lisbon", "topic"), ("Porto", "topic")):
        agent.json("post", "/graph/entities", {"name": name, "type": type_})
    return str(agent.json("post", "/graph/entities", {"name": "Al", "type": "person"}).json()["id"])


def state(client: Client, source: str, label: str, target: str, **fields: Any) -> Json:
    body: Json = client.json(
        "post", "/graph/relations", {"source": source, "label": label, "target": target, **fields}
    ).json()
    return body


def test_an_entity_is_merged_and_found(agent: Client) -> None:
    made = agent.json("post", "/graph/entities", {"name": "Renée", "type": "person", "aliases": ["Ren"]})
    assert made.status_code == 201
    entity = made.json()["id"]
    assert made["Location"] == f"/api/v1/graph/entities/{entity}"
    again = agent.json("post", "/graph/entities", {"name": "RENEE", "type": "person", "aliases": ["ren"]})
    assert (again.status_code, again.json()) == (200, {"id": entity, "created": False, "aliases_taken": []})
    for query in ("q=ren", "name=renee", "name=REN", "type=person&q=r%C3%A9n"):
        assert [row["id"] for row in agent.json("get", f"/graph/entities?{query}").json()["items"]] == [entity], query
    shown = agent.json("get", f"/graph/entities/{entity}").json()
    assert (shown["name"], shown["aliases"], shown["mention_count"], shown["scope"]) == ("Renée", ["Ren"], 2, "owner")
    assert agent.json("post", f"/graph/entities/{entity}/aliases", {"alias": "Née"}).status_code == 204
    assert agent.json("get", f"/graph/entities/{entity}").json()["aliases"] == ["Ren", "Née"]
    other = agent.json("post", "/graph/entities", {"name": "Bob", "type": "person"}).json()["id"]
    problem(agent.json("post", f"/graph/entities/{other}/aliases", {"alias": "ren"}), 409, "alias.taken")


def test_entities_come_in_pages(agent: Client) -> None:
    for number in range(5):
        agent.json("post", "/graph/entities", {"name": f"Thing {number}"})
    first = agent.json("get", "/graph/entities?limit=3").json()
    second = agent.json("get", f"/graph/entities?limit=3&cursor={first['next']}").json()
    assert (len(first["items"]), len(second["items"]), second["next"]) == (3, 2, None)
    problem(agent.json("get", f"/memories?cursor={first['next']}"), 422, "cursor.invalid")


def test_a_move_is_a_history(agent: Client, al: str) -> None:
    old = state(agent, "Al", "lives in", "Porto", valid_from="2020-01-01", evidence="he said so")
    new = state(agent, al, "lives_in", "lisbon", valid_from="2026-01-01")
    assert (old["created"], new["created"], new["superseded"]) == (True, True, [old["id"]])
    path = f"/graph/entities/{al}/relations"

    def targets(query: str) -> list[str]:
        return [row["target"]["name"] for row in agent.json("get", path + query).json()["items"]]

    assert targets("") == ["Lisbon"]
    assert targets("?superseded=true") == ["Lisbon", "Porto"]
    assert targets("?valid_at=2024-01-01") == ["Porto"]
    assert targets("?known_at=2024-01-01&superseded=true") == []
    shown = agent.json("get", f"/graph/relations/{old['id']}").json()
    assert (shown["valid_until"], shown["evidence"][0]["text"]) == ("2026-01-01T00:00:00Z", "he said so")
    problem(agent.json("post", f"/graph/relations/{old['id']}/supersede", {}), 409, "relation.closed")
    assert agent.json("post", f"/graph/relations/{new['id']}/supersede", {}).json()["valid_until"] is not None
    assert agent.json("post", f"/graph/relations/{new['id']}/retract").json()["retracted_at"] is not None
    assert targets("?superseded=true") == ["Porto"]


def test_around_and_asked(agent: Client, al: str) -> None:
    state(agent, "Al", "likes", "Lisbon", valid_from="2026-01-01")
    found = agent.json("get", f"/graph/entities/{al}/neighbours?hops=2").json()
    assert [(row["name"], row["distance"]) for row in found["entities"]] == [("Al", 0), ("Lisbon", 1)]
    assert [row["label"] for row in found["relations"]] == ["likes"]
    answer = agent.json("post", "/graph/query", {"question": "Who likes Lisbon?"}).json()
    assert answer["lines"] == ["Al likes Lisbon (since 2026-01-01)"]
    assert agent.json("get", "/graph/stats").json()["relations"] == 1


def test_events_and_causes(agent: Client, al: str) -> None:
    event = {"text": "Al moved.", "occurred_at": "2026-01-01", "participants": ["Al"]}
    assert [agent.json("post", "/graph/events", event).status_code for _ in range(2)] == [201, 200]
    items = agent.json("get", f"/graph/events?entity={al}").json()["items"]
    assert [(row["text"], row["participants"][0]["name"]) for row in items] == [("Al moved.", "Al")]
    cause = {"cause": "sun", "effect": "Al moved", "effect_entity": al, "confidence": 0.5}
    assert [agent.json("post", "/graph/causes", cause).status_code for _ in range(2)] == [201, 200]
    assert agent.json("get", "/graph/causes").json()["items"][0]["effect_entity"]["name"] == "Al"


def test_links_of_memories(agent: Client) -> None:
    first, second = remember(agent, "One."), remember(agent, "Two.")
    body = {"target": second, "kind": "SupportedBy", "weight": 0.3}
    made = agent.json("post", f"/memories/{first}/edges", body)
    assert made.status_code == 201
    assert agent.json("post", f"/memories/{first}/edges", body).status_code == 200
    (edge,) = agent.json("get", f"/memories/{first}/edges").json()["items"]
    assert (edge["kind"], edge["direction"], edge["memory_text"]) == ("supports", "in", "Two.")
    assert agent.json("delete", f"/memories/{second}/edges/{edge['id']}").status_code == 204
    assert agent.json("get", f"/memories/{first}/edges").json()["items"] == []


def test_outsiders_see_nothing(agent: Client, colleague: Client, stranger: Client, al: str) -> None:
    diary = remember(agent, "Al fears Porto.", scope="agent")
    agent.json("post", "/graph/entities", {"name": "Al", "type": "person", "memory": diary})
    secret = state(agent, "Al", "fears", "Porto", memory=diary)["id"]
    for client in (colleague, stranger):
        problem(client.json("get", f"/graph/relations/{secret}"), 404, "not_found")
        assert client.json("post", "/graph/query", {"question": "What does Al fear?"}).json()["lines"] == []
        problem(client.json("post", "/graph/entities", {"name": "Al", "memory": diary}), 404, "not_found")
    assert [row["scope"] for row in agent.json("get", "/graph/entities?name=Al").json()["items"]] == ["agent", "owner"]
    assert stranger.json("get", "/graph/entities").json()["items"] == []
    problem(stranger.json("get", f"/graph/events?entity={al}"), 404, "not_found")
    body = {"source": al, "label": "likes", "target": al}
    problem(stranger.json("post", "/graph/relations", body), 404, "entity.unknown")


def test_a_key_that_may_not_read_is_told_ids_only(alice: Actor, make_client: Any, agent: Client, al: str) -> None:
    blind = make_client(alice, "blind", scopes=[Permission.WRITE])
    assert set(state(blind, "Al", "likes", "Porto")) == {"id", "created", "superseded"}
    event = blind.json("post", "/graph/events", {"text": "Al sang.", "occurred_at": "2026-01-01"})
    assert set(event.json()) == {"id", "created"}


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("entities", {}, 422, "field.required"),
        ("entities", {"name": ""}, 422, "text.empty"),
        ("entities", {"name": "x", "type": "animal"}, 422, "type.invalid"),
        ("entities", {"name": "x", "colour": "red"}, 422, "field.unknown"),
        ("entities", {"name": "x", "scope": "*"}, 422, "scope.invalid"),
        ("entities", {"name": "x", "memory": "7"}, 422, "id.invalid"),
        ("entities", {"name": "x" * 201}, 413, "name.too_long"),
        ("entities", {"name": "x", "properties": {"a": "b" * 20_000}}, 413, "properties.too_large"),
        ("relations", {"source": "Al", "label": "--", "target": "Porto"}, 422, "label.invalid"),
        ("relations", {"source": "Al", "label": "x" * 65, "target": "Porto"}, 422, "label.too_long"),
        ("relations", {"source": "Al", "label": "is", "target": "AL"}, 422, "relation.self"),
        ("relations", {"source": "Al", "label": "is", "target": "Nobody"}, 404, "entity.unknown"),
        ("relations", {"source": "Al", "label": "is", "target": "Porto", "weight": 2}, 422, "weight.out_of_range"),
        (
            "relations",
            {"source": "Al", "label": "is", "target": "Porto", "valid_from": "2026-01-02", "valid_until": "2026-01-01"},
            422,
            "date.order",
        ),
        ("events", {"text": "x", "occurred_at": "soon"}, 422, "date.invalid"),
        (
            "events",
            {"text": "x", "occurred_at": "2026-01-01", "participants": ["x"] * 51},
            422,
            "participants.too_many",
        ),
        ("causes", {"cause": "\u0000", "effect": "x"}, 422, "text.nul"),
        ("query", {"question": ""}, 422, "text.empty"),
        ("query", {"question": "x", "limit": 51}, 422, "limit.out_of_range"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_bad_input(agent: Client, al: str, path: str, body: Json, status: int, code: str) -> None:
    problem(agent.json("post", f"/graph/{path}", body), status, code)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("entities?q=", "q.invalid"),
        ("entities?q=...", "q.invalid"),
        ("entities?type=animal", "type.invalid"),
        ("entities?cursor=x", "cursor.invalid"),
        ("entities?scope=", "scope.invalid"),
        ("entities/{al}/neighbours?hops=4", "hops.out_of_range"),
        ("entities/{al}/neighbours?limit=201", "limit.out_of_range"),
        ("entities/{al}/relations?direction=up", "direction.invalid"),
        ("entities/{al}/relations?superseded=yes", "superseded.invalid"),
        ("entities/{al}/relations?valid_at=soon", "date.invalid"),
        ("events?occurred_from=2026-01-02&occurred_until=2026-01-01", "date.order"),
    ],
)
def test_bad_queries(agent: Client, al: str, query: str, code: str) -> None:
    problem(agent.json("get", f"/graph/{query.format(al=al)}"), 422, code)


def test_the_same_write_again_is_answered_again(agent: Client, al: str) -> None:
    body = {"source": "Al", "label": "likes", "target": "Porto"}
    first = agent.json("post", "/graph/relations", body, **{"Idempotency-Key": "one"})
    again = agent.json("post", "/graph/relations", body, **{"Idempotency-Key": "one"})
    assert (first.status_code, again.status_code, again["Idempotency-Replayed"]) == (201, 201, "true")
    assert agent.json("get", f"/graph/relations/{first.json()['id']}").json()["weight"] == 0.5
