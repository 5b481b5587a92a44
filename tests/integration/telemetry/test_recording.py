"""Recording turns: what is kept, once, in which stream, and that nothing fails for it."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, KeysUnavailable, PermissionRefused
from memory.models import Agent, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from telemetry.metrics.counting import counted_here
from telemetry.models import Spoke, TelemetryState, TurnEvent
from telemetry.services.turns import recording
from telemetry.services.turns import test_mode as modes
from telemetry.services.turns.buffer import MOST_ATTEMPTS, MOST_WAITING, TurnBuffer
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.events import EventsRequest, list_events
from telemetry.services.turns.recording import record, record_events, recording_counts
from telemetry.services.turns.request_text import embeddable, request_hash
from telemetry.services.turns.storing import Recorded, Stored

AgentMaker = Callable[..., tuple[Actor, str]]


@pytest.fixture
def clerk(alice: Actor, make_agent: AgentMaker) -> Actor:
    """An agent of Alice's."""
    return make_agent(alice, "clerk")[0]


def events(owner: Actor, **wanted: Any) -> list[Any]:
    return list_events(actor=owner, request=EventsRequest(masked=False, **wanted), after=None, size=10_000)


def requests(owner: Actor, **wanted: Any) -> list[str]:
    return [str(one.request) for one in events(owner, **wanted)]


def dropped(reason: str) -> float:
    return counted_here().get_sample_value("loci_turn_events_dropped_total", {"reason": reason}) or 0.0


class TestAnswered:
    def test_a_turn_of_the_seed(self, alice: Actor, clerk: Actor) -> None:
        moment = now() - timedelta(hours=2)
        draft = TurnDraft(
            timestamp=moment.timestamp(),
            user_id="alice",
            request="Make me a note about gradient descent",
            matched_spoke="knowledge",
            delegations=["knowledge"],
            outcome="completed",
            tool_call_count=3,
            duration_ms=2156,
        )
        found = record_events(actor=clerk, events=[draft])
        assert (found.enabled, found.stream, found.test_mode, found.accepted, found.duplicates) == (
            True, "live", False, 1, 0,
        )  # fmt: skip
        assert [note["code"] for note in found.events[0].notes] == ["user_id.ignored"]
        one = events(alice)[0]
        assert one.event_id == found.events[0].event_id
        assert (one.request, one.matched_spoke, one.delegations) == (draft.request, "knowledge", ("knowledge",))
        assert (one.outcome, one.tool_call_count, one.duration_ms, one.extra) == ("completed", 3, 2156, {})
        assert (one.agent_id, one.fallback, one.unreadable) == (clerk.agent_id, False, False)
        assert abs(one.occurred_at - moment) < timedelta(milliseconds=1)

    def test_an_event_that_comes_twice_is_one(self, alice: Actor, clerk: Actor, make_agent: AgentMaker) -> None:
        first = record_events(actor=clerk, events=[TurnDraft(request="One", id="7"), TurnDraft(request="Two", id="8")])
        again = record_events(
            actor=clerk,
            events=[TurnDraft(request="Other words", id="7"), TurnDraft(request="Three", id="9"),
                    TurnDraft(request="Three more", id="9")],
        )  # fmt: skip
        assert (again.accepted, again.duplicates) == (1, 2)
        assert [one.duplicate for one in again.events] == [True, False, True]
        assert again.events[0].event_id == first.events[0].event_id
        assert again.events[1].event_id == again.events[2].event_id
        assert sorted(requests(alice)) == ["One", "Three", "Two"]
        other, _ = make_agent(alice, "other")
        assert record_events(actor=other, events=[TurnDraft(request="Mine", id="7")]).accepted == 1

    def test_without_an_id_each_is_new(self, alice: Actor, clerk: Actor) -> None:
        for _ in range(2):
            assert record_events(actor=clerk, events=[TurnDraft(request="Same")]).accepted == 1
        assert requests(alice) == ["Same", "Same"]

    def test_all_or_nothing(self, alice: Actor, clerk: Actor) -> None:
        drafts = [TurnDraft(request="Good"), TurnDraft(request="Bad", outcome="lost")]
        with pytest.raises(InvalidInput) as refused:
            record_events(actor=clerk, events=drafts)
        assert (refused.value.machine_code, refused.value.details["index"]) == ("outcome.invalid", 1)
        assert requests(alice) == []
        for number in (0, 1_001):
            with pytest.raises(InvalidInput, match="between 1 and 1000"):
                record_events(actor=clerk, events=[TurnDraft(request="x")] * number)

    def test_who_may(self, alice: Actor, make_agent: AgentMaker) -> None:
        reader, _ = make_agent(alice, "reader", scopes=[Permission.READ])
        with pytest.raises(PermissionRefused):
            record_events(actor=reader, events=[TurnDraft(request="x")])
        with pytest.raises(PermissionRefused):
            list_events(actor=reader, request=EventsRequest(), after=None, size=1)

    def test_a_person_records_too(self, alice: Actor) -> None:
        assert record_events(actor=alice, events=[TurnDraft(request="By hand")]).accepted == 1
        assert events(alice)[0].agent_id is None

    def test_switched_off(self, alice: Actor, clerk: Actor, settings: Any) -> None:
        settings.TELEMETRY_ENABLED = False
        found = record_events(actor=clerk, events=[TurnDraft(request="x", id="1")])
        assert (found.enabled, found.accepted, found.duplicates) == (False, 0, 0)
        assert found.events[0].event_id is None
        before = dropped("off")
        record(actor=clerk, event=TurnDraft(request="x"))
        recording.flush()
        assert recording_counts().taken == 0
        assert dropped("off") == before + 1
        assert requests(alice) == []

    def test_others_see_nothing_of_it(self, alice: Actor, clerk: Actor, mallory: Actor) -> None:
        record_events(actor=clerk, events=[TurnDraft(request="Secret", id="1")])
        assert requests(mallory) == []
        assert record_events(actor=mallory, events=[TurnDraft(request="Other", id="1")]).accepted == 1
        assert requests(alice) == ["Secret"]

    def test_a_thousand_cost_few_statements(self, alice: Actor, clerk: Actor) -> None:
        drafts = [TurnDraft(request=f"Request {number}", matched_spoke=f"s{number % 7}") for number in range(1_000)]
        with CaptureQueriesContext(connection) as queries:
            assert record_events(actor=clerk, events=drafts).accepted == 1_000
        assert len(queries) < 25
        with owner_scope(alice.owner_id):
            assert Spoke.objects.count() == 7
            assert TelemetryState.objects.get().live_events == 1_000


