"""Storing turn events: scanned for personal data, sealed, and inserted in one statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.crypto.keyring import OwnerRing, keyring
from memory.crypto.sealing import Place, Sealed
from memory.models import Agent, owner_scope
from memory.privacy import pii
from telemetry.models import Stream, TelemetryState, TurnEvent
from telemetry.services.turns.drafts import Turn
from telemetry.services.turns.pruning import trim
from telemetry.services.turns.request_text import embeddable, request_hash
from telemetry.services.turns.spokes import spoke_ids
from telemetry.services.turns.state import count_events, locked_state, save_changed, shown_stream, stream_at

TABLE: Final = TurnEvent._meta.db_table
# `unnest` would make one row of each element of an array of arrays, so kinds come as words with commas.
INSERT: Final = f"""
    INSERT INTO {TABLE} (
        owner_id, id, stream, event_key, agent_id, occurred_at, received_at, request, request_hash, pii_kinds,
        spoke_id, details, outcome, tool_call_count, duration_ms
    )
    SELECT %(owner)s, given.id, given.stream, given.key, given.agent, given.occurred, given.received, given.request,
        given.hash, string_to_array(given.kinds, ',')::varchar(32)[], given.spoke, given.details, given.outcome,
        given.tools, given.duration
    FROM unnest(
        %(id)s::uuid[], %(stream)s::text[], %(key)s::bigint[], %(agent)s::uuid[], %(occurred)s::timestamptz[],
        %(received)s::timestamptz[], %(request)s::text[], %(hash)s::bigint[], %(kinds)s::text[], %(spoke)s::uuid[],
        %(details)s::text[], %(outcome)s::text[], %(tools)s::integer[], %(duration)s::bigint[]
    ) AS given(
        id, stream, key, agent, occurred, received, request, hash, kinds, spoke, details, outcome, tools, duration
    )
    ON CONFLICT (owner_id, stream, event_key) DO NOTHING
    RETURNING id
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A checked turn of an owner's agent, None for a person's, and when it was recorded.

    Its id is that of its row from the beginning, so that an attempt to write it can be repeated.
    """

    id: UUID
    owner_id: UUID
    agent_id: UUID | None
    at: datetime
    turn: Turn


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of an event.

    Attributes:
        id: of its row, or of the row that was stored before under the same id; None where none is kept.
        created: whether it is a new row.
        stream: where it stands; None for one whose agent is gone, and for one of a test that was ended meanwhile.
        beyond: whether it counts as one of the spoke `other`, since its owner has as many spokes as are kept.
    """

    id: UUID | None
    created: bool
    stream: Stream | None
    beyond: bool = False


@dataclass(frozen=True, slots=True)
class _Scanned:
    recorded: Recorded
    kinds: str
    hash: int
    key: int

    @property
    def id(self) -> UUID:
        return self.recorded.id


@dataclass(frozen=True, slots=True)
class _Placed:
    scanned: _Scanned
    request: Sealed
    details: Sealed
    stream: Stream


# A stream and the key of an event within it.
_Key = tuple[Stream, int]
_NOWHERE: Final = Stored(None, False, None)


def store(events: Sequence[Recorded], *, waited: bool = False) -> list[Stored]:
    """Store events of one owner and give what became of each, in their order.

    Args:
        events: one at least, all of the same owner.
        waited: whether they have waited since they were recorded, and go to the stream of that moment.

    Scanning comes before the transaction, since it takes the most time; sealing within it, so that a rotation of the
    text key waits for it.

    Raises:
        OwnerPurging, KeysUnavailable, DatabaseError: nothing was stored.
    """
    owner_id = events[0].owner_id
    ring = keyring().of(owner_id)
    scanned = list(_scan(ring, events))
    with owner_scope(owner_id):
        sealed = {one.id: _seal(ring, one) for one in scanned}
        found = locked_state()
        agents = _agents({one.agent_id for one in events if one.agent_id is not None})
        placed: dict[_Key, _Placed] = {}
        places: list[_Key | None] = []
        for one in scanned:
            stream = stream_at(found, one.recorded.at) if waited else shown_stream(found)
            if one.recorded.agent_id not in agents:
                stream = None
            places.append(None if stream is None else (stream, one.key))
            if stream is not None:
                # Of two with one key the first counts.
                placed.setdefault((stream, one.key), _Placed(one, *sealed[one.id], stream))
        created, beyond = _insert(ring, placed) if placed else (set(), frozenset())
        cut_off = {one.id for one in scanned if one.id in created and one.recorded.turn.spoke in beyond}
        standing = _standing(placed, created)
        if created:
            _settle(found, [one.stream for one in placed.values() if one.scanned.id in created])
        return [
            _NOWHERE if place is None else Stored(standing.get(place), one.id in created, place[0], one.id in cut_off)
            for one, place in zip(scanned, places, strict=True)
        ]


