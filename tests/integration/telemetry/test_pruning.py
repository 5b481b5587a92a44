"""What becomes of old events: too many make room for newer ones, and after some weeks they go with what is theirs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.errors import PermissionRefused
from memory.models import EmbeddingSpace, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.retention import remove_outdated
from telemetry.models import RequestVector, Spoke, TelemetryState, TurnEvent
from telemetry.services.turns import test_mode as modes
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.pruning import prune
from telemetry.services.turns.recording import record_events


def said(owner: Actor, *numbers: int, spoke: str = "knowledge") -> None:
    """Record a turn for each number, which is how many minutes ago it was."""
    drafts = [
        TurnDraft(request=f"R{number}", timestamp=now() - timedelta(minutes=number), matched_spoke=spoke)
        for number in numbers
    ]
    record_events(actor=owner, events=drafts)


def kept(owner: Actor, stream: str = "live") -> list[str]:
    with owner_scope(owner.owner_id):
        return [row.request for row in TurnEvent.objects.filter(stream=stream).order_by("-occurred_at")]


def counted(owner: Actor) -> tuple[int, int]:
    with owner_scope(owner.owner_id):
        state = TelemetryState.objects.get()
        return state.live_events, state.test_events


def vectors(owner: Actor) -> int:
    """Give every request of an owner a vector; gives how many."""
    space, _ = EmbeddingSpace.objects.get_or_create(provider="fake", model="fake", dimension=3)
    with owner_scope(owner.owner_id):
        hashes = set(TurnEvent.objects.values_list("request_hash", flat=True))
        rows = [RequestVector(request_hash=one, space_id=space.pk, vec=[1, 0, 0]) for one in sorted(hashes)]
        RequestVector.objects.bulk_create(rows)
        return len(rows)


class TestRing:
    def test_the_oldest_make_room(self, alice: Actor, mallory: Actor, settings: Any) -> None:
        settings.TELEMETRY_MOST_EVENTS = 5
        said(alice, 1, 2, 3, 4, 5)
        said(mallory, 9)
        said(alice, 0, 6)
        assert kept(alice) == ["R0", "R1", "R2", "R3", "R4"]
        assert counted(alice) == (5, 0)
        assert kept(mallory) == ["R9"]

    def test_the_test_stream_has_a_limit_of_its_own(
        self, alice: Actor, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("telemetry.services.turns.pruning.MOST_TEST_EVENTS", 2)
        said(alice, 1, 2, 3)
        modes.set_test_mode(actor=alice, enabled=True)
        said(alice, 1, 2, 3)
        assert (kept(alice), kept(alice, "test")) == (["R1", "R2", "R3"], ["R1", "R2"])
        assert counted(alice) == (3, 2)

    def test_room_costs_one_statement(self, alice: Actor, settings: Any) -> None:
        settings.TELEMETRY_MOST_EVENTS = 50
        said(alice, *range(50))
        with CaptureQueriesContext(connection) as before:
            said(alice, 60)
        with CaptureQueriesContext(connection) as more:
            said(alice, *range(10))
        assert len(more) == len(before)
        assert len(kept(alice)) == 50


class TestRetention:
    def old(self, owner: Actor) -> None:
        """Make everything of an owner forty days old."""
        with owner_scope(owner.owner_id):
            TurnEvent.objects.update(occurred_at=now() - timedelta(days=40))

    def test_what_is_past_its_time_goes_with_what_is_theirs(self, alice: Actor, mallory: Actor) -> None:
        said(alice, 1, spoke="old")
        said(mallory, 1)
        self.old(alice)
        said(alice, 2)
        assert vectors(alice) == 2
        assert remove_outdated()["turn_events"] == 3, "an event, its vector and its spoke"
        assert remove_outdated()["turn_events"] == 0
        assert (kept(alice), kept(mallory), counted(alice)) == (["R2"], ["R1"], (1, 0))
        with owner_scope(alice.owner_id):
            assert RequestVector.objects.count() == 1
            assert [spoke.name for spoke in Spoke.objects.all()] == ["knowledge"]

    def test_days_are_the_operators(self, alice: Actor, settings: Any) -> None:
        said(alice, 1)
        self.old(alice)
        settings.TELEMETRY_RETENTION_DAYS = 60
        assert remove_outdated()["turn_events"] == 0
        settings.TELEMETRY_RETENTION_DAYS = 39
        assert remove_outdated()["turn_events"] == 2

    def test_a_spoke_that_went_comes_again(self, alice: Actor) -> None:
        said(alice, 1)
        self.old(alice)
        remove_outdated()
        said(alice, 1)
        assert kept(alice) == ["R1"]

    def test_a_request_that_is_asked_again_keeps_its_vector(self, alice: Actor) -> None:
        said(alice, 1)
        self.old(alice)
        said(alice, 1)
        vectors(alice)
        remove_outdated()
        with owner_scope(alice.owner_id):
            assert RequestVector.objects.count() == 1

    def test_counts_are_set_right(self, alice: Actor) -> None:
        said(alice, 1, 2)
        with owner_scope(alice.owner_id):
            version = TelemetryState.objects.get().version
            TelemetryState.objects.update(live_events=9)
        remove_outdated()
        assert counted(alice) == (2, 0)
        with owner_scope(alice.owner_id):
            assert TelemetryState.objects.get().version == version + 1

    def test_a_smaller_limit_holds_from_the_next_hour_on(self, alice: Actor, settings: Any) -> None:
        said(alice, 1, 2, 3)
        settings.TELEMETRY_MOST_EVENTS = 2
        remove_outdated()
        assert (kept(alice), counted(alice)) == (["R1", "R2"], (2, 0))

    def test_an_owner_without_events_costs_nothing(self, alice: Actor) -> None:
        remove_outdated()
        with owner_scope(alice.owner_id):
            assert not TelemetryState.objects.exists()

    def test_who_may(self, alice: Actor, make_agent: Any) -> None:
        with pytest.raises(PermissionRefused):
            prune(actor=make_agent(alice, "plain")[0])
