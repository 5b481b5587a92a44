"""Making two entities one: everything that is said of the second is said of the first, and can be taken apart again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput, NotFound, TooLarge
from memory.graph.labels import SINGLE_VALUED, label_hash
from memory.graph.names import canonical, name_hash
from memory.models import (
    CausalLink,
    EntitiesApart,
    Entity,
    EntityMention,
    EntityMerge,
    EntityName,
    EventParticipant,
    GraphEvidence,
    NameKind,
    Relation,
    owner_scope,
)
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.entities import visible_entity
from memory.services.graph.naming import name_anew
from memory.services.graph.row_records import Record, recorded
from memory.services.graph.standing import STRENGTHENED
from memory.services.graph.writing import change_graph, checked_properties

MOST_NAMES: Final = 200
"""Names and aliases that a merged entity may have; entities that take more than that from others are not one."""

BY_HAND: Final = "by_hand"


@dataclass(slots=True)
class _Merge:
    kept: Entity
    gone: Entity
    moment: datetime
    record: dict[str, Any]


def merge_two(
    *,
    actor: Actor,
    kept_id: UUID,
    merged_id: UUID,
    rule: str = BY_HAND,
    score: float | None = None,
    permission: Permission = Permission.REVIEW,
) -> EntityMerge:
    """Let one entity stand for two.

    Mentions, relations, events, causes, names and aliases of the second become those of the first. A relation between
    the two goes; of two open relations that say the same the first one is strengthened and takes the reasons of the
    other; where a label has one target at a time, what began earlier ends when the later one began. Ended relations
    stay as they are. All of it is kept, so that `undo_merge` can put it back.

    Args:
        actor: who says that they are one.
        kept_id: the entity that stays.
        merged_id: the entity that goes.
        rule: why, the code of a rule.
        score: how likely, where a rule said so.
        permission: what the actor needs.

    Raises:
        NotFound: one of them is not there or hidden.
        InvalidInput: `entities.pair`, they are one already or stand for different scopes.
        Conflict: `merge.apart`, a person has kept them apart and this is not a person's doing; `merge.too_many_names`.
        PermissionRefused: the permission lacks.
    """
    actor.require(permission)
    moment = now()
    with change_graph(actor, now=moment):
        kept, gone = visible_entity(actor, kept_id), visible_entity(actor, merged_id)
        _refuse(actor, kept, gone)
        work = _Merge(
            kept, gone, moment, {"kept": str(kept.pk), "merged": recorded(gone), "kept_before": recorded(kept)}
        )
        row = EntityMerge(
            kept_id=kept.pk,
            merged_id=gone.pk,
            score=score,
            rule=rule,
            actor=actor.label,
            merged_at=moment,
            visibility=kept.visibility,
            scope=kept.scope,
        )
        _move_mentions(work)
        _move_relations(work)
        _move_happenings(work)
        _move_decisions(work)
        _take_over(actor, work)
        work.record["kept_after"] = recorded(work.kept)
        row.record = work.record
        row.save(force_insert=True)
        record(actor=actor.label, verb="merge", object_kind="entity", object_id=kept.pk, reason=rule, at=moment)
        return row


@reads("merges", of="entity_id")
def list_merges(
    *,
    actor: Actor,
    entity_id: UUID | None = None,
    after: tuple[datetime, UUID] | None = None,
    size: int = 50,
) -> list[EntityMerge]:
    """List merges that the actor may see, undone ones too, the newest first; those into one entity when it is named."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        rows = EntityMerge.objects.all()
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        if entity_id is not None:
            visible_entity(actor, entity_id)
            rows = rows.filter(kept_id=entity_id)
        if after is not None:
            rows = rows.filter(Q(merged_at__lt=after[0]) | Q(merged_at=after[0], pk__lt=after[1]))
        found = list(rows.order_by("-merged_at", "-pk")[:size])
        kept = Entity.objects.in_bulk([row.kept_id for row in found])
        for row in found:
            row.kept = kept[row.kept_id]
        return found


def visible_merge(actor: Actor, merge_id: UUID) -> EntityMerge:
    """Give a merge that the actor may see, within its owner's scope; raises NotFound otherwise."""
    row: EntityMerge | None = EntityMerge.objects.filter(pk=merge_id).first()
    if row is None or not actor.may_read(row.scope):
        raise NotFound("There is no merge with this id here.")
    return row


