"""Whether stored values open with the keys in the vault; says where some do not, and never what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import KeysUnavailable
from memory.models import Memory, TokenVectors, owner_scope
from memory.models.encrypted import EncryptedField
from memory.recall.token_blobs import open_tokens
from memory.services.keys.sealed_tables import TOKENS, SealedTable, sealed_tables

BATCH: Final = 500
FIRST: Final = UUID(int=0)


@dataclass(frozen=True, slots=True)
class TableCheck:
    """How many rows of a table were read, and of how many a value did not open."""

    table: str
    read: int
    closed: int


def verify_owner(*, owner_id: UUID, sample: int | None) -> list[TableCheck]:
    """Open stored values of an owner.

    Args:
        owner_id: whose.
        sample: how many rows of each table, chosen by chance; None for all.

    Returns:
        One check for each table that has rows.

    Raises:
        KeysUnavailable: the vault does not open, or has no keys for this owner.
    """
    vault = keyring().vault
    vault.verify()
    vault.load(owner_id).wipe()
    ring = keyring().of(owner_id)
    found = [_checked(table.name, owner_id, sample, _texts_open(table, ring)) for table in sealed_tables()]
    found.append(_checked(TOKENS, owner_id, sample, _tokens_open(ring), key="memory_id"))
    return [check for check in found if check.read]


def _checked(
    table: str, owner_id: UUID, sample: int | None, opens: Callable[[list[UUID]], list[bool]], *, key: str = "id"
) -> TableCheck:
    read = closed = 0
    for keys in _keys(table, key, owner_id, sample):
        with owner_scope(owner_id):
            answers = opens(keys)
        read += len(answers)
        closed += answers.count(False)
    return TableCheck(table, read, closed)


def _keys(table: str, key: str, owner_id: UUID, sample: int | None) -> Iterator[list[UUID]]:
    if sample is not None:
        chosen = _ask(
            owner_id,
            f'SELECT "{key}" FROM "{table}" WHERE owner_id = %s GROUP BY 1 ORDER BY random() LIMIT %s',
            [owner_id, sample],
        )
        yield from (chosen[start : start + BATCH] for start in range(0, len(chosen), BATCH))
        return
    after = FIRST
    while True:
        keys = _ask(
            owner_id,
            f'SELECT DISTINCT "{key}" FROM "{table}" WHERE owner_id = %s AND "{key}" > %s ORDER BY 1 LIMIT %s',
            [owner_id, after, BATCH],
        )
        if not keys:
            return
        yield keys
        after = keys[-1]


def _ask(owner_id: UUID, statement: str, parameters: list[Any]) -> list[UUID]:
    with owner_scope(owner_id), connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [row[0] for row in cursor.fetchall()]


def _texts_open(table: SealedTable, ring: OwnerRing) -> Callable[[list[UUID]], list[bool]]:
    def opens(keys: list[UUID]) -> list[bool]:
        return [_row_opens(row, ring) for row in table.model.objects.filter(pk__in=keys)]

    return opens


def _row_opens(row: Any, ring: OwnerRing) -> bool:
    agent_id = getattr(row, "sealing_agent_id", None)
    for field in row._meta.local_concrete_fields:
        value = row.__dict__.get(field.attname) if isinstance(field, EncryptedField) else None
        if value is None:
            continue
        try:
            field.from_stored_text(ring.unseal(value, place=field.place(row), agent_id=agent_id))
        except (KeysUnavailable, ValueError):
            return False
    return True


def _tokens_open(ring: OwnerRing) -> Callable[[list[UUID]], list[bool]]:
    def opens(keys: list[UUID]) -> list[bool]:
        agents = {row.pk: row.sealing_agent_id for row in Memory.objects.filter(pk__in=keys)}
        stored = TokenVectors.objects.filter(memory_id__in=agents).values_list("memory_id", "space_id", "sealed")
        return [_blob_opens(ring, pk, space_id, bytes(value), agents[pk]) for pk, space_id, value in stored]

    return opens


def _blob_opens(ring: OwnerRing, memory_id: UUID, space_id: int, value: bytes, agent_id: UUID | None) -> bool:
    try:
        open_tokens(value, ring=ring, memory_id=memory_id, space_id=space_id, agent_id=agent_id, width=1)
    except KeysUnavailable:
        return False
    return True
