"""Memories of an archive on their way in, and what is known here of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memory.errors import Conflict
from memory.models import Memory, Status, owner_scope
from memory.services.actors import Actor
from memory.services.archive.reading import Record
from memory.services.drafts import Ready


@dataclass(slots=True)
class Item:
    """One memory: its line and the place of that, its row here, which is not saved, and what hangs on it by part."""

    index: int
    line: Record
    ready: Ready
    row: Memory
    hanging: dict[str, list[Record]]

    @property
    def id(self) -> str:
        """Give the memory's id in the archive."""
        return str(self.line["id"])


@dataclass(slots=True)
class Standing:
    """What is here of some memories."""

    by_id: dict[str, tuple[UUID, str]] = field(default_factory=dict)
    turns: dict[tuple[UUID | None, int | None], tuple[UUID, str, bytes]] = field(default_factory=dict)
    statements: dict[tuple[UUID, bytes], list[tuple[UUID, str, datetime]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    @classmethod
    def of(cls, actor: Actor, items: Sequence[Item]) -> Standing:
        """Look for memories by their ids, their places in sessions and what they say, among those an actor may read."""
        found = cls()
        turns = [item.row for item in items if item.row.session_id is not None]
        statements = [item.row for item in items if item.row.session_id is None]
        with owner_scope(actor.owner_id):
            rows = Memory.objects.all() if actor.readable is None else Memory.objects.filter(scope__in=actor.readable)
            for pk, status in rows.filter(pk__in=[item.id for item in items]).values_list("pk", "status"):
                found.by_id[str(pk)] = pk, status
            # Whoever may read it or not: a place in a session is taken once.
            placed = Memory.objects.filter(
                session_id__in={row.session_id for row in turns}, position__in={row.position for row in turns}
            )
            for pk, status, session, position, digest in placed.values_list(
                "pk", "status", "session_id", "position", "content_hash"
            ):
                found.turns[session, position] = pk, status, bytes(digest)
            said = rows.filter(
                session_id=None,
                scope__in={row.scope for row in statements},
                content_hash__in=[row.content_hash for row in statements],
            )
            for pk, status, scope, digest, created in said.order_by("pk").values_list(
                "pk", "status", "scope", "content_hash", "created_at"
            ):
                found.statements[scope, bytes(digest)].append((pk, status, created))
        return found

    def find(self, item: Item) -> tuple[UUID, str] | None:
        """Give the id and status here of a memory; None where it is not here.

        Raises:
            Conflict: `turn.position_taken`, another turn stands at its place.
        """
        if item.id in self.by_id:
            return self.by_id[item.id]
        row = item.row
        if row.session_id is not None:
            here = self.turns.get((row.session_id, row.position))
            if here is not None and here[2] != row.content_hash:
                raise Conflict("Another turn stands at this position already; it was kept.", code="turn.position_taken")
            return None if here is None else here[:2]
        for pk, status, created in self.statements.get((row.scope, bytes(row.content_hash)), ()):
            if created == row.created_at or status == row.status == Status.LIVE:
                return pk, status
        return None
