"""What all writes to the graph share: the owner's turn, who may read the result, and the evidence for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, InvalidScope, NotFound, TooLarge
from memory.graph.names import MAX_NAME_CHARACTERS, canonical, name_hash
from memory.graph.traversal import by_whole_name
from memory.models import Entity, GraphEvidence, Memory, Visibility, current_owner, owner_scope
from memory.models.graph import GraphRow
from memory.services.actors import UNSET, Actor, Permission, Target, write_target
from memory.services.features import require_memory
from memory.services.memories import visible_memory
from memory.text import limits

MOST_AT_ONCE: Final = 500
MOST_EVIDENCE: Final = 20
MAX_TEXT_CHARACTERS: Final = 500
MAX_TEXT_BYTES: Final = 16 * 1024
MAX_PROPERTIES_BYTES: Final = 16 * 1024

BEYOND: Final = """
    DELETE FROM memory_graphevidence g USING (
        SELECT id, row_number() OVER (PARTITION BY {part} ORDER BY created_at DESC, id DESC) AS place
        FROM memory_graphevidence WHERE owner_id = %(owner)s AND {part} = ANY(%(rows)s::uuid[])
    ) beyond WHERE g.owner_id = %(owner)s AND g.id = beyond.id AND beyond.place > %(most)s
"""


@contextmanager
def change_graph(actor: Actor, *, now: datetime) -> Iterator[None]:
    """Run the block in a transaction in which this actor's owner's graph is changed by nobody else.

    Raising the version is the first statement of every write, so two writers that share names wait for each other here
    and never crosswise, whatever the order of their names.

    Raises:
        PermissionRefused, MemoryDisabled: before anything is done.
    """
    require_memory()
    actor.require(Permission.WRITE)
    with owner_scope(actor.owner_id):
        with connection.cursor() as cursor:
            cursor.execute(
                """INSERT INTO memory_graphstate (owner_id, version, changed_at) VALUES (%s, 1, %s)
                ON CONFLICT (owner_id) DO UPDATE
                SET version = memory_graphstate.version + 1, changed_at = excluded.changed_at""",
                [actor.owner_id, now],
            )
        yield


def target_of(actor: Actor, scope: Any, memory: Memory | None) -> Target:
    """Resolve who may read what is written: as asked, else like the memory that it is drawn from, else the default.

    What is drawn from an agent's private memory is thereby private too, unless somebody asks for another scope.
    """
    if scope is UNSET and memory is not None:
        return Target(memory.visibility, memory.scope, memory.group_id)
    return write_target(actor, scope)


def source_memory(actor: Actor, memory_id: UUID | None) -> Memory | None:
    """Give the memory that something is drawn from; raises NotFound when the actor may not see it."""
    return None if memory_id is None else visible_memory(actor, memory_id)


@dataclass(frozen=True, slots=True)
class Reference:
    """An entity that a request names, by id or by name."""

    entity_id: UUID | None = None
    name: str | None = None
    type: str | None = None


def resolve(actor: Actor, reference: Reference, *, target: Target, field: str) -> Entity:
    """Find the entity that something is written about.

    A name is looked for in the scope that is written to, then among what the whole owner may read; of several types,
    the most mentioned is meant.

    Raises:
        NotFound: `entity.unknown`, none with this id or name here.
        InvalidScope: the entity is hidden from some who may read the scope that is written to.
    """
    row: Entity | None = None
    if reference.entity_id is not None:
        row = Entity.objects.filter(pk=reference.entity_id).first()
    elif reference.name is not None:
        name = checked_name(reference.name, field=field)
        hashed = name_hash(keyring().of(actor.owner_id), name)
        scopes = list(dict.fromkeys((target.scope, actor.owner_id)))
        found = by_whole_name([hashed], scopes=scopes, type_=reference.type).get(hashed, [])
        best = min(found, key=lambda one: (scopes.index(one.scope), -one.mention_count), default=None)
        row = Entity.objects.filter(pk=best.entity_id).first() if best else None
    if row is None or not actor.may_read(row.scope):
        raise NotFound(f"'{field}' names no entity here. Merge it first.", code="entity.unknown", field=field)
    if row.scope not in (target.scope, actor.owner_id):
        raise InvalidScope(
            f"The entity that '{field}' names is hidden from some who may read this scope.", field="scope"
        )
    return row


def checked_name(name: object, *, field: str = "name") -> str:
    """Check the name of an entity and give it without outer spaces.

    Raises:
        InvalidInput, TooLarge: not a text that can be stored, or longer than 200 characters.
    """
    text = limits.checked_text(name, field=field, max_bytes=4 * MAX_NAME_CHARACTERS).strip()
    if len(text) > MAX_NAME_CHARACTERS or len(canonical(text)) > 2 * MAX_NAME_CHARACTERS:
        raise TooLarge(f"'{field}' may have {MAX_NAME_CHARACTERS} characters.", code="name.too_long", field=field)
    return text


def cut_text(text: object, *, field: str) -> str:
    """Check a text of the graph and cut it to 500 characters, the last of which is an ellipsis then.

    The whole stands in the memory that it was drawn from.
    """
    checked = limits.checked_text(text, field=field, max_bytes=MAX_TEXT_BYTES).strip()
    return checked if len(checked) <= MAX_TEXT_CHARACTERS else f"{checked[: MAX_TEXT_CHARACTERS - 1]}…"


def checked_unit(value: Any, *, field: str) -> float:
    """Check a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{field} is a number.", code="field.type", field=field)
    if not 0 <= value <= 1:
        raise InvalidInput(f"{field} lies between 0 and 1.", code=f"{field}.out_of_range", field=field)
    return float(value)