class TestSealed:
    def test_nothing_stands_in_clear(self, alice: Actor, clerk: Actor) -> None:
        record_events(
            actor=clerk,
            events=[TurnDraft(request="Zanzibar", matched_spoke="Mombasa", extra={"town": "Nairobi"}, id="Kampala")],
        )
        with connection.cursor() as cursor, owner_scope(alice.owner_id):
            cursor.execute("SELECT e::text || s::text FROM telemetry_turnevent e, telemetry_spoke s")
            row = cursor.fetchone()[0]
        assert not any(word in row for word in ("Zanzibar", "Mombasa", "Nairobi", "Kampala"))

    def test_personal_data_is_told_by_kind_and_hashed_without(self, alice: Actor, clerk: Actor) -> None:
        for address in ("ann@example.org", "bob@example.com"):
            record_events(actor=clerk, events=[TurnDraft(request=f"Write to  {address}")])
        with owner_scope(alice.owner_id):
            rows = list(TurnEvent.objects.all())
            assert {tuple(row.pii_kinds) for row in rows} == {("email",)}
            wanted = request_hash(keyring().of(alice.owner_id), "Write to [EMAIL]")
            assert {row.request_hash for row in rows} == {wanted}
            assert {embeddable(row.request) for row in rows} == {"Write to [EMAIL]"}

    def test_fallbacks(self, alice: Actor, clerk: Actor) -> None:
        names = ["fallback", "delegate_task", "generic", "", None, "direct", "knowledge"]
        record_events(actor=clerk, events=[TurnDraft(request="x", matched_spoke=name) for name in names])
        found = {(one.matched_spoke, one.fallback) for one in events(alice)}
        assert found == {
            ("fallback", True), ("delegate_task", True), ("generic", True), ("direct", False), ("knowledge", False),
        }  # fmt: skip


