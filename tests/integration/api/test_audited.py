"""Every read of an agent is one event, whatever route it takes; a person's reads are none."""

from __future__ import annotations

from typing import Any

import pytest

from memory.models import AuditEvent, MemoryRead, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit import readers
from memory.services.audit.vocabulary import ACTORS, KINDS, VERBS
from tests.integration.api import test_access
from tests.integration.api.conftest import Client, bearing, problem, remember
from tests.integration.api.endpoints import ENDPOINTS


@pytest.fixture
def agent(agent: Client) -> Client:
    """The agent with a token for the bus."""
    return bearing(agent)


@pytest.fixture
def rows(agent: Client, colleague: Client, woman: Client) -> dict[str, str]:
    """Rows of Alice that nobody has read before."""
    return test_access.plant(agent, colleague, woman)


# What a route with the permission to read tells without showing what memories say.
SHOWS_NO_MEMORY = {
    "/retention-policies",
    "/graph/stats",
    "/consolidation",
    "/consolidation/runs",
    "/consolidation/runs/{run}",
    "/consolidation/failures",
    "/skills/stats",
    "/settings",
    "/profiles",
    "/profiles/default",
    "/stats",
}
# An agent is refused there.
FOR_PERSONS = {"/memories/{memory}/reveal", "/saved-searches"}
READING = [
    (method, path, body)
    for method, path, body, permission in ENDPOINTS
    if permission == Permission.READ
    and path not in SHOWS_NO_MEMORY | FOR_PERSONS
    or path in {"/access-log", "/memories/{memory}/reads"}
]


def reads_of(actor: Actor) -> list[AuditEvent]:
    with owner_scope(actor.owner_id):
        return list(AuditEvent.objects.filter(verb=AuditEvent.READ).order_by("pk"))


@pytest.mark.parametrize(("method", "path", "body"), READING, ids=[f"{method} {path}" for method, path, _ in READING])
def test_a_read_of_an_agent_is_one_event(
    agent: Client, woman: Client, rows: dict[str, str], method: str, path: str, body: Any
) -> None:
    before = len(reads_of(agent.actor))
    assert woman.json(method, path.format(**rows), test_access.filled(body, rows)).status_code in (200, 404)
    assert len(reads_of(agent.actor)) == before
    assert agent.json(method, path.format(**rows), test_access.filled(body, rows)).status_code == 200
    [event] = reads_of(agent.actor)[before:]
    assert (event.actor, event.reason) == (f"agent:{agent.actor.agent_id}", "rest")
    named = {str(value) for value in rows.values()}
    assert event.object_id is None or str(event.object_id) in named or event.object_kind in {"recall", "context"}


@pytest.mark.parametrize("path", sorted(SHOWS_NO_MEMORY))
def test_what_shows_no_memory_is_no_read(agent: Client, rows: dict[str, str], path: str) -> None:
    before = len(reads_of(agent.actor))
    assert agent.json("get", path.format(**rows)).status_code == 200
    assert len(reads_of(agent.actor)) == before


def test_a_refused_read_is_none(agent: Client, stranger: Client, rows: dict[str, str]) -> None:
    before = len(reads_of(agent.actor))
    problem(stranger.json("get", f"/memories/{rows['memory']}"), 404, "not_found")
    problem(agent.json("get", "/memories/none"), 404, "not_found")
    assert (len(reads_of(agent.actor)), reads_of(stranger.actor)) == (before, [])


def test_a_change_that_shows_the_memory_is_a_read_of_who_may_read(
    alice: Actor, agent: Client, make_client: test_access.Maker
) -> None:
    blind = make_client(alice, "blind", scopes=[Permission.WRITE, Permission.DELETE])
    memory = remember(agent)
    assert blind.json("post", f"/memories/{memory}/archive").status_code == 200
    assert reads_of(alice) == []
    assert agent.json("post", f"/memories/{memory}/archive").status_code == 200
    [event] = reads_of(alice)
    assert (str(event.object_id), event.actor) == (memory, f"agent:{agent.actor.agent_id}")


def test_a_page_counts_what_it_shows(agent: Client) -> None:
    for number in range(4):
        remember(agent, f"Alice has {number} cats.")
    page = agent.json("get", "/memories?limit=2").json()
    assert len(page["items"]) == 2
    assert agent.json("get", f"/memories?limit=2&cursor={page['next']}").json()["next"] is None
    assert [(event.object_kind, event.count) for event in reads_of(agent.actor)] == [("memories", 2), ("memories", 2)]
    readers.flush()
    with owner_scope(agent.actor.owner_id):
        assert list(MemoryRead.objects.values_list("reads", flat=True)) == [1, 1, 1, 1]


