"""Where memories came from: which of them rest on a source alone, and taking a source off the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Count, QuerySet

from memory.crypto.keyring import OwnerRing
from memory.models import LabelKind, Memory, MemoryLabel, MemorySource, MemoryVersion
from memory.services.announcing import memories_changed
from memory.services.drafts import source_segments

PAGE: Final = 1_000


@dataclass(slots=True)
class Provenance:
    """What a source has given.

    Attributes:
        forgotten: memories that came from it and from nowhere else, in order.
        drawn: memories that rest on those, and on nothing else.
        staying: memories for which others speak too, with the rows of `MemorySource` that they lose.
    """

    forgotten: list[UUID] = field(default_factory=list)
    drawn: list[UUID] = field(default_factory=list)
    staying: dict[UUID, set[UUID]] = field(default_factory=dict)

    @property
    def everything(self) -> list[UUID]:
        """Give all memories that are forgotten."""
        return [*self.forgotten, *self.drawn]

    @property
    def lost(self) -> int:
        """Count the sources that are lost by memories that stay."""
        return sum(len(rows) for rows in self.staying.values())


def _is_below(source: str | None, label: int, ring: OwnerRing) -> bool:
    """Tell whether a source is the one that a hash names, or lies below it: `user:al/chat` lies below `user:al`."""
    return bool(source) and any(ring.name(segment) == label for segment in source_segments(source or ""))


def of_provenance(prefix: str, *, ring: OwnerRing, rows: QuerySet[Memory]) -> Provenance:
    """Find what came from a source, within the owner's scope.

    A memory's first statement counts as coming from what the memory names as its source now, which may have been
    corrected; each further one from what it named. Memories that were stated once are found by the keyed hash of the
    source; the statements of those that were stated again are opened one by one, about 50,000 in a second.

    Args:
        prefix: a source in its compared form, see `memory.services.forgetting.checked_prefix`.
        ring: the owner's keys.
        rows: which memories may be looked at.
    """
    return of_source_hash(ring.name(prefix), ring=ring, rows=rows)


def of_source_hash(label: int, *, ring: OwnerRing, rows: QuerySet[Memory]) -> Provenance:
    """Find what came from a source that only its keyed hash names; see `of_provenance`."""
    allowed = set(rows.values_list("pk", flat=True))
    return resting_on(_named_rows(label, ring, allowed), allowed=allowed)


def resting_on(lost: Mapping[UUID, set[UUID]], *, allowed: Collection[UUID]) -> Provenance:
    """Find what rests on nothing but statements that are to be lost, within the owner's scope.

    Args:
        lost: by memory the rows of `MemorySource` that go; a memory without any other goes itself, with what was drawn
            from it and from nothing else.
        allowed: which memories may go.
    """
    sizes = _sizes(lost)
    found = Provenance(forgotten=sorted(one for one, gone in lost.items() if len(gone) >= sizes.get(one, 0)))
    everything, fresh = set(found.forgotten), set(found.forgotten)
    by_turn: dict[UUID, set[UUID]] = {one: set(gone) for one, gone in lost.items()}
    while fresh:
        dependent = MemorySource.objects.filter(turn_id__in=fresh).values_list("memory_id", "pk")
        touched: set[UUID] = set()
        for memory_id, source_id in dependent:
            if memory_id in allowed and memory_id not in everything:
                by_turn.setdefault(memory_id, set()).add(source_id)
                touched.add(memory_id)
        sizes = _sizes(touched)
        fresh = {one for one in touched if len(by_turn[one]) >= sizes[one]}
        everything |= fresh
        found.drawn += sorted(fresh)
    found.staying = {one: gone for one, gone in lost.items() if one not in everything}
    return found


def lose_sources(
    rows: Sequence[Memory],
    lost: Mapping[UUID, set[UUID]],
    *,
    ring: OwnerRing,
    actor: str,
    at: datetime,
    keep_history: bool,
) -> int:
    """Take sources off memories, which name another one of theirs from then on.

    Args:
        rows: the memories, locked, within the owner's scope.
        lost: for each the rows of `MemorySource` that go.
        ring: the owner's keys.
        actor: who does it, for the history.
        at: the moment that counts as now.
        keep_history: whether the history keeps the name of the source; where not, earlier versions lose it too.

    Returns:
        How many sources went.
    """
    count = 0
    for row in rows:
        standing = list(MemorySource.objects.filter(memory_id=row.pk).order_by("created_at", "pk"))
        rest = [one for one in standing if one.pk not in lost[row.pk]]
        if not rest or len(rest) == len(standing):
            continue
        if not keep_history:
            _scrub_history(row, {one.source for one in standing} - {one.source for one in rest})
        if standing[0].pk in lost[row.pk]:
            _name_source(row, rest[0].source, ring=ring, actor=actor, at=at, keep_history=keep_history)
        count += MemorySource.objects.filter(pk__in=lost[row.pk], memory_id=row.pk).delete()[0]
    return count


def _named_rows(label: int, ring: OwnerRing, allowed: set[UUID]) -> dict[UUID, set[UUID]]:
    """Give the rows of `MemorySource` that the hash of a source names, by memory."""
    labelled = set(MemoryLabel.objects.filter(kind=LabelKind.SOURCE, label=label).values_list("memory_id", flat=True))
    again = MemorySource.objects.order_by().values("memory_id").annotate(times=Count("pk")).filter(times__gt=1)
    several = set(again.values_list("memory_id", flat=True))
    lost: dict[UUID, set[UUID]] = defaultdict(set)
    for part in _pages(sorted((labelled | several) & allowed)):
        named_now = {row.pk: row.source for row in Memory.objects.filter(pk__in=part).only(*_SOURCE_COLUMNS)}
        seen: set[UUID] = set()
        for one in MemorySource.objects.filter(memory_id__in=part).order_by("created_at", "pk"):
            source = one.source if one.memory_id in seen else named_now[one.memory_id]
            seen.add(one.memory_id)
            if _is_below(source, label, ring):
                lost[one.memory_id].add(one.pk)
        # Those whose statements all went with the turns that they stood in.
        lost.update({one: set() for one in part if one not in seen and _is_below(named_now[one], label, ring)})
    return dict(lost)


_SOURCE_COLUMNS: Final = ("id", "owner_id", "visibility", "agent_id", "source")


def _sizes(memory_ids: Iterable[UUID]) -> dict[UUID, int]:
    counted = MemorySource.objects.filter(memory_id__in=list(memory_ids)).order_by().values_list("memory_id")
    return dict(counted.annotate(n=Count("pk")))


def _name_source(
    row: Memory, source: str | None, *, ring: OwnerRing, actor: str, at: datetime, keep_history: bool
) -> None:
    if keep_history:
        MemoryVersion.objects.create(
            memory_id=row.pk,
            number=row.version,
            text=row.text,
            changes={"source": row.source},
            actor=actor,
            sealed_for=row.sealing_agent_id,
            scope=row.scope,
            reason="source forgotten",
            created_at=at,
        )
    row.source, row.updated_at, row.version = source, at, row.version + 1
    row.save(update_fields=["source", "updated_at", "version"])
    memories_changed()
    MemoryLabel.objects.filter(memory_id=row.pk, kind=LabelKind.SOURCE).delete()
    MemoryLabel.objects.bulk_create(
        [
            MemoryLabel(memory_id=row.pk, kind=LabelKind.SOURCE, label=label)
            for label in sorted({ring.name(segment) for segment in source_segments(source or "") if segment})
        ]
    )


def _scrub_history(row: Memory, gone: set[str | None]) -> None:
    for version in MemoryVersion.objects.filter(memory_id=row.pk):
        if version.changes.get("source") in gone - {None}:
            version.changes = {name: value for name, value in version.changes.items() if name != "source"}
            version.save(update_fields=["changes"])


def _pages(ids: Sequence[UUID]) -> Iterable[Sequence[UUID]]:
    for start in range(0, len(ids), PAGE):
        yield ids[start : start + PAGE]
