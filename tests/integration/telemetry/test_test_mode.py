"""Test mode: a stream of its own, emptied by each switch, which outlives processes and is seen wherever it is on."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command

from memory.errors import PermissionRefused
from memory.models import AuditEvent, EmbeddingSpace, owner_scope
from memory.ports import live
from memory.services.actors import Actor
from memory.services.clock import set_clock
from telemetry.api.serializers.events import TurnEventShownSerializer
from telemetry.models import RequestVector, Spoke, TelemetryState, TurnEvent
from telemetry.services.turns import recording, storing
from telemetry.services.turns import test_mode as modes
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.events import telemetry_status
from telemetry.services.turns.recording import record_events
from telemetry.services.turns.state import stream_at
from tests.integration.api.conftest import Client, problem

EVENTS = "/telemetry/pipeline-coverage/events"
MODE = "/telemetry/pipeline-coverage/test-mode"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def said(owner: Actor, *requests: str) -> None:
    record_events(actor=owner, events=[TurnDraft(request=request) for request in requests])


def kept(owner: Actor) -> dict[str, list[str]]:
    with owner_scope(owner.owner_id):
        rows = list(TurnEvent.objects.all())
    return {stream: sorted(row.request for row in rows if row.stream == stream) for stream in ("live", "test")}


def test_events_go_to_a_stream_of_their_own(alice: Actor) -> None:
    said(alice, "Real")
    assert modes.test_mode(actor=alice) == modes.TestMode(False, None)
    modes.set_test_mode(actor=alice, enabled=True)
    said(alice, "Tried", "Tried more")
    assert kept(alice) == {"live": ["Real"], "test": ["Tried", "Tried more"]}
    status = telemetry_status(actor=alice)
    assert (status.test_mode, status.stream, status.live_events, status.test_events) == (True, "test", 1, 2)


def test_an_answer_tells_of_the_mode_in_which_events_were_stored(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    def stored_and_switched(events: Any, **options: Any) -> Any:
        found = storing.store(events, **options)
        modes.set_test_mode(actor=alice, enabled=True)
        return found

    monkeypatch.setattr(recording, "store", stored_and_switched)
    answer = record_events(actor=alice, events=[TurnDraft(request="Real")])
    assert (answer.stream, answer.test_mode) == ("live", False)
    assert modes.test_mode(actor=alice).enabled


@pytest.mark.parametrize("first", [True, False], ids=["switched off", "switched off and on"])
def test_each_switch_empties_the_stream(alice: Actor, first: bool) -> None:
    modes.set_test_mode(actor=alice, enabled=True)
    said(alice, "Tried")
    modes.set_test_mode(actor=alice, enabled=False)
    assert kept(alice) == {"live": [], "test": []}
    if not first:
        modes.set_test_mode(actor=alice, enabled=True)
        assert kept(alice) == {"live": [], "test": []}
    assert telemetry_status(actor=alice).test_events == 0


def test_what_belonged_to_the_stream_alone_goes_at_once(alice: Actor) -> None:
    said(alice, "Real")
    modes.set_test_mode(actor=alice, enabled=True)
    said(alice, "Real", "Tried")
    record_events(actor=alice, events=[TurnDraft(request="Tried", matched_spoke="of the test")])
    space, _ = EmbeddingSpace.objects.get_or_create(provider="fake", model="fake", dimension=3)
    with owner_scope(alice.owner_id):
        hashes = sorted(set(TurnEvent.objects.values_list("request_hash", flat=True)))
        RequestVector.objects.bulk_create(
            [RequestVector(request_hash=one, space_id=space.pk, vec=[0.25, 0.5, 0.75]) for one in hashes]
        )
        real = TurnEvent.objects.get(stream="live").request_hash
    modes.set_test_mode(actor=alice, enabled=False)
    with owner_scope(alice.owner_id):
        assert list(RequestVector.objects.values_list("request_hash", flat=True)) == [real]
        assert [spoke.name for spoke in Spoke.objects.all()] == ["direct"]


def test_switching_to_what_it_is_changes_nothing(alice: Actor) -> None:
    first = modes.set_test_mode(actor=alice, enabled=True)
    said(alice, "Tried")
    assert modes.set_test_mode(actor=alice, enabled=True) == first
    assert kept(alice)["test"] == ["Tried"]
    modes.set_test_mode(actor=alice, enabled=False)
    modes.set_test_mode(actor=alice, enabled=False)
    with owner_scope(alice.owner_id):
        done = AuditEvent.objects.filter(object_kind="test_mode").order_by("created_at", "pk")
        assert [(event.verb, event.actor) for event in done] == [("enable", "person"), ("disable", "person")]


def test_one_owner_alone(alice: Actor, mallory: Actor) -> None:
    modes.set_test_mode(actor=alice, enabled=True)
    said(mallory, "Real")
    assert kept(mallory)["live"] == ["Real"]
    assert not modes.test_mode(actor=mallory).enabled


def test_who_may(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
    plain, _ = make_agent(alice, "plain")
    assert not modes.test_mode(actor=plain).enabled
    with pytest.raises(PermissionRefused):
        modes.set_test_mode(actor=plain, enabled=True)
    blind, _ = make_agent(alice, "blind", scopes=["memory:read"])
    with pytest.raises(PermissionRefused):
        modes.test_mode(actor=blind)


def test_a_clock_that_was_set_back(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        moment = NOON

        def now(self) -> datetime:
            return self.moment

    clock = Clock()
    set_clock(clock)
    try:
        modes.set_test_mode(actor=alice, enabled=True)
        clock.moment = NOON - timedelta(hours=1)
        modes.set_test_mode(actor=alice, enabled=False)
        with owner_scope(alice.owner_id):
            first, second = TelemetryState.objects.get().switched_at
        assert first < second
    finally:
        set_clock(None)


def test_only_so_many_switches_are_kept(alice: Actor) -> None:
    for number in range(modes.SWITCHES_KEPT + 3):
        modes.set_test_mode(actor=alice, enabled=number % 2 == 0)
    with owner_scope(alice.owner_id):
        assert len(TelemetryState.objects.get().switched_at) == modes.SWITCHES_KEPT


@pytest.mark.parametrize(
    ("on", "switches", "minute", "stream"),
    [
        (False, [], 0, "live"),
        (True, [1], 0, "live"),
        (True, [1], 2, "test"),
        (False, [1, 3], 0, "live"),
        (False, [1, 3], 2, None),
        (False, [1, 3], 4, "live"),
        (True, [1, 3, 5], 4, "live"),
        (True, [1, 3, 5], 2, None),
        (True, [1, 3, 5], 6, "test"),
    ],
)
def test_the_stream_of_a_moment(on: bool, switches: list[int], minute: int, stream: str | None) -> None:
    state = TelemetryState(test_mode=on, switched_at=[NOON + timedelta(minutes=one) for one in switches])
    assert stream_at(state, NOON + timedelta(minutes=minute)) == stream


def test_whoever_looks_is_told(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[Any, ...]] = []
    monkeypatch.setattr(live, "_announcers", [lambda *change: told.append(change)])
    said(alice, "Real")
    modes.set_test_mode(actor=alice, enabled=True)
    assert told == [(alice.owner_id, "coverage", "", 1), (alice.owner_id, "coverage", "", 2)]


class TestOverRest:
    def test_it_is_switched_and_seen(self, woman: Client, agent: Client) -> None:
        assert woman.json("get", MODE).json() == {"enabled": False, "since": None, "stream": "live"}
        answer = woman.json("post", MODE, {"enabled": True}).json()
        assert (answer["enabled"], answer["stream"]) == (True, "test")
        assert woman.json("get", MODE).json() == answer
        sent = agent.json("post", EVENTS, {"request": "Tried"}).json()
        assert (sent["stream"], sent["test_mode"]) == ("test", True)
        page = woman.json("get", EVENTS).json()
        assert (page["stream"], page["test_mode"], page["test_mode_since"]) == ("test", True, answer["since"])
        assert [one["request"] for one in page["items"]] == ["Tried"]
        assert woman.json("get", f"{EVENTS}?stream=live").json()["items"] == []

    @pytest.mark.parametrize(
        ("body", "code"),
        [({}, "field.required"), ({"enabled": "yes"}, "field.type"), ({"enabled": True, "file": "x"}, "field.unknown")],
    )
    def test_what_is_refused(self, woman: Client, body: Any, code: str) -> None:
        problem(woman.json("post", MODE, body), 422, code)


class TestByCommand:
    def told(self, *words: str) -> Any:
        out = io.StringIO()
        call_command("telemetry", *words, stdout=out)
        return out.getvalue()

    def test_it_is_switched_and_seen(self, alice: Actor) -> None:
        assert self.told("test-mode") == "Test mode is off.\n"
        assert "TEST MODE IS ON since" in self.told("test-mode", "on")
        assert "TEST MODE IS ON since" in self.told("status")
        said(alice, "Write to ann@example.org")
        status = json.loads(self.told("status", "--json"))
        assert status["test_events"] == 1
        # Of the command's own process, which has recorded nothing.
        assert "recording" not in status
        listed = self.told("events")
        assert "TEST MODE IS ON" in listed
        assert "[EMAIL]" in listed
        assert "ann@example.org" in self.told("events", "--reveal", "--json")
        assert json.loads(self.told("test-mode", "off", "--json")) == {"enabled": False, "since": None}
        assert "No events of the last 14 days." in self.told("events", "--stream", "test")
        with owner_scope(alice.owner_id):
            assert AuditEvent.objects.filter(object_kind="test_mode", actor="operator").count() == 2

    def test_events_are_chosen(self, alice: Actor) -> None:
        drafts = [TurnDraft(request="Notes", matched_spoke="knowledge"), TurnDraft(request="Lost", outcome="failed")]
        record_events(actor=alice, events=drafts)
        found = json.loads(self.told("events", "--spoke", "knowledge", "--json"))
        (one,) = found["items"]
        assert (one["request"], set(one)) == ("Notes", set(TurnEventShownSerializer().fields))
        assert one["timestamp"].endswith("Z")
        found = json.loads(self.told("events", "--outcome", "failed", "--limit", "1", "--json"))
        assert [one["request"] for one in found["items"]] == ["Lost"]

    def test_old_ones_are_removed(self, alice: Actor) -> None:
        said(alice, "x")
        assert json.loads(self.told("prune", "--json")) == {"events": 0, "vectors": 0, "spokes": 0}
        assert self.told("prune") == "0 events, 0 vectors and 0 spokes were removed.\n"
