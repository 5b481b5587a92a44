"""What people and agents are answered about the graph, the same whichever store is chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from memory.errors import InvalidInput, NotFound, TooLarge
from memory.ids import new_id
from memory.services.actors import Actor
from memory.services.graph.reading import get_neighbours, graph_query
from memory.services.graph.searching import look_up, search_entities
from tests.contract.graph.conftest import Store, Told
from tests.integration.graph.conftest import entity, relate
from tests.integration.graph.moments import FixedClock, day

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def by_the_store(store: Store, told: Told) -> Any:
    """No answer of these tests falls back to the other store."""
    yield
    assert {(read.store, read.outcome) for read in told.reads} <= (
        {("neo4j", "ok")} if store.name == "neo4j" else set()
    )
    assert bool(told.reads) == (store.name == "neo4j")


def around(store: Store, actor: Actor, entity_id: UUID, **options: Any) -> list[tuple[str, int]]:
    store.catch_up(actor)
    found = get_neighbours(actor=actor, entity_id=entity_id, **options)
    assert list(found.degraded) == []
    assert {row.source_id for row in found.relations} <= {row.pk for row, _ in found.entities}
    return [(row.name, distance) for row, distance in found.entities]


def bearing(store: Store, actor: Actor, name: str, **options: Any) -> list[str]:
    store.catch_up(actor)
    ahead = look_up(actor=actor, name=name)
    rows = search_entities(actor=actor, name=name, ahead=ahead, **options)
    assert ahead.degraded == []
    return [row.name for row in rows]


def test_neighbours_and_relations(store: Store, alice: Actor) -> None:
    ids = [entity(alice, name) for name in ("Ann", "Ben", "Cid", "Dan")]
    for first, second, weight in zip(ids, ids[1:], (0.9, 0.5, 0.5), strict=False):
        relate(alice, first, "knows", second, weight=weight)
    relate(alice, ids[1], "likes", ids[3], weight=0.2)
    assert around(store, alice, ids[0], hops=2) == [("Ann", 0), ("Ben", 1), ("Cid", 2), ("Dan", 2)]
    assert around(store, alice, ids[0], hops=2, limit=2) == [("Ann", 0), ("Ben", 1), ("Cid", 2)]
    assert around(store, alice, ids[1], labels=["likes"]) == [("Ben", 0), ("Dan", 1)]
    found = get_neighbours(actor=alice, entity_id=ids[0], hops=3)
    assert [(row.source.name, row.label, row.target.name) for row in found.relations] == [
        ("Ann", "knows", "Ben"),
        ("Ben", "knows", "Cid"),
        ("Ben", "likes", "Dan"),
        ("Cid", "knows", "Dan"),
    ]


def test_the_past(store: Store, alice: Actor, time: FixedClock) -> None:
    ann = entity(alice, "Ann")
    for town in ("Rome", "Oslo"):
        entity(alice, town, "topic")
    relate(alice, ann, "lives_in", "Rome", valid_from="2020-01-01")
    time.moment = day("2026-06-01")
    relate(alice, ann, "lives_in", "Oslo", valid_from="2025-01-01")
    assert around(store, alice, ann) == [("Ann", 0), ("Oslo", 1)]
    assert around(store, alice, ann, valid_at="2024-01-01") == [("Ann", 0), ("Rome", 1)]
    # What was believed then stands in PostgreSQL only, and is no failing of the other store.
    assert around(store, alice, ann, valid_at="2025-06-01", known_at="2026-04-01") == [("Ann", 0), ("Rome", 1)]


def test_what_a_caller_may_not_read_is_hidden(
    store: Store, alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    agent, _ = make_agent(alice, "assistant")
    colleague, _ = make_agent(alice, "colleague")
    ann = entity(alice, "Ann")
    secret = entity(agent, "Secret", "topic", scope="agent")
    relate(agent, ann, "keeps", secret, scope="agent")
    relate(alice, ann, "knows", entity(alice, "Ben"))
    assert sorted(around(store, agent, ann)) == [("Ann", 0), ("Ben", 1), ("Secret", 1)]
    assert around(store, colleague, ann) == [("Ann", 0), ("Ben", 1)]
    for actor, hidden in ((colleague, secret), (mallory, ann), (alice, new_id())):
        store.catch_up(actor)
        with pytest.raises(NotFound):
            get_neighbours(actor=actor, entity_id=hidden)
    assert bearing(store, agent, "secret") == ["Secret"]
    assert bearing(store, colleague, "secret") == bearing(store, mallory, "Ann") == []
    question = "What does Ann do with the Secret?"
    assert {row.name for row in graph_query(actor=agent, question=question).entities} == {"Ann", "Secret"}
    seen = graph_query(actor=colleague, question=question)
    assert ([row.name for row in seen.entities], len(seen.lines)) == (["Ann"], 1)
    assert graph_query(actor=mallory, question=question).entities == []


def test_questions_by_names_and_by_words_of_names(store: Store, alice: Actor, time: FixedClock) -> None:
    entity(alice, "Quantum Computing", "topic")
    entity(alice, "Al", aliases=["Alfred"])
    relate(alice, "Al", "interested_in", "quantum computing", valid_from="2026-01-05")
    relate(alice, "Al", "works_on", entity(alice, "Loci", "project"), weight=0.9, valid_from="2026-02-01")
    store.catch_up(alice)
    line = "Al interested in Quantum Computing (since 2026-01-05)"
    for question, terms, names in (
        ("What do you know about quantum computing?", ["quantum", "computing"], ["Quantum Computing"]),
        ("And the computing?", ["computing"], ["Quantum Computing"]),
        ("Is Alfred into quantum things?", ["Alfred", "quantum", "things"], ["Al", "Quantum Computing"]),
    ):
        answer = graph_query(actor=alice, question=question)
        assert (answer.terms, [row.name for row in answer.entities]) == (terms, names)
        assert line in answer.lines
    assert graph_query(actor=alice, question="and alfred?", limit=1).lines == ["Al works on Loci (since 2026-02-01)"]
    assert graph_query(actor=alice, question="my cat").lines == []


def test_look_ups_by_name(store: Store, alice: Actor) -> None:
    entity(alice, "Java", "tool")
    for _ in range(2):
        entity(alice, "Java", "concept")
    entity(alice, "Indonesia", "topic", aliases=["Java"])
    store.catch_up(alice)
    assert len(bearing(store, alice, "JAVA")) == 3
    assert bearing(store, alice, "java", types=["topic"]) == ["Indonesia"]
    ahead = look_up(actor=alice, name="java")
    rows = search_entities(actor=alice, name="java", size=2, ahead=ahead)
    assert [(row.type, row.mention_count) for row in rows][0] == ("concept", 2)
    last = rows[-1]
    again = search_entities(
        actor=alice, name="java", after=(last.mention_count, last.pk), ahead=look_up(actor=alice, name="java")
    )
    assert len(again) == 1
    assert not {row.pk for row in again} & {row.pk for row in rows}
    assert bearing(store, alice, "Jakarta") == []


def test_requests_that_cannot_be_used_are_refused(store: Store, alice: Actor) -> None:
    ann = entity(alice, "Ann")
    assert around(store, alice, ann) == [("Ann", 0)]
    refused: list[dict[str, Any]] = [{"hops": 0}, {"hops": 4}, {"limit": 0}, {"limit": 201}, {"valid_at": "soon"}]
    for options in refused:
        with pytest.raises(InvalidInput):
            get_neighbours(actor=alice, entity_id=ann, **options)
    for limit in (0, 51):
        with pytest.raises(InvalidInput):
            graph_query(actor=alice, question="Ann?", limit=limit)
    with pytest.raises(TooLarge):
        search_entities(actor=alice, name="x" * 201, ahead=look_up(actor=alice, name="Ann"))
