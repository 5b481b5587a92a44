"""Memories that go, come back or change hands raise the graph's version, and wait for its writers in one order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Final
from uuid import UUID

import pytest
from django.db import connection, connections

from memory.graph.adjacency import adjacencies, graph_version
from memory.models import Memory, owner_scope
from memory.services.actors import Actor
from memory.services.bringing_back import restore_memories
from memory.services.changes import change_memory
from memory.services.clock import now
from memory.services.forgetting import forget_by_provenance
from memory.services.graph.edges import link_memories
from memory.services.graph.writing import change_graph
from memory.services.retirement import archive_expired, archive_memory, delete_memory, erase_due, restore_memory
from tests.integration.graph.conftest import entity, memory

SOON: Final = timedelta(minutes=1)

Change = Callable[[Actor, UUID], object]


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    adjacencies.forget()
    yield
    adjacencies.forget()


def version(actor: Actor) -> int:
    with owner_scope(actor.owner_id):
        return graph_version()


def seen(actor: Actor) -> set[UUID]:
    """Give the memories in the matrix that recall would walk over now."""
    with owner_scope(actor.owner_id):
        kept = adjacencies.of(scopes=actor.readable, version=graph_version())
    return set(kept.uuids(range(kept.entities, kept.nodes)))


def expire(actor: Actor, memory_id: UUID) -> None:
    at = now() + SOON
    with owner_scope(actor.owner_id):
        Memory.objects.filter(pk=memory_id).update(expires_at=at)
    archive_expired(owner_id=actor.owner_id, at=at)


def purge(actor: Actor, memory_id: UUID) -> None:
    assert forget_by_provenance(actor=actor, prefix="notes").provenance == 1


GOING: Final[dict[str, Change]] = {
    "archived": lambda actor, one: archive_memory(actor=actor, memory_id=one),
    "deleted": lambda actor, one: delete_memory(actor=actor, memory_id=one),
    "expired": expire,
    "forgotten": purge,
}


@pytest.mark.django_db
@pytest.mark.parametrize("change", GOING.values(), ids=list(GOING))
class TestGoing:
    def test_what_a_graph_speaks_of_leaves_the_kept_matrix(self, alice: Actor, change: Change) -> None:
        gone, stays = memory(alice, "Ann met Ben.", source="notes"), memory(alice, "Ann left.")
        for one in (gone, stays):
            entity(alice, "Ann", memory_id=one)
        assert seen(alice) == {gone, stays}
        before = version(alice)
        change(alice, gone)
        assert version(alice) == before + 1
        assert seen(alice) == {stays}

    def test_what_only_a_link_speaks_of_too(self, alice: Actor, change: Change) -> None:
        gone, stays = memory(alice, "It rained.", source="notes"), memory(alice, "It snowed.")
        link_memories(actor=alice, source_id=stays, target_id=gone)
        assert seen(alice) == {gone, stays}
        change(alice, gone)
        assert seen(alice) == set()

    def test_of_what_it_does_not_speak_it_is_left_alone(self, alice: Actor, change: Change) -> None:
        entity(alice, "Ann", memory_id=memory(alice, "Ann left."))
        gone = memory(alice, "It rained.", source="notes")
        before = version(alice)
        change(alice, gone)
        assert version(alice) == before


@pytest.mark.django_db
def test_what_comes_back_is_walked_over_again(alice: Actor) -> None:
    said, other = memory(alice, "Ann met Ben."), memory(alice, "Ann left.")
    for one in (said, other):
        entity(alice, "Ann", memory_id=one)
        archive_memory(actor=alice, memory_id=one)
    assert seen(alice) == set()
    restore_memory(actor=alice, memory_id=said)
    assert seen(alice) == {said}
    restore_memories(actor=alice, memory_ids=[other])
    assert seen(alice) == {said, other}
    delete_memory(actor=alice, memory_id=said)
    before = version(alice)
    erase_due(owner_id=alice.owner_id, at=now() + SOON)
    assert version(alice) == before + 1


@pytest.mark.django_db
def test_what_changes_hands_does_so_in_the_matrix_of_others(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    first, _ = make_agent(alice, "first")
    second, _ = make_agent(alice, "second")
    said, other = memory(first, "Ann met Ben.", scope="agent"), memory(first, "They met in Cork.")
    link_memories(actor=first, source_id=said, target_id=other)
    assert (seen(first), seen(second)) == ({said, other}, set())
    before = version(alice)
    change_memory(actor=first, memory_id=said, changes={"importance": 0.9})
    assert version(alice) == before
    change_memory(actor=first, memory_id=said, changes={}, scope="owner")
    assert version(alice) == before + 1
    assert (seen(first), seen(second)) == ({said, other}, {said, other})
    change_memory(actor=first, memory_id=said, changes={}, scope="agent")
    assert version(alice) == before + 2
    assert seen(second) == set()


ORDERED: Final[dict[str, Change]] = {
    "archive": GOING["archived"],
    "delete": GOING["deleted"],
    "expire": expire,
    "forget": purge,
    "hide": lambda actor, one: change_memory(actor=actor, memory_id=one, changes={}, scope="owner"),
    "restore": lambda actor, one: restore_memory(actor=actor, memory_id=one),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", list(ORDERED))
def test_who_takes_a_memory_away_waits_for_the_graphs_writer_before_locking_it(
    make_owner: Callable[..., Actor], name: str
) -> None:
    owner = make_owner("alice")
    said = memory(owner, "Ann met Ben.", source="notes")
    entity(owner, "Ann", memory_id=said)
    if name == "restore":
        archive_memory(actor=owner, memory_id=said)
    before, waiter = version(owner), list[int]()
    turn_taken, finished = threading.Event(), threading.Event()

    def write() -> None:
        try:
            with change_graph(owner, now=now()):
                turn_taken.set()
                wait_until_blocked(waiter, finished)
                Memory.objects.select_for_update(nowait=True).get(pk=said)
        finally:
            connections.close_all()

    def take() -> None:
        try:
            turn_taken.wait()
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                waiter.append(cursor.fetchone()[0])
            ORDERED[name](owner, said)
        finally:
            finished.set()
            connections.close_all()

    with ThreadPoolExecutor(max_workers=2) as pool:
        for done in [pool.submit(write), pool.submit(take)]:
            done.result()
    assert version(owner) == before + 2


def wait_until_blocked(waiter: list[int], finished: threading.Event) -> None:
    """Wait until the other thread waits for a lock that this one holds, or has nothing to wait for."""
    while not finished.wait(0.01):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid() = ANY(pg_blocking_pids(%s))", [waiter[0] if waiter else 0])
            if cursor.fetchone()[0]:
                return