def checked_properties(value: Any) -> dict[str, Any] | None:
    """Check an object of further facts; None for an empty one."""
    if not value:
        return None
    if not isinstance(value, Mapping):
        raise InvalidInput("properties is an object.", code="field.type", field="properties")
    try:
        size = len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            "properties must be plain JSON without half characters or infinite numbers.",
            code="properties.invalid",
            field="properties",
        ) from error
    if size > MAX_PROPERTIES_BYTES:
        raise TooLarge(
            f"properties may have {MAX_PROPERTIES_BYTES} bytes.", code="properties.too_large", field="properties"
        )
    return dict(value)


def scoped(target: Target) -> dict[str, Any]:
    """Give the fields of a row that say who may read it."""
    return {"visibility": target.visibility, "scope": target.scope}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a row is believed: the memory that it was drawn from, None where it was stated, and the words that say so."""

    row_id: UUID
    memory: Memory | None
    text: str | None = None


class Reasons:
    """Reasons for some rows of one part of the graph, written at once.

    `fresh` tells for each whether it is a new one: the same memory speaks for a row once, however often it is
    processed, and what is stated again takes the place of what was stated before.
    """

    def __init__(self, reasons: Sequence[Reason], *, part: str, now: datetime) -> None:
        """Look up which of them are new.

        Args:
            reasons: in order.
            part: `relation`, `event` or `cause`.
            now: the moment of writing.
        """
        self._part, self._now, self._reasons = part, now, reasons
        rows = GraphEvidence.objects.filter(**{f"{part}_id__in": sorted({one.row_id for one in reasons})})
        memories = {one.memory.pk for one in reasons if one.memory is not None}
        known = set(rows.filter(memory_id__in=memories).values_list(f"{part}_id", "memory_id")) if memories else set()
        self.fresh: list[bool] = []
        for one in reasons:
            key = (one.row_id, one.memory.pk if one.memory else None)
            self.fresh.append(one.memory is None or key not in known)
            known.add(key)

    def write(self, rows: Mapping[UUID, GraphRow]) -> None:
        """Write the new ones and let go of all but the twenty newest of a row.

        Args:
            rows: the rows by id, which are in the database by now.
        """
        last = {
            (one.row_id, one.memory.pk if one.memory else None): one
            for one, new in zip(self._reasons, self.fresh, strict=True)
            if new
        }
        if not last:
            return
        of_part = f"{self._part}_id"
        stated = [row_id for row_id, memory_id in last if memory_id is None]
        if stated:
            GraphEvidence.objects.filter(**{f"{of_part}__in": stated}, memory_id=None).delete()
        GraphEvidence.objects.bulk_create(
            [
                GraphEvidence(
                    **{of_part: one.row_id},
                    memory_id=one.memory.pk if one.memory else None,
                    text=cut_text(one.text, field="evidence") if one.text else None,
                    scope=one.memory.scope if one.memory else rows[one.row_id].scope,
                    sealed_for=_sealing_agent(rows[one.row_id], one.memory),
                    created_at=self._now,
                )
                for one in last.values()
            ]
        )
        with connection.cursor() as cursor:
            cursor.execute(
                BEYOND.format(part=of_part),
                {"owner": current_owner(), "rows": sorted({row_id for row_id, _ in last}), "most": MOST_EVIDENCE},
            )


def evidence_of(actor: Actor, row_id: UUID, *, part: str) -> list[GraphEvidence]:
    """List the reasons for a row, newest first, without those from memories that the actor could not read."""
    rows = GraphEvidence.objects.filter(**{f"{part}_id": row_id}).order_by("-created_at", "-pk")
    if actor.readable is None:
        return list(rows)
    found = list(rows.filter(scope__in=actor.readable))
    readable = Memory.objects.filter(pk__in=[one.memory_id for one in found if one.memory_id])
    visible = set(readable.filter(scope__in=actor.readable).values_list("pk", flat=True))
    return [one for one in found if one.memory_id is None or one.memory_id in visible]


def refuse_too_many(items: Sequence[Any], *, field: str) -> None:
    """Raise InvalidInput unless there are between 1 and 500 items."""
    if not 1 <= len(items) <= MOST_AT_ONCE:
        raise InvalidInput(f"Between 1 and {MOST_AT_ONCE} at once.", code="batch.size", field=field)


def entities_by_id(ids: Iterable[UUID]) -> dict[UUID, Entity]:
    """Load entities of the current owner."""
    return {row.pk: row for row in Entity.objects.filter(pk__in=set(ids))}


def _sealing_agent(row: GraphRow, memory: Memory | None) -> UUID | None:
    if memory is not None and memory.visibility == Visibility.AGENT:
        return memory.scope
    return row.sealing_agent_id
