"""Turn events go with their agent and with their owner, and are part of the owner's archive."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from memory.models import EmbeddingSpace, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.due_work import JOBS
from memory.services.keys.rotation import begin_rotation
from memory.services.purge.caches import forget_owner
from memory.services.purge.partial import run_partial
from memory.services.purge.partial_requests import PartialRequest, begin_partial, preview_partial
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import run_purge
from memory.services.remember import remember
from telemetry.models import RequestVector, Spoke, TelemetryState, TurnEvent
from telemetry.services.turns import recording
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.events import EventsRequest, list_events
from telemetry.services.turns.recording import record, record_events, recording_counts
from tests.integration.archive.archives import archive_of, files_of, lines_of

AgentMaker = Callable[..., tuple[Actor, str]]


def requests(owner: Actor) -> list[str | None]:
    found = list_events(actor=owner, request=EventsRequest(masked=False), after=None, size=100)
    return [one.request for one in found]


def with_vectors(owner: Actor) -> None:
    space, _ = EmbeddingSpace.objects.get_or_create(provider="fake", model="fake", dimension=3)
    with owner_scope(owner.owner_id):
        hashes = sorted(set(TurnEvent.objects.values_list("request_hash", flat=True)))
        RequestVector.objects.bulk_create(
            [RequestVector(request_hash=one, space_id=space.pk, vec=[0.25, 0.5, 0.75]) for one in hashes]
        )


class TestWithTheAgent:
    def test_all_of_its_events_and_no_other(self, alice: Actor, make_agent: AgentMaker) -> None:
        (doomed, _), (other, _) = make_agent(alice, "doomed"), make_agent(alice, "other")
        assert doomed.agent_id is not None
        record_events(actor=doomed, events=[TurnDraft(request="Mine", matched_spoke="own"), TurnDraft(request="Both")])
        record_events(actor=other, events=[TurnDraft(request="Both"), TurnDraft(request="Theirs")])
        record_events(actor=alice, events=[TurnDraft(request="By hand")])
        with_vectors(alice)
        record(actor=doomed, event=TurnDraft(request="Waits"))
        asked = PartialRequest(agent=doomed.agent_id)
        assert preview_partial(actor=alice, request=asked).counts["turn_events"] == 2
        outcome = run_partial(purge=begin_partial(actor=alice, request=asked).purge, at=now())
        assert (outcome.erased["turn_events"], outcome.left) == (2, {})
        recording.flush()
        assert sorted(str(one) for one in requests(alice)) == ["Both", "By hand", "Theirs"]
        assert recording_counts().gone == 1
        with owner_scope(alice.owner_id):
            assert RequestVector.objects.count() == 3
            assert [spoke.name for spoke in Spoke.objects.all()] == ["direct"]
            assert TelemetryState.objects.get().live_events == 3

    def test_an_id_in_what_an_agent_said_is_no_trace(self, alice: Actor, make_agent: AgentMaker) -> None:
        doomed = remember(actor=alice, draft=Draft(text="A note.")).memory_id
        record_events(actor=alice, events=[TurnDraft(request=f"Forget {doomed}", extra={"memory_id": str(doomed)})])
        row = begin_partial(actor=alice, request=PartialRequest(memories=[doomed])).purge
        assert run_partial(purge=row, at=now()).left == {}
        assert requests(alice) == [f"Forget {doomed}"]


class TestWithTheOwner:
    def test_nothing_is_left_and_nothing_comes_after(self, alice: Actor, mallory: Actor) -> None:
        record_events(actor=alice, events=[TurnDraft(request="Gone")])
        record_events(actor=mallory, events=[TurnDraft(request="Stays")])
        with_vectors(alice)
        record(actor=alice, event=TurnDraft(request="Waits"))
        record(actor=mallory, event=TurnDraft(request="Waits too"))
        made = begin_purge(actor=alice)
        run_purge(purge_id=made.purge.pk)
        made.purge.refresh_from_db()
        assert made.purge.state == "done"
        assert made.purge.receipt is not None
        assert made.purge.receipt["erased"]["turn_events"] == 1
        recording.flush()
        assert sorted(str(one) for one in requests(mallory)) == ["Stays", "Waits too"]
        with owner_scope(alice.owner_id):
            for model in (TurnEvent, RequestVector, Spoke, TelemetryState):
                assert not model.objects.exists()

    def test_other_processes_drop_what_waits_there(self, alice: Actor) -> None:
        record(actor=alice, event=TurnDraft(request="Waits"))
        forget_owner(alice.owner_id)
        assert recording_counts().waiting == 0

    def test_while_it_is_being_purged(self, alice: Actor) -> None:
        begin_purge(actor=alice)
        record(actor=alice, event=TurnDraft(request="Waits"))
        recording.flush()
        assert (recording_counts().gone, recording_counts().waiting) == (1, 0)


@pytest.mark.django_db(transaction=True)
def test_the_archive_holds_events_and_no_vector(alice: Actor, make_agent: AgentMaker) -> None:
    clerk, _ = make_agent(alice, "clerk")
    event = TurnDraft(
        request="Write to Ann", matched_spoke="mail", delegations=["mail", "calendar"], extra={"a": 1}, id="7"
    )
    record_events(actor=clerk, events=[event])
    with_vectors(alice)
    data = archive_of(alice)
    lines = lines_of(data, "turn_events")
    assert len(lines) == 1
    one = lines[0]
    assert one["request"] == "Write to Ann"
    assert one["details"] == {"delegations": ["mail", "calendar"], "extra": {"a": 1}, "id": "7"}
    assert UUID(one["agent_id"]) == clerk.agent_id
    assert not {"event_key", "request_hash"} & set(one)
    assert [spoke["name"] for spoke in lines_of(data, "spokes")] == ["mail"]
    assert not any("vector" in name or b"0.75" in content for name, content in files_of(data).items())


@pytest.mark.django_db(transaction=True)
def test_a_rotation_of_the_key_moves_events(alice: Actor) -> None:
    record_events(actor=alice, events=[TurnDraft(request="Before", matched_spoke="mail", extra={"a": 1})])
    begin_rotation(owner_id=alice.owner_id)
    JOBS["rekey"](owner_id=alice.owner_id, at=now())
    with owner_scope(alice.owner_id):
        row = TurnEvent.objects.get()
        assert {row.__dict__["request"].version, row.__dict__["details"].version} == {2}
        assert Spoke.objects.get().__dict__["name"].version == 2
    assert requests(alice) == ["Before"]
