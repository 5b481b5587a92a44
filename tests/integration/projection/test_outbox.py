"""What changes in the graph is noted in the transaction that changes it, whatever path that takes, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction

from memory.models import (
    DueWork,
    Entity,
    GraphPart,
    GraphProjection,
    ProjectionState,
    owner_scope,
)
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.graph.entities import add_alias
from memory.services.graph.merging import merge_two
from memory.services.graph.relations import retract_relation
from memory.services.projection.lease import rest
from memory.services.retirement import delete_memory, erase_due
from tests.integration.graph.conftest import entity, relate
from tests.integration.projection.conftest import small_graph, waiting


@pytest.fixture
def noted(alice: Actor) -> Actor:
    """An owner whose changes are noted."""
    GraphProjection.objects.create(
        owner_id=alice.owner_id, generation=uuid4(), text="names", state=ProjectionState.FOLLOWING
    )
    return alice


def of(actor: Actor, since: int = 0) -> set[tuple[int, Any]]:
    return set(waiting(actor)[since:])


@pytest.mark.django_db
def test_nothing_is_noted_where_nothing_is_projected(alice: Actor) -> None:
    small_graph(alice)
    assert not waiting(alice)
    assert not DueWork.objects.filter(job=DueWork.PROJECT).exists()


@pytest.mark.django_db
def test_every_part_of_the_graph_is_noted_and_called_for(noted: Actor) -> None:
    made = small_graph(noted)
    assert of(noted) == {
        (GraphPart.ENTITY, made["anna"]),
        (GraphPart.ENTITY, made["aurora"]),
        (GraphPart.RELATION, made["works"]),
        (GraphPart.EVENT, made["event"]),
        (GraphPart.CAUSE, made["cause"]),
    }
    assert DueWork.objects.filter(owner_id=noted.owner_id, job=DueWork.PROJECT).exists()
    assert GraphProjection.objects.get(owner_id=noted.owner_id).behind_since is not None


@pytest.mark.django_db
def test_a_resting_projection_notes_nothing_and_forgets_what_waits(noted: Actor) -> None:
    small_graph(noted)
    rest(noted.owner_id)
    assert not waiting(noted)
    entity(noted, "Coffee", "topic")
    assert not waiting(noted)


@pytest.mark.django_db
def test_changes_of_names_ends_and_reasons_are_changes_of_what_they_hang_on(noted: Actor) -> None:
    made = small_graph(noted)
    before = len(waiting(noted))
    add_alias(actor=noted, entity_id=made["anna"], alias="Weber")
    assert of(noted, before) == {(GraphPart.ENTITY, made["anna"])}
    before = len(waiting(noted))
    retract_relation(actor=noted, relation_id=made["works"])
    assert of(noted, before) == {(GraphPart.RELATION, made["works"])}


@pytest.mark.django_db
def test_a_merge_notes_all_that_it_moves(noted: Actor) -> None:
    made = small_graph(noted)
    other = entity(noted, "A. Weber")
    friend = entity(noted, "Ben")
    moved = relate(noted, other, "knows", friend).relation.pk
    before = len(waiting(noted))
    merge_two(actor=noted, kept_id=made["anna"], merged_id=other)
    assert {(GraphPart.ENTITY, made["anna"]), (GraphPart.ENTITY, other), (GraphPart.RELATION, moved)} <= of(
        noted, before
    )


@pytest.mark.django_db
def test_what_the_database_takes_along_is_noted(noted: Actor) -> None:
    made = small_graph(noted)
    before = len(waiting(noted))
    with owner_scope(noted.owner_id):
        Entity.objects.filter(pk=made["anna"]).delete()
    assert of(noted, before) == {
        (GraphPart.ENTITY, made["anna"]),
        (GraphPart.RELATION, made["works"]),
        (GraphPart.EVENT, made["event"]),
        (GraphPart.CAUSE, made["cause"]),
    }


@pytest.mark.django_db
def test_a_new_look_at_communities_is_no_change(noted: Actor) -> None:
    small_graph(noted)
    before = len(waiting(noted))
    with owner_scope(noted.owner_id):
        Entity.objects.update(community=3)
        assert len(waiting(noted)) == before
        Entity.objects.update(importance=0.25)
    assert len(waiting(noted)) == before + 2


@pytest.mark.django_db
def test_what_is_rolled_back_is_not_noted(noted: Actor) -> None:
    with transaction.atomic():
        small_graph(noted)
        transaction.set_rollback(True)
    assert not waiting(noted)
    assert not DueWork.objects.filter(job=DueWork.PROJECT).exists()


@pytest.mark.django_db
def test_noting_takes_nothing_from_others(noted: Actor, mallory: Actor) -> None:
    small_graph(noted)
    assert not waiting(mallory)
    with owner_scope(mallory.owner_id), connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM memory_graphchange")
        assert cursor.fetchone()[0] == 0


@pytest.mark.django_db
def test_erasing_a_memory_notes_what_goes_with_it(noted: Actor) -> None:
    made = small_graph(noted)
    ben = entity(noted, "Ben", memory_id=made["memory"])
    knows = relate(noted, made["anna"], "knows", ben, memory_id=made["memory"]).relation.pk
    with owner_scope(noted.owner_id):
        Entity.objects.filter(pk=ben).update(stated=False)
    before = len(waiting(noted))
    delete_memory(actor=noted, memory_id=made["memory"])
    erase_due(owner_id=noted.owner_id, at=now() + timedelta(minutes=1))
    assert {(GraphPart.ENTITY, ben), (GraphPart.RELATION, knows)} <= of(noted, before)
    with owner_scope(noted.owner_id):
        assert not Entity.objects.filter(pk=ben).exists()