class TestInProcess:
    def test_it_costs_no_statement_and_is_written_later(self, alice: Actor, clerk: Actor) -> None:
        with CaptureQueriesContext(connection) as queries:
            record(actor=clerk, event=TurnDraft(request="Later"))
        assert len(queries) == 0
        assert recording_counts().waiting == 1
        recording.flush()
        assert requests(alice) == ["Later"]
        counts = recording_counts()
        assert (counts.taken, counts.written, counts.waiting) == (1, 1, 0)

    def test_a_burst_arrives_whole(self, alice: Actor, clerk: Actor) -> None:
        for number in range(MOST_WAITING):
            record(actor=clerk, event=TurnDraft(request=f"Request {number}", id=str(number)))
        recording.flush()
        assert sorted(one.id for one in events(alice)) == sorted(str(number) for number in range(MOST_WAITING))
        assert recording_counts().lost == 0

    @pytest.mark.parametrize(
        "bad",
        [
            TurnDraft(request=""),
            TurnDraft(request=7),
            TurnDraft(request="x", outcome=["completed"]),
            TurnDraft(request="x", extra={"deep": object()}),
            TurnDraft(request="x", timestamp=float("nan")),
        ],
        ids=range(5),
    )
    def test_what_is_no_event_fails_nothing(
        self, alice: Actor, clerk: Actor, bad: TurnDraft, caplog: pytest.LogCaptureFixture
    ) -> None:
        record(actor=clerk, event=bad)
        recording.flush()
        assert recording_counts().refused == 1
        assert requests(alice) == []
        assert "refused so far: 1" in caplog.text

    def test_what_breaks_when_it_is_read_fails_nothing(self, clerk: Actor, caplog: pytest.LogCaptureFixture) -> None:
        class Broken(dict[str, Any]):
            def items(self) -> Any:
                raise RuntimeError("secret words")

            def __iter__(self) -> Any:
                raise RuntimeError("secret words")

            keys = items

        record(actor=clerk, event=TurnDraft(request="x", extra=Broken(a=1)))
        assert recording_counts().refused == 1
        assert "RuntimeError" in caplog.text
        assert "secret words" not in caplog.text

    def test_without_the_permission(self, alice: Actor, make_agent: AgentMaker) -> None:
        reader, _ = make_agent(alice, "reader", scopes=[Permission.READ])
        forbidden, invalid = dropped("forbidden"), dropped("invalid")
        record(actor=reader, event=TurnDraft(request="x"))
        assert (recording_counts().refused, recording_counts().waiting) == (1, 0)
        assert (dropped("forbidden"), dropped("invalid")) == (forbidden + 1, invalid)

    def test_what_changes_after_it_was_recorded_changes_nothing(self, alice: Actor, clerk: Actor) -> None:
        extra, names = {"a": 1}, ["first"]
        record(actor=clerk, event=TurnDraft(request="x", extra=extra, delegations=names))
        extra["a"] = 2
        names.append("second")
        recording.flush()
        assert (events(alice)[0].extra, events(alice)[0].delegations) == ({"a": 1}, ("first",))

    def test_an_agent_that_is_gone_takes_its_waiting_events_along(self, alice: Actor, clerk: Actor) -> None:
        record(actor=clerk, event=TurnDraft(request="Late"))
        record(actor=alice, event=TurnDraft(request="Stays"))
        with owner_scope(alice.owner_id):
            Agent.objects.filter(pk=clerk.agent_id).delete()
        recording.flush()
        assert requests(alice) == ["Stays"]
        assert recording_counts().gone == 1

    def test_a_forgotten_owner(self, alice: Actor, clerk: Actor, mallory: Actor) -> None:
        record(actor=clerk, event=TurnDraft(request="Gone"))
        record(actor=mallory, event=TurnDraft(request="Stays"))
        recording.forget(alice.owner_id)
        recording.flush()
        assert (requests(alice), requests(mallory)) == ([], ["Stays"])


