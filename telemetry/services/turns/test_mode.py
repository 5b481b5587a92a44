"""Test mode: while it is on, turn events go to a stream of their own, so that a test of agents spoils no report."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from memory.models import owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.recording import record
from memory.services.clock import now
from telemetry.models import Stream, TelemetryState, TurnEvent
from telemetry.services.turns.pruning import remove_orphans
from telemetry.services.turns.state import locked_state, save_changed, state

# What waits to be written is older than none of so many switches, unless somebody switches to and fro in a second.
SWITCHES_KEPT: Final = 32
SHORTEST: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class TestMode:
    """Whether test mode is on, and since when."""

    enabled: bool
    since: datetime | None


def test_mode(*, actor: Actor) -> TestMode:
    """Tell whether test mode is on.

    Args:
        actor: who asks; whoever may record events may know where they go.

    Raises:
        PermissionRefused: neither `telemetry:read` nor `telemetry:write`.
    """
    if Permission.TELEMETRY_WRITE not in actor.permissions:
        actor.require(Permission.TELEMETRY_READ)
    with owner_scope(actor.owner_id):
        return _shown(state())


def set_test_mode(*, actor: Actor, enabled: bool) -> TestMode:
    """Switch test mode on or off, which empties its stream; switching to what it is already changes nothing.

    Args:
        actor: who switches; it needs `settings:write`.
        enabled: whether it is to be on.

    Raises:
        PermissionRefused: the permission is missing.
    """
    actor.require(Permission.SETTINGS)
    with owner_scope(actor.owner_id):
        found = locked_state()
        if found.test_mode == enabled:
            return _shown(found)
        # Moments of switches rise, also where the clock was set back.
        at = max([now(), *(moment + SHORTEST for moment in found.switched_at)])
        found.test_mode, found.test_mode_since, found.test_events = enabled, at if enabled else None, 0
        found.switched_at = [*found.switched_at, at][-SWITCHES_KEPT:]
        TurnEvent.objects.filter(stream=Stream.TEST).delete()
        remove_orphans()
        record(actor=actor.label, verb="enable" if enabled else "disable", object_kind="test_mode", at=at)
        save_changed(found)
        return _shown(found)


def _shown(found: TelemetryState | None) -> TestMode:
    return TestMode(False, None) if found is None else TestMode(found.test_mode, found.test_mode_since)
