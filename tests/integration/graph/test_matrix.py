"""The matrix as it is read from the database: what counts, who sees what, and how long it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.graph.activation import linked
from memory.graph.adjacency import Adjacency, AdjacencyCache, adjacencies, graph_version, load
from memory.models import Memory, Status, owner_scope
from memory.services.actors import Actor
from memory.services.graph.edges import link_memories
from memory.services.graph.relations import supersede_relation
from memory.services.retirement import archive_memory
from tests.integration.graph.conftest import entity, memory, relate

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    adjacencies.forget()
    yield
    adjacencies.forget()


def read(actor: Actor) -> Adjacency:
    with owner_scope(actor.owner_id):
        return load(scopes=actor.readable)


def ids(adjacency: Adjacency) -> tuple[set[UUID], set[UUID]]:
    found = adjacency.uuids(range(adjacency.nodes))
    return set(found[: adjacency.entities]), set(found[adjacency.entities :])


def weight(adjacency: Adjacency, first: UUID, second: UUID) -> float:
    nodes = adjacency.uuids(range(adjacency.nodes))
    row, other = nodes.index(first), nodes.index(second)
    ends = [*adjacency.starts.tolist(), len(adjacency.others)]
    return sum(float(adjacency.weights[at]) for at in range(ends[row], ends[row + 1]) if adjacency.others[at] == other)


def test_relations_mentions_and_links_are_edges(alice: Actor, mallory: Actor) -> None:
    said, other = memory(alice, "Ann met Ben."), memory(alice, "They met in Cork.")
    ann, ben = entity(alice, "Ann", memory_id=said), entity(alice, "Ben")
    relate(alice, ann, "knows", ben, weight=0.4)
    link_memories(actor=alice, source_id=said, target_id=other, kind="contradicts", weight=0.6)
    entity(mallory, "Ann", memory_id=memory(mallory, "Ann is mine."))
    found = read(alice)
    assert ids(found) == ({ann, ben}, {said, other})
    assert weight(found, ann, ben) == weight(found, ben, ann) == pytest.approx(0.4)
    assert weight(found, ann, said) == pytest.approx(1.0)
    assert weight(found, said, other) == pytest.approx(0.3)


def test_ended_and_retracted_relations_and_archived_memories_are_none(alice: Actor) -> None:
    said = memory(alice, "Ann met Ben.")
    ann, ben = entity(alice, "Ann", memory_id=said), entity(alice, "Ben")
    added = relate(alice, ann, "knows", ben)
    supersede_relation(actor=alice, relation_id=added.relation.pk)
    archive_memory(actor=alice, memory_id=said)
    assert read(alice).nodes == 0


def test_a_reader_has_a_matrix_of_what_he_may_read(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
    first, _ = make_agent(alice, "first")
    second, _ = make_agent(alice, "second")
    private = memory(first, "Ann keeps a secret.", scope="agent")
    public = memory(first, "Ann keeps bees.")
    ann = entity(alice, "Ann", memory_id=public)
    secret = entity(first, "Secret", "topic", memory_id=private)
    shared = memory(second, "Bees sting.")
    link_memories(actor=first, source_id=private, target_id=public)
    link_memories(actor=first, source_id=public, target_id=shared)
    assert ids(read(alice)) == ids(read(first)) == ({ann, secret}, {private, public, shared})
    assert ids(read(second)) == ({ann}, {public, shared})
    with owner_scope(alice.owner_id):

        def reach(actor: Actor) -> set[UUID]:
            return {other for _, other, _ in linked([public], least_weight=0.3, scopes=actor.readable)}

        assert reach(first) == {private, shared}
        assert reach(second) == {shared}


class TestKept:
    def test_it_is_read_again_when_the_graph_has_changed(self, alice: Actor) -> None:
        relate(alice, entity(alice, "Ann"), "knows", entity(alice, "Ben"))
        with owner_scope(alice.owner_id):
            version = graph_version()
            first = adjacencies.of(scopes=None, version=version)
            with CaptureQueriesContext(connection) as queries:
                assert adjacencies.of(scopes=None, version=version) is first
            assert not queries.captured_queries
            assert adjacencies.of(scopes=[alice.owner_id], version=version) is not first
        relate(alice, "Ann", "knows", entity(alice, "Cid"))
        with owner_scope(alice.owner_id):
            assert graph_version() > version
            assert adjacencies.of(scopes=None, version=graph_version()).nodes == 3

    def test_it_is_read_again_after_five_minutes(self, alice: Actor) -> None:
        said = memory(alice, "Ann met Ben.")
        entity(alice, "Ann", memory_id=said)
        seconds = [0.0]
        cache = AdjacencyCache(monotonic=lambda: seconds[0])
        with owner_scope(alice.owner_id):
            assert cache.of(scopes=None, version=1).nodes == 2
            Memory.objects.filter(pk=said).update(status=Status.ARCHIVED)
            seconds[0] = 299.0
            assert cache.of(scopes=None, version=1).nodes == 2
            seconds[0] = 301.0
            assert cache.of(scopes=None, version=1).nodes == 0

    def test_the_longest_unused_go_first_beyond_the_bound(self, alice: Actor, mallory: Actor) -> None:
        for actor in (alice, mallory):
            relate(actor, entity(actor, "Ann"), "knows", entity(actor, "Ben"))
        cache = AdjacencyCache(most_bytes=1)
        with owner_scope(alice.owner_id):
            first = cache.of(scopes=None, version=1)
        with owner_scope(mallory.owner_id):
            second = cache.of(scopes=None, version=1)
        assert cache.nbytes == second.nbytes
        with owner_scope(alice.owner_id):
            assert cache.of(scopes=None, version=1) is not first
