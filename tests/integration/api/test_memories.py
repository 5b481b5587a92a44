"""Storing, listing, reading, changing and retiring memories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.models import Status
from memory.services.actors import Actor
from tests.integration.api.conftest import Client, problem, remember

Maker = Callable[..., Client]


def test_a_statement_is_stored_once_and_then_reinforced(agent: Client) -> None:
    first = agent.json("post", "/memories", {"text": "Alice prefers tea to coffee.", "kind": "preference"})
    second = agent.json("post", "/memories", {"text": "Alice prefers tea to coffee.", "kind": "preference"})
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["created"] is True
    assert second.json()["created"] is False
    assert first.json()["id"] == second.json()["id"]
    assert first["Location"] == f"/api/v1/memories/{first.json()['id']}"
    assert first["Cache-Control"] == "no-store"
    found = agent.json("get", f"/memories/{first.json()['id']}")
    assert found.json()["access_count"] == 1
    sources = agent.json("get", f"/memories/{first.json()['id']}/sources").json()["items"]
    assert len(sources) == 2
    assert {source["agent_id"] for source in sources} == {str(agent.actor.agent_id)}


def test_a_memory_is_shown_whole(agent: Client) -> None:
    fields: dict[str, Any] = {
        "text": "Ship on 3 May 2026 \N{ROCKET}",
        "kind": "decision",
        "category": "project",
        "importance": 0.75,
        "confidence": 0.5,
        "tags": ["release", "q2"],
        "topics": ["shipping"],
        "source": "user:al/chat",
        "metadata": {"ticket": 7, "nested": {"list": [1, None, True]}},
        "speaker": "Al",
        "occurred_at": "2026-05-01T10:00:00+02:00",
        "valid_from": "2026-05-03",
        "expires_at": "2031-01-01T00:00:00Z",
    }
    found = agent.json("get", f"/memories/{remember(agent, **fields)}")
    body = found.json()
    for name in ("text", "kind", "category", "importance", "confidence", "tags", "topics", "source", "metadata"):
        assert body[name] == fields[name]
    assert body["occurred_at"] == "2026-05-01T08:00:00Z"
    assert body["valid_from"] == "2026-05-03T00:00:00Z"
    assert body["valid_until"] is None
    assert body["expires_at"] == "2031-01-01T00:00:00Z"
    assert body["created_at"].endswith("Z")
    assert body["scope"] == "owner"
    assert body["status"] == "live"
    assert body["version"] == 1
    assert found["ETag"] == '"1"'
    assert b"enc:v" not in found.content


def test_a_batch_stores_the_good_items_and_names_the_bad_ones(agent: Client) -> None:
    items: list[Any] = [
        {"text": "one"},
        {"text": ""},
        {"text": "two", "importance": 3},
        "not an object",
        {"text": "three", "colour": "red"},
        {"text": "one"},
        {"text": "four", "kind": "turn"},
        {"text": "five"},
    ]
    response = agent.json("post", "/memories/batch", {"items": items})
    assert response.status_code == 200
    body = response.json()
    outcomes = [result["outcome"] for result in body["results"]]
    assert outcomes.count("refused") == 5
    assert sorted(outcomes[index] for index in (0, 5)) == ["created", "existing"]
    assert outcomes[7] == "created"
    assert (body["created"], body["existing"], body["refused"]) == (2, 1, 5)
    codes = [result.get("error", {}).get("code") for result in body["results"]]
    assert codes[1:5] == ["text.empty", "importance.out_of_range", "field.type", "field.unknown"]
    assert codes[6] == "kind.invalid"
    assert [result["index"] for result in body["results"]] == list(range(len(items)))
    assert agent.json("get", "/stats").json()["total"] == 2


def test_a_batch_of_bad_items_only_is_refused(agent: Client) -> None:
    response = agent.json("post", "/memories/batch", {"items": [{"text": ""}, {"text": "\x00"}]})
    body = problem(response, 422, "batch.nothing_stored")
    assert [result["error"]["code"] for result in body["results"]] == ["text.empty", "text.nul"]
    problem(agent.json("post", "/memories/batch", {"items": []}), 422, "batch.size")
    problem(agent.json("post", "/memories/batch", {"items": [{"text": "x"}] * 501}), 422, "batch.size")
    problem(agent.json("post", "/memories/batch", {"items": {"text": "x"}}), 422, "field.type")
    assert agent.json("get", "/stats").json()["total"] == 0


def test_lists_are_filtered(agent: Client) -> None:
    tea = remember(agent, "tea", kind="preference", tags=["Drinks"], source="user:al/chat", category="preference")
    skill = remember(agent, "how to brew", kind="skill", tags=["drinks", "kitchen"], source="user:al/notes")
    fact = remember(agent, "kettles boil", kind="fact", category="fact")
    gone = remember(agent, "an old fact", kind="fact")
    agent.json("post", f"/memories/{gone}/archive")

    def ids(query: str) -> list[str]:
        response = agent.json("get", f"/memories?{query}")
        assert response.status_code == 200, response.content
        return [item["id"] for item in response.json()["items"]]

    assert ids("") == [fact, skill, tea]
    assert ids("kind=skill&kind=preference") == [skill, tea]
    assert ids("tier=procedural") == [skill]
    assert ids("category=Fact") == [fact]
    assert ids("tag=drinks") == [skill, tea]
    assert ids("tag=kitchen&kind=skill") == [skill]
    assert ids("source=user:al") == [skill, tea]
    assert ids("source=user:al/chat") == [tea]
    assert ids("status=archived") == [gone]
    assert ids("status=archived&status=live") == [gone, fact, skill, tea]
    assert ids("scope=agent") == []
    assert ids("scope=owner&scope=agent") == [fact, skill, tea]
    assert ids(f"agent={agent.actor.agent_id}") == [fact, skill, tea]
    assert ids(f"agent={uuid4()}") == []
    assert ids("created_from=2100-01-01") == []
    assert ids("created_until=2100-01-01&limit=1") == [fact]
    assert ids(f"session={uuid4()}") == []


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("colour=red", "query.unknown"),
        ("format=json", "query.unknown"),
        ("limit=0", "limit.out_of_range"),
        ("limit=201", "limit.out_of_range"),
        ("limit=ten", "field.type"),
        ("limit=1&limit=2", "query.repeated"),
        ("cursor=garbage", "cursor.invalid"),
        ("cursor=", "cursor.invalid"),
        ("cursor=" + "x" * 5000, "cursor.invalid"),
        ("kind=opinion", "kind.invalid"),
        ("status=erasing", "status.invalid"),
        ("tier=working", "tier.invalid"),
        ("category=colours", "category.unknown"),
        ("session=7", "id.invalid"),
        ("created_from=yesterday", "date.invalid"),
        ("created_from=0001-01-01", "date.out_of_range"),
        ("created_from=2026-01-02&created_until=2026-01-02", "date.order"),
        ("tag=%00", "text.nul"),
        ("tag=", "text.empty"),
        ("tag=" + "x" * 900, "text.too_large"),
        ("&".join(f"tag=t{n}" for n in range(51)), "tag.too_many"),
        ("scope=", "scope.invalid"),
        ("scope=*", "scope.invalid"),
        ("scope=everyone", "scope.invalid"),
        ("scope=squad:7", "scope.invalid"),
    ],
)
def test_query_parameters_that_cannot_be_used(agent: Client, query: str, code: str) -> None:
    status = 413 if code == "text.too_large" else 422
    problem(agent.json("get", f"/memories?{query}"), status, code)


def test_pages_are_complete_while_rows_are_added(agent: Client) -> None:
    expected = [remember(agent, f"statement {number}") for number in range(23)][::-1]
    seen: list[str] = []
    cursor, turn = "", 0
    while True:
        page = agent.json("get", f"/memories?limit=5{cursor}").json()
        seen += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
        remember(agent, f"added meanwhile {turn}")
        turn += 1
    assert seen == expected
    assert turn == 4


def test_a_cursor_of_another_list_or_changed_by_hand_is_refused(agent: Client) -> None:
    for number in range(3):
        remember(agent, f"statement {number}")
    cursor = agent.json("get", "/memories?limit=1").json()["next"]
    problem(agent.json("get", f"/sessions?cursor={cursor}"), 422, "cursor.invalid")
    changed = ("A" if cursor[5] != "A" else "B").join((cursor[:5], cursor[6:]))
    problem(agent.json("get", f"/memories?cursor={changed}"), 422, "cursor.invalid")


def test_a_change_keeps_what_was_said_before(agent: Client) -> None:
    memory = remember(agent, "The office is in Rome.", kind="fact", importance=0.4, tags=["office"])
    response = agent.json("patch", f"/memories/{memory}", {"text": "The office is in Oslo.", "importance": 0.9})
    assert response.status_code == 200
    assert response["ETag"] == '"2"'
    body = response.json()
    assert (body["text"], body["importance"], body["version"]) == ("The office is in Oslo.", 0.9, 2)
    assert body["tags"] == ["office"]
    (former,) = agent.json("get", f"/memories/{memory}/history").json()["items"]
    assert former["number"] == 1
    assert former["text"] == "The office is in Rome."
    assert former["changes"] == {"importance": 0.4}
    assert former["actor"] == f"agent:{agent.actor.agent_id}"
    hits = agent.json("post", "/recall", {"query": "office in Oslo"}).json()["hits"]
    assert [hit["memory"]["id"] for hit in hits] == [memory]


def test_null_clears_what_may_be_empty(agent: Client) -> None:
    memory = remember(agent, "Tickets are cheap.", source="web", metadata={"a": 1}, valid_until="2030-01-01")
    body = agent.json("patch", f"/memories/{memory}", {"source": None, "metadata": None, "valid_until": None}).json()
    assert (body["source"], body["metadata"], body["valid_until"]) == (None, None, None)
    for name in ("text", "kind", "importance", "tags", "occurred_at", "category"):
        problem(agent.json("patch", f"/memories/{memory}", {name: None}), 422, "field.null")


def test_changes_that_cannot_be_made(agent: Client) -> None:
    memory, other = remember(agent, "first"), remember(agent, "second")
    problem(agent.json("patch", f"/memories/{memory}", {}), 422, "change.empty")
    problem(agent.json("patch", f"/memories/{memory}", {"status": "archived"}), 422, "field.unknown")
    problem(agent.json("patch", f"/memories/{memory}", {"kind": "turn"}), 422, "kind.invalid")
    problem(agent.json("patch", f"/memories/{memory}", {"scope": None}), 422, "scope.invalid")
    body = problem(agent.json("patch", f"/memories/{memory}", {"text": "second"}), 409, "memory.duplicate")
    assert body["memory_id"] == other
    agent.json("post", f"/memories/{memory}/archive")
    problem(agent.json("patch", f"/memories/{memory}", {"importance": 1}), 409, "memory.not_live")
    assert agent.json("get", f"/memories/{memory}").json()["version"] == 1


@pytest.mark.parametrize("method", ["patch", "delete"])
def test_an_outdated_version_is_refused(agent: Client, method: str) -> None:
    memory = remember(agent, "first")
    agent.json("patch", f"/memories/{memory}", {"text": "changed"})
    body = {"importance": 0.1} if method == "patch" else None
    path = f"/memories/{memory}"
    for tags in ('"1"', '"1", "7"', "garbage", 'W/"x"'):
        problem(agent.json(method, path, body, **{"If-Match": tags}), 412, "precondition.failed")
    assert agent.json("get", path).json()["status"] == "live"
    assert agent.json(method, path, body, **{"If-Match": '"1", "2"'}).status_code == 200


def test_any_version_matches_a_star(agent: Client) -> None:
    memory = remember(agent, "first")
    response = agent.json("patch", f"/memories/{memory}", {"importance": 0.1}, **{"If-Match": "*"})
    assert response.status_code == 200


def test_an_agents_delete_archives_and_can_be_undone(agent: Client) -> None:
    memory = remember(agent, "Kyoto is old.")
    response = agent.json("delete", f"/memories/{memory}")
    assert response.status_code == 200
    assert response.json()["status"] == "archived"
    assert response.json()["archived_at"] is not None
    assert agent.json("get", "/memories").json()["items"] == []
    assert agent.json("post", "/recall", {"query": "Kyoto"}).json()["hits"] == []
    restored = agent.json("post", f"/memories/{memory}/restore")
    assert restored.json()["status"] == "live"
    assert len(agent.json("post", "/recall", {"query": "Kyoto"}).json()["hits"]) == 1


def test_a_persons_delete_erases_later_and_can_be_undone(agent: Client, woman: Client) -> None:
    memory = remember(agent, "Kyoto is old.")
    response = woman.json("delete", f"/memories/{memory}")
    assert response.status_code == 202
    assert response.json()["status"] == "erasing"
    assert response.json()["erase_at"] is not None
    problem(agent.json("get", f"/memories/{memory}"), 404, "not_found")
    assert woman.json("post", f"/memories/{memory}/restore").json()["status"] == Status.LIVE
    assert agent.json("get", f"/memories/{memory}").json()["erase_at"] is None


def test_archiving_and_restoring_twice_changes_nothing(agent: Client) -> None:
    memory = remember(agent, "Kyoto is old.")
    first = agent.json("post", f"/memories/{memory}/archive").json()
    assert agent.json("post", f"/memories/{memory}/archive").json() == first
    again = agent.json("post", f"/memories/{memory}/restore").json()
    assert agent.json("post", f"/memories/{memory}/restore").json() == again
    agent.json("post", f"/memories/{memory}/archive")
    remember(agent, "Kyoto is old.")
    problem(agent.json("post", f"/memories/{memory}/restore"), 409, "memory.duplicate")


def test_the_scope_decides_who_reads(agent: Client, colleague: Client, woman: Client) -> None:
    group = woman.json("post", "/groups", {"kind": "squad", "name": "core"}).json()["id"]
    problem(agent.json("post", "/memories", {"text": "x", "scope": f"squad:{group}"}), 403, "auth.forbidden")
    for member in (agent, colleague):
        assert woman.json("put", f"/groups/{group}/members/{member.actor.agent_id}").status_code == 204
    shared = remember(agent, "for the squad", scope=f"squad:{group}")
    assert colleague.json("get", f"/memories/{shared}").json()["scope"] == f"squad:{group}"
    assert woman.json("delete", f"/groups/{group}/members/{colleague.actor.agent_id}").status_code == 204
    problem(colleague.json("get", f"/memories/{shared}"), 404, "not_found")
    problem(agent.json("post", "/memories", {"text": "x", "scope": f"project:{group}"}), 404, "not_found")
    problem(woman.json("post", "/memories", {"text": "x", "scope": "agent"}), 422, "scope.invalid")


def test_a_list_of_any_length_takes_the_same_number_of_queries(agent: Client) -> None:
    counts = []
    for number in range(12):
        remember(agent, f"statement {number}", tags=["a", "b"])
        if number in (0, 11):
            with CaptureQueriesContext(
                connection,
            ) as captured:
                assert agent.json("get", "/memories?tag=a").status_code == 200
            counts.append(len(captured))
    assert counts[0] == counts[1]


def test_reading_writes_nothing_but_that_it_was_read(alice: Actor, agent: Client) -> None:
    memory = remember(agent, "Kyoto is old.")
    paths = ["/memories", f"/memories/{memory}", f"/memories/{memory}/history", f"/memories/{memory}/sources"]
    for path in [*paths, "/stats", "/settings", "/profiles", "/sessions", "/export", "/agents", "/groups"]:
        with CaptureQueriesContext(connection) as captured:
            response = agent.json("get", path)
            if response.streaming:
                b"".join(response.streaming_content)
        written = [query["sql"] for query in captured if query["sql"].split()[0] in ("INSERT", "UPDATE", "DELETE")]
        assert [sql for sql in written if not sql.startswith('INSERT INTO "memory_auditevent"')] == [], path
        assert len(written) <= 1, path
