"""Relations between entities: stating them, ending them, taking them back, and their history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import Conflict, InvalidInput, NotFound
from memory.graph.labels import SINGLE_VALUED, checked_label, label_hash, opposite_hash
from memory.models import GraphEvidence, Memory, Relation, owner_scope
from memory.services.actors import UNSET, Actor, Permission, Target
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.entities import visible_entity
from memory.services.graph.standing import Said, say_relations
from memory.services.graph.writing import (
    Reference,
    change_graph,
    checked_unit,
    entities_by_id,
    evidence_of,
    refuse_too_many,
    resolve,
    source_memory,
    target_of,
)
from memory.text import limits

DIRECTIONS: Final = ("both", "out", "in")


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationDraft:
    """A relation as it came in, before any check.

    Attributes:
        source: the entity that it is said of.
        label: how it stands to the other, an open vocabulary.
        target: the other entity.
        weight: how strong it is, from 0 to 1.
        confidence: how sure it is, from 0 to 1.
        valid_from: since when it holds; when the memory happened, or now, when left out.
        valid_until: when it ended; None while it holds.
        evidence: the words that say so, at most 500 characters of them are kept.
        supersede: whether other targets of the same label end; None for those labels that have one target at a time.
    """

    source: Reference
    label: Any
    target: Reference
    weight: Any = 0.5
    confidence: Any = 1.0
    valid_from: Any = None
    valid_until: Any = None
    evidence: str | None = None
    supersede: bool | None = None


@dataclass(frozen=True, slots=True)
class AddedRelation:
    """What became of a relation: its row, whether it is new, and the relations that ended with it."""

    relation: Relation
    created: bool
    superseded: tuple[UUID, ...] = ()


def add_relation(
    *, actor: Actor, draft: RelationDraft, scope: Any = UNSET, memory_id: UUID | None = None
) -> AddedRelation:
    """State a relation; see `add_relations`."""
    return add_relations(actor=actor, drafts=[draft], scope=scope, memory_id=memory_id)[0]


def add_relations(
    *, actor: Actor, drafts: Sequence[RelationDraft], scope: Any = UNSET, memory_id: UUID | None = None
) -> list[AddedRelation]:
    """State relations, one after the other.

    First the relations that a new one ends are closed: those of the same source and label with another target, where
    the label has one target at a time. Then an open relation between the two is strengthened, or a new one made. A
    closed relation is never opened again, and one ends the relation that denies it. What began before a relation that
    cannot hold beside it is filed as history and ends where that one began. The same memory strengthens a relation
    once.

    Args:
        actor: who states them.
        drafts: between 1 and 500, in the order in which they were said.
        scope: who may read them; as the memory, or the key's default, when left out.
        memory_id: the memory that says so; None where they are stated.

    Raises:
        NotFound: an entity or the memory is not there or hidden; nothing was stored.
        InvalidInput: a draft cannot be used, or relates an entity to itself.
        InvalidScope: an entity is hidden from some who may read the scope.
    """
    refuse_too_many(drafts, field="relations")
    moment = now()
    with change_graph(actor, now=moment):
        memory = source_memory(actor, memory_id)
        target = target_of(actor, scope, memory)
        ring = keyring().of(actor.owner_id)
        said = [_checked(actor, draft, target, ring, memory, moment) for draft in drafts]
        outcomes = say_relations(said, target=target, moment=moment)
        _with_entities(outcome.relation for outcome in outcomes)
        return [AddedRelation(one.relation, one.created, one.superseded) for one in outcomes]


def supersede_relation(*, actor: Actor, relation_id: UUID, valid_until: Any = None) -> Relation:
    """End an open relation; it stays in the history and is never opened again.

    Args:
        actor: who ends it.
        relation_id: which.
        valid_until: when it ended; now when left out.

    Raises:
        NotFound: not there or hidden.
        Conflict: `relation.closed`, it has ended or was taken back already.
        InvalidInput: `date.order`, it would end before it began.
    """
    moment = now()
    until = moment if valid_until is None else limits.checked_moment(valid_until, field="valid_until")
    with change_graph(actor, now=moment):
        row = _visible(actor, relation_id)
        if row.valid_until is not None or row.retracted_at is not None:
            raise Conflict("The relation has ended already. Nothing was changed.", code="relation.closed")
        _refuse_end_before(row.valid_from, until)
        _close([row], until, moment)
        return _with_entities([row])[0]


def retract_relation(*, actor: Actor, relation_id: UUID) -> Relation:
    """Take a relation back: it never held. Only questions about what was known before still find it.

    Without effect on one that was taken back already; raises NotFound when it is not there or hidden.
    """
    moment = now()
    with change_graph(actor, now=moment):
        row = _visible(actor, relation_id)
        if row.retracted_at is None:
            row.retracted_at = moment
            row.save(update_fields=["retracted_at"])
        return _with_entities([row])[0]


@reads("relation", of="relation_id")
def get_relation(*, actor: Actor, relation_id: UUID) -> tuple[Relation, list[GraphEvidence]]:
    """Give one relation, whatever its state, and the reasons for it that the actor may read, newest first.

    Raises NotFound when it is not there or hidden.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        row = _with_entities([_visible(actor, relation_id)])[0]
        return row, evidence_of(actor, relation_id, part="relation")


