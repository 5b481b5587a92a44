"""The score card of an owner's memory, counted on real rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from pytest_django import DjangoAssertNumQueries

from memory.errors import PermissionRefused
from memory.models import (
    Kind,
    Memory,
    MemoryAccess,
    MemoryVector,
    Reflection,
    ReviewItem,
    ReviewKind,
    ReviewState,
    Status,
    Visibility,
    owner_scope,
)
from memory.services import clock
from memory.services.actors import Actor, Permission
from memory.services.agents import authenticate
from memory.services.drafts import Draft
from memory.services.purge.caches import forget_owner
from memory.services.remember import remember
from memory.services.settings import change_settings
from telemetry.services.score_card import ScoreCard, forget_score_cards, score_card
from tests.integration.api.conftest import Client, problem
from tests.integration.graph.conftest import entity, relate
from tests.integration.graph.moments import FixedClock

HALF_LIFE = 30


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FixedClock:
    """A clock that stands still."""
    fixed = FixedClock()
    monkeypatch.setattr(clock, "_clock", fixed)
    return fixed


def counted(actor: Actor) -> ScoreCard:
    """Count anew."""
    forget_score_cards()
    return score_card(actor=actor)


def store(actor: Actor, number: int, *, days_ago: float = 0, uses: int = 0, **columns: Any) -> list[UUID]:
    """Store statements of a certain age that were used so often when they were stored."""
    at = clock.now() - timedelta(days=days_ago)
    made = [
        remember(actor=actor, draft=Draft(text=f"Statement {columns} {days_ago} {one}")).memory_id
        for one in range(number)
    ]
    with owner_scope(actor.owner_id):
        Memory.objects.filter(pk__in=made).update(created_at=at, **columns)
        MemoryAccess.objects.filter(memory_id__in=made).delete()
        if uses:
            MemoryAccess.objects.bulk_create(
                MemoryAccess(owner_id=actor.owner_id, memory_id=one, access_count=uses, last_accessed=at)
                for one in made
            )
    return made


def codes(card: ScoreCard) -> list[str]:
    """Name what was taken off."""
    return [one.code for one in card.deductions]


class TestCounting:
    def test_an_empty_memory_has_nothing_wrong(self, alice: Actor) -> None:
        card = counted(alice)
        assert (card.score, card.deductions, card.standing.memories) == (100, (), 0)
        assert (card.backlog.low_confidence_share, card.backlog.without_vector_share) == (0.0, 0.0)

    def test_age_and_use_decide_what_is_active_and_stale(self, alice: Actor, time: FixedClock) -> None:
        store(alice, 2, uses=1)
        store(alice, 1, days_ago=HALF_LIFE - 1)
        store(alice, 1, days_ago=HALF_LIFE + 1)
        store(alice, 1, days_ago=4 * HALF_LIFE)
        store(alice, 1, days_ago=4 * HALF_LIFE, importance=0.8)
        found = counted(alice).standing
        assert (found.memories, found.active, found.stale, found.used) == (6, 3, 1, 2)
        left = [1, 1, 0.5 ** (29 / 30), 0.5 ** (31 / 30), 0.5**4, 0.5**2]
        assert found.average_decay == pytest.approx(sum(left) / 6)

    def test_what_was_used_lately_is_as_new(self, alice: Actor, time: FixedClock) -> None:
        (one,) = store(alice, 1, days_ago=400, uses=1)
        assert codes(counted(alice)) == ["memories.all_stale"]
        with owner_scope(alice.owner_id):
            MemoryAccess.objects.filter(memory_id=one).update(last_accessed=time.now())
        assert counted(alice).standing.average_decay == pytest.approx(1)

    def test_a_shorter_half_life_counts(self, alice: Actor, time: FixedClock) -> None:
        store(alice, 1, days_ago=28)
        assert counted(alice).standing.stale == 0
        change_settings(actor=alice, changes={"retention_policy": "prax"})
        found = counted(alice)
        assert found.standing.stale == 1
        assert found.standing.average_decay == pytest.approx(0.5**4)

    def test_only_live_memories_count(self, alice: Actor) -> None:
        store(alice, 1)
        for status in (Status.ARCHIVED, Status.SUPERSEDED, Status.ERASING):
            store(alice, 1, status=status)
        assert counted(alice).standing.memories == 1

    def test_each_deduction_is_reached_by_rows(self, alice: Actor, time: FixedClock) -> None:
        store(alice, 11, days_ago=400)
        assert codes(counted(alice)) == ["memories.all_stale", "memories.faded", "memories.seldom_used"]
        store(alice, 1, uses=1)
        assert codes(counted(alice)) == ["memories.mostly_stale", "memories.faded", "memories.seldom_used"]
        entity(alice, "Anna")
        entity(alice, "Berta")
        assert "graph.unrelated" in codes(counted(alice))
        relate(alice, "Anna", "knows", "Berta")
        entity(alice, "Clara")
        found = counted(alice)
        assert "graph.unrelated" not in codes(found)
        assert (found.standing.entities, found.standing.unrelated_entities, found.standing.relations) == (3, 1, 1)

    def test_reflections_that_are_unsure(self, alice: Actor) -> None:
        (one, two) = store(alice, 2, kind=Kind.REFLECTION)
        with owner_scope(alice.owner_id):
            for number, (memory_id, confidence) in enumerate(((one, 0.2), (two, 0.6))):
                Reflection.objects.create(
                    memory_id=memory_id,
                    scope=alice.owner_id,
                    pattern_hash=number,
                    confidence=confidence,
                    last_reinforced_at=clock.now(),
                )
        found = counted(alice)
        assert found.standing.reflections == 2
        assert found.standing.reflection_confidence == pytest.approx(0.4)
        assert codes(found) == ["reflections.unsure"]
        with owner_scope(alice.owner_id):
            Memory.objects.filter(pk=one).update(status=Status.ARCHIVED)
        assert codes(counted(alice)) == []

    def test_what_waits(self, alice: Actor) -> None:
        made = store(alice, 3)
        store(alice, 1, kind=Kind.SUMMARY)
        with owner_scope(alice.owner_id):
            Memory.objects.filter(pk=made[0]).update(confidence=0.4, extracted_at=clock.now())
            MemoryVector.objects.filter(memory_id__in=made[:2]).delete()
            for number, (kind, state, days) in enumerate(
                (
                    (ReviewKind.CONTRADICTION, ReviewState.OPEN, None),
                    (ReviewKind.CONTRADICTION, ReviewState.SNOOZED, 1),
                    (ReviewKind.FACT, ReviewState.SNOOZED, -1),
                    (ReviewKind.CONTRADICTION, ReviewState.REJECTED, None),
                )
            ):
                until = clock.now() + timedelta(days=days) if days else None
                self._doubt(alice, number, kind=kind, state=state, snoozed_until=until)
        found = counted(alice).backlog
        assert (found.low_confidence, found.low_confidence_share) == (1, 0.25)
        assert (found.without_vector, found.without_vector_share) == (2, 0.5)
        assert (found.unextracted, found.reviews, found.contradictions) == (2, 2, 2)

    def test_a_stranger_changes_nothing(self, alice: Actor, mallory: Actor) -> None:
        store(mallory, 3, days_ago=400)
        entity(mallory, "Anna")
        assert counted(alice).standing.memories == 0
        assert counted(alice).standing.entities == 0
        assert counted(mallory).standing.memories == 3

    @staticmethod
    def _doubt(actor: Actor, number: int, **columns: Any) -> None:
        ReviewItem.objects.create(
            visibility=Visibility.OWNER,
            scope=actor.owner_id,
            reason="unsure",
            confidence=0.5,
            payload={},
            payload_hash=bytes([number]),
            created_at=clock.now(),
            updated_at=clock.now(),
            **columns,
        )


class TestKeeping:
    def test_it_is_kept_for_a_minute(
        self, alice: Actor, time: FixedClock, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        store(alice, 1)
        first = counted(alice)
        store(alice, 2, days_ago=1)
        time.moment += timedelta(seconds=59)
        with django_assert_num_queries(0):
            assert score_card(actor=alice) is first
        time.moment += timedelta(seconds=1)
        assert score_card(actor=alice).standing.memories == 3

    def test_nothing_is_not_kept(self, alice: Actor, time: FixedClock) -> None:
        counted(alice)
        store(alice, 1)
        assert score_card(actor=alice).standing.memories == 1

    def test_a_purge_forgets_it(self, alice: Actor) -> None:
        store(alice, 1)
        first = counted(alice)
        forget_owner(alice.owner_id)
        assert score_card(actor=alice) is not first

    def test_the_cost_does_not_grow_with_statements(
        self, alice: Actor, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        store(alice, 5)
        forget_score_cards()
        # The scope takes three of them.
        with django_assert_max_num_queries(8):
            score_card(actor=alice)

    def test_agents_need_the_permission_even_for_what_is_kept(
        self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        store(alice, 1)
        counted(alice)
        _, secret = make_agent(alice, "writer", scopes=[Permission.READ, Permission.TELEMETRY_WRITE])
        with pytest.raises(PermissionRefused):
            score_card(actor=authenticate(secret))


class TestReaching:
    def test_the_endpoint_says_all_of_it(self, agent: Client, alice: Actor) -> None:
        store(alice, 1, days_ago=400)
        body = agent.json("get", "/telemetry/score-card").json()
        assert body["score"] == 75
        (taken,) = body["deductions"]
        assert (taken["code"], taken["points"]) == ("memories.all_stale", 25)
        assert body["standing"]["stale"] == 1
        assert body["backlog"]["unextracted"] == 1
        assert body["at"]

    def test_the_endpoint_is_held_to_the_permission(self, powerless: Client, anonymous: Client) -> None:
        problem(powerless.json("get", "/telemetry/score-card"), 403, "auth.forbidden")
        problem(anonymous.json("get", "/telemetry/score-card"), 401, "auth.required")

    def test_a_person_without_memory_switched_on_still_sees_it(self, woman: Client, settings: Any) -> None:
        settings.MEMORY_ENABLED = False
        assert woman.json("get", "/telemetry/score-card").status_code == 200

    def test_the_command(self, alice: Actor) -> None:
        store(alice, 1, days_ago=400)
        said = StringIO()
        call_command("telemetry", "score", "--owner", "alice", stdout=said)
        assert "Score: 75 of 100." in said.getvalue()
        assert "-25  Every memory has faded" in said.getvalue()
        said = StringIO()
        call_command("telemetry", "score", "--owner", "alice", "--json", stdout=said)
        assert json.loads(said.getvalue())["deductions"][0]["points"] == 25
