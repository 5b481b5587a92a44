"""How much each owner stores: memories counted, bytes by the share of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection

from memory.errors import OwnerPurging
from memory.models import LexStats, Memory, MemoryVector, Owner, Session, owner_scope

PAGE: Final = 20
LARGEST_AMONG: Final = 100
"""The largest are looked for among so many owners, since no role of the application sees the rows of several."""
# The tables that hold nearly all bytes; partitions are counted with them.
LARGE: Final = (
    "memory_memory",
    "memory_memoryvector",
    "memory_lexposting",
    "memory_tokenvectors",
    "memory_memorylabel",
)


@dataclass(frozen=True, slots=True)
class Stored:
    """What an owner stores; `size` is about so many bytes, by the share of all memories, None while it is erased."""

    owner_id: UUID
    login: str
    memories: int | None
    vectors: int | None
    sessions: int | None
    size: int | None


def storage_of(owner_ids: Sequence[UUID]) -> list[Stored]:
    """Count what owners store, by three counts for each owner."""
    whole, rows = _whole()
    found = Owner.objects.filter(pk__in=owner_ids).select_related("user").order_by("created_at", "pk")
    return [_stored(owner, whole, rows) for owner in found]


def page_of_storage(*, page: int) -> tuple[list[Stored], bool]:
    """Count what a page of owners store, the oldest owners first; tells whether there are more pages."""
    start = (max(1, page) - 1) * PAGE
    ids = list(Owner.objects.order_by("created_at", "pk").values_list("pk", flat=True)[start : start + PAGE + 1])
    return storage_of(ids[:PAGE]), len(ids) > PAGE


def largest_of_storage(*, most: int) -> tuple[list[Stored], bool]:
    """Count what the owners with the most memories store, the largest first.

    They are found among the oldest hundred owners, by the number that the index of words keeps of each; tells whether
    there are more owners than these.
    """
    ids = Owner.objects.filter(purging_at=None).order_by("created_at", "pk").values_list("pk", flat=True)
    among = list(ids[: LARGEST_AMONG + 1])
    largest = sorted(among[:LARGEST_AMONG], key=_indexed, reverse=True)[:most]
    rows = sorted(storage_of(largest), key=lambda one: one.memories or 0, reverse=True)
    return rows, len(among) > LARGEST_AMONG


def _indexed(owner_id: UUID) -> int:
    try:
        with owner_scope(owner_id):
            return LexStats.objects.values_list("n", flat=True).first() or 0
    except OwnerPurging:
        return 0


def _stored(owner: Owner, whole: int, rows: int) -> Stored:
    login = owner.user.username if owner.user else ""
    try:
        with owner_scope(owner.pk):
            memories = Memory.objects.count()
            vectors = MemoryVector.objects.count()
            sessions = Session.objects.count()
    except OwnerPurging:
        return Stored(owner.pk, login, None, None, None, None)
    return Stored(owner.pk, login, memories, vectors, sessions, round(whole * memories / max(rows, memories, 1)))


def _whole() -> tuple[int, int]:
    """Give the bytes of the large tables with their indexes, and about how many memories all owners have."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint,
                (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'memory_memory'::regclass)
            FROM pg_class c
            LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
            WHERE c.relkind = 'r' AND coalesce(i.inhparent, c.oid) = ANY(%s::regclass[]::oid[])""",
            [list(LARGE)],
        )
        size, rows = cursor.fetchone()
        return int(size), int(rows)
