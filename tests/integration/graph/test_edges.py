"""Links of memories: typed, once per pair and relationship, gone with their memories."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest

from memory.errors import InvalidInput, NotFound
from memory.models import Memory, MemoryEdge, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.graph.edges import edges_of, link_memories, unlink_memories
from memory.services.retirement import delete_memory, erase_due
from tests.integration.graph.conftest import memory


@pytest.fixture
def pair(alice: Actor) -> tuple[UUID, UUID]:
    return memory(alice, "The kettle is broken."), memory(alice, "There is no tea.")


def erase(owner: Actor, memory_id: UUID) -> None:
    delete_memory(actor=owner, memory_id=memory_id)
    erase_due(owner_id=owner.owner_id, at=now() + timedelta(minutes=1))


def test_a_link_is_seen_from_both_ends(alice: Actor, pair: tuple[UUID, UUID]) -> None:
    first, second = pair
    linked, created = link_memories(
        actor=alice, source_id=second, target_id=first, kind="CausedBy", weight=0.4, relationship="no kettle, no tea"
    )
    assert (created, linked.edge.kind, linked.memory.pk) == (True, "caused_by", first)
    again, created = link_memories(
        actor=alice, source_id=second, target_id=first, kind="caused_by", weight=0.9, relationship="No kettle, no tea"
    )
    assert (created, again.edge.pk, again.edge.weight) == (False, linked.edge.pk, 0.9)
    assert link_memories(actor=alice, source_id=second, target_id=first, kind="caused_by", relationship="other")[1]
    assert link_memories(actor=alice, source_id=first, target_id=second, kind="caused_by")[1]
    seen = edges_of(actor=alice, memory_id=first)
    assert [(one.outgoing, one.edge.relationship, one.memory.text) for one in seen] == [
        (False, "no kettle, no tea", "There is no tea."),
        (False, "other", "There is no tea."),
        (True, None, "There is no tea."),
    ]
    unlink_memories(actor=alice, memory_id=first, edge_id=linked.edge.pk)
    assert len(edges_of(actor=alice, memory_id=second)) == 2
    with pytest.raises(NotFound):
        unlink_memories(actor=alice, memory_id=first, edge_id=linked.edge.pk)


@pytest.mark.parametrize(
    ("name", "kind", "outgoing", "relationship"),
    [
        ("similar_to", "similar_to", True, None),
        ("FollowedBy", "followed_by", True, None),
        ("supersedes", "followed_by", False, "supersedes"),
        ("supported_by", "supports", False, "supported_by"),
        ("inferred_from", "derived_from", True, "inferred_from"),
        ("consolidated_into", "derived_from", False, "consolidated_into"),
        ("example_of", "supports", True, "example_of"),
        ("generalizes", "related_to", True, "generalizes"),
    ],
)
def test_names_of_other_systems(
    alice: Actor, pair: tuple[UUID, UUID], name: str, kind: str, outgoing: bool, relationship: str | None
) -> None:
    linked, _ = link_memories(actor=alice, source_id=pair[0], target_id=pair[1], kind=name)
    assert (linked.edge.kind, linked.outgoing, linked.edge.relationship) == (kind, outgoing, relationship)


def test_bad_links_are_refused(alice: Actor, pair: tuple[UUID, UUID], mallory: Actor) -> None:
    first, second = pair
    for options, code in (
        ({"target_id": first}, "edge.self"),
        ({"kind": "eats"}, "kind.invalid"),
        ({"weight": 1.5}, "weight.out_of_range"),
        ({"relationship": ""}, "text.empty"),
    ):
        with pytest.raises(InvalidInput) as caught:
            link_memories(**{"actor": alice, "source_id": first, "target_id": second, **options})  # type: ignore[arg-type]
        assert caught.value.machine_code == code
    foreign = memory(mallory, "A stranger's.")
    for source, target in ((first, foreign), (foreign, first)):
        with pytest.raises(NotFound):
            link_memories(actor=alice, source_id=source, target_id=target)
    assert edges_of(actor=alice, memory_id=first) == []


def test_links_go_with_their_memories_and_outlive_their_insight(alice: Actor, pair: tuple[UUID, UUID]) -> None:
    first, second = pair
    insight = memory(alice, "Kettles matter.", kind="insight")
    link_memories(actor=alice, source_id=first, target_id=second, insight_id=insight)
    erase(alice, insight)
    assert [one.edge.insight_id for one in edges_of(actor=alice, memory_id=first)] == [None]
    erase(alice, second)
    assert edges_of(actor=alice, memory_id=first) == []
    with owner_scope(alice.owner_id):
        assert not MemoryEdge.objects.exists()
        assert Memory.objects.filter(pk=first).exists()


def test_links_to_hidden_memories_are_hidden(
    alice: Actor, pair: tuple[UUID, UUID], make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    agent, _ = make_agent(alice, "assistant")
    colleague, _ = make_agent(alice, "colleague")
    diary = memory(agent, "I broke it.", scope="agent")
    linked, _ = link_memories(actor=agent, source_id=pair[0], target_id=diary, relationship="guilt")
    assert linked.edge.sealing_agent_id == agent.agent_id
    assert [one.edge.relationship for one in edges_of(actor=agent, memory_id=pair[0])] == ["guilt"]
    assert edges_of(actor=colleague, memory_id=pair[0]) == []
    with pytest.raises(NotFound):
        unlink_memories(actor=colleague, memory_id=pair[0], edge_id=linked.edge.pk)
    with pytest.raises(NotFound):
        link_memories(actor=colleague, source_id=pair[0], target_id=diary)
