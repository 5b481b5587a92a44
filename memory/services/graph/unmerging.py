"""Taking a merge of two entities back: both are again what they were, and what came since stays with the one kept."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import Conflict
from memory.graph.labels import SINGLE_VALUED
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
    Memory,
    NameKind,
    Relation,
    TemporalEvent,
)
from memory.services.actors import Actor, Permission
from memory.services.audit.recording import record as record_act
from memory.services.clock import now
from memory.services.graph.merging import visible_merge
from memory.services.graph.naming import name_anew
from memory.services.graph.row_records import Record, rebuilt, recorded
from memory.services.graph.writing import change_graph

AS_BEFORE = ("importance", "stated", "first_seen", "last_seen")


def undo_merge(*, actor: Actor, merge_id: UUID, permission: Permission = Permission.REVIEW) -> EntityMerge:
    """Take a merge back.

    The entity that went is there again under its id, with its names, mentions, relations, events and causes; the other
    one is as it was. What was said since of the one that stayed is left there, and what memories that were erased since
    spoke for does not come back.

    Raises:
        NotFound: not there or hidden.
        Conflict: `merge.undone`, it was taken back already; `merge.later`, the kept entity was merged into another one
            since, which has to be undone first; `alias.taken`, another entity has taken one of the names.
        PermissionRefused: the permission lacks.
    """
    actor.require(permission)
    moment = now()
    with change_graph(actor, now=moment):
        row = visible_merge(actor, merge_id)
        record: Record = row.record
        if row.undone_at is not None:
            raise Conflict("The merge was undone already. Nothing was changed.", code="merge.undone")
        if str(row.kept_id) != record["kept"]:
            raise Conflict(
                "The entity was merged into another one since. Undo that merge first.",
                code="merge.later",
                entity_id=str(row.kept_id),
            )
        ring = keyring().of(actor.owner_id)
        kept: Entity = Entity.objects.get(pk=row.kept_id)
        gone = rebuilt(Entity, record["merged"])
        _give_back(kept, record)
        _refuse_taken(ring, gone, kept)
        gone.save(force_insert=True)
        kept.save()
        name_anew(kept, ring)
        name_anew(gone, ring)
        _put_back_mentions(kept, gone, record)
        _put_back_relations(kept, gone, record, row.merged_at, moment)
        _put_back_happenings(kept, gone, record)
        _put_back_decisions(kept, gone, record)
        row.undone_at = moment
        # What it was undone with is of no more use, and holds names.
        row.record = {"kept": record["kept"]}
        row.save(update_fields=["undone_at", "record"])
        record_act(actor=actor.label, verb="unmerge", object_kind="entity", object_id=kept.pk, at=moment)
        return row


def _give_back(kept: Entity, record: Record) -> None:
    """Take off the kept entity what it had from the other, where nobody has changed it since."""
    before, after = record["kept_before"], record["kept_after"]
    added = {canonical(name) for name in record["names_added"]}
    aliases = [alias for alias in kept.aliases or () if canonical(alias) not in added]
    kept.aliases = aliases or (None if before["aliases"] is None else [])
    kept.mention_count = max(kept.mention_count - (after["mention_count"] - before["mention_count"]), 0)
    current = recorded(kept)
    former = rebuilt(Entity, before)
    for name in AS_BEFORE:
        if current[name] == after[name]:
            setattr(kept, name, getattr(former, name))
    if kept.properties == after["properties"]:
        kept.properties = before["properties"]
        return
    mine = before["properties"] or {}
    theirs = {key: value for key, value in (record["merged"]["properties"] or {}).items() if key not in mine}
    kept.properties = {
        key: value for key, value in (kept.properties or {}).items() if key not in theirs or theirs[key] != value
    } or None


def _refuse_taken(ring: OwnerRing, gone: Entity, kept: Entity) -> None:
    hashes = {name_hash(ring, name) for name in (gone.name, *(gone.aliases or ()))}
    mine = {name_hash(ring, name) for name in (kept.name, *(kept.aliases or ()))} if gone.type == kept.type else set()
    others = EntityName.objects.filter(
        kind__in=[NameKind.CANONICAL, NameKind.ALIAS], name__in=sorted(hashes), scope=gone.scope, type=gone.type
    ).exclude(entity_id=kept.pk)
    if hashes & mine or others.exists():
        raise Conflict(
            "Another entity of this type bears one of the names now. Nothing was changed.", code="alias.taken"
        )


def _put_back_mentions(kept: Entity, gone: Entity, record: Record) -> None:
    there = _there(Memory, record["mentions"])
    EntityMention.objects.bulk_create(
        [EntityMention(entity_id=gone.pk, memory_id=memory_id) for memory_id in sorted(there)]
    )
    added = [UUID(memory_id) for memory_id in record["mentions_added"]]
    EntityMention.objects.filter(entity_id=kept.pk, memory_id__in=added).delete()


def _put_back_relations(kept: Entity, gone: Entity, record: Record, merged_at: datetime, moment: datetime) -> None:
    moving = {UUID(pk) for _, pk in record["relations_moved"]}
    for change in reversed(record["relations_changed"]):
        GraphEvidence.objects.filter(pk__in=[UUID(pk) for pk in change["reasons"]]).delete()
        standing = Relation.objects.filter(pk=UUID(change["before"]["id"])).first()
        former = rebuilt(Relation, change["before"])
        # One that was strengthened, ended or replaced since stays as it is now.
        if standing is not None and recorded(standing) == change["after"] and not _replaced(standing, former, moving):
            former.save(force_update=True)
    for end, pk in reversed(record["relations_moved"]):
        row = Relation.objects.filter(pk=UUID(pk), **{f"{end}_id": kept.pk}).first()
        if row is not None:
            setattr(row, f"{end}_id", gone.pk)
            row.save(update_fields=[end])
    for dropped in record["relations_dropped"]:
        _put_back(dropped, merged_at, moment)


def _replaced(standing: Relation, former: Relation, moving: set[UUID]) -> bool:
    """Tell whether a relation that the merge ended would hold again beside one that has taken its place since."""
    if standing.valid_until is None or former.valid_until is not None:
        return False
    others = Relation.objects.filter(
        scope=former.scope,
        source_id=former.source_id,
        label_hash=former.label_hash,
        valid_until=None,
        retracted_at=None,
    ).exclude(pk__in=moving)
    if former.label not in SINGLE_VALUED:
        others = others.filter(target_id=former.target_id)
    return bool(others.exists())


def _put_back(dropped: Record, merged_at: datetime, moment: datetime) -> None:
    row = rebuilt(Relation, dropped["relation"])
    if len(_there(Entity, [str(row.source_id), str(row.target_id)])) < 2:
        return
    reasons = [rebuilt(GraphEvidence, reason) for reason in dropped["evidence"]]
    there = _there(Memory, [str(reason.memory_id) for reason in reasons if reason.memory_id])
    left = [reason for reason in reasons if reason.memory_id is None or reason.memory_id in there]
    if reasons and not left:
        return
    _end_where_passed(row, merged_at, moment)
    row.save(force_insert=True)
    for reason in left:
        reason.save(force_insert=True)


def _end_where_passed(row: Relation, merged_at: datetime, moment: datetime) -> None:
    """End a relation that the merge dropped where its source has another target of a label with one at a time since.

    It held until that one began; beside one that began before, no longer than a moment.
    """
    if row.valid_until is not None or row.retracted_at is not None or row.label not in SINGLE_VALUED:
        return
    others = Relation.objects.filter(
        scope=row.scope,
        source_id=row.source_id,
        label_hash=row.label_hash,
        valid_until=None,
        retracted_at=None,
        recorded_at__gt=merged_at,
    )
    since = others.order_by("valid_from").values_list("valid_from", flat=True).first()
    if since is not None:
        row.valid_until, row.closed_at = max(since, row.valid_from), moment


def _put_back_happenings(kept: Entity, gone: Entity, record: Record) -> None:
    there = _there(TemporalEvent, record["events"])
    EventParticipant.objects.bulk_create(
        [EventParticipant(event_id=event_id, entity_id=gone.pk) for event_id in sorted(there)]
    )
    added = [UUID(event_id) for event_id in record["events_added"]]
    EventParticipant.objects.filter(entity_id=kept.pk, event_id__in=added).delete()
    for end, pk in record["causes"]:
        CausalLink.objects.filter(pk=UUID(pk), **{f"{end}_id": kept.pk}).update(**{f"{end}_id": gone.pk})


def _put_back_decisions(kept: Entity, gone: Entity, record: Record) -> None:
    decided = {UUID(other): datetime.fromisoformat(moment) for other, moment in record["apart"]}
    there = _there(Entity, [str(other) for other in decided])
    EntitiesApart.objects.bulk_create(
        [
            EntitiesApart(first_id=min(gone.pk, other), second_id=max(gone.pk, other), decided_at=decided[other])
            for other in sorted(there)
        ]
    )
    for other in (UUID(one) for one in record["apart_added"]):
        EntitiesApart.objects.filter(first_id=min(kept.pk, other), second_id=max(kept.pk, other)).delete()
    earlier = [UUID(pk) for pk in record["merges"]]
    EntityMerge.objects.filter(pk__in=earlier, kept_id=kept.pk).update(kept_id=gone.pk)


def _there(model: Any, ids: Iterable[str]) -> set[UUID]:
    """Give those of some rows that are still there."""
    return set(model.objects.filter(pk__in=[UUID(one) for one in ids]).values_list("pk", flat=True))
