"""What a recorded read costs and counts, below any transport."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from memory.errors import NotFound, PermissionRefused
from memory.models import AuditEvent, Memory, MemoryRead, RecallRecord, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit import readers, reading
from memory.services.audit.access_log import LogRequest, access_log, who_read
from memory.services.audit.readers import note_reads
from memory.services.context import build_context
from memory.services.drafts import Draft
from memory.services.gathering import write_gathered
from memory.services.memories import get_memory
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.revealing import reveal
from tests.integration.audit.events import NOW

Make = Callable[..., tuple[Actor, str]]
TEXTS = ("Alice prefers tea to coffee.", "The tea is in the left cupboard.")


@pytest.fixture
def assistant(alice: Actor, make_agent: Make) -> Actor:
    """An agent of Alice that may read; two memories are stored."""
    for text in TEXTS:
        remember(actor=alice, draft=Draft(text=text))
    return make_agent(alice)[0]


def events(owner: Actor) -> list[AuditEvent]:
    with owner_scope(owner.owner_id):
        return list(AuditEvent.objects.filter(verb="read").order_by("pk"))


def statements(act: Callable[[], object]) -> list[str]:
    act()
    with CaptureQueriesContext(
        connection,
    ) as captured:
        act()
    return [query["sql"] for query in captured]


def test_a_recall_costs_an_agent_two_statements_more(alice: Actor, assistant: Actor) -> None:
    request = RecallRequest(query="tea")
    persons = statements(lambda: recall(actor=alice, request=request))
    agents = statements(lambda: recall(actor=assistant, request=request))
    assert len(agents) == len(persons) + 2
    for table in ('INSERT INTO "memory_auditevent"', 'FROM "memory_agentsettings"'):
        assert sum(table in sql for sql in agents) == sum(table in sql for sql in persons) + 1, table


def test_another_read_costs_an_insert_and_a_savepoint(alice: Actor, assistant: Actor) -> None:
    with owner_scope(alice.owner_id):
        memory_id = Memory.objects.values_list("pk", flat=True).first()
    persons = statements(lambda: get_memory(actor=alice, memory_id=memory_id))
    agents = statements(lambda: get_memory(actor=assistant, memory_id=memory_id))
    assert len(agents) == len(persons) + 3
    assert sum("SAVEPOINT" in sql for sql in agents) == sum("SAVEPOINT" in sql for sql in persons) + 2


def test_what_waits_is_written_at_the_end_of_a_job_and_of_the_web_process(alice: Actor, assistant: Actor) -> None:
    with owner_scope(alice.owner_id):
        memory_id = Memory.objects.values_list("pk", flat=True).first()
    get_memory(actor=assistant, memory_id=memory_id)
    with owner_scope(alice.owner_id):
        assert not MemoryRead.objects.exists()
    write_gathered()
    with owner_scope(alice.owner_id):
        assert MemoryRead.objects.get().reads == 1


def test_a_recall_says_how_many_memories_it_showed(alice: Actor, assistant: Actor) -> None:
    answer = recall(actor=replace(assistant, via="cli"), request=RecallRequest(query="tea"))
    [event] = events(alice)
    assert (event.object_kind, event.object_id, event.count) == ("recall", answer.recall_id, len(answer.hits))
    assert (event.actor, event.reason, event.created_at.tzinfo is not None) == (assistant.label, "cli", True)
    assert len(answer.hits) == 2
    block = build_context(actor=assistant, request=RecallRequest(query="tea"))
    assert [event.object_kind for event in events(alice)] == ["recall", "context"]
    assert block.memory_ids
    recall(actor=assistant, request=RecallRequest(query="what about submarines", threshold=1.0))
    assert events(alice)[-1].count == 0


def test_a_recall_is_recorded_whether_it_is_kept_and_reinforces_or_not(alice: Actor, assistant: Actor) -> None:
    recall(actor=assistant, request=RecallRequest(query="tea", record=False, reinforce=False))
    assert [event.object_kind for event in events(alice)] == ["recall"]
    with owner_scope(alice.owner_id):
        assert not RecallRecord.objects.exists()


def test_what_cannot_be_recorded_is_not_answered(
    alice: Actor, assistant: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(**_: object) -> None:
        raise DatabaseError

    monkeypatch.setattr(reading, "record", away)
    with owner_scope(alice.owner_id):
        memory_id = Memory.objects.values_list("pk", flat=True).first()
    with pytest.raises(DatabaseError):
        get_memory(actor=assistant, memory_id=memory_id)
    with pytest.raises(DatabaseError):
        recall(actor=assistant, request=RecallRequest(query="tea"))
    with owner_scope(alice.owner_id):
        assert not RecallRecord.objects.exists()
        assert not MemoryRead.objects.exists()


def test_readers_are_counted_in_batches(alice: Actor, assistant: Actor) -> None:
    with owner_scope(alice.owner_id):
        memory_id, other = Memory.objects.order_by("pk").values_list("pk", flat=True)
    gone = type(memory_id)(int=1)
    for minutes in (3, 1, 2):
        moment = NOW + timedelta(minutes=minutes)
        note_reads(alice.owner_id, [memory_id, gone], reader=assistant.caller_id, at=moment)
    note_reads(alice.owner_id, [memory_id], reader=alice.owner_id, at=NOW)
    readers.flush()
    note_reads(alice.owner_id, [memory_id, other], reader=assistant.caller_id, at=NOW)
    with CaptureQueriesContext(connection) as captured:
        readers.flush()
    assert sum("memory_memoryread" in query["sql"] for query in captured) == 1
    found = who_read(actor=alice, memory_id=memory_id)
    assert [(one.agent_id, one.name, one.reads) for one in found] == [
        (assistant.agent_id, "assistant", 4),
        (None, None, 1),
    ]
    assert (found[0].first_at, found[0].last_at) == (NOW, NOW + timedelta(minutes=3))
    assert [one.reads for one in who_read(actor=alice, memory_id=other)] == [1]


def test_reads_that_wait_can_be_forgotten(alice: Actor, assistant: Actor) -> None:
    recall(actor=assistant, request=RecallRequest(query="tea"))
    readers.forget(alice.owner_id)
    readers.flush()
    with owner_scope(alice.owner_id):
        assert not MemoryRead.objects.exists()


def test_who_may_ask(alice: Actor, mallory: Actor, make_agent: Make, assistant: Actor) -> None:
    recall(actor=assistant, request=RecallRequest(query="tea"))
    readers.flush()
    with owner_scope(alice.owner_id):
        memory_id = Memory.objects.values_list("pk", flat=True).first()
    private = remember(actor=make_agent(alice, "other")[0], draft=Draft(text="Only mine."), scope="agent").memory_id
    keeper, _ = make_agent(alice, "keeper", scopes=[Permission.PRIVACY])
    spy, _ = make_agent(mallory, "spy", scopes=list(Permission))
    assert [one.name for one in who_read(actor=keeper, memory_id=memory_id)] == ["assistant"]
    assert [one.event.object_kind for one in access_log(actor=keeper, request=LogRequest(verb="read"))] == [
        "readers",
        "recall",
    ]
    assert access_log(actor=mallory, request=LogRequest(verb="read")) == []
    for stranger in (mallory, spy):
        with pytest.raises(NotFound):
            who_read(actor=stranger, memory_id=memory_id)
    with pytest.raises(NotFound):
        who_read(actor=keeper, memory_id=private)
    for refused in (
        lambda: who_read(actor=assistant, memory_id=memory_id),
        lambda: access_log(actor=assistant, request=LogRequest()),
    ):
        with pytest.raises(PermissionRefused):
            refused()


def test_a_person_counts_where_something_is_revealed(alice: Actor, assistant: Actor) -> None:
    with owner_scope(alice.owner_id):
        memory_id = Memory.objects.values_list("pk", flat=True).first()
    get_memory(actor=alice, memory_id=memory_id)
    reveal(actor=alice, memory_id=memory_id)
    readers.flush()
    assert [(one.agent_id, one.reads) for one in who_read(actor=alice, memory_id=memory_id)] == [(None, 1)]
