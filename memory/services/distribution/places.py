"""Where each table goes when owners are spread over several servers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

OWNER_COLUMN: Final = "owner_id"
OWNERS: Final = "memory_owner"


class Place(StrEnum):
    """What becomes of a table."""

    DISTRIBUTED = "distributed"
    REFERENCE = "reference"
    LOCAL = "local"
    UNPLANNED = "unplanned"


# Whole on every server; few rows that change seldom, each with the reason.
REFERENCE: Final[Mapping[str, str]] = {
    "memory_user": "owners refer to their logins, and a reference may not leave the server",
    "memory_embeddingspace": "vectors refer to it; a handful of rows",
    "memory_retiredauditevent": "the guard of the audit looks in it on the server of the owner",
    "memory_retiredauditseal": "the guard of the audit looks in it on the server of the owner",
}
# On the coordinator alone, each with the reason.
LOCAL: Final[Mapping[str, str]] = {
    "memory_duework": "workers claim rows of all owners with FOR UPDATE SKIP LOCKED, which one server must answer",
    "memory_graphprojection": "health and metrics read whose projection is behind, workers which are left over",
    "memory_spacefill": "operators and health see how far the vectors of all owners are",
    "memory_purge": "workers claim purges, and receipts are found by their token when the owner is gone",
    "memory_user_groups": "logins are looked up on the coordinator",
    "memory_user_user_permissions": "logins are looked up on the coordinator",
}
# Tables of the frameworks: logins, their sessions and failures, permissions, the queue of jobs, migrations.
LOCAL_PREFIXES: Final = ("auth_", "axes_", "django_")


def place_of(table: str, columns: frozenset[str]) -> tuple[Place, str]:
    """Say where a table goes and why.

    Args:
        table: its name.
        columns: names of its columns.

    Returns:
        The place and a reason; `UNPLANNED` for a table without an owner that nobody has put anywhere.
    """
    if table == OWNERS:
        return Place.DISTRIBUTED, "the owner's row lies with the owner's rows, which lock it when they are written"
    if table in REFERENCE:
        return Place.REFERENCE, REFERENCE[table]
    if table in LOCAL:
        return Place.LOCAL, LOCAL[table]
    if OWNER_COLUMN in columns:
        return Place.DISTRIBUTED, "rows of one owner"
    if table.startswith(LOCAL_PREFIXES):
        return Place.LOCAL, "of the frameworks, asked on the coordinator"
    return Place.UNPLANNED, "has no owner_id and stands in no list of memory/services/distribution/places.py"


def column_of(table: str) -> str:
    """Name the column by which a distributed table is spread."""
    return "id" if table == OWNERS else OWNER_COLUMN
