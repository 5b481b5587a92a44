"""What the tests of the audit record, seal and falsify."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connections

from memory.models import AuditEvent, owner_scope
from memory.models.tenancy import OWNER_SETTING
from memory.services.audit.recording import record
from memory.services.audit.sealing import seal_next
from memory.services.audit.verification import Verified, verify_owner

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TABLES = ("memory_auditevent", "memory_auditseal", "memory_retiredauditevent", "memory_retiredauditseal")


def add(owner_id: UUID, *verbs: str, at: datetime = NOW) -> list[AuditEvent]:
    """Record one event of each verb."""
    with owner_scope(owner_id):
        return [record(actor="person", verb=verb, object_kind="memory", at=at) for verb in verbs]


def sealed_chain(owner_id: UUID, *batches: tuple[str, ...], at: datetime = NOW) -> None:
    """Record and seal batches of verbs, a minute apart."""
    for number, verbs in enumerate(batches):
        moment = at + timedelta(minutes=number)
        add(owner_id, *verbs, at=moment)
        assert seal_next(owner_id, at=moment) == len(verbs)


def codes(owner_id: UUID, *, at: datetime = NOW) -> list[tuple[str, int | None]]:
    """Verify an owner's chain and give what was found."""
    return [(one.code, one.seal) for one in verify_owner(owner_id, at=at).findings]


def counts(one: Verified) -> tuple[int, int, int, int]:
    """Give how much stands in a chain: seals, acts, reads, unsealed events."""
    return one.seals, one.acts, one.reads, one.unsealed


@contextmanager
def as_the_tables_owner(owner_id: UUID) -> Iterator[Any]:
    """Give a cursor of the role that owns the tables, with the triggers switched off: an administrator at work.

    The test needs real transactions and the database `schema`.
    """
    connection = connections["schema"]
    with connection.cursor() as cursor:
        try:
            for table in TABLES:
                cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            cursor.execute("SELECT set_config(%s, %s, false)", [OWNER_SETTING, str(owner_id)])
            yield cursor
        finally:
            for table in TABLES:
                cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    connection.close()
