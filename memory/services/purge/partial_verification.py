"""Looking for erased rows in every table: by their ids in all columns, and where sealed values name rows by ids.

An id that stands in a text, a question or a name was typed by somebody, and is no trace of a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from django.apps import apps
from django.db import connection, models

from memory.models import (
    AuditEvent,
    BusMessage,
    Entity,
    Memory,
    MemoryVersion,
    Purge,
    Reflection,
    Skill,
    current_owner,
)
from memory.models.encrypted import EncryptedJSONField
from memory.models.tenancy import OwnedRow
from memory.services.purge.agent_parts import said
from memory.services.purge.partial_places import named_ids
from memory.services.sealed_values import is_closed

STAYING: Final = frozenset({(AuditEvent._meta.db_table, "object_id")})
"""Columns that name erased rows for good: the audit says what was done to which id, and holds no text."""

SAID: Final = (Memory, MemoryVersion, Entity, Skill, Reflection, BusMessage)
"""Models whose sealed JSON is what somebody said; an id that stands there was said too, and is no trace of a row."""


@dataclass(slots=True)
class Found:
    """What a look has found.

    Attributes:
        left: rows that still name an erased one, by table; none where nothing is left.
        tables: tables that were looked at.
        columns: their columns that hold ids.
        opened: sealed values that were opened and searched.
    """

    left: dict[str, int] = field(default_factory=dict)
    tables: int = 0
    columns: int = 0
    opened: int = 0


def look_for(ids: Sequence[UUID]) -> Found:
    """Look for ids in everything that the current owner has, within the owner's scope.

    Reads every kept answer and record. Values whose key is destroyed cannot be read by anybody and are passed over.
    """
    found, wanted = Found(), set(ids)
    for model in owned_models():
        found.tables += 1
        columns = list(id_columns(model))
        found.columns += len(columns)
        count = _rows_naming(model._meta.db_table, columns, ids) if wanted and columns else 0
        for name in sealed_json(model):
            for row in model.objects.exclude(**{f"{name}__isnull": True}).iterator():  # type: ignore[attr-defined]
                if is_closed(row, name):
                    continue
                found.opened += 1
                count += not wanted.isdisjoint(named_ids(model, getattr(row, name)))
        if count:
            found.left[model._meta.db_table] = count
    return found


def owned_models() -> list[type[models.Model]]:
    """List every model whose rows belong to an owner, the narrow ones with a key of their own included."""
    return [
        model
        for model in apps.get_models()
        if model is not Purge
        and (issubclass(model, OwnedRow) or any(one.column == "owner_id" for one in model._meta.concrete_fields))
    ]


def id_columns(model: type[models.Model]) -> Iterator[str]:
    """Name the columns of a table that can hold the id of an erased row."""
    for one in model._meta.concrete_fields:
        if not one.column or one.column == "owner_id" or (model._meta.db_table, one.column) in STAYING:
            continue
        target = one.target_field if isinstance(one, models.ForeignKey) else one
        if isinstance(target, models.UUIDField):
            yield one.column


def sealed_json(model: type[models.Model]) -> list[str]:
    """List the sealed JSON fields of a model in which Loci names rows: records, payloads and answers."""
    if model in SAID or model in said():
        return []
    return [one.attname for one in model._meta.concrete_fields if isinstance(one, EncryptedJSONField)]


def _rows_naming(table: str, columns: Sequence[str], ids: Sequence[UUID]) -> int:
    named = " OR ".join(f'"{column}" = ANY(%(ids)s::uuid[])' for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT count(*) FROM "{table}" WHERE owner_id = %(owner)s AND ({named})',
            {"owner": current_owner(), "ids": list(ids)},
        )
        return int(cursor.fetchone()[0])
