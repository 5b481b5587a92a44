"""What memories said at a moment that has passed, put together from their histories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.models import Memory, MemoryVersion

MOMENTS: Final = frozenset({"occurred_at", "valid_from", "valid_until", "expires_at"})
RESTORED: Final = MOMENTS | {
    "category", "kind", "importance", "confidence", "tags", "topics", "source", "metadata",
}  # fmt: skip
_COLUMNS: Final = ("id", "owner_id", "memory_id", "number", "sealed_for", "scope")


def as_then(rows: Sequence[Memory], *, at: datetime) -> list[Memory]:
    """Show rows as they stood at a moment: their text, changed fields and version. Scopes stay those of the present.

    The rows are not to be saved. Two statements, whatever the number of rows.

    Args:
        rows: opened rows of the current owner.
        at: the moment.
    """
    by_id = {row.pk: row for row in rows}
    later = MemoryVersion.objects.filter(memory_id__in=list(by_id), created_at__gt=at).order_by("memory_id", "-number")
    first: dict[UUID, UUID] = {}
    # From the newest change back to the first after the moment, so that the oldest value stands at the end.
    for version in later.only(*_COLUMNS, "changes"):
        row = by_id[version.memory_id]
        for name, former in version.changes.items():
            if name in RESTORED:
                setattr(row, name, datetime.fromisoformat(former) if name in MOMENTS and former else former)
        row.version, first[row.pk] = version.number, version.pk
    for version in MemoryVersion.objects.filter(pk__in=list(first.values())).only(*_COLUMNS, "text"):
        by_id[version.memory_id].text = version.text
    return list(rows)


def holds(row: Memory, at: datetime) -> bool:
    """Tell whether a memory holds at a moment, by the time for which it was said to."""
    begun = row.valid_from is None or row.valid_from <= at
    return begun and (row.valid_until is None or row.valid_until > at)
