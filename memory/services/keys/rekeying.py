"""Moving an owner's stored values from older versions of the text key to the newest one.

What there is to do is read from the rows themselves, whose values name the version that sealed them, so an interruption
at any moment loses nothing and repeating is harmless.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.crypto.keyring import OwnerRing, keyring
from memory.crypto.sealing import Sealed
from memory.errors import KeysUnavailable
from memory.models import Memory, TokenVectors, owner_scope
from memory.models.encrypted import EncryptedField
from memory.recall.token_blobs import open_tokens, reduction_of, seal_tokens
from memory.services.keys.sealed_tables import (
    SealedTable,
    of_versions,
    sealed_tables,
    tokens_of_versions,
    version_parameters,
)

BATCH: Final = 200
# Then other owners and other work have their turn.
TURN_SECONDS: Final = 20.0
FIRST: Final = UUID(int=0)


@dataclass(slots=True)
class Moved:
    """What a turn of moving did: rows moved, rows of which a value does not open, and whether it saw everything."""

    rows: int = 0
    closed: int = 0
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Batch:
    """What one transaction did; `last` is the key of its last row, None at the end of a table."""

    moved: int
    closed: int
    last: Any


def move_rows(
    *,
    owner_id: UUID,
    versions: Sequence[int],
    seconds: float = TURN_SECONDS,
    after_batch: Callable[[], None] | None = None,
) -> Moved:
    """Seal an owner's values of older versions with the newest one, batch by batch, each in a transaction of its own.

    Rows that somebody else is changing are passed over; writers wait for one batch at most. Nobody's change is lost:
    a value is replaced only while it is still the one that was opened.

    Args:
        owner_id: whose.
        versions: the older versions.
        seconds: after which no further batch is begun.
        after_batch: called after each batch.
    """
    ring, done = keyring().of(owner_id), Moved()
    until = time.monotonic() + seconds
    steps: list[Callable[[Any], Batch]] = [
        lambda after, table=table: _move_texts(table, ring, versions, after)  # type: ignore[misc]
        for table in sealed_tables()
    ]
    steps.append(lambda after: _move_tokens(ring, versions, after))
    for step in steps:
        after: Any = None
        while True:
            if time.monotonic() >= until:
                done.whole = False
                return done
            batch = step(after)
            done.rows += batch.moved
            done.closed += batch.closed
            if after_batch is not None:
                after_batch()
            if batch.last is None:
                break
            after = batch.last
    return done


def _move_texts(table: SealedTable, ring: OwnerRing, versions: Sequence[int], after: UUID | None) -> Batch:
    with owner_scope(ring.owner_id):
        found = _waiting(table, ring.owner_id, versions, after or FIRST)
        rows = table.model.objects.select_for_update(no_key=True, skip_locked=True).filter(pk__in=found).order_by("pk")
        changes, closed = [], 0
        for row in rows:
            fields = [field for field in row._meta.local_concrete_fields if isinstance(field, EncryptedField)]
            before = [row.__dict__[field.attname] for field in fields]
            try:
                changes.append((row.pk, before, [_again(ring, row, field, versions) for field in fields]))
            except KeysUnavailable:
                closed += 1
        moved = _write(table, ring.owner_id, changes)
    return Batch(moved, closed, found[-1] if len(found) == BATCH else None)


def _waiting(table: SealedTable, owner_id: UUID, versions: Sequence[int], after: UUID) -> list[UUID]:
    parameters = {"owner": owner_id, "after": after, "most": BATCH, **version_parameters(versions)}
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT id FROM "{table.name}" WHERE owner_id = %(owner)s AND id > %(after)s '
            f"AND {of_versions(table.columns)} ORDER BY id LIMIT %(most)s",
            parameters,
        )
        return [row[0] for row in cursor.fetchall()]


def _again(ring: OwnerRing, row: Any, field: EncryptedField, versions: Sequence[int]) -> Sealed | None:
    value: Sealed | None = row.__dict__[field.attname]
    if value is None or value.version not in versions:
        return value
    place, agent_id = field.place(row), getattr(row, "sealing_agent_id", None)
    return ring.seal(ring.unseal(value, place=place, agent_id=agent_id), place=place, agent_id=agent_id)


def _write(table: SealedTable, owner_id: UUID, changes: list[tuple[UUID, list[Any], list[Any]]]) -> int:
    if not changes:
        return 0
    places = range(len(table.columns))
    columns = [f'"{column}"' for column in table.columns]
    names = ", ".join(["id", *(f"old{place}, new{place}" for place in places)])
    arrays = ", ".join(["%s::uuid[]", *("%s::text[], %s::text[]" for _ in places)])
    setting = ", ".join(f"{columns[place]} = v.new{place}" for place in places)
    unchanged = " AND ".join(f"t.{columns[place]} IS NOT DISTINCT FROM v.old{place}" for place in places)
    values: list[Any] = [[pk for pk, _, _ in changes]]
    for place in places:
        values += [[before[place] for _, before, _ in changes], [after[place] for _, _, after in changes]]
    with connection.cursor() as cursor:
        cursor.execute(
            f'UPDATE "{table.name}" t SET {setting} FROM unnest({arrays}) AS v({names}) '
            f"WHERE t.owner_id = %s AND t.id = v.id AND {unchanged}",
            [*values, owner_id],
        )
        return int(cursor.rowcount)


def _move_tokens(ring: OwnerRing, versions: Sequence[int], after: tuple[UUID, int] | None) -> Batch:
    """Move token vectors; the memory is locked with them, since it says which agent's key seals them."""
    memory_id, space_id = after or (FIRST, 0)
    parameters: dict[str, Any] = {"owner": ring.owner_id, "memory": memory_id, "space": space_id, "most": BATCH}
    with owner_scope(ring.owner_id), connection.cursor() as cursor:
        cursor.execute(
            f'SELECT memory_id, space_id FROM "{TokenVectors._meta.db_table}" WHERE owner_id = %(owner)s '
            f"AND (memory_id, space_id) > (%(memory)s, %(space)s) AND {tokens_of_versions()} "
            "ORDER BY memory_id, space_id LIMIT %(most)s",
            {**parameters, **version_parameters(versions)},
        )
        found = cursor.fetchall()
        memories = Memory.objects.select_for_update(no_key=True, skip_locked=True).only("id", "visibility", "agent")
        agents = {row.pk: row.sealing_agent_id for row in memories.filter(pk__in={pk for pk, _ in found})}
        # Locked before they are written, and passed over where that would wait: so no two wait for each other.
        rows = TokenVectors.objects.select_for_update(no_key=True, skip_locked=True).filter(memory_id__in=agents)
        stored = list(rows.values_list("memory_id", "space_id", "sealed"))
        changes, closed = [], 0
        for pk, space, value in stored:
            before = bytes(value)
            if int.from_bytes(before[:4], "big") not in versions:
                continue
            try:
                changes.append((pk, space, before, _tokens_again(ring, before, pk, space, agents[pk])))
            except KeysUnavailable:
                closed += 1
        moved = _write_tokens(ring.owner_id, changes)
    return Batch(moved, closed, found[-1] if len(found) == BATCH else None)


def _tokens_again(ring: OwnerRing, value: bytes, memory_id: UUID, space_id: int, agent_id: UUID | None) -> bytes:
    # The width does not matter for sealing the same bytes again.
    matrix = open_tokens(value, ring=ring, memory_id=memory_id, space_id=space_id, agent_id=agent_id, width=1)
    mark = reduction_of(value)
    return seal_tokens(matrix, ring=ring, memory_id=memory_id, space_id=space_id, reduction=mark, agent_id=agent_id)


def _write_tokens(owner_id: UUID, changes: list[tuple[UUID, int, bytes, bytes]]) -> int:
    if not changes:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            f'UPDATE "{TokenVectors._meta.db_table}" t SET sealed = v.new '
            "FROM unnest(%s::uuid[], %s::int[], %s::bytea[], %s::bytea[]) AS v(memory_id, space_id, old, new) "
            "WHERE t.owner_id = %s AND t.memory_id = v.memory_id AND t.space_id = v.space_id AND t.sealed = v.old",
            [*(list(column) for column in zip(*changes, strict=True)), owner_id],
        )
        return int(cursor.rowcount)
