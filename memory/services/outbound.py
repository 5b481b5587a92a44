"""The record of what left this machine for providers: written in batches, and read by whom it was sent for.

An attempt is gathered before its first byte leaves, and again with its outcome. The writing thread wakes within
0.2 seconds, so that one that takes longer stands in the table before it is answered, as `sending`: what a killed
process can hide is what it began to send in its last moments. Nothing goes back with a transaction, since what has
left has left.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Q

from memory.crypto.keyring import OwnerRing, keyring
from memory.crypto.signing import canonical
from memory.models import OutboundRequest, owner_scope
from memory.models.outbound import VEIL
from memory.models.tenancy import current_owner
from memory.ports.outbound import Outgoing
from memory.services.actors import Actor, Permission
from memory.services.gathering import Gatherer, Gathering, write_at_end

KEPT: Final = 500
WRITE_SECONDS: Final = 0.2
PURPOSE: Final = "outbound"
# Errors by which an attempt ended before anything of the request was sent.
NOTHING_LEFT: Final = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "HostRefused", "PinMismatch"})
# One that another thread has written with its outcome meanwhile keeps it.
WRITE: Final = """
    INSERT INTO memory_outboundrequest
        (owner_id, id, kind, component, host, size, digest, signature, outcome, created_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (owner_id, id) DO UPDATE SET outcome = excluded.outcome, signature = excluded.signature
    WHERE memory_outboundrequest.outcome = 'sending'
"""
# Several processes may write for one owner; the last to do so leaves the newest.
OUTDATED: Final = """
    DELETE FROM memory_outboundrequest WHERE owner_id = %(owner)s AND id IN (
        SELECT id FROM memory_outboundrequest WHERE owner_id = %(owner)s
        ORDER BY created_at DESC, id DESC OFFSET %(kept)s
    )
"""


@dataclass(frozen=True, slots=True)
class Sent:
    """A recorded request; `left` tells whether anything of it can have left, `genuine` whether its code is right."""

    id: UUID
    kind: str
    component: str
    host: str
    size: int
    sha256: str
    outcome: str
    left: bool
    genuine: bool
    at: datetime


class OutboundLog(Gatherer[Outgoing]):
    """Gathers records of requests and writes them, signed; the newest 500 of each owner stay."""

    def __init__(self, *, writes_itself: bool = True) -> None:
        """Begin empty; as `Gatherer` does."""
        gathering = Gathering(
            "records of requests",
            lambda earlier, later: later,
            write_requests,
            seconds=WRITE_SECONDS,
            most_of_one=KEPT,
        )
        super().__init__(gathering, writes_itself=writes_itself)

    def note(self, request: Outgoing) -> None:
        """Keep a record, in the place of an earlier one with the same id."""
        self.gather(request.behalf.owner_id, {request.id: request})


def write_requests(requests: Mapping[UUID, Outgoing]) -> None:
    """Write records of the current owner with their codes, in the place of earlier ones, and remove outdated ones."""
    owner_id = current_owner()
    ring = keyring().of(owner_id)
    with connection.cursor() as cursor:
        cursor.executemany(WRITE, [_values(owner_id, ring, requests[one]) for one in sorted(requests)])
        cursor.execute(OUTDATED, {"owner": owner_id, "kept": KEPT})


def list_outbound(*, actor: Actor, after: tuple[datetime, UUID] | None, size: int) -> Sequence[Sent]:
    """List what was sent to providers on the owner's behalf, newest first; at most 500 are kept.

    Args:
        actor: who asks.
        after: time and id of the last one of the page before.
        size: most rows.

    Raises:
        PermissionRefused: the actor may not see it.
    """
    actor.require(Permission.PRIVACY)
    _log.flush()
    with owner_scope(actor.owner_id):
        rows = OutboundRequest.objects.order_by("-created_at", "-pk")
        if after is not None:
            rows = rows.filter(Q(created_at__lt=after[0]) | Q(created_at=after[0], pk__lt=after[1]))
        ring = keyring().of(actor.owner_id)
        return [_sent(ring, row) for row in rows[:size]]


def flush() -> None:
    """Write all gathered records now; for shutdown and tests."""
    _log.flush()


def forget(owner_id: UUID) -> None:
    """Drop an owner's records that wait to be written."""
    _log.forget(owner_id)


def note(request: Outgoing) -> None:
    """Keep a record of a request; what providers are given to call."""
    _log.note(request)


def _values(owner_id: UUID, ring: OwnerRing, one: Outgoing) -> tuple[Any, ...]:
    fields = (one.id, one.kind, one.behalf.component, one.host, one.size)
    code = _code(ring, *fields, one.digest, one.outcome, one.at)
    return owner_id, *fields, ring.veiled(one.digest, row_id=one.id, purpose=VEIL), code, one.outcome, one.at


def _code(
    ring: OwnerRing,
    request_id: UUID,
    kind: str,
    component: str,
    host: str,
    size: int,
    digest: bytes,
    outcome: str,
    at: datetime,
) -> bytes:
    """Make the code of all fields with a key that the database does not hold, so that nobody in it can forge a row."""
    moment = at.astimezone(UTC).isoformat()
    message = canonical([str(request_id), kind, component, host, size, digest.hex(), outcome, moment])
    return ring.mac(message, purpose=PURPOSE)


def _sent(ring: OwnerRing, row: OutboundRequest) -> Sent:
    digest = row.sha256
    code = _code(ring, row.pk, row.kind, row.component, row.host, row.size, digest, row.outcome, row.created_at)
    return Sent(
        id=row.pk,
        kind=row.kind,
        component=row.component,
        host=row.host,
        size=row.size,
        sha256=digest.hex(),
        outcome=row.outcome,
        left=row.outcome not in NOTHING_LEFT,
        genuine=hmac.compare_digest(bytes(row.signature), code),
        at=row.created_at,
    )


_log = OutboundLog()
write_at_end(flush)
