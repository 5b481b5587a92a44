"""Fifty conversations that share names come in while consolidation works: no deadlock, nothing twice, nothing lost."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections

from memory.models import Entity, EntityMention, Memory, MemorySource, Relation, Status, owner_scope
from memory.ports import Extract, ExtractedEntity, ExtractedFact, ExtractedRelation, Passage
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.remember import remember_many
from tests.integration.consolidation.scripted import MAY, consolidate
from tests.integration.consolidation.stage import say

NAMES = [f"Person {number}" for number in range(12)]
WRITERS = 50


class Names:
    """Draws every name that a text holds, that each knows the next, and that all were there."""

    name = "names"
    prompts = False

    def extract(self, passages: Sequence[Passage]) -> Extract:
        entities, relations, facts = [], [], []
        for one in passages:
            if one.role != "user":
                continue
            order = one.text.split(", ")
            entities += [ExtractedEntity(name=name, type="person", passages=(one.key,)) for name in order]
            relations += [
                ExtractedRelation(source=first, label="knows", target=second, passage=one.key)
                for first, second in zip(order, order[1:], strict=False)
            ]
            facts += [ExtractedFact(text=f"{name} was there.", entities=(name,), passage=one.key) for name in order]
        return Extract(entities=entities, relations=relations, facts=facts)


@pytest.mark.django_db(transaction=True)
def test_fifty_ingests_while_two_consolidate(make_owner: Callable[..., Actor]) -> None:
    owner = make_owner("alice")
    done = threading.Event()

    def ingest(number: int) -> None:
        try:
            order = random.Random(number).sample(NAMES, 5)
            say(owner, f"conversation {number}", ("user", ", ".join(order)), at=MAY + timedelta(hours=number))
            drafts = [Draft(text=f"{name} was there.", kind="fact") for name in order]
            remember_many(actor=owner, drafts=drafts)
        finally:
            connections.close_all()

    def work() -> None:
        try:
            while not done.is_set():
                consolidate(owner, Names(), consolidation_batches=3)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=8) as pool:
        workers = [pool.submit(work) for _ in range(2)]
        list(pool.map(ingest, range(WRITERS)))
        done.set()
        for worker in workers:
            worker.result()
    for _ in range(20):
        _, context = consolidate(owner, Names(), consolidation_batches=50)
        if not context.totals.backlog_rows:
            break
    with owner_scope(owner.owner_id):
        assert not Memory.objects.filter(extracted_at=None).exists()
        assert sorted(row.name for row in Entity.objects.all()) == sorted(NAMES)
        mentions = Counter(EntityMention.objects.values_list("entity_id", flat=True))
        assert {row.pk: row.mention_count for row in Entity.objects.all()} == dict(mentions)
        pairs = list(Relation.objects.values_list("source_id", "target_id"))
        assert len(pairs) == len(set(pairs))
        live = [row.text for row in Memory.objects.filter(session__isnull=True, status=Status.LIVE)]
        assert sorted(live) == sorted(f"{name} was there." for name in NAMES)
        turns = MemorySource.objects.filter(turn__isnull=False).values_list("memory_id", "turn_id")
        said = list(turns.exclude(turn__session=None))
        assert len(said) == len(set(said)) == 5 * WRITERS
