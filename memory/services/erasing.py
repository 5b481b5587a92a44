"""Erasing memories for good: the rows, what was drawn from them alone, and what the graph and reviews hold of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.models import Memory, MemorySource, Skill, SkillDependency, Status
from memory.services.audit.recording import record
from memory.services.consolidation.derived import summaries_quoting
from memory.services.graph.erasing import forget_in_graph
from memory.services.graph.merge_erasing import forget_merges
from memory.services.remains import close_remains
from memory.services.reviews import forget_reviews
from memory.services.writing import remove_from_indexes


def erase_memories(
    memory_ids: Sequence[UUID],
    *,
    at: datetime,
    actor: str,
    reason: str = "",
    event_id: UUID | None = None,
    with_live: bool = True,
    in_purge: bool = False,
) -> list[UUID]:
    """Erase memories of the current owner, with those that were drawn from them and from nothing else.

    Call it within the owner's scope, after `take_turn` and with the rows locked. Versions, sources, labels, uses,
    links, mentions, claims, evidence and failures go with the rows, by foreign keys.

    Args:
        memory_ids: which.
        at: the moment that counts as now.
        actor: who erases them, for the audit.
        reason: why, a code for the audit.
        event_id: what the audit names as the object, where several erasures belong together.
        with_live: whether what was drawn from them goes although it is live or superseded, and the summaries that quote
            them. Where time alone erases an archive it does not: what is known stays known.
        in_purge: as for `close_remains`.

    Returns:
        The ids of all that was erased, those that were named first.
    """
    if not memory_ids:
        return []
    gone = gone_with(memory_ids) if with_live else [*memory_ids, *drawn_from_nothing_else(memory_ids, with_live=False)]
    remove_from_indexes(gone)
    forget_in_graph(gone)
    forget_merges(gone)
    forget_reviews(gone)
    close_remains(gone, in_purge=in_purge)
    # Skills that need one which goes do without it; the database would refuse to take it from them.
    SkillDependency.objects.filter(needs_id__in=Skill.objects.filter(memory_id__in=gone).values("pk")).delete()
    Memory.objects.filter(pk__in=gone).delete()
    record(
        actor=actor,
        verb="erase",
        object_kind="memory",
        object_id=event_id,
        reason=reason,
        count=len(gone),
        at=at,
    )
    return gone


def gone_with(memory_ids: Sequence[UUID]) -> list[UUID]:
    """List memories that are about to be erased with all that goes with them: what rests on nothing else, and summaries
    that quote them. Sessions whose summaries go are marked to be summed up anew.
    """
    found = dict.fromkeys(memory_ids)
    fresh = list(found)
    while fresh:
        near = [*drawn_from_nothing_else(list(found)), *summaries_quoting(fresh)]
        fresh = [one for one in dict.fromkeys(near) if one not in found]
        found.update(dict.fromkeys(fresh))
    return list(found)


def would_go_with(memory_ids: Sequence[UUID]) -> set[UUID]:
    """Find what would go with some memories if they were erased, and change nothing."""
    with transaction.atomic():
        found = set(gone_with(memory_ids)) - set(memory_ids)
        transaction.set_rollback(True)
    return found


def drawn_from_nothing_else(memory_ids: Sequence[UUID], *, with_live: bool = True) -> list[UUID]:
    """List the memories that were drawn from some memories, or in turn from those, and from nothing else.

    Args:
        memory_ids: what is about to go.
        with_live: whether live and superseded ones count, or archived ones only.
    """
    gone, fresh, found = set(memory_ids), set(memory_ids), list[UUID]()
    while fresh:
        dependent = set(MemorySource.objects.filter(turn_id__in=fresh).values_list("memory_id", flat=True)) - gone
        supported = MemorySource.objects.filter(memory_id__in=dependent).exclude(turn_id__in=gone)
        bereft = dependent - set(supported.values_list("memory_id", flat=True))
        if not with_live:
            archived = Memory.objects.filter(pk__in=bereft, status=Status.ARCHIVED)
            bereft = set(archived.values_list("pk", flat=True))
        fresh = bereft
        gone |= fresh
        found += sorted(fresh)
    return found
