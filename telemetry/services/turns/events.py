"""Reading turn events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from memory.crypto.keyring import keyring
from memory.models import owner_scope
from memory.privacy.masking import masked, masked_value, values_of
from memory.privacy.pii import PiiTier
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.legible import legible
from telemetry.models import Spoke, Stream, TurnEvent
from telemetry.services.asked import require_agents, require_days
from telemetry.services.turns.buffer import RecordingCounts
from telemetry.services.turns.recording import recording_counts
from telemetry.services.turns.spokes import spoke_named
from telemetry.services.turns.state import shown_stream, state

DEFAULT_DAYS: Final = 14
MOST_DAYS: Final = 3650


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsRequest:
    """Which events are wanted.

    Attributes:
        days: from so many days back.
        stream: which stream; the one that events go to now when None.
        agent: of one agent.
        spoke: that were handed to the part of this name.
        outcome: that ended so.
        masked: whether personal data in texts is covered.
    """

    days: int = DEFAULT_DAYS
    stream: str | None = None
    agent: UUID | None = None
    spoke: str | None = None
    outcome: str | None = None
    masked: bool = True


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event as it is shown; never with a vector.

    Attributes:
        event_id: its id here.
        id: the sender's id of it, where it has one.
        occurred_at, received_at: when the turn began, and when it was recorded.
        request: the text; None for a row that does not open with the owner's key.
        unreadable: whether any of its texts does not open.
        masked: whether personal data in it is covered.
        matched_spoke: the name of the part; None where it does not open.
        fallback: whether that part stands for "nothing fitted".
    """

    event_id: UUID
    id: str | None
    agent_id: UUID | None
    occurred_at: datetime
    received_at: datetime
    request: str | None
    unreadable: bool
    masked: bool
    pii_kinds: tuple[str, ...]
    matched_spoke: str | None
    fallback: bool
    delegations: tuple[str, ...]
    outcome: str
    tool_call_count: int
    duration_ms: int
    extra: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TelemetryStatus:
    """How an owner's turn events stand.

    Attributes:
        enabled: whether telemetry is switched on in this installation.
        test_mode, test_mode_since: whether test mode is on, and since when.
        stream: where events go now.
        live_events, test_events: how many each stream holds.
        version: raised whenever events come or go.
        retention_days, most_events: how long and how many are kept.
        recording: what this process has done with events that were recorded in it.
    """

    enabled: bool
    test_mode: bool
    test_mode_since: datetime | None
    stream: str
    live_events: int
    test_events: int
    version: int
    retention_days: int
    most_events: int
    recording: RecordingCounts


def telemetry_status(*, actor: Actor) -> TelemetryStatus:
    """Tell how an owner's turn events stand; raises PermissionRefused without `telemetry:read`."""
    actor.require(Permission.TELEMETRY_READ)
    with owner_scope(actor.owner_id):
        found = state()
    return TelemetryStatus(
        enabled=settings.TELEMETRY_ENABLED,
        test_mode=found is not None and found.test_mode,
        test_mode_since=found.test_mode_since if found is not None else None,
        stream=shown_stream(found).value,
        live_events=found.live_events if found is not None else 0,
        test_events=found.test_events if found is not None else 0,
        version=found.version if found is not None else 0,
        retention_days=settings.TELEMETRY_RETENTION_DAYS,
        most_events=settings.TELEMETRY_MOST_EVENTS,
        recording=recording_counts(),
    )


@reads("turn_events")
def list_events(
    *, actor: Actor, request: EventsRequest, after: tuple[datetime, UUID] | None, size: int
) -> list[ShownEvent]:
    """List turn events, newest first.

    Args:
        actor: who asks; it needs `telemetry:read`, and sees the events of all of the owner's agents.
        request: which ones.
        after: time and id of the last one of the page before.
        size: most rows.

    Raises:
        PermissionRefused: the permission is missing.
        InvalidInput: `days.out_of_range`.
        NotFound: `agent.unknown`.
    """
    actor.require(Permission.TELEMETRY_READ)
    require_days(request.days, most=MOST_DAYS)
    with owner_scope(actor.owner_id):
        stream = Stream(request.stream) if request.stream is not None else shown_stream(state())
        since = now() - timedelta(days=request.days)
        rows = TurnEvent.objects.filter(stream=stream, occurred_at__gte=since)
        if request.agent is not None:
            require_agents((request.agent,))
            rows = rows.filter(agent_id=request.agent)
        if request.outcome is not None:
            rows = rows.filter(outcome=request.outcome)
        if request.spoke is not None:
            rows = rows.filter(spoke_id=spoke_named(keyring().of(actor.owner_id), request.spoke))
        if after is not None:
            rows = rows.filter(Q(occurred_at__lt=after[0]) | Q(occurred_at=after[0], pk__lt=after[1]))
        return shown_events(list(rows.order_by("-occurred_at", "-pk")[:size]), cover=request.masked)


def shown_events(rows: Sequence[TurnEvent], *, cover: bool = True) -> list[ShownEvent]:
    """Give rows of the current owner as they are shown, one query for the names of their parts.

    Args:
        rows: in any order, which is kept; one that does not open says so and spoils no other.
        cover: whether personal data in texts is covered.
    """
    spokes = {spoke.pk: spoke for spoke in Spoke.objects.filter(pk__in=sorted({row.spoke_id for row in rows}))}
    return [_shown(row, spokes.get(row.spoke_id), cover) for row in rows]


def _shown(row: TurnEvent, spoke: Spoke | None, cover: bool) -> ShownEvent:
    request, details = legible(row, "request"), legible(row, "details")
    name = legible(spoke, "name") if spoke is not None else None
    told: dict[str, Any] = details if isinstance(details, dict) else {}
    hidden = False
    if cover and request is not None:
        tier = PiiTier.SENSITIVE if row.pii_kinds else PiiTier.CLEAR
        known = values_of(request, tier)
        shown = masked(request, row.pii_kinds, tier)
        request, hidden = shown.text, shown.hidden
        name, told = masked_value(name, known), _covered(told, known)
    elif cover:
        name, told = masked_value(name), _covered(told, {})
    return ShownEvent(
        event_id=row.pk,
        id=told.get("id"),
        agent_id=row.agent_id,
        occurred_at=row.occurred_at,
        received_at=row.received_at,
        request=request,
        unreadable=None in (request, details, name),
        masked=hidden,
        pii_kinds=tuple(row.pii_kinds),
        matched_spoke=name,
        fallback=spoke is not None and spoke.is_fallback,
        delegations=tuple(told.get("delegations", ())),
        outcome=row.outcome,
        tool_call_count=row.tool_call_count,
        duration_ms=row.duration_ms,
        extra=told.get("extra", {}),
    )


def _covered(told: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    """Cover what the sender said, and not the names under which it is kept here."""
    return {name: masked_value(value, known) for name, value in told.items()}
