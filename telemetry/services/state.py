"""An owner's state of telemetry: its switch of test mode, and the version that is raised whenever events change."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.db.models import F

from memory.models import current_owner
from memory.ports.live import announce_change
from telemetry.models import Stream, TelemetryState

COVERAGE: Final = "coverage"


def state() -> TelemetryState | None:
    """Give the current owner's state; None where nothing was ever kept or switched."""
    return TelemetryState.objects.first()


def locked_state() -> TelemetryState:
    """Make the current owner's state where there is none, and lock it until the transaction ends.

    Whoever adds or removes events, or switches test mode, takes their turns so.
    """
    found = TelemetryState.objects.select_for_update().first()
    if found is None:
        TelemetryState.objects.bulk_create([TelemetryState()], ignore_conflicts=True)
        found = TelemetryState.objects.select_for_update().get()
    return found


def raise_version() -> None:
    """Note that events of the current owner came or went, and tell whoever looks at them; after `locked_state`."""
    TelemetryState.objects.update(version=F("version") + 1)
    version = TelemetryState.objects.values_list("version", flat=True).get()
    announce_change(current_owner(), COVERAGE, version=version)


def stream_at(found: TelemetryState | None, at: datetime) -> Stream | None:
    """Tell to which stream an event belongs that was recorded at a moment.

    Args:
        found: the owner's state; each switch changed the mode to its opposite.
        at: when the event was recorded, by the clock of this machine.

    Returns:
        The stream; None for an event of a test that a later switch has ended, whose stream was emptied since.
    """
    if found is None:
        return Stream.LIVE
    later = sum(moment > at for moment in found.switched_at)
    testing = found.test_mode != bool(later % 2)
    if not testing:
        return Stream.LIVE
    return None if later else Stream.TEST
