"""What becomes of old turn events: after some weeks they go, and of too many the oldest."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Exists, OuterRef

from memory.models import current_owner, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from telemetry.models import RequestVector, Spoke, Stream, TelemetryState, TurnEvent
from telemetry.services.turns.state import count_events, locked_state, save_changed, state

MOST_TEST_EVENTS: Final = 5_000
OLDEST: Final = f"""
    DELETE FROM {TurnEvent._meta.db_table} WHERE owner_id = %(owner)s AND id IN (
        SELECT id FROM {TurnEvent._meta.db_table} WHERE owner_id = %(owner)s AND stream = %(stream)s
        ORDER BY occurred_at, id LIMIT %(number)s
    )
"""


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows went: events, and vectors and spokes that belonged to no event any more."""

    events: int
    vectors: int
    spokes: int


def prune(*, actor: Actor, at: datetime | None = None) -> Pruned:
    """Remove an owner's events that are past their time or too many, and what belonged to these alone.

    Args:
        actor: who asks for it, with `settings:write`.
        at: the moment that counts as now.

    Raises:
        PermissionRefused: the permission is missing.
    """
    actor.require(Permission.SETTINGS)
    with owner_scope(actor.owner_id):
        return _prune(at or now())


def remove_outdated(at: datetime) -> int:
    """Prune the current owner's events, within the owner's scope; gives how many rows went. For the hourly job."""
    gone = _prune(at)
    return gone.events + gone.vectors + gone.spokes


def trim(found: TelemetryState, stream: Stream) -> int:
    """Remove the oldest events of a stream that holds more than it may, and count them off; gives how many went.

    Args:
        found: what `locked_state` gave; it is changed and not saved.
        stream: which one.
    """
    held = found.live_events if stream == Stream.LIVE else found.test_events
    most = settings.TELEMETRY_MOST_EVENTS if stream == Stream.LIVE else MOST_TEST_EVENTS
    if held <= most:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(OLDEST, {"owner": current_owner(), "stream": stream.value, "number": held - most})
        gone = int(cursor.rowcount)
    count_events(found, stream, -gone)
    return gone


def recount(found: TelemetryState) -> None:
    """Count the events of both streams anew, without saving."""
    found.live_events = TurnEvent.objects.filter(stream=Stream.LIVE).count()
    found.test_events = TurnEvent.objects.filter(stream=Stream.TEST).count()


def _prune(at: datetime) -> Pruned:
    if state() is None:
        return Pruned(0, 0, 0)
    found = locked_state()
    oldest = at - timedelta(days=settings.TELEMETRY_RETENTION_DAYS)
    events = TurnEvent.objects.filter(occurred_at__lt=oldest).delete()[0]
    before = (found.live_events, found.test_events)
    recount(found)
    events += sum(trim(found, stream) for stream in Stream)
    vectors, spokes = remove_orphans()
    if events or before != (found.live_events, found.test_events):
        save_changed(found)
    return Pruned(events, vectors, spokes)


def remove_orphans() -> tuple[int, int]:
    """Remove vectors and spokes of the current owner that belong to no event; gives how many went of each.

    Call it after `locked_state`.
    """
    of_request = TurnEvent.objects.filter(request_hash=OuterRef("request_hash"))
    vectors = RequestVector.objects.filter(~Exists(of_request)).delete()[0]
    spokes = Spoke.objects.filter(~Exists(TurnEvent.objects.filter(spoke_id=OuterRef("pk")))).delete()[0]
    return vectors, spokes


def erase_of_agent(agent_id: UUID) -> int:
    """Erase an agent's events, with vectors and spokes of these alone, within the owner's scope; gives how many events.

    What waits to be written of the agent is dropped by whoever writes it, as its agent is gone.
    """
    found = locked_state()
    gone = int(TurnEvent.objects.filter(agent_id=agent_id).delete()[0])
    remove_orphans()
    recount(found)
    save_changed(found)
    return gone
