"""Retiring the audit of an owner who is purged: it stays under its pseudonym, and names nobody."""

from __future__ import annotations

import logging
from typing import Final
from uuid import UUID

from django.db import DatabaseError, connection, transaction

from memory.models import owner_scope
from memory.services.audit.chain import COLUMNS
from memory.services.audit.sealing import seal_rest
from memory.services.clock import now

logger = logging.getLogger(__name__)

_EVENT: Final = f"{COLUMNS}, sealed_in"
_SEAL: Final = "id, number, acts, reads, acts_digest, reads_digest, previous, digest, signature, sealed_at"
COPY_EVENTS: Final = f"""
    INSERT INTO memory_retiredauditevent (pseudonym, {_EVENT})
    SELECT (SELECT pseudonym FROM memory_owner WHERE id = %(owner)s), {_EVENT}
    FROM memory_auditevent WHERE owner_id = %(owner)s
"""
COPY_SEALS: Final = f"""
    INSERT INTO memory_retiredauditseal (pseudonym, {_SEAL})
    SELECT (SELECT pseudonym FROM memory_owner WHERE id = %(owner)s), {_SEAL}
    FROM memory_auditseal WHERE owner_id = %(owner)s
"""
DELETE_EVENTS: Final = "DELETE FROM memory_auditevent WHERE owner_id = %(owner)s"
DELETE_SEALS: Final = "DELETE FROM memory_auditseal WHERE owner_id = %(owner)s"


def retire(owner_id: UUID) -> int:
    """Seal the rest of an owner's audit, and move events and seals to the tables of those who are gone.

    One transaction, so that it has happened or not; repeating it moves nothing. The database allows it only once
    `Owner.purging_at` is set. What a purge itself records for this owner is recorded before.

    Returns:
        How many events were moved.
    """
    with owner_scope(owner_id, purging=True):
        try:
            with transaction.atomic():
                seal_rest(at=now())
        except DatabaseError as error:
            # Somebody has spoilt the chain's end. Erasing must go on; `audit verify` tells what is under no seal.
            logger.error("the audit of owner %s could not be sealed to its end: %s", owner_id, type(error).__name__)
        values = {"owner": owner_id}
        with connection.cursor() as cursor:
            cursor.execute(COPY_EVENTS, values)
            moved = int(cursor.rowcount)
            cursor.execute(COPY_SEALS, values)
            cursor.execute(DELETE_EVENTS, values)
            cursor.execute(DELETE_SEALS, values)
    return moved