def _scan(ring: OwnerRing, events: Sequence[Recorded]) -> Iterator[_Scanned]:
    # What is asked again and again is read once.
    known: dict[str, tuple[str, int]] = {}
    for one in events:
        text = one.turn.request
        if text not in known:
            report = pii.scan(text)
            known[text] = ",".join(report.kinds), request_hash(ring, embeddable(text, report))
        yield _Scanned(one, *known[text], key=_event_key(ring, one))


def _event_key(ring: OwnerRing, one: Recorded) -> int:
    if one.turn.id is None:
        return ring.name(f"event\0{one.id}")
    return ring.name(f"event\0{one.agent_id or ''}\0{one.turn.id}")


def _seal(ring: OwnerRing, one: _Scanned) -> tuple[Sealed, Sealed]:
    def place(field: str) -> Place:
        return Place(ring.owner_id, TABLE, field, one.id)

    turn = one.recorded.turn
    return ring.seal(turn.request, place=place("request")), ring.seal(turn.details, place=place("details"))


def _agents(named: set[UUID]) -> set[UUID | None]:
    """Tell which agents are still there; None, a person, always is."""
    there = Agent.objects.filter(pk__in=sorted(named)).values_list("pk", flat=True) if named else []
    return {None, *there}


def _insert(ring: OwnerRing, placed: Mapping[_Key, _Placed]) -> tuple[set[UUID], Set[str]]:
    """Insert rows; gives which are new, and the spokes for which there was no room."""
    rows = [placed[one] for one in sorted(placed)]
    turns = [row.scanned.recorded.turn for row in rows]
    spokes, beyond = spoke_ids(ring, (turn.spoke for turn in turns))
    values: dict[str, Any] = {
        "owner": ring.owner_id,
        "id": [row.scanned.id for row in rows],
        "stream": [row.stream.value for row in rows],
        "key": [row.scanned.key for row in rows],
        "agent": [row.scanned.recorded.agent_id for row in rows],
        "occurred": [turn.occurred_at for turn in turns],
        "received": [row.scanned.recorded.at for row in rows],
        "request": [str(row.request) for row in rows],
        "hash": [row.scanned.hash for row in rows],
        "kinds": [row.scanned.kinds for row in rows],
        "spoke": [spokes[turn.spoke] for turn in turns],
        "details": [str(row.details) for row in rows],
        "outcome": [turn.outcome for turn in turns],
        "tools": [turn.tool_call_count for turn in turns],
        "duration": [turn.duration_ms for turn in turns],
    }
    with connection.cursor() as cursor:
        cursor.execute(INSERT, values)
        return {row[0] for row in cursor.fetchall()}, beyond


def _standing(placed: Mapping[_Key, _Placed], created: set[UUID]) -> dict[_Key, UUID]:
    """Give the row that stands for each key, whether it is new or was there before."""
    standing = {place: row.scanned.id for place, row in placed.items() if row.scanned.id in created}
    before = sorted({place[1] for place in placed if place not in standing})
    if before:
        rows = TurnEvent.objects.filter(event_key__in=before).values_list("stream", "event_key", "pk")
        standing |= {(Stream(stream), key): row_id for stream, key, row_id in rows}
    return standing


def _settle(found: TelemetryState, streams: Sequence[Stream]) -> None:
    """Count new events, and let the oldest make room."""
    for stream in sorted(set(streams)):
        count_events(found, stream, streams.count(stream))
        trim(found, stream)
    save_changed(found)
