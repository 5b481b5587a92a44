"""Payloads and results of queued tasks that name an owner.

Loci's own tasks carry no ids; what else is put into the queue is found here. Nothing is unpickled: whoever may write
the table must not run code. The packed values are searched for the ids in every form in which a pickle holds them.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django_q.models import OrmQ, Task

from memory.services.purge.registry import Subject, Traces

CHUNK: Final = 500
MOST_UNPACKED: Final = 64 * 1024 * 1024
WAITING: Final = OrmQ._meta.db_table
DONE: Final = Task._meta.db_table
# By table, the columns in which something can stand.
COLUMNS: Final[dict[str, Sequence[str]]] = {
    WAITING: ("payload",),
    DONE: ("name", "func", "hook", '"group"', "cluster", "args", "kwargs", "result"),
}


class QueueTarget:
    """Tasks that wait and tasks that were done."""

    name: Final = "queue"
    tables: Sequence[str] = (WAITING, DONE)
    outside = False

    def count(self, subject: Subject) -> int:
        """Count the tasks that name the owner; each task of the queue is looked at."""
        return sum(1 for table in COLUMNS for _ in _naming(table, subject.ids))

    def erase(self, subject: Subject, most: int) -> int:
        """Delete some of these tasks."""
        for table in COLUMNS:
            keys = []
            for key in _naming(table, subject.ids):
                keys.append(key)
                if len(keys) >= most:
                    break
            if keys:
                with connection.cursor() as cursor:
                    cursor.execute(f'DELETE FROM "{table}" WHERE id = ANY(%s)', [keys])
                    return int(cursor.rowcount)
        return 0

    def remains(self, subject: Subject, traces: Traces) -> int:
        """Count the tasks that are left."""
        return self.count(subject)


def _naming(table: str, ids: Sequence[UUID]) -> Iterator[Any]:
    chosen = ", ".join(COLUMNS[table])
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT id FROM "{table}" ORDER BY id')
        every = [row[0] for row in cursor.fetchall()]
        for start in range(0, len(every), CHUNK):
            part = every[start : start + CHUNK]
            cursor.execute(f'SELECT id, {chosen} FROM "{table}" WHERE id = ANY(%s)', [part])
            for key, *values in cursor.fetchall():
                if any(names_one(value, ids) for value in values if value):
                    yield key


def names_one(value: str, ids: Sequence[UUID]) -> bool:
    """Tell whether a package of the queue, or a value beside it, holds one of some ids in whatever form."""
    forms = [form for one in ids for form in _forms(one)]
    return any(form in packed for packed in _unpacked(value) for form in forms)


def _forms(one: UUID) -> tuple[bytes, ...]:
    """Give an id as text, as digits, as bytes, and as the number that a pickle writes."""
    return str(one).encode(), one.hex.encode(), one.bytes, one.int.to_bytes(16, "little")


def _unpacked(value: str) -> Iterator[bytes]:
    """Give a stored value as it stands, and what its base64 holds; a signed one ends at its first colon."""
    yield value.encode()
    body = value.lstrip(".").split(":", 1)[0]
    try:
        packed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_" if set("-_") & set(body) else None)
    except (binascii.Error, ValueError):
        return
    yield packed
    try:
        yield zlib.decompressobj().decompress(packed, MOST_UNPACKED)
    except zlib.error:
        return
