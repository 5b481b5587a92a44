"""What the writing services announce: memories, doubts, runs and workers, and how few announcements that is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import transaction
from django_q.models import Task

from memory.live import consumer
from memory.live.listening import listening_parameters
from memory.live.notices import WIRE
from memory.models import ReviewKind, RunTrigger, owner_scope
from memory.ports.live import announce_change
from memory.services.actors import Actor, Permission, Target
from memory.services.agents import revoke_key
from memory.services.announcing import memories_changed
from memory.services.changes import change_memory
from memory.services.consolidation.groups import Group
from memory.services.consolidation.runner import run_consolidation
from memory.services.drafts import Draft
from memory.services.health import heartbeat
from memory.services.jobs import RUN_DUE_WORK
from memory.services.remember import remember, remember_many
from memory.services.retirement import archive_memory, restore_memory
from memory.services.review_decisions import reject
from memory.services.reviews import open_review
from memory.services.turns import TurnDraft, ingest_turns
from tests.live_server import as_agent, as_person

LAST = "last"


@contextmanager
def wire(owner: Actor) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Listen to all that travels; gives what does until the question for it."""
    with psycopg.connect(**listening_parameters()) as thief:
        thief.execute(f"LISTEN {WIRE}")

        def told() -> list[dict[str, Any]]:
            announce_change(owner.owner_id, LAST)
            found: list[dict[str, Any]] = []
            for notice in thief.notifies(timeout=30):
                message = json.loads(notice.payload)["m"]
                if message.get("sort") == LAST:
                    return found
                if message["type"] == "live.change":
                    found.append({name: message[name] for name in ("sort", "id", "version")})
            pytest.fail("the last notice did not come")

        yield told


MEMORIES = {"sort": "memories", "id": "", "version": 0}


def test_a_batch_of_500_memories_is_announced_once(alice: Actor) -> None:
    with wire(alice) as told:
        done = remember_many(actor=alice, drafts=[Draft(text=f"The shelf holds book {n}.") for n in range(500)])
        assert sum(item.stored is not None for item in done) == 500
        assert told() == [MEMORIES]


def test_turns_are_announced_once_for_each_transaction(alice: Actor) -> None:
    with wire(alice) as told:
        turns = [TurnDraft(draft=Draft(text=f"I read page {n}.", kind="turn", role="user")) for n in range(20)]
        ingest_turns(actor=alice, session="reading", turns=turns)
        assert told() == [MEMORIES]


def test_each_change_of_a_memory_is_announced(alice: Actor) -> None:
    memory_id = remember(actor=alice, draft=Draft(text="The key hangs in the hall.")).memory_id
    with wire(alice) as told:
        change_memory(actor=alice, memory_id=memory_id, changes={"text": "The key hangs in the kitchen."})
        assert told() == [MEMORIES]
        change_memory(actor=alice, memory_id=memory_id, changes={"importance": 0.9})
        assert told() == [MEMORIES]
        archive_memory(actor=alice, memory_id=memory_id)
        assert told() == [MEMORIES]
        restore_memory(actor=alice, memory_id=memory_id)
        assert told() == [MEMORIES]


def test_what_is_rolled_back_is_announced_again_by_who_comes_after(alice: Actor) -> None:
    """The note of what was announced goes with the savepoint that takes the announcement back."""
    with wire(alice) as told:
        with owner_scope(alice.owner_id):
            with transaction.atomic():
                memories_changed()
                transaction.set_rollback(True)
            memories_changed()
            memories_changed()
        assert told() == [MEMORIES]
        with owner_scope(alice.owner_id):
            memories_changed()
            transaction.set_rollback(True)
        with owner_scope(alice.owner_id):
            memories_changed()
        assert told() == [MEMORIES]


