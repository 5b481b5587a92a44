"""What hangs on the memories of an archive: sources, versions, uses, claims, and whom turns answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.errors import LociError, TooLarge
from memory.models import (
    Memory,
    MemoryAccess,
    MemoryClaim,
    MemorySource,
    MemoryVersion,
    Visibility,
    current_owner,
    owner_scope,
)
from memory.services.actors import Actor
from memory.services.archive.items import Item
from memory.services.archive.limits import MOST_CHANGES_BYTES
from memory.services.archive.outcome import ArchiveImported
from memory.services.archive.placing import Places
from memory.services.archive.reading import Record
from memory.services.archive.values import count_of, is_former, moment_of, word_of
from memory.services.changes import CHANGEABLE
from memory.services.clock import now
from memory.text import limits

HANGING: Final = ("sources", "versions", "uses", "claims")
FORMER: Final = (CHANGEABLE - {"text"}) | {"scope", "pii_kinds"}
"""What a version may say of a memory's former values, besides its text."""

MOST_CLAIM: Final = 2**63
JOIN_REPLIES: Final = """
    UPDATE memory_memory m SET reply_to_id = u.other FROM unnest(%s::uuid[], %s::uuid[]) AS u (id, other)
    WHERE m.owner_id = %s AND m.id = u.id
"""
JOIN_SOURCES: Final = """
    UPDATE memory_memorysource s SET turn_id = u.other FROM unnest(%s::uuid[], %s::uuid[]) AS u (id, other)
    WHERE s.owner_id = %s AND s.id = u.id
"""


@dataclass(slots=True)
class Loose:
    """References to memories that have no id here yet, by the row that refers and the id in the archive."""

    replies: list[tuple[UUID, str]] = field(default_factory=list)
    sources: list[tuple[UUID, str]] = field(default_factory=list)

    def join(self, memories: Mapping[str, UUID]) -> None:
        """Set the references to memories that are here by now, within the owner's scope; the others stay loose."""
        self.replies = _join(JOIN_REPLIES, self.replies, memories)
        self.sources = _join(JOIN_SOURCES, self.sources, memories)

    def finish(self, actor: Actor, memories: Mapping[str, UUID]) -> None:
        """Set what can be set at the end; what refers to memories that were not taken over stays without them."""
        with owner_scope(actor.owner_id):
            self.join(memories)


def _join(statement: str, loose: list[tuple[UUID, str]], memories: Mapping[str, UUID]) -> list[tuple[UUID, str]]:
    ready = [(row, memories[other]) for row, other in loose if other in memories and memories[other] != row]
    if ready:
        with connection.cursor() as cursor:
            cursor.execute(statement, [[row for row, _ in ready], [other for _, other in ready], current_owner()])
    return [(row, other) for row, other in loose if other not in memories]


def store_hanging(items: Iterable[Item], places: Places, loose: Loose, result: ArchiveImported, *, same: bool) -> None:
    """Store what hangs on memories that were just stored, in place of what storing them has made.

    Call it within the owner's scope. Lines that cannot be used are counted as left.

    Args:
        items: stored memories.
        places: what the archive's agents and scopes are here.
        loose: takes the references that cannot be set yet.
        result: counts.
        same: whether this owner made the archive here, so that keyed numbers mean here what they meant there.
    """
    stored = list(items)
    MemorySource.objects.filter(memory_id__in=[item.row.pk for item in stored]).delete()
    hanging = _Hanging(places, loose, result)
    made = {part: hanging.rows(stored, part, build) for part, build in _BUILDERS.items() if part != "claims" or same}
    for part, model in (
        ("sources", MemorySource),
        ("versions", MemoryVersion),
        ("uses", MemoryAccess),
        ("claims", MemoryClaim),
    ):
        rows = made.get(part, [])
        model.objects.bulk_create(rows, ignore_conflicts=True)
        result.history[part] += len(rows)
    if not same:
        result.leave("claims", sum(len(item.hanging.get("claims", ())) for item in stored))
    loose.replies += [(item.row.pk, one) for item in stored if isinstance(one := item.line.get("reply_to_id"), str)]


