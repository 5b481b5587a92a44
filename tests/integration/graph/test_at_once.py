"""Many writers of one graph at the same time: no deadlock, nothing twice, nothing lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections

from memory.models import Entity, EntityName, NameKind, Relation, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.graph.entities import EntityDraft, get_entity, merge_entities
from memory.services.graph.relations import RelationDraft, add_relations
from memory.services.graph.writing import Reference
from memory.services.retirement import delete_memory, erase_due
from tests.integration.graph.conftest import memory

NAMES = [f"Person {number}" for number in range(20)]
WRITERS = 50


@pytest.mark.django_db(transaction=True)
def test_fifty_writers_share_names_in_different_orders(make_owner: Callable[..., Actor]) -> None:
    owner = make_owner("alice")
    said = [memory(owner, f"Everybody was there, time {number}.") for number in range(WRITERS)]

    def write(number: int) -> None:
        try:
            order = random.Random(number).sample(NAMES, len(NAMES))
            with owner_scope(owner.owner_id):
                drafts = [EntityDraft(name=name, type="person") for name in order]
                merge_entities(actor=owner, drafts=drafts, memory_id=said[number])
                pairs = [(order[0], order[1]), (order[2], order[3]), ("Person 0", "Person 1"), ("Person 1", "Person 0")]
                add_relations(
                    actor=owner,
                    drafts=[
                        RelationDraft(source=Reference(name=one), label="knows", target=Reference(name=other))
                        for one, other in pairs
                    ],
                    memory_id=said[number],
                )
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(write, range(WRITERS)))
    with owner_scope(owner.owner_id):
        assert Entity.objects.count() == len(NAMES)
        assert EntityName.objects.filter(kind=NameKind.CANONICAL).count() == len(NAMES)
        assert set(Entity.objects.values_list("mention_count", flat=True)) == {WRITERS}
        edges = list(Relation.objects.values_list("source_id", "target_id"))
    assert len(edges) == len(set(edges))


@pytest.mark.django_db(transaction=True)
def test_erasing_while_the_graph_is_written(make_owner: Callable[..., Actor]) -> None:
    owner = make_owner("alice")
    said = [memory(owner, f"Ann was there, time {number}.") for number in range(20)]
    merge_entities(actor=owner, drafts=[EntityDraft(name="Ann", type="person")])
    for one in said[:10]:
        delete_memory(actor=owner, memory_id=one)

    def write(number: int) -> None:
        try:
            if number % 5 == 0:
                erase_due(owner_id=owner.owner_id, at=now() + timedelta(minutes=1))
            else:
                merge_entities(
                    actor=owner, drafts=[EntityDraft(name="Ann", type="person")], memory_id=said[10 + number % 10]
                )
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(write, range(40)))
    assert get_entity(actor=owner, name="Ann").mention_count == 1 + len({n % 10 for n in range(40) if n % 5})