@reads("relations", of="entity_id")
def relations_of(
    *,
    actor: Actor,
    entity_id: UUID,
    label: str | None = None,
    direction: str = "both",
    superseded: bool = False,
    valid_at: Any = None,
    known_at: Any = None,
    after: tuple[datetime, UUID] | None = None,
    size: int = 50,
) -> list[Relation]:
    """List the relations of an entity, the newest recorded first.

    Args:
        actor: who asks.
        entity_id: whose relations.
        label: one label only.
        direction: `both`, `out` (said of it) or `in` (said of others, with it as target).
        superseded: show those that have ended too; they are not shown otherwise.
        valid_at: those that held at this moment; now when left out and `superseded` is false.
        known_at: what was believed at this moment; ends that were learned of later are left out.
        after: recording time and id of the last row of the page before.
        size: most rows.

    Raises:
        NotFound: no such entity here.
        InvalidInput: a moment, the label or the direction cannot be used.
    """
    require_memory()
    actor.require(Permission.READ)
    if direction not in DIRECTIONS:
        raise InvalidInput(f"direction is one of {', '.join(DIRECTIONS)}.", code="direction.invalid", field="direction")
    known = None if known_at is None else limits.checked_moment(known_at, field="known_at")
    valid = None if valid_at is None else limits.checked_moment(valid_at, field="valid_at")
    if valid is None and not superseded:
        valid = known or now()
    with owner_scope(actor.owner_id):
        visible_entity(actor, entity_id)
        rows = _seen_from(actor, valid=valid, known=known)
        ends = {"out": Q(source_id=entity_id), "in": Q(target_id=entity_id)}
        rows = rows.filter(ends["out"] | ends["in"] if direction == "both" else ends[direction])
        if label is not None:
            rows = rows.filter(label_hash=label_hash(keyring().of(actor.owner_id), checked_label(label)))
        if after is not None:
            rows = rows.filter(Q(recorded_at__lt=after[0]) | Q(recorded_at=after[0], pk__lt=after[1]))
        return as_known(_with_entities(rows.order_by("-recorded_at", "-pk")[:size]), known)


def relations_by_id(ids: Iterable[UUID], *, known_at: datetime | None) -> dict[UUID, Relation]:
    """Load relations of the current owner with their entities, as they were known at a moment."""
    rows = _with_entities(Relation.objects.filter(pk__in=list(ids)))
    return {row.pk: row for row in as_known(rows, known_at)}


def as_known(rows: list[Relation], at: datetime | None) -> list[Relation]:
    """Hide ends and retractions that were learned of after a moment. The rows are not to be saved then."""
    for row in rows:
        if at is not None and row.closed_at is not None and row.closed_at > at:
            row.valid_until = row.closed_at = None
        if at is not None and row.retracted_at is not None and row.retracted_at > at:
            row.retracted_at = None
    return rows


def _seen_from(actor: Actor, *, valid: datetime | None, known: datetime | None) -> QuerySet[Relation]:
    rows: QuerySet[Relation] = Relation.objects.all()
    if actor.readable is not None:
        rows = rows.filter(scope__in=actor.readable)
    if known is None:
        rows = rows.filter(retracted_at=None)
    else:
        rows = rows.filter(Q(retracted_at=None) | Q(retracted_at__gt=known), recorded_at__lte=known)
    if valid is not None:
        lasts = Q(valid_until=None) | Q(valid_until__gt=valid)
        rows = rows.filter(lasts if known is None else lasts | Q(closed_at__gt=known), valid_from__lte=valid)
    return rows


def _checked(
    actor: Actor, draft: RelationDraft, target: Target, ring: OwnerRing, memory: Memory | None, moment: datetime
) -> Said:
    label = checked_label(draft.label)
    first = resolve(actor, draft.source, target=target, field="source")
    second = resolve(actor, draft.target, target=target, field="target")
    if first.pk == second.pk:
        raise InvalidInput(
            "A relation joins two entities, and these are one and the same.", code="relation.self", field="target"
        )
    ends = None if draft.valid_until is None else limits.checked_moment(draft.valid_until, field="valid_until")
    if draft.valid_from is not None:
        begins = limits.checked_moment(draft.valid_from, field="valid_from")
    else:
        begins = memory.occurred_at if memory else moment
        begins = begins if ends is None else min(begins, ends)
    if ends is not None:
        _refuse_end_before(begins, ends)
    return Said(
        source_id=first.pk,
        label=label,
        hashed=label_hash(ring, label),
        target_id=second.pk,
        weight=checked_unit(draft.weight, field="weight"),
        confidence=checked_unit(draft.confidence, field="confidence"),
        begins=begins,
        ends=ends,
        supersede=label in SINGLE_VALUED if draft.supersede is None else draft.supersede,
        opposite=None if draft.supersede is False else opposite_hash(ring, label),
        memory=memory,
        evidence=draft.evidence,
    )


def _close(rows: Iterable[Relation], until: datetime, moment: datetime) -> None:
    for row in rows:
        row.valid_until, row.closed_at = until, moment
        row.save(update_fields=["valid_until", "closed_at"])


def _refuse_end_before(begins: datetime, ends: datetime) -> None:
    if ends < begins:
        raise InvalidInput("The relation would end before it began.", code="date.order", field="valid_until")


def _visible(actor: Actor, relation_id: UUID) -> Relation:
    row: Relation | None = Relation.objects.filter(pk=relation_id).first()
    if row is None or not actor.may_read(row.scope):
        raise NotFound("There is no relation with this id here.")
    return row


def _with_entities(rows: Iterable[Relation]) -> list[Relation]:
    """Load the entities of relations at once, so that they can be read outside the owner's scope."""
    found = list(rows)
    known = entities_by_id(entity_id for row in found for entity_id in (row.source_id, row.target_id))
    for row in found:
        row.source, row.target = known[row.source_id], known[row.target_id]
    return found
