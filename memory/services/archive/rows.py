"""The lines of an archive: rows read page by page, with every column in clear."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.errors import KeysUnavailable
from memory.models import Owner, Purge, User
from memory.models.tenancy import TenantManager
from memory.services.actors import Actor
from memory.services.archive.registry import Part

logger = logging.getLogger(__name__)

PAGE: Final = 500
UNREADABLE: Final = "unreadable"
"""The member that names the columns of a row that do not open with the owner's keys; these are null."""

Record = dict[str, Any]


def records(part: Part, actor: Actor) -> Iterator[Record]:
    """Give the rows of a part that an actor may read, within the owner's scope and in the part's order."""
    columns = [
        field.attname
        for field in part.model._meta.concrete_fields
        if field.column is not None and field.attname not in part.without and field.attname != "owner_id"
    ]
    columns += part.read
    if part.readable is None and actor.agent_id is not None:
        return
    rows = _rows(part, actor).order_by(*part.order)
    last: tuple[Any, ...] | None = None
    while page := list((rows.filter(_after(part.order, last)) if last else rows)[:PAGE]):
        for row in page:
            yield _record(row, columns)
        last = tuple(getattr(page[-1], column) for column in part.order)


def _rows(part: Part, actor: Actor) -> QuerySet[Any]:
    rows: QuerySet[Any] = part.model._default_manager.filter(part.only)
    if not isinstance(part.model._default_manager, TenantManager):
        whose = {Owner: "pk", User: "owner", Purge: "of_owner"}[part.model]
        rows = rows.filter(**{whose: actor.owner_id})
    return rows if actor.agent_id is None or part.readable is None else part.readable(rows, actor)


def _after(order: Sequence[str], last: Sequence[Any]) -> Q:
    """Select what comes after a row, by several columns; the first one also stands alone, for the index."""
    found = Q()
    for place, column in enumerate(order):
        same = dict(zip(order[:place], last, strict=False))
        found |= Q(**same, **{f"{column}__gt": last[place]})
    return found & Q(**{f"{order[0]}__gte": last[0]})


def _record(row: Any, columns: Sequence[str]) -> Record:
    record: Record = {}
    damaged = []
    for column in columns:
        try:
            record[column] = _plain(getattr(row, column))
        except KeysUnavailable:
            logger.error("%s %s does not open with its owner's key", row._meta.verbose_name, row.pk)
            record[column] = None
            damaged.append(column)
    if damaged:
        record[UNREADABLE] = damaged
    return record


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID | Decimal):
        return str(value)
    if isinstance(value, bytes | memoryview | bytearray):
        return bytes(value).hex()
    return [_plain(one) for one in value] if isinstance(value, list) else value
