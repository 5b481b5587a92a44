"""Events, causes, neighbours, questions, counts, and what erasing a memory takes along."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from memory.errors import InvalidInput, NotFound
from memory.models import Entity, EntityMention, owner_scope
from memory.services.actors import Actor
from memory.services.graph.entities import get_entity
from memory.services.graph.happenings import add_causal_link, list_causes, list_events, merge_temporal_event
from memory.services.graph.reading import get_neighbours, graph_query, graph_stats, graph_version
from memory.services.graph.relations import get_relation
from memory.services.graph.writing import Reference
from tests.integration.graph.conftest import entity, memory, relate
from tests.integration.graph.moments import FixedClock, day
from tests.integration.graph.test_edges import erase


@pytest.fixture
def chain(alice: Actor, time: FixedClock) -> list[UUID]:
    ids = [entity(alice, name) for name in ("Ann", "Ben", "Cid", "Dan", "Eva")]
    for first, second in zip(ids, ids[1:], strict=False):
        relate(alice, first, "knows", second)
    return ids


def around(actor: Actor, entity_id: UUID, **options: object) -> list[tuple[str, int]]:
    found = get_neighbours(actor=actor, entity_id=entity_id, **options)  # type: ignore[arg-type]
    return [(row.name, distance) for row, distance in found.entities]


def speaking_of(entity_id: UUID) -> set[UUID]:
    return set(EntityMention.objects.filter(entity_id=entity_id).values_list("memory_id", flat=True))


def test_neighbours_by_steps(alice: Actor, chain: list[UUID]) -> None:
    assert around(alice, chain[1]) == [("Ben", 0), *sorted([("Ann", 1), ("Cid", 1)])]
    assert around(alice, chain[0], hops=2) == [("Ann", 0), ("Ben", 1), ("Cid", 2)]
    assert around(alice, chain[0], hops=3) == [("Ann", 0), ("Ben", 1), ("Cid", 2), ("Dan", 3)]
    assert around(alice, chain[0], hops=3, limit=2) == [("Ann", 0), ("Ben", 1), ("Cid", 2)]
    assert around(alice, chain[0], hops=3, labels=["hates"]) == [("Ann", 0)]
    found = get_neighbours(actor=alice, entity_id=chain[0], hops=2)
    assert [(row.source.name, row.target.name) for row in found.relations] == [("Ann", "Ben"), ("Ben", "Cid")]
    for options in ({"hops": 0}, {"hops": 4}, {"limit": 0}, {"limit": 201}):
        with pytest.raises(InvalidInput):
            get_neighbours(actor=alice, entity_id=chain[0], **options)  # type: ignore[arg-type]


def test_neighbours_of_the_past(alice: Actor, time: FixedClock) -> None:
    ann = entity(alice, "Ann")
    for town in ("Rome", "Oslo"):
        entity(alice, town, "topic")
    relate(alice, ann, "lives_in", "Rome", valid_from="2020-01-01")
    time.moment = day("2026-06-01")
    relate(alice, ann, "lives_in", "Oslo", valid_from="2025-01-01")
    assert around(alice, ann) == [("Ann", 0), ("Oslo", 1)]
    assert around(alice, ann, valid_at="2024-01-01") == [("Ann", 0), ("Rome", 1)]
    assert around(alice, ann, valid_at="2025-06-01", known_at="2026-04-01") == [("Ann", 0), ("Rome", 1)]


def test_heaviest_first_and_bounded(alice: Actor) -> None:
    hub = entity(alice, "Hub")
    for number in range(1, 8):
        relate(alice, hub, "has", entity(alice, f"Spoke {number}"), weight=number / 10)
    assert [name for name, _ in around(alice, hub, limit=3)] == ["Hub", "Spoke 7", "Spoke 6", "Spoke 5"]


def test_events_are_merged_and_listed(alice: Actor, chain: list[UUID], mallory: Actor) -> None:
    told = memory(alice, "The sensor failed, said Ann.")
    (event, _), created = merge_temporal_event(
        actor=alice, text="The sensor failed.", occurred_at="2026-02-01", participants=[Reference(name="ann")]
    )
    (same, who), again = merge_temporal_event(
        actor=alice,
        text="The sensor failed.",
        occurred_at="2026-02-01T00:00:00Z",
        participants=[Reference(entity_id=chain[1])],
        memory_id=told,
    )
    assert (created, again, same.pk, [row.name for row in who]) == (True, False, event.pk, ["Ann", "Ben"])
    merge_temporal_event(actor=alice, text="x" * 600, occurred_at="2026-02-02")
    assert [len(row.text) for row, _ in list_events(actor=alice)] == [500, 18]
    assert [row.pk for row, _ in list_events(actor=alice, entity_id=chain[1])] == [event.pk]
    assert list_events(actor=alice, occurred_until="2026-02-01") == []
    assert list_events(actor=mallory) == []
    with pytest.raises(NotFound):
        merge_temporal_event(actor=alice, text="x", occurred_at="2026-01-01", participants=[Reference(name="Zed")])


def test_causes_are_merged_and_listed(alice: Actor, chain: list[UUID]) -> None:
    options = {"actor": alice, "cause": "no oil", "effect": "the sensor failed"}
    row, created = add_causal_link(**options, confidence=0.4, cause_entity=Reference(name="Ann"))  # type: ignore[arg-type]
    same, again = add_causal_link(**options, confidence=0.8, effect_entity=Reference(name="Ben"))  # type: ignore[arg-type]
    assert (created, again, same.pk, same.confidence) == (True, False, row.pk, 0.8)
    assert [(one.cause_entity.name, one.effect_entity.name) for one in list_causes(actor=alice)] == [("Ann", "Ben")]
    assert len(list_causes(actor=alice, entity_id=chain[1])) == 1
    assert list_causes(actor=alice, entity_id=chain[2]) == []


def test_a_question_names_entities_and_gets_lines(
    alice: Actor, time: FixedClock, make_agent: Callable[..., tuple[Actor, str]], mallory: Actor
) -> None:
    entity(alice, "Quantum Computing", "topic")
    entity(alice, "Al")
    relate(alice, "Al", "interested_in", "quantum computing", valid_from="2026-01-05")
    answer = graph_query(actor=alice, question="What do you know about quantum computing?")
    assert answer.terms == ["quantum", "computing"]
    assert [row.name for row in answer.entities] == ["Quantum Computing"]
    assert answer.lines == ["Al interested in Quantum Computing (since 2026-01-05)"]
    assert graph_query(actor=alice, question="and al?").lines == answer.lines
    assert graph_query(actor=alice, question="my cat").lines == []
    assert graph_query(actor=mallory, question="What does Al like?").lines == []
    agent, _ = make_agent(alice, "assistant")
    colleague, _ = make_agent(alice, "colleague")
    relate(agent, "Al", "fears", "quantum computing", scope="agent")
    assert len(graph_query(actor=agent, question="What about Al?").lines) == 2
    assert graph_query(actor=colleague, question="What about Al?").lines == answer.lines


def test_counts_and_version(alice: Actor, chain: list[UUID], make_agent: Callable[..., tuple[Actor, str]]) -> None:
    before = graph_version(alice.owner_id)
    agent, _ = make_agent(alice, "assistant")
    entity(agent, "Secret", scope="agent", memory_id=memory(agent, "Secret.", scope="agent"))
    stats = graph_stats(actor=alice)
    assert (stats["entities"], stats["by_type"], stats["relations"], stats["mentions"]) == (6, {"person": 6}, 4, 1)
    assert {"temporal_events", "causal_links", "memory_edges"} <= set(stats)
    assert stats["version"] == before + 1
    colleague, _ = make_agent(alice, "colleague")
    seen = graph_stats(actor=colleague)
    assert (seen["entities"], seen["mentions"], seen["version"]) == (5, 0, None)


def test_erasing_a_memory_takes_along_what_it_alone_spoke_for(alice: Actor, time: FixedClock) -> None:
    first, second = memory(alice, "Ann lives in Rome."), memory(alice, "Ann works on Loci.")
    ann = entity(alice, "Ann", memory_id=first)
    entity(alice, "Ann", memory_id=second)
    entity(alice, "Rome", "topic", memory_id=first)
    entity(alice, "Loci", "project", memory_id=second)
    entity(alice, "Stated")
    home = relate(alice, ann, "lives_in", "Rome", memory_id=first).relation
    work = relate(alice, ann, "works_on", "Loci", memory_id=second).relation
    relate(alice, ann, "works_on", "Loci", memory_id=first)
    merge_temporal_event(actor=alice, text="moved", occurred_at="2026-01-01", memory_id=first)
    add_causal_link(actor=alice, cause="love", effect="moved", memory_id=first)
    with owner_scope(alice.owner_id):
        assert speaking_of(ann) == {first, second}
    before = graph_version(alice.owner_id)
    erase(alice, first)
    assert graph_version(alice.owner_id) > before
    with pytest.raises(NotFound):
        get_relation(actor=alice, relation_id=home.pk)
    assert [one.memory_id for one in get_relation(actor=alice, relation_id=work.pk)[1]] == [second]
    assert (list_events(actor=alice), list_causes(actor=alice)) == ([], [])
    with owner_scope(alice.owner_id):
        assert {row.name for row in Entity.objects.all()} == {"Ann", "Loci", "Stated"}
        assert speaking_of(ann) == {second}
    assert get_entity(actor=alice, entity_id=ann).mention_count == 1