def test_the_log_and_its_filters(agent: Client, colleague: Client, woman: Client) -> None:
    memory = remember(agent)
    agent.json("get", f"/memories/{memory}")
    colleague.json("post", "/recall", {"query": "tea"})
    woman.json("post", f"/memories/{memory}/archive")
    listed = woman.json("get", "/access-log?limit=3").json()
    assert [(one["verb"], one["kind"], one["agent_name"]) for one in listed["items"]] == [
        ("archive", "memory", None),
        ("read", "recall", "colleague"),
        ("read", "memory", "assistant"),
    ]
    newest, recalled, read = listed["items"]
    assert newest["actor"] == "person"
    assert read["object_id"] == memory
    assert (read["count"], read["seal"], recalled["agent_id"]) == (1, None, str(colleague.actor.agent_id))
    for query, expected in {
        "verb=archive": [newest],
        f"object={memory}&verb=read": [read],
        f"actor=agent:{colleague.actor.agent_id}": [recalled],
        "kind=recall": [recalled],
        f"since={recalled['at']}&verb=read": [recalled],
        f"until={recalled['at']}&verb=read": [read],
        "verb=unmerge": [],
        "kind=skill": [],
        "actor=replay": [],
    }.items():
        assert woman.json("get", f"/access-log?{query}".replace("+", "%2B")).json()["items"] == expected, query


def test_pages_of_the_log_give_each_event_once(agent: Client, woman: Client) -> None:
    memory = remember(agent)
    for _ in range(5):
        agent.json("get", f"/memories/{memory}")
    page = woman.json("get", "/access-log?verb=read&limit=2").json()
    seen = [one["id"] for one in page["items"]]
    while page["next"]:
        page = woman.json("get", f"/access-log?verb=read&limit=2&cursor={page['next']}").json()
        seen += [one["id"] for one in page["items"]]
    assert len(seen) == len(set(seen)) == 5


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("verb=", "text.empty"),
        ("verb=" + "x" * 65, "input.invalid"),
        ("verb=%00", "text.nul"),
        ("object=1", "id.invalid"),
        ("since=never", "date.invalid"),
        ("cursor=x", "cursor.invalid"),
        ("verb=foo", "verb.invalid"),
        ("kind=foo", "kind.invalid"),
        ("actor=foo", "actor.invalid"),
        ("actor=agent:foo", "actor.invalid"),
    ],
)
def test_filters_that_cannot_be_used(woman: Client, query: str, code: str) -> None:
    problem(woman.json("get", f"/access-log?{query}"), 422, code)


@pytest.mark.parametrize(
    ("name", "known"), [("verb", VERBS), ("kind", KINDS), ("actor", ACTORS | {"agent:<id>", "staff:<id>"})]
)
def test_an_unknown_word_is_answered_with_the_known_ones(woman: Client, name: str, known: frozenset[str]) -> None:
    body = problem(woman.json("get", f"/access-log?{name}=foo"), 422, f"{name}.invalid")
    assert body["field"] == name
    assert sorted(body["known"]) == sorted(known)
    assert all(word in body["detail"] for word in known)


def test_others_see_nothing_of_it(agent: Client, stranger: Client, powerless: Client, woman: Client) -> None:
    memory = remember(agent)
    agent.json("get", f"/memories/{memory}")
    assert stranger.json("get", "/access-log?verb=read").json()["items"] == []
    problem(stranger.json("get", f"/memories/{memory}/reads"), 404, "not_found")
    for path in ("/access-log", f"/memories/{memory}/reads"):
        problem(powerless.json("get", path), 403, "auth.forbidden")


def test_who_has_read_a_memory(agent: Client, colleague: Client, woman: Client) -> None:
    memory = remember(agent)
    for client in (agent, colleague, agent, woman):
        client.json("post", "/recall", {"query": "tea or coffee"})
    readers.flush()
    found = woman.json("get", f"/memories/{memory}/reads").json()["items"]
    assert [(one["name"], one["reads"]) for one in found] == [("assistant", 2), ("colleague", 1)]
    assert found[0]["first_at"] < found[1]["first_at"] < found[0]["last_at"]
