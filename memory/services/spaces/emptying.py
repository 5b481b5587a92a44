"""Removing what stands in a space that was given up: its indexes, then its rows, owner by owner."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final
from uuid import UUID

from django.db import connection

from memory.errors import OwnerPurging
from memory.models import EmbeddingSpace, MemoryVector, Owner, SpaceFill, TokenVectors, owner_scope
from memory.ports.space_holders import holders
from memory.services.spaces.indexes import drop_indexes

Tell = Callable[[str, int, int], None]
"""Hears of progress: the name of a step, how much of it is done, and of how much."""

STEP: Final = 5_000
CLEAR: Final = """
    DELETE FROM {table} WHERE owner_id = %(owner)s AND space_id = %(space)s AND memory_id = ANY (ARRAY(
        SELECT memory_id FROM {table} WHERE owner_id = %(owner)s AND space_id = %(space)s LIMIT %(most)s
    ))
"""


def owners_in_turn() -> list[UUID]:
    """List the owners who are not being erased."""
    return list(Owner.objects.filter(purging_at=None).order_by("pk").values_list("pk", flat=True))


def empty_space(space: EmbeddingSpace, *, tell: Tell) -> None:
    """Remove what stands in a retired space: indexes first, so that its rows go quickly."""
    drop_indexes(space.pk)
    owners = owners_in_turn()
    for number, owner_id in enumerate(owners):
        with suppress(OwnerPurging):
            _clear(owner_id, space.pk)
        tell("owners", number + 1, len(owners))
    SpaceFill.objects.filter(space_id=space.pk).delete()


def _clear(owner_id: UUID, space_id: int) -> None:
    for model in (MemoryVector, TokenVectors):
        statement = CLEAR.format(table=model._meta.db_table)
        gone = STEP
        while gone >= STEP:
            with owner_scope(owner_id), connection.cursor() as cursor:
                cursor.execute(statement, {"owner": owner_id, "space": space_id, "most": STEP})
                gone = cursor.rowcount
    for remove in holders().values():
        removed = 1
        while removed:
            with owner_scope(owner_id):
                removed = remove(space_id)
