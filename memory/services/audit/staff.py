"""What staff looks at of another owner, in that owner's audit."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from memory.services.actors import Actor
from memory.services.audit.reading import is_recorded, record_read
from memory.services.audit.recording import record


def record_look(*, actor: Actor, at: datetime) -> None:
    """Record within the owner's scope that staff has chosen to look at the owner's rows."""
    record(actor=actor.label, verb="look", object_kind="owner", at=at)


def record_rows(*, actor: Actor, count: int, at: datetime, searched: bool = False) -> None:
    """Record within the owner's scope that a list of rows was shown; a person's own are not recorded.

    Args:
        actor: who looks.
        count: how many rows.
        at: when.
        searched: whether the list was searched, which is recorded whatever it found: nothing is an answer too.
    """
    if (count or searched) and is_recorded(actor):
        record_read(actor=actor, sort="row_search" if searched else "rows", count=count, at=at)


def record_row(*, actor: Actor, object_id: UUID | None, at: datetime, sort: str = "") -> None:
    """Record within the owner's scope that a row was shown; a person's own are not recorded.

    Args:
        actor: who looks.
        object_id: which row.
        at: when.
        sort: what sort of thing it is, where reads of it have a word of their own.
    """
    if is_recorded(actor):
        record_read(actor=actor, sort=sort if sort else "row", count=1, at=at, object_id=object_id)