def _refuse(actor: Actor, kept: Entity, gone: Entity) -> None:
    if kept.pk == gone.pk or kept.scope != gone.scope:
        raise InvalidInput("Name two different entities of one scope.", code="entities.pair", field="other")
    pair = sorted((kept.pk, gone.pk))
    apart = EntitiesApart.objects.filter(first_id=pair[0], second_id=pair[1]).exists()
    if apart and actor.kind == "system":
        raise Conflict("A person has kept these entities apart. Nothing was changed.", code="merge.apart")
    if len(_names(kept) | _names(gone)) > MOST_NAMES:
        raise Conflict(
            f"Together they have more than {MOST_NAMES} names. Nothing was changed.", code="merge.too_many_names"
        )


def _names(row: Entity) -> set[str]:
    return {canonical(name) for name in (row.name, *(row.aliases or ()))}


def _move_mentions(work: _Merge) -> None:
    mine = set(EntityMention.objects.filter(entity_id=work.kept.pk).values_list("memory_id", flat=True))
    other = sorted(EntityMention.objects.filter(entity_id=work.gone.pk).values_list("memory_id", flat=True))
    added = [memory_id for memory_id in other if memory_id not in mine]
    EntityMention.objects.bulk_create(
        [EntityMention(entity_id=work.kept.pk, memory_id=memory_id) for memory_id in added]
    )
    work.record["mentions"] = [str(memory_id) for memory_id in other]
    work.record["mentions_added"] = [str(memory_id) for memory_id in added]
    work.kept.mention_count += max(work.gone.mention_count - (len(other) - len(added)), 0)


def _move_relations(work: _Merge) -> None:
    ends = (work.kept.pk, work.gone.pk)
    between = list(Relation.objects.filter(source_id__in=ends, target_id__in=ends).order_by("pk"))
    dropped: list[Record] = [_drop(row) for row in between]
    changed: list[Record] = []
    moved: list[list[str]] = []
    for end in ("source", "target"):
        for row in list(Relation.objects.filter(**{f"{end}_id": work.gone.pk}).order_by("pk")):
            standing = _open_like(row, end, work.kept.pk)
            if standing is not None:
                before, reasons = recorded(standing), _fold(standing, row)
                changed.append({"before": before, "after": recorded(standing), "reasons": reasons})
                dropped.append(_drop(row))
                continue
            setattr(row, f"{end}_id", work.kept.pk)
            row.save(update_fields=[end])
            moved.append([end, str(row.pk)])
    changed += _end_former(work)
    work.record |= {"relations_dropped": dropped, "relations_changed": changed, "relations_moved": moved}


def _open_like(row: Relation, end: str, kept_id: UUID) -> Relation | None:
    """Give the open relation of the kept entity that says the same as an open one of the other."""
    if row.valid_until is not None or row.retracted_at is not None:
        return None
    other = "target" if end == "source" else "source"
    found: Relation | None = Relation.objects.filter(
        **{f"{end}_id": kept_id, f"{other}_id": getattr(row, f"{other}_id")},
        scope=row.scope,
        label_hash=row.label_hash,
        valid_until=None,
        retracted_at=None,
    ).first()
    return found


def _drop(row: Relation) -> Record:
    """Take a relation out and give all of it; its reasons that nothing took over go with it."""
    reasons = [recorded(reason) for reason in GraphEvidence.objects.filter(relation_id=row.pk).order_by("pk")]
    record = {"relation": recorded(row), "evidence": reasons}
    row.delete()
    return record


def _fold(standing: Relation, row: Relation) -> list[str]:
    """Strengthen a relation by one that says the same; give the ids of the reasons that it took over."""
    taken: list[str] = []
    known = set(GraphEvidence.objects.filter(relation_id=standing.pk).values_list("memory_id", flat=True))
    for reason in list(GraphEvidence.objects.filter(relation_id=row.pk).order_by("pk")):
        if reason.memory_id not in known:
            copy = GraphEvidence(
                relation_id=standing.pk,
                memory_id=reason.memory_id,
                text=reason.text,
                scope=reason.scope,
                sealed_for=reason.sealed_for,
                created_at=reason.created_at,
            )
            copy.save(force_insert=True)
            taken.append(str(copy.pk))
    standing.weight = min(1.0, max(standing.weight, row.weight) + STRENGTHENED)
    standing.confidence = max(standing.confidence, row.confidence)
    standing.valid_from = min(standing.valid_from, row.valid_from)
    standing.last_seen = max(standing.last_seen, row.last_seen)
    standing.save(update_fields=["weight", "confidence", "valid_from", "last_seen"])
    return taken


