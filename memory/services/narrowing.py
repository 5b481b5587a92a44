"""Making a memory visible to fewer: what was drawn from it alone follows it, and the graph no longer tells of it.

Who may no longer read a memory would otherwise go on reading its facts, what only it says in the graph, and the
summaries that quote it. The graph's part goes and is drawn anew, from the same words, for those who may read them now.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q

from memory.models import (
    EntityMention,
    GraphEvidence,
    Memory,
    MemoryClaim,
    MemorySource,
    MemoryVersion,
    Reflection,
    Skill,
    SkillState,
    Status,
    Visibility,
    current_owner,
)
from memory.models.encrypted import reseal
from memory.services.actors import Actor, Target, written_scope
from memory.services.audit.recording import record
from memory.services.consolidation.derived import made_here, summaries_quoting
from memory.services.erasing import erase_memories
from memory.services.graph.entities import mention
from memory.services.graph.erasing import forget_in_graph
from memory.services.graph.merge_erasing import forget_merges
from memory.services.graph.turn import take_turn
from memory.services.reviews import forget_reviews
from memory.services.token_vectors import reseal_token_vectors
from memory.services.writing import move_scope, remove_from_indexes

REASON: Final = "source made private"
"""Why a derived memory is archived that says what another one says where its source went."""


def is_narrower(row: Memory, target: Target) -> bool:
    """Tell whether somebody who may read a memory might no longer do so in another scope.

    An agent's private memory can only become visible to more, and what the whole owner may read is hidden from nobody.
    From one squad or project to another counts, whoever belongs to both.
    """
    private = row.visibility == Visibility.AGENT
    return not private and target.visibility != Visibility.OWNER and target.scope != row.scope


def lock_with_drawn(memory_id: UUID, *, scope: UUID, at: datetime) -> list[UUID]:
    """Take the owner's turn at the graph, then lock a memory and what rests on it alone, in the order of all writers.

    Args:
        memory_id: the memory that is to be made private.
        scope: the scope that it leaves; what was drawn in others stays where it is.
        at: the moment that counts as now.

    Returns:
        What was drawn in this scope and rests on nothing else there, of any status, summaries among it. Sources that
        have left the scope before speak for nothing in it any more.
    """
    take_turn(at=at)
    drawn = _drawn_from_it_alone(memory_id, scope)
    list(Memory.objects.select_for_update().filter(pk__in=[memory_id, *drawn]).order_by("pk").values_list("pk"))
    return drawn


def _drawn_from_it_alone(memory_id: UUID, scope: UUID) -> list[UUID]:
    gone, fresh = {memory_id}, {memory_id}
    while fresh:
        drawn = MemorySource.objects.filter(turn_id__in=fresh, memory__scope=scope).exclude(memory_id__in=gone)
        dependent = set(drawn.values_list("memory_id", flat=True))
        readable = Q(turn=None) | Q(turn__scope__in=[scope, current_owner()])
        others = MemorySource.objects.filter(readable, memory_id__in=dependent).exclude(turn_id__in=gone)
        fresh = dependent - set(others.values_list("memory_id", flat=True))
        gone |= fresh
    return sorted(gone - {memory_id})


def take_along(row: Memory, drawn: Sequence[UUID], *, left: UUID, target: Target, actor: Actor, at: datetime) -> None:
    """Let what rests on a memory follow it into a narrower scope; call it once its own row is saved there.

    Derived memories of the scope that it left are moved; one that says what a live memory says there already is moved
    into the archive. Summaries that quote it are erased, and the next run sums up what is left. What nothing but these
    memories speaks for goes from the graph, and the memory is marked to be drawn from anew.

    Args:
        row: the memory, locked.
        drawn: what `lock_with_drawn` gave.
        left: the scope that it had.
        target: the scope that it has now.
        actor: who changed it, for the audit.
        at: the moment that counts as now.
    """
    _erase_summaries([row.pk, *drawn], left, actor, at)
    rows = list(Memory.objects.filter(pk__in=drawn, scope=left).order_by("pk"))
    moved = [row.pk, *(one.pk for one in rows)]
    forget_in_graph(moved)
    forget_merges(moved)
    forget_reviews(moved)
    derived = [one for one in (row, *rows) if made_here(one)]
    _hide_mentions(moved, kept_by=[one.pk for one in derived], target=target)
    GraphEvidence.objects.filter(memory_id__in=moved).delete()
    for one in rows:
        _move(one, target, actor, at)
    MemoryClaim.objects.filter(memory_id__in=moved).update(scope=target.scope)
    if row not in derived:
        row.extracted_at = None
        row.save(update_fields=["extracted_at"])
    if rows:
        record(
            actor=actor.label, verb="narrow", object_kind="memory", object_id=row.pk, reason=REASON, count=len(rows),
            at=at,
        )  # fmt: skip


def _erase_summaries(memory_ids: Sequence[UUID], scope: UUID, actor: Actor, at: datetime) -> None:
    quoting = summaries_quoting(memory_ids)
    gone = list(Memory.objects.filter(pk__in=quoting, scope=scope).order_by("pk").values_list("pk", flat=True))
    erase_memories(gone, at=at, actor=actor.label, reason=REASON)


def _hide_mentions(memory_ids: Sequence[UUID], *, kept_by: Sequence[UUID], target: Target) -> None:
    """Take mentions away, but for those of entities that memories of the new scope may name, of memories that are not
    drawn from again.
    """
    mentions = EntityMention.objects.filter(memory_id__in=memory_ids)
    nameable = mentions.filter(memory_id__in=kept_by, entity__scope__in=[target.scope, current_owner()])
    kept = list(nameable.order_by("entity_id", "memory_id").values_list("entity_id", "memory_id"))
    mentions.delete()
    # What goes with memories is off the counts of entities already, so that these are counted again.
    mention(kept)


def _move(row: Memory, target: Target, actor: Actor, at: datetime) -> None:
    sealed_for = row.sealing_agent_id
    MemoryVersion.objects.create(
        memory_id=row.pk,
        number=row.version,
        text=row.text,
        changes={"scope": written_scope(row.visibility, row.group_id)},
        actor=actor.label,
        sealed_for=sealed_for,
        scope=row.scope,
        reason=REASON,
        created_at=at,
    )
    reseal(row)
    row.visibility, row.scope, row.group_id = target.visibility, target.scope, target.group_id
    if target.visibility == Visibility.AGENT:
        # The agent whose own key seals the row, since none but it may read it.
        row.agent_id = target.scope
    row.updated_at, row.version = at, row.version + 1
    free = _take_numbers_along(row, target)
    if not free or not _saved(row):
        _archive(row, at)
    else:
        move_scope(row)
        reseal_token_vectors(row, sealed_for=sealed_for)


def _saved(row: Memory) -> bool:
    """Save a row; gives False where another live memory of the scope says the same."""
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        if "memory_statement_once" not in str(error):
            raise
        return False
    return True


def _archive(row: Memory, at: datetime) -> None:
    remove_from_indexes([row.pk])
    if row.status in (Status.LIVE, Status.SUPERSEDED):
        row.status, row.archived_at, row.archive_reason = Status.ARCHIVED, at, REASON
    row.save()


def _take_numbers_along(row: Memory, target: Target) -> bool:
    """Move the skill or the numbers of a reflection that a memory is; gives False where the scope has another such."""
    free = True
    for skill in Skill.objects.filter(memory_id=row.pk):
        reseal(skill)
        skill.visibility, skill.scope = target.visibility, target.scope
        same = Skill.objects.filter(scope=target.scope, name_hash=skill.name_hash).exclude(state=SkillState.ARCHIVED)
        if skill.state != SkillState.ARCHIVED and same.exists():
            skill.state, free = SkillState.ARCHIVED, False
        skill.save()
    for numbers in Reflection.objects.filter(memory_id=row.pk):
        if Reflection.objects.filter(scope=target.scope, pattern_hash=numbers.pattern_hash).exists():
            numbers.delete()
            free = False
            continue
        reseal(numbers)
        numbers.scope = target.scope
        numbers.sealed_for = row.sealing_agent_id
        numbers.save()
    return free