class _Hanging:
    """Builds rows that hang on memories."""

    def __init__(self, places: Places, loose: Loose, result: ArchiveImported) -> None:
        self.places, self.loose, self.result = places, loose, result
        self.moment = now()

    def rows(self, items: Iterable[Item], part: str, build: Callable[[_Hanging, Memory, Record], Any]) -> list[Any]:
        found = []
        for item in items:
            for line in item.hanging.get(part, ()):
                try:
                    row = build(self, item.row, line)
                except LociError:
                    # Told by the count of what was left; the memory itself is whole without it.
                    row = None
                if row is None:
                    self.result.leave(part)
                else:
                    found.append(row)
        return found

    def sealed(self, row: Memory, line: Record) -> dict[str, Any] | None:
        """Say whose key seals a line and who could read it; None where that one is not here."""
        if self.places.only is not None:
            return {"sealed_for": row.sealing_agent_id, "scope": row.scope}
        scope, private = self.places.scope(line.get("scope")), line.get("sealed_for")
        agent_id = self.places.agent(private)
        if scope is None or (private is not None and agent_id is None):
            return None
        return {"sealed_for": agent_id if private is not None else None, "scope": scope}


def _source(hanging: _Hanging, row: Memory, line: Record) -> MemorySource | None:
    sealed = hanging.sealed(row, line)
    if sealed is None:
        return None
    name, turn = line.get("source"), line.get("turn_id")
    source = MemorySource(
        owner_id=row.owner_id,
        memory_id=row.pk,
        agent_id=hanging.places.agent(line.get("agent_id")),
        source=None if name is None else limits.checked_text(name, field="source", max_bytes=800),
        created_at=moment_of(line, "created_at", latest=hanging.moment),
        **sealed,
    )
    if isinstance(turn, str):
        hanging.loose.sources.append((source.pk, turn))
    return source


def _version(hanging: _Hanging, row: Memory, line: Record) -> MemoryVersion | None:
    sealed, changes = hanging.sealed(row, line), line.get("changes")
    if sealed is None or not isinstance(changes, dict):
        return None
    return MemoryVersion(
        owner_id=row.owner_id,
        memory_id=row.pk,
        number=count_of(line, "number"),
        text=limits.checked_text(line.get("text"), field="text"),
        changes=_changes(hanging.places, changes),
        actor=_actor(hanging.places, line.get("actor")),
        reason=word_of(line.get("reason"), otherwise="imported"),
        created_at=moment_of(line, "created_at", latest=hanging.moment),
        **sealed,
    )


def _changes(places: Places, changes: dict[str, Any]) -> dict[str, Any]:
    """Give the former values of the fields that a change can have; a former group goes by its id here.

    What no field can have had is left out: it would be shown to whoever looks back.

    Raises:
        TooLarge: `archive.too_large`, more than 64 KiB.
    """
    changes = {name: value for name, value in changes.items() if name in FORMER and is_former(name, value)}
    if len(json.dumps(changes, ensure_ascii=False).encode()) > MOST_CHANGES_BYTES:
        raise TooLarge("The former values of a version are larger than what is taken.", code="archive.too_large")
    kind, _, group = str(changes.get("scope", "")).partition(":")
    if kind not in (Visibility.SQUAD, Visibility.PROJECT):
        return changes
    here = places.groups.get(group)
    if here is None:
        return {name: value for name, value in changes.items() if name != "scope"}
    return {**changes, "scope": f"{kind}:{here[0]}"}


def _actor(places: Places, value: Any) -> str:
    """Give who changed a memory, an agent by its id here."""
    kind, _, agent = str(value).partition(":")
    if kind == "agent":
        here = places.agent(agent)
        return f"agent:{here}" if here else "agent"
    return kind if kind in ("person", "operator", "system") else "import"


def _use(hanging: _Hanging, row: Memory, line: Record) -> MemoryAccess:
    return MemoryAccess(
        owner_id=row.owner_id,
        memory_id=row.pk,
        access_count=count_of(line, "access_count"),
        last_accessed=moment_of(line, "last_accessed", latest=hanging.moment),
    )


def _claim(hanging: _Hanging, row: Memory, line: Record) -> MemoryClaim | None:
    slot, value, polarity = line.get("slot"), line.get("value"), line.get("polarity")
    if not isinstance(slot, int) or not isinstance(value, int) or polarity not in (1, -1):
        return None
    if not all(-MOST_CLAIM <= one < MOST_CLAIM for one in (slot, value)):
        return None
    return MemoryClaim(
        owner_id=row.owner_id,
        memory_id=row.pk,
        scope=row.scope,
        slot=slot,
        value=value,
        polarity=polarity,
        single=line.get("single") is True,
    )


_BUILDERS: Final[Mapping[str, Callable[[_Hanging, Memory, Record], Any]]] = {
    "sources": _source,
    "versions": _version,
    "uses": _use,
    "claims": _claim,
}
