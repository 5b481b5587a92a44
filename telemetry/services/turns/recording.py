"""Recording turns of agents: at once in the process, or written before the answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings

from memory.errors import InvalidInput, LociError, PermissionRefused
from memory.ids import new_id
from memory.models import owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.services.gathering import write_at_end
from telemetry.metrics.counting import increase
from telemetry.metrics.definitions import EVENTS_DROPPED, EVENTS_RECORDED
from telemetry.models import Stream
from telemetry.services.turns.buffer import RecordingCounts, TurnBuffer
from telemetry.services.turns.drafts import Turn, TurnDraft, checked_turn
from telemetry.services.turns.spoke_names import OTHER
from telemetry.services.turns.spokes import MOST_SPOKES
from telemetry.services.turns.state import shown_stream, state
from telemetry.services.turns.storing import Recorded, Stored, store

logger = logging.getLogger(__name__)

MOST_AT_ONCE: Final = 1_000
OTHER_SPOKE: Final = {
    "code": "spoke.other",
    "message": f"There are {MOST_SPOKES} spokes already; the turn counts as one of the spoke '{OTHER}'.",
}


@dataclass(frozen=True, slots=True)
class EventOutcome:
    """What became of one event.

    Attributes:
        id: the sender's id of it, None where it has given none.
        event_id: the id under which it is kept; None where nothing is.
        duplicate: whether it was recorded before under this id.
        notes: what was not taken as it came.
    """

    id: str | None
    event_id: UUID | None
    duplicate: bool
    notes: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class RecordedEvents:
    """What became of events.

    Attributes:
        enabled: whether telemetry is switched on in this installation; else nothing was kept.
        stream: where they went.
        test_mode: whether that is the stream of test mode.
        accepted: how many are new.
        duplicates: how many were recorded before.
        events: each, in the order in which they came.
    """

    enabled: bool
    stream: str
    test_mode: bool
    accepted: int
    duplicates: int
    events: tuple[EventOutcome, ...]


def record(*, actor: Actor, event: TurnDraft) -> None:
    """Record a turn: returns at once and never raises, so that nothing fails for it.

    The event is written within about a second, together with others, and goes to the stream that is in force now. It is
    lost when the process is killed before, with at most 4,999 others. What is no event, or is recorded without the
    permission `telemetry:write`, is counted and logged without its content. Where telemetry is off it is counted alone.

    Args:
        actor: whose turn it was.
        event: the turn.
    """
    try:
        if not settings.TELEMETRY_ENABLED:
            increase(EVENTS_DROPPED, "off")
            return
        actor.require(Permission.TELEMETRY_WRITE)
        at = now()
        _buffer.put(Recorded(new_id(), actor.owner_id, actor.agent_id, at, checked_turn(event, at=at)))
    except PermissionRefused:
        _buffer.refuse("forbidden")
    except LociError:
        _buffer.refuse("invalid")
    except Exception as error:
        # Whatever an object does that was given as part of an event: the turn itself must not fail for it.
        logger.error("a turn event cannot be taken: %s", type(error).__name__)
        _buffer.refuse("invalid")


def record_events(*, actor: Actor, events: Sequence[TurnDraft]) -> RecordedEvents:
    """Record turns and answer when they are stored; all of them, or none where one is refused.

    Args:
        actor: whose turns they were; it needs `telemetry:write`.
        events: between 1 and 1,000.

    Raises:
        PermissionRefused: the permission is missing.
        InvalidInput: `events.size`, or what `checked_turn` raises, with the `index` of the event from 0 where there
            are several.
        TooLarge: as `checked_turn`.
    """
    actor.require(Permission.TELEMETRY_WRITE)
    if not 1 <= len(events) <= MOST_AT_ONCE:
        raise InvalidInput(f"Send between 1 and {MOST_AT_ONCE} events at a time.", code="events.size", field="events")
    at = now()
    recorded = [
        Recorded(new_id(), actor.owner_id, actor.agent_id, at, _checked(event, index, at, several=len(events) > 1))
        for index, event in enumerate(events)
    ]
    if settings.TELEMETRY_ENABLED:
        answer = _answer(actor, recorded, store(recorded))
        increase(EVENTS_RECORDED, by=answer.accepted)
        return answer
    increase(EVENTS_DROPPED, "off", by=len(recorded))
    return _answer(actor, recorded, [Stored(None, False, None)] * len(recorded))


def recording_counts() -> RecordingCounts:
    """Tell what this process has done with the events that `record` took."""
    return _buffer.counts()


def flush() -> None:
    """Write all events that wait, now; for shutdown and tests."""
    _buffer.flush()


def forget(owner_id: UUID) -> None:
    """Drop an owner's events that wait to be written."""
    _buffer.forget(owner_id)


def _checked(event: TurnDraft, index: int, at: datetime, *, several: bool) -> Turn:
    """Check one event; where it is one of several, its error says which."""
    try:
        return checked_turn(event, at=at)
    except LociError as error:
        if several:
            error.message = f"Event {index}: {error.message} Nothing was stored."
            error.details = {**error.details, "index": index}
        raise


def _answer(actor: Actor, recorded: Sequence[Recorded], stored: Sequence[Stored]) -> RecordedEvents:
    outcomes = tuple(
        EventOutcome(
            one.turn.id,
            row.id,
            row.stream is not None and not row.created,
            (*one.turn.notes, OTHER_SPOKE) if row.beyond else one.turn.notes,
        )
        for one, row in zip(recorded, stored, strict=True)
    )
    stream = next((row.stream for row in stored if row.stream is not None), None) or _stream_now(actor)
    return RecordedEvents(
        enabled=settings.TELEMETRY_ENABLED,
        stream=stream.value,
        # What stands now may be another one by then.
        test_mode=stream == Stream.TEST,
        accepted=sum(row.created for row in stored),
        duplicates=sum(outcome.duplicate for outcome in outcomes),
        events=outcomes,
    )


def _stream_now(actor: Actor) -> Stream:
    with owner_scope(actor.owner_id):
        return shown_stream(state())


_buffer = TurnBuffer()
write_at_end(flush)