class TestStreamOfTheMoment:
    def test_it_is_the_one_in_force_when_the_event_was_recorded(self, alice: Actor, clerk: Actor) -> None:
        record(actor=clerk, event=TurnDraft(request="Before"))
        modes.set_test_mode(actor=alice, enabled=True)
        record(actor=clerk, event=TurnDraft(request="During"))
        recording.flush()
        assert requests(alice, stream="live") == ["Before"]
        assert requests(alice, stream="test") == ["During"]

    def test_what_a_switch_has_ended_is_dropped(self, alice: Actor, clerk: Actor) -> None:
        record(actor=clerk, event=TurnDraft(request="Before"))
        modes.set_test_mode(actor=alice, enabled=True)
        record(actor=clerk, event=TurnDraft(request="During"))
        modes.set_test_mode(actor=alice, enabled=False)
        record(actor=clerk, event=TurnDraft(request="After"))
        recording.flush()
        assert sorted(requests(alice, stream="live")) == ["After", "Before"]
        assert requests(alice, stream="test") == []
        assert recording_counts().gone == 1


class Away:
    """A store that fails as often as it is told, and then takes everything."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error, self.times = error, times
        self.taken: list[Recorded] = []

    def __call__(self, batch: Sequence[Recorded]) -> list[Stored]:
        if self.times:
            self.times -= 1
            raise self.error
        self.taken += batch
        return [Stored(one.id, True, None) for one in batch]


class TestTrouble:
    def filled(self, monkeypatch: pytest.MonkeyPatch, clerk: Actor, store: Away, number: int = 3) -> TurnBuffer:
        buffer = TurnBuffer(writes_itself=False, write=store)
        monkeypatch.setattr(recording, "_buffer", buffer)
        for one in range(number):
            record(actor=clerk, event=TurnDraft(request=f"Request {one}"))
        return buffer

    def test_they_wait_for_the_database(
        self, clerk: Actor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = Away(OperationalError("away"), times=25)
        monkeypatch.setattr("telemetry.services.turns.buffer.connection.close", lambda: None)
        buffer = self.filled(monkeypatch, clerk, store)
        for _ in range(25):
            buffer.flush()
            assert (buffer.counts().waiting, buffer.counts().stalled, buffer.counts().lost) == (3, True, 0)
        assert "wait for the database: OperationalError" in caplog.text
        buffer.flush()
        assert [one.turn.request for one in store.taken] == ["Request 0", "Request 1", "Request 2"]
        assert (buffer.counts().waiting, buffer.counts().stalled) == (0, False)

    def test_there_is_an_end_of_what_waits(self, clerk: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        store = Away(OperationalError("away"), times=1)
        monkeypatch.setattr("telemetry.services.turns.buffer.connection.close", lambda: None)
        buffer = self.filled(monkeypatch, clerk, store, number=MOST_WAITING + 5)
        counts = buffer.counts()
        assert (counts.taken, counts.waiting, counts.lost) == (MOST_WAITING, MOST_WAITING, 5)

    def test_an_owner_whose_events_cannot_be_written_holds_nobody_up(
        self,
        alice: Actor,
        clerk: Actor,
        mallory: Actor,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        class Partly(Away):
            def __call__(self, batch: Sequence[Recorded]) -> list[Stored]:
                if batch[0].owner_id == alice.owner_id:
                    raise KeysUnavailable
                self.taken += batch
                return [Stored(one.id, True, None) for one in batch]

        store = Partly(KeysUnavailable(), times=0)
        buffer = self.filled(monkeypatch, clerk, store)
        record(actor=mallory, event=TurnDraft(request="Through"))
        for _ in range(MOST_ATTEMPTS - 1):
            buffer.flush()
        assert [one.turn.request for one in store.taken] == ["Through"]
        assert (buffer.counts().waiting, buffer.counts().lost) == (3, 0)
        with caplog.at_level(logging.ERROR):
            buffer.flush()
        assert (buffer.counts().waiting, buffer.counts().lost) == (0, 3)
        assert "Request 0" not in caplog.text

    def test_an_event_that_gets_no_thread_waits_for_the_next(
        self, clerk: Actor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = Away(OperationalError("away"), times=0)
        buffer = TurnBuffer(write=store)
        monkeypatch.setattr(recording, "_buffer", buffer)
        monkeypatch.setattr("telemetry.services.turns.buffer.MOST_WAITING", 2)

        def refuse(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as exhausted:
            exhausted.setattr(threading.Thread, "start", refuse)
            exhausted.setattr(buffer._room, "wait_for", lambda *given, **named: pytest.fail("it waited"))
            for number in range(3):
                record(actor=clerk, event=TurnDraft(request=f"Request {number}"))
        assert (buffer.counts().taken, buffer.counts().waiting, buffer.counts().lost) == (2, 2, 1)
        assert "without a thread so far: 1" in caplog.text
        buffer.flush()
        assert [one.turn.request for one in store.taken] == ["Request 0", "Request 1"]

    def test_an_event_loop_is_not_held_up(self, clerk: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        buffer = TurnBuffer(write=Away(OperationalError("away"), times=1_000))
        monkeypatch.setattr(buffer, "_writes_itself", False)
        monkeypatch.setattr(recording, "_buffer", buffer)
        for _ in range(MOST_WAITING):
            record(actor=clerk, event=TurnDraft(request="x"))
        monkeypatch.setattr(buffer, "_writes_itself", True)
        monkeypatch.setattr(buffer._room, "wait_for", lambda *given, **named: pytest.fail("it waited"))

        async def recorded() -> None:
            record(actor=clerk, event=TurnDraft(request="One too many"))

        asyncio.run(recorded())
        assert buffer.counts().lost == 1

    def test_a_child_begins_empty(self, alice: Actor, clerk: Actor) -> None:
        record(actor=clerk, event=TurnDraft(request="The parent's"))
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, bytes([recording_counts().waiting]))
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 1) == b"\0"
        assert recording_counts().waiting == 1


@pytest.mark.django_db(transaction=True)
class TestThread:
    def test_a_database_that_is_away_for_a_while(
        self, alice: Actor, clerk: Actor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        record(actor=clerk, event=TurnDraft(request="Waits"))
        with monkeypatch.context() as away:
            connection.close()
            away.setitem(connection.settings_dict, "HOST", str(tmp_path))
            recording.flush()
            record(actor=clerk, event=TurnDraft(request="Waits too"))
            recording.flush()
            counts = recording_counts()
            assert (counts.waiting, counts.stalled, counts.lost) == (2, True, 0)
        recording.flush()
        assert sorted(requests(alice)) == ["Waits", "Waits too"]
        assert not recording_counts().stalled

    def test_it_writes_by_itself_and_makes_room(
        self, alice: Actor, clerk: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("telemetry.services.turns.buffer.MOST_WAITING", 200)
        monkeypatch.setattr("telemetry.services.turns.buffer.AT_ONCE", 50)
        monkeypatch.setattr("telemetry.services.turns.buffer.PATIENCE_SECONDS", 30.0)
        buffer = TurnBuffer()
        monkeypatch.setattr(recording, "_buffer", buffer)
        for number in range(600):
            record(actor=clerk, event=TurnDraft(request=f"Request {number}"))
        thread = buffer._thread
        if thread is not None:
            thread.join(30)
        assert (buffer.counts().taken, buffer.counts().written, buffer.counts().lost) == (600, 600, 0)
        assert len(requests(alice)) == 600


def test_events_of_long_ago_and_ahead(clerk: Actor) -> None:
    with pytest.raises(InvalidInput) as refused:
        record_events(actor=clerk, events=[TurnDraft(request="x", timestamp=datetime(2020, 1, 1, tzinfo=UTC))])
    assert refused.value.machine_code == "timestamp.outdated"
    with pytest.raises(InvalidInput) as refused:
        record_events(actor=clerk, events=[TurnDraft(request="x", timestamp=now() + timedelta(minutes=6))])
    assert refused.value.machine_code == "timestamp.future"
    found = record_events(actor=clerk, events=[TurnDraft(request="x", timestamp=now() + timedelta(minutes=4))])
    assert [note["code"] for note in found.events[0].notes] == ["timestamp.ahead"]
