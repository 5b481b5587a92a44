"""What would outlive an erased memory elsewhere: undo records, reviews, skills that are needed, and old ciphertext."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from memory.errors import KeysUnavailable
from memory.models import (
    Entity,
    EntityMerge,
    GraphEvidence,
    Memory,
    Relation,
    ReviewItem,
    ReviewKind,
    Skill,
    SkillDependency,
    owner_scope,
)
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.graph.merging import merge_two
from memory.services.graph.unmerging import undo_merge
from memory.services.keys import rotation
from memory.services.keys.rotation import end_rotation
from memory.services.purge.partial_requests import PartialRequest, begin_partial
from memory.services.purge.runner import run_purge
from memory.services.retirement import delete_memory, erase_due
from memory.services.review_decisions import approve
from memory.services.skill_drafts import SkillDraft
from memory.services.skill_life import add_dependency
from memory.services.skills import create_skill
from tests.integration.consolidation.reviewing import fact, opened
from tests.integration.graph.conftest import entity, memory, relate
from tests.integration.keys.filled import copied
from tests.integration.keys.filled import opened as opened_texts


def purge(actor: Actor, *ids: UUID, **options: Any) -> None:
    made = begin_partial(actor=actor, request=PartialRequest(memories=list(ids), **options))
    assert run_purge(purge_id=made.purge.pk).state == "done"


def delete(actor: Actor, memory_id: UUID) -> None:
    """Delete as a person does, and let the time for undoing it pass."""
    delete_memory(actor=actor, memory_id=memory_id)
    erase_due(owner_id=actor.owner_id, at=now() + timedelta(seconds=11))


class TestMerges:
    @pytest.mark.parametrize("way", [purge, delete], ids=["purge", "delete"])
    def test_an_undoing_brings_none_of_its_words_back(self, alice: Actor, way: Any) -> None:
        kept_memory = memory(alice, "Robert works at Acme.")
        doomed = memory(alice, "Bob secretly works at Acme.")
        robert = entity(alice, "Robert", memory_id=kept_memory)
        bob = entity(alice, "Bob", memory_id=doomed)
        # Another memory speaks of Bob, so that he comes back when the merge is undone.
        entity(alice, "Bob", memory_id=memory(alice, "Bob likes tea."))
        entity(alice, "Acme", "organization", memory_id=kept_memory)
        relate(alice, robert, "works at", "Acme", memory_id=kept_memory, evidence="works at Acme")
        relate(alice, bob, "works at", "Acme", memory_id=doomed, evidence="secretly works")
        merge = merge_two(actor=alice, kept_id=robert, merged_id=bob)
        with owner_scope(alice.owner_id):
            assert "secretly works" in json.dumps(EntityMerge.objects.get(pk=merge.pk).record)
        way(alice, doomed)
        with owner_scope(alice.owner_id):
            record = json.dumps(EntityMerge.objects.get(pk=merge.pk).record)
            assert "secretly" not in record
            assert str(doomed) not in record
        undo_merge(actor=alice, merge_id=merge.pk)
        with owner_scope(alice.owner_id):
            assert {row.name for row in Entity.objects.all()} == {"Robert", "Bob", "Acme"}
            assert [row.source_id for row in Relation.objects.all()] == [robert]
            assert {row.memory_id for row in GraphEvidence.objects.all()} == {kept_memory}


class TestReviews:
    def test_an_approval_that_made_it_goes_with_it(self, alice: Actor) -> None:
        turn = memory(alice, "I might be allergic to peanuts.")
        item = opened(alice, payload=fact("Alice is allergic to peanuts."), evidence=[(turn, "allergic to peanuts")])
        approve(actor=alice, item_id=item.pk)
        with owner_scope(alice.owner_id):
            made = next(row.pk for row in Memory.objects.all() if row.text == "Alice is allergic to peanuts.")
        purge(alice, made)
        with owner_scope(alice.owner_id):
            assert not ReviewItem.objects.exists()
            assert Memory.objects.filter(pk=turn).exists()

    def test_a_contradiction_goes_with_either_side(self, alice: Actor) -> None:
        older, newer = memory(alice, "Alice likes figs."), memory(alice, "Alice hates figs.")
        payload = {"older": str(older), "newer": str(newer)}
        opened(alice, ReviewKind.CONTRADICTION, payload, evidence=[(older, "likes figs"), (newer, "hates figs")])
        delete(alice, newer)
        with owner_scope(alice.owner_id):
            assert not ReviewItem.objects.exists()

    def test_a_doubt_that_another_memory_speaks_for_stays(self, alice: Actor) -> None:
        first, second = memory(alice, "Peanuts, no thanks."), memory(alice, "Peanuts make me sick.")
        opened(alice, payload=fact("Alice avoids peanuts."), evidence=[(first, "no thanks"), (second, "sick")])
        purge(alice, first)
        with owner_scope(alice.owner_id):
            item = ReviewItem.objects.get()
            assert item.payload["text"] == "Alice avoids peanuts."


@pytest.mark.parametrize("way", [purge, delete], ids=["purge", "delete"])
def test_a_skill_that_others_need_goes_and_they_stay(alice: Actor, way: Any) -> None:
    needed, needing = (
        create_skill(actor=alice, draft=SkillDraft(name=name, steps=[f"{name}."])).skill
        for name in ("Boil the water", "Brew the tea")
    )
    add_dependency(actor=alice, skill_id=needing.pk, needs_id=needed.pk)
    with owner_scope(alice.owner_id):
        doomed = Skill.objects.get(pk=needed.pk).memory_id
    way(alice, doomed)
    with owner_scope(alice.owner_id):
        assert list(Skill.objects.values_list("pk", flat=True)) == [needing.pk]
        assert not SkillDependency.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_remains_in_dead_rows_open_no_more_once_they_are_sealed(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "SETTLING", timedelta(0))
    kept, doomed = memory(alice, "Kept."), memory(alice, "A secret that must be gone.")
    before = copied(alice)
    assert "A secret that must be gone." in opened_texts(alice).values()
    purge(alice, doomed, seal=True)
    end_rotation(owner_id=alice.owner_id, newest=2, wait=lambda _: None)
    with owner_scope(alice.owner_id):
        assert Memory.objects.get(pk=kept).text == "Kept."
    from memory.crypto.keyring import keyring

    ring = keyring().of(alice.owner_id)
    assert len(before) >= 2
    for place, agent_id, value in before:
        with pytest.raises(KeysUnavailable):
            ring.unseal(value, place=place, agent_id=agent_id)
