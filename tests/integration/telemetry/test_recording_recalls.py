"""How recalls went is kept: once each, after the answer, without a query more, and not for ever."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.models import Memory, RecallRecord, owner_scope
from memory.ports import recorder
from memory.services.actors import Actor, person
from memory.services.clock import now
from memory.services.purge.agent_parts import agent_parts
from memory.services.purge.caches import forget_owner
from memory.services.retention import remove_outdated
from telemetry.models import RecallFeedback, RecallObservation
from telemetry.services.recalls import recording, retention
from telemetry.services.recalls.feedback import give_feedback
from tests.integration.telemetry.recalls import ask, context, fill, observe, observed


def test_a_recall_is_observed_without_its_question(alice: Actor) -> None:
    fill(alice)
    answer = ask(alice)
    (row,) = observed(alice)
    assert (row.pk, row.sort, row.profile, row.gate) == (answer.recall_id, "recall", "default", "recall")
    assert (row.hits, row.wanted, row.considered) == (len(answer.hits), 10, answer.considered)
    assert row.relevances == [pytest.approx(hit.relevance, abs=1e-4) for hit in answer.hits]
    assert {"prepare", "embed", "gather", "arm.dense", "arm.lexical", "fusion", "place", "open", "keep"} <= set(
        row.stages
    )
    assert sum(row.stages.values()) <= row.duration_us
    assert "billing" not in str([getattr(row, field.attname) for field in row._meta.concrete_fields])


def test_a_context_block_and_a_greeting_are_observed(alice: Actor) -> None:
    fill(alice)
    context(alice)
    ask(alice, "Hello!")
    block, greeting = observed(alice)
    assert (block.sort, block.threshold, block.wanted) == ("context", 0.3, 5)
    assert (greeting.gate, greeting.hits) == ("skip", 0)


def test_a_preview_is_not_observed(alice: Actor) -> None:
    fill(alice)
    ask(alice, record=False, reinforce=False)
    assert observed(alice) == []


def test_with_telemetry_off_nothing_is_kept(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "TELEMETRY_ENABLED", False)
    fill(alice)
    ask(alice)
    assert observed(alice) == []


def test_observing_adds_no_query_to_a_recall(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(alice)
    ask(alice)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            ask(alice)
        return len(captured)

    with_recorders = queries()
    monkeypatch.setattr(recorder, "_recorders", [])
    assert queries() == with_recorders


def test_writing_twice_keeps_one_row(alice: Actor) -> None:
    fill(alice)
    observe(alice)
    rows = observed(alice)
    told: dict[str, Any] = {"recall_id": rows[0].pk, "at": rows[0].created_at}
    observe(alice, **told)
    assert len(observed(alice)) == 1


def test_observations_of_an_erased_agent_are_dropped(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    agent, _ = make_agent(alice)
    gone = Actor(owner_id=alice.owner_id, kind="agent", agent_id=alice.owner_id)
    observe(agent)
    observe(gone)
    assert [row.agent_id for row in observed(alice)] == [agent.agent_id]


def test_only_the_newest_stay(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "MOST_OF_ONE", 3)
    kept = [observe(alice, at=now() - timedelta(minutes=5 - at)) for at in range(5)][2:]
    assert [row.pk for row in observed(alice)] == kept


def test_outdated_observations_and_feedback_are_removed_by_the_hourly_job(alice: Actor) -> None:
    (memory_id, *_) = fill(alice)
    answer = ask(alice)
    give_feedback(actor=alice, recall_id=answer.recall_id, helpful=True, memory_id=memory_id)
    recording.flush()
    assert remove_outdated(at=now() + timedelta(days=29))["recall_observations"] == 0
    assert remove_outdated(at=now() + timedelta(days=31))["recall_observations"] == 2
    assert observed(alice) == []


def test_what_waits_is_forgotten_with_the_owner(alice: Actor, mallory: Actor) -> None:
    observe(alice)
    observe(mallory)
    forget_owner(alice.owner_id)
    assert observed(alice) == []
    assert len(observed(mallory)) == 1


def test_owners_do_not_see_each_other(alice: Actor, mallory: Actor) -> None:
    observe(alice)
    assert observed(mallory) == []


def test_feedback_goes_with_its_memory_and_an_agents_rows_with_the_agent(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    agent, _ = make_agent(alice)
    assert agent.agent_id is not None
    (memory_id, *_) = fill(alice)
    for actor in (alice, agent):
        give_feedback(actor=actor, recall_id=ask(actor).recall_id, helpful=True, memory_id=memory_id)
        give_feedback(actor=actor, recall_id=ask(actor).recall_id, helpful=True)
    recording.flush()
    with owner_scope(alice.owner_id):
        counts = {part.name: part.count(agent.agent_id) for part in agent_parts()}
        assert (counts["recall_observations"], counts["recall_feedback"]) == (2, 2)
        for part in agent_parts():
            part.erase(agent.agent_id)
        assert RecallObservation.objects.count() == 2
        assert RecallFeedback.objects.count() == 2
        Memory.objects.filter(pk=memory_id).delete()
        assert RecallFeedback.objects.count() == 1
        assert RecallRecord.objects.count() == 4
    assert person(alice.owner_id).human