def test_doubts_are_announced_when_they_open_and_when_they_are_decided(alice: Actor) -> None:
    with wire(alice) as told:
        item = open_review(
            actor=alice,
            kind=ReviewKind.FACT,
            reason="gate.low",
            confidence=0.4,
            payload={"text": "Alice lives in Lisbon.", "kind": "fact"},
            target=Target("owner", alice.owner_id),
        )
        assert item is not None
        assert told() == [{"sort": "reviews", "id": "", "version": 0}]
        reject(actor=alice, item_id=item.pk)
        assert told() == [{"sort": "reviews", "id": "", "version": 0}]


def test_a_run_is_announced_when_it_begins_after_each_stage_and_when_it_ends(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Bob lives in Porto and works for the harbour."))
    with wire(alice) as told:
        run = run_consolidation(owner_id=alice.owner_id, trigger=RunTrigger.HAND, groups=list(Group))
        assert run is not None
        heard = [one for one in told() if one["sort"] == "consolidation"]
    assert {one["id"] for one in heard} == {str(run.pk)}
    versions = [one["version"] for one in heard]
    assert versions == sorted(versions)
    assert versions[0] == 0
    # The begin, what lies between the stages, and the end.
    assert len(heard) > 5


def test_a_person_hears_of_what_an_agent_stores_and_another_owner_does_not(
    place: str, alice: Actor, mallory: Actor, make_agent: Callable[..., Any]
) -> None:
    agent, _ = make_agent(alice)
    with as_person(place, alice) as hers, as_person(place, mallory) as his:
        hers.watch("memories")
        his.watch("memories")
        remember(actor=agent, draft=Draft(text="The meeting is on Monday."))
        assert hers.hear() == MEMORIES
        announce_change(mallory.owner_id, "memories", "", 9)
        assert his.hear()["version"] == 9


def test_an_agent_does_not_hear_what_the_other_agents_do(
    place: str, alice: Actor, make_agent: Callable[..., Any]
) -> None:
    _, plain = make_agent(alice, "plain", scopes=[Permission.READ, Permission.WRITE])
    _, trusted = make_agent(alice, "trusted", scopes=[Permission.PRIVACY])
    sorts = ("memories", "consolidation", "reviews")
    with as_agent(place, plain) as one, as_agent(place, trusted) as other:
        refused = [{"sort": sort, "code": "auth.forbidden"} for sort in sorted(sorts)]
        assert one.watch(*sorts) == {"watching": [], "refused": refused}
        assert other.watch(*sorts) == {"watching": sorted(sorts)}


def test_a_key_that_is_revoked_hears_of_no_further_memory(
    place: str, alice: Actor, make_agent: Callable[..., Any]
) -> None:
    actor, secret = make_agent(alice, scopes=[Permission.PRIVACY])
    with as_agent(place, secret) as agent:
        agent.watch("memories")
        revoke_key(actor=alice, key_id=actor.key_id)
        remember(actor=alice, draft=Draft(text="Nobody else hears of this."))
        assert agent.said_before_closing() == []
        assert agent.closed_with() == 4401


def reported(at: datetime) -> None:
    """Let a worker have shown at a moment that it lives."""
    Task.objects.create(
        id=f"{at.timestamp()}", name=f"{at.timestamp()}", func=RUN_DUE_WORK, started=at, stopped=at, success=True
    )


def test_a_page_hears_that_the_worker_fell_silent_and_that_it_is_back(
    place: str, alice: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "JUDGE_SECONDS", 0.1)
    monkeypatch.setattr(consumer, "WORKER_SECONDS", 0.0)
    # The owner was made a moment ago, from which on a first worker has its time to report.
    monkeypatch.setattr(heartbeat, "SILENCE", timedelta(0))
    present = datetime.now(UTC) + timedelta(hours=1)
    reported(present)
    with as_person(place, alice) as page:
        page.watch("workers")
        Task.objects.all().delete()
        assert page.hear() == {"sort": "workers", "id": "", "version": 0}
        reported(present)
        assert page.hear() == {"sort": "workers", "id": "", "version": 0}