def _end_former(work: _Merge) -> list[Record]:
    """End what the kept entity cannot be at the same time: of a label with one target, all but what began last."""
    rows = Relation.objects.filter(
        source_id=work.kept.pk, scope=work.kept.scope, valid_until=None, retracted_at=None
    ).order_by("valid_from", "pk")
    by_label: dict[int, list[Relation]] = {}
    ring = keyring().of(work.kept.owner_id)
    single = {label_hash(ring, label) for label in SINGLE_VALUED}
    for row in rows.filter(label_hash__in=sorted(single)):
        by_label.setdefault(row.label_hash, []).append(row)
    changed: list[Record] = []
    for standing in by_label.values():
        for row in standing[:-1]:
            before = recorded(row)
            row.valid_until, row.closed_at = standing[-1].valid_from, work.moment
            row.save(update_fields=["valid_until", "closed_at"])
            changed.append({"before": before, "after": recorded(row), "reasons": []})
    return changed


def _move_happenings(work: _Merge) -> None:
    mine = set(EventParticipant.objects.filter(entity_id=work.kept.pk).values_list("event_id", flat=True))
    other = sorted(EventParticipant.objects.filter(entity_id=work.gone.pk).values_list("event_id", flat=True))
    added = [event_id for event_id in other if event_id not in mine]
    EventParticipant.objects.bulk_create(
        [EventParticipant(event_id=event_id, entity_id=work.kept.pk) for event_id in added]
    )
    work.record["events"] = [str(event_id) for event_id in other]
    work.record["events_added"] = [str(event_id) for event_id in added]
    causes: list[list[str]] = []
    for end in ("cause_entity", "effect_entity"):
        rows = CausalLink.objects.filter(**{f"{end}_id": work.gone.pk})
        causes += [[end, str(pk)] for pk in sorted(rows.values_list("pk", flat=True))]
        rows.update(**{f"{end}_id": work.kept.pk})
    work.record["causes"] = causes


def _move_decisions(work: _Merge) -> None:
    """Let what was decided about the entity that goes count for the one that stays."""
    gone, kept = work.gone.pk, work.kept.pk
    rows = list(EntitiesApart.objects.filter(Q(first_id=gone) | Q(second_id=gone)))
    work.record["apart"] = [
        [str(row.second_id if row.first_id == gone else row.first_id), row.decided_at.isoformat()] for row in rows
    ]
    others = {(row.second_id if row.first_id == gone else row.first_id): row.decided_at for row in rows}
    known = {
        first if second == kept else second
        for first, second in EntitiesApart.objects.filter(Q(first_id=kept) | Q(second_id=kept)).values_list(
            "first_id", "second_id"
        )
    }
    added = sorted(set(others) - known - {kept})
    EntitiesApart.objects.bulk_create(
        [
            EntitiesApart(first_id=min(kept, other), second_id=max(kept, other), decided_at=others[other])
            for other in added
        ]
    )
    work.record["apart_added"] = [str(other) for other in added]
    earlier = EntityMerge.objects.filter(kept_id=gone)
    work.record["merges"] = [str(pk) for pk in sorted(earlier.values_list("pk", flat=True))]
    earlier.update(kept_id=kept)


def _take_over(actor: Actor, work: _Merge) -> None:
    """Give the kept entity the names and the facts of the other, and take that one out."""
    kept, gone = work.kept, work.gone
    own = _names(kept)
    fresh = {canonical(name): name for name in (gone.name, *(gone.aliases or ()))}
    gone.delete()
    free = _free(actor, kept, [name for spelled, name in fresh.items() if spelled not in own])
    work.record["names_added"] = free
    if free:
        kept.aliases = [*(kept.aliases or ()), *free]
    kept.properties = _with_properties(kept.properties or {}, gone.properties or {}) or None
    kept.importance = max(kept.importance, gone.importance)
    kept.stated = kept.stated or gone.stated
    kept.first_seen, kept.last_seen = min(kept.first_seen, gone.first_seen), max(kept.last_seen, gone.last_seen)
    kept.save()
    name_anew(kept, keyring().of(actor.owner_id))


def _with_properties(own: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Add the properties of the other entity that there is room for; the record of the merge keeps all of them."""
    joined = dict(own)
    for name in sorted(set(other) - set(own)):
        with suppress(TooLarge):
            joined = checked_properties({**joined, name: other[name]}) or joined
    return joined


def _free(actor: Actor, kept: Entity, names: Sequence[str]) -> list[str]:
    """Give those names that no other entity of the kept one's type and scope bears; they differ where types do."""
    ring = keyring().of(actor.owner_id)
    hashes = {name_hash(ring, name): name for name in names}
    borne = EntityName.objects.filter(
        kind__in=[NameKind.CANONICAL, NameKind.ALIAS],
        name__in=sorted(hashes),
        scope=kept.scope,
        type=kept.type,
    ).exclude(entity_id=kept.pk)
    taken = set(borne.values_list("name", flat=True))
    return [name for hashed, name in hashes.items() if hashed not in taken]
