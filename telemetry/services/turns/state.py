"""An owner's state of telemetry: its switch of test mode, how many events there are, and the version of it all."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from memory.models import current_owner
from memory.ports.live import announce_change
from telemetry.models import Stream, TelemetryState

COVERAGE: Final = "coverage"


def state() -> TelemetryState | None:
    """Give the current owner's state; None where nothing was ever kept or switched."""
    found: TelemetryState | None = TelemetryState.objects.first()
    return found


def locked_state() -> TelemetryState:
    """Make the current owner's state where there is none, and lock it until the transaction ends.

    Whoever adds or removes events or spokes, or switches test mode, takes their turns so.
    """
    found: TelemetryState | None = TelemetryState.objects.select_for_update().first()
    if found is not None:
        return found
    TelemetryState.objects.bulk_create([TelemetryState()], ignore_conflicts=True)
    made: TelemetryState = TelemetryState.objects.select_for_update().get()
    return made


def save_changed(found: TelemetryState) -> None:
    """Save the current owner's state after events came or went, under a new version, and tell whoever looks at them.

    Args:
        found: what `locked_state` gave, with the changes.
    """
    found.version += 1
    found.save()
    announce_change(current_owner(), COVERAGE, version=found.version)


def count_events(found: TelemetryState, stream: str, number: int) -> None:
    """Add to how many events a stream holds, without saving; a negative number takes away."""
    if stream == Stream.LIVE:
        found.live_events = max(found.live_events + number, 0)
    else:
        found.test_events = max(found.test_events + number, 0)


def shown_stream(found: TelemetryState | None) -> Stream:
    """Give the stream that is shown where none is named: the one that events go to now."""
    return Stream.TEST if found is not None and found.test_mode else Stream.LIVE


def stream_at(found: TelemetryState, at: datetime) -> Stream | None:
    """Tell to which stream an event belongs that was recorded at a moment.

    Args:
        found: the owner's state; each switch changed the mode to its opposite.
        at: when the event was recorded, by the clock of this machine.

    Returns:
        The stream; None for an event of a test that a later switch has ended, whose stream was emptied since.
    """
    later = sum(moment > at for moment in found.switched_at)
    testing = found.test_mode != bool(later % 2)
    if not testing:
        return Stream.LIVE
    return None if later else Stream.TEST
