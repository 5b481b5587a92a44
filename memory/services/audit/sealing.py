"""Sealing: what has been recorded since the last seal goes into a batch under the next one."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import DatabaseError, connection, transaction

from memory.errors import OwnerPurging
from memory.models import AuditSeal, Owner, owner_scope
from memory.models.tenancy import OWNER_SETTING, current_owner
from memory.services.audit.chain import BEFORE_THE_FIRST, COLUMNS, Event, batch_of, digest_of, sign
from memory.services.clock import now

logger = logging.getLogger(__name__)

MOST_IN_A_BATCH: Final = 10_000
# What a run does for one owner at most, so that one owner's backlog does not keep the others waiting.
MOST_BATCHES: Final = 50

# A turn of its own for each chain; whoever finds it taken leaves the owner to the one who has it.
_TURN: Final = "hashtextextended('loci.audit:' || %s, 0)"
TRY_TURN: Final = f"SELECT pg_try_advisory_xact_lock({_TURN})"
TAKE_TURN: Final = f"SELECT pg_advisory_xact_lock({_TURN})"
# A purge that was interrupted may record more after it has retired a chain, which then goes on from there.
CHAIN: Final = """
    SELECT o.pseudonym, coalesce(s.number, 0), s.digest FROM memory_owner o
    LEFT JOIN LATERAL (
        (SELECT number, digest FROM memory_auditseal WHERE owner_id = o.id ORDER BY number DESC LIMIT 1)
        UNION ALL
        (SELECT number, digest FROM memory_retiredauditseal WHERE pseudonym = o.pseudonym ORDER BY number DESC LIMIT 1)
        ORDER BY number DESC LIMIT 1) s ON true
    WHERE o.id = %s
"""
# One statement, so that what commits while it runs is in no batch rather than in one that did not digest it.
TAKE_BATCH: Final = f"""
    UPDATE memory_auditevent SET sealed_in = %(number)s
    WHERE owner_id = %(owner)s AND id IN (
        SELECT id FROM memory_auditevent WHERE owner_id = %(owner)s AND sealed_in IS NULL ORDER BY id LIMIT %(most)s)
    RETURNING {COLUMNS}
"""
# Row-level security lets nobody look across owners, so the database itself goes from one to the next, in one trip.
FIND_OWNERS: Final = f"""
    DO $$
    DECLARE
        one uuid;
        found uuid[] := '{{}}';
    BEGIN
        FOR one IN SELECT id FROM memory_owner WHERE purging_at IS NULL ORDER BY id LOOP
            EXECUTE format('SET LOCAL {OWNER_SETTING} = %L', one);
            IF EXISTS (SELECT FROM memory_auditevent WHERE owner_id = one AND sealed_in IS NULL) THEN
                found := found || one;
            END IF;
        END LOOP;
        SET LOCAL {OWNER_SETTING} = '';
        PERFORM set_config('loci.unsealed', array_to_string(found, ','), true);
    END $$
"""


def seal_all(*, at: datetime | None = None) -> dict[str, int]:
    """Seal what is unsealed, owner by owner; repeating it has no further effect.

    Args:
        at: the moment that counts as now.

    Returns:
        How many owners, seals and events, and of how many owners it has failed, which is logged. An owner whom somebody
        else seals at the same time is passed over.
    """
    moment = at or now()
    done = {"owners": 0, "seals": 0, "events": 0, "failed": 0}
    for owner_id in owners_with_unsealed():
        seals = events = 0
        try:
            while seals < MOST_BATCHES and (sealed := seal_next(owner_id, at=moment)):
                seals, events = seals + 1, events + sealed
        except OwnerPurging:
            # A purge that has begun meanwhile seals for itself.
            pass
        except DatabaseError as error:
            # The others' turn must come although one chain cannot be gone on with.
            logger.error("the audit of owner %s could not be sealed: %s", owner_id, type(error).__name__)
            done["failed"] += 1
        for name, count in (("owners", min(seals, 1)), ("seals", seals), ("events", events)):
            done[name] += count
    return done


def owners_with_unsealed() -> list[UUID]:
    """List the owners of whom something is not sealed yet, without those being purged.

    One trip to the database, however many owners there are; 3,000 take it a quarter of a second at most.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(FIND_OWNERS)
        cursor.execute("SELECT current_setting('loci.unsealed')")
        listed = cursor.fetchone()[0]
    return [UUID(one) for one in listed.split(",") if one]


def seal_next(owner_id: UUID, *, at: datetime) -> int:
    """Put the oldest unsealed events of an owner under the next seal, in a transaction of its own.

    Returns:
        How many, at most 10,000; 0 when there is nothing to seal or somebody else is at it.

    Raises:
        OwnerPurging: everything of this owner is being erased.
        KeysUnavailable: there is no signing key; nothing was sealed.
    """
    with owner_scope(owner_id):
        with connection.cursor() as cursor:
            cursor.execute(TRY_TURN, [str(pseudonym_of(owner_id))])
            if not cursor.fetchone()[0]:
                return 0
        return _seal_batch(at)


def seal_rest(*, at: datetime) -> int:
    """Seal everything that is unsealed in the current owner's scope, in the caller's transaction; gives how many.

    Waits for whoever is sealing this owner.
    """
    take_turn(pseudonym_of(current_owner()))
    total = 0
    while sealed := _seal_batch(at):
        total += sealed
    return total


def take_turn(pseudonym: UUID) -> None:
    """Wait until nobody else seals, moves or verifies a chain; the turn lasts as long as the transaction."""
    with connection.cursor() as cursor:
        cursor.execute(TAKE_TURN, [str(pseudonym)])


def pseudonym_of(owner_id: UUID) -> UUID:
    """Give the name of an owner's chain."""
    found: UUID = Owner.objects.values_list("pseudonym", flat=True).get(pk=owner_id)
    return found


def _seal_batch(at: datetime) -> int:
    owner_id = current_owner()
    with connection.cursor() as cursor:
        cursor.execute(CHAIN, [owner_id])
        pseudonym, last, digest = cursor.fetchone()
        number = last + 1
        cursor.execute(TAKE_BATCH, {"number": number, "owner": owner_id, "most": MOST_IN_A_BATCH})
        events = sorted((Event(*row) for row in cursor.fetchall()), key=lambda event: event.id)
    if not events:
        return 0
    previous = bytes(digest) if digest is not None else BEFORE_THE_FIRST
    batch = batch_of(pseudonym, events)
    if batch.unproved:
        logger.warning("%d events in the audit of owner %s were not recorded here", batch.unproved, owner_id)
    digest = digest_of(pseudonym, number, batch, previous=previous, sealed_at=at)
    AuditSeal.objects.create(
        number=number,
        acts=batch.acts,
        reads=batch.reads,
        acts_digest=batch.acts_digest,
        reads_digest=batch.reads_digest,
        previous=previous,
        digest=digest,
        signature=sign(digest),
        sealed_at=at,
    )
    return len(events)
