"""Rows as plain JSON and back, so that what was dropped or changed can be put back as it was."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.db import models

from memory.models.tenancy import OwnedRow

Row = TypeVar("Row", bound=OwnedRow)
Record = dict[str, Any]


def recorded(row: OwnedRow) -> Record:
    """Write every column of a row as plain JSON, with its texts opened; keep the record sealed."""
    return {field.attname: _plain(getattr(row, field.attname)) for field in _columns(type(row))}


def rebuilt(model: type[Row], record: Record) -> Row:
    """Make the unsaved row that a record was written of."""
    values = {field.attname: _typed(field, record[field.attname]) for field in _columns(model)}
    return model(**values)


def _columns(model: type[OwnedRow]) -> list[Any]:
    return [field for field in model._meta.concrete_fields if field.column is not None]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    return value


def _typed(field: Any, value: Any) -> Any:
    if value is None:
        return None
    kind = field.target_field if isinstance(field, models.ForeignKey) else field
    if isinstance(kind, models.UUIDField):
        return UUID(value)
    if isinstance(kind, models.DateTimeField):
        return datetime.fromisoformat(value)
    return bytes.fromhex(value) if isinstance(kind, models.BinaryField) else value
