"""Writing many events and causes of one scope at once, in a few statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.crypto.keyring import OwnerRing, keyring
from memory.ids import new_id
from memory.models import CausalLink, EventParticipant, Memory, TemporalEvent, current_owner
from memory.services.actors import Target
from memory.services.graph.writing import Reason, Reasons, scoped


@dataclass(frozen=True, slots=True)
class Happening:
    """An event as it is told: its checked text, its moment, entities of this owner, and the memory that tells of it."""

    text: str
    occurred_at: datetime
    participants: frozenset[UUID] = frozenset()
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class Causing:
    """A cause and its effect as they are told: checked texts, entities of this owner, and the memory that says so."""

    cause: str
    effect: str
    cause_entity_id: UUID | None = None
    effect_entity_id: UUID | None = None
    confidence: float = 1.0
    memory: Memory | None = None


def event_hash(ring: OwnerRing, text: str) -> bytes:
    """Hash what an event says."""
    return ring.digest(f"event {text}")


def cause_hash(ring: OwnerRing, cause: str, effect: str) -> bytes:
    """Hash a cause with its effect; NUL can stand in neither text, so that no two pairs are alike."""
    return ring.digest(f"cause {cause}\0{effect}")


def record_events(told: Sequence[Happening], *, target: Target, moment: datetime) -> list[tuple[TemporalEvent, bool]]:
    """Add events, or participants and reasons to those that are there: the same moment and text in the same scope.

    Call it while the graph is the caller's, see `change_graph`.

    Returns:
        The row of each, in order, and whether it is new; of the same event told twice here the first is.
    """
    ring = keyring().of(current_owner())
    digests = [event_hash(ring, one.text) for one in told]
    rows = TemporalEvent.objects.filter(scope=target.scope, text_hash__in=sorted(set(digests)))
    known = {(bytes(row.text_hash), row.occurred_at): row for row in rows}
    found: list[tuple[TemporalEvent, bool]] = []
    created: list[TemporalEvent] = []
    for one, digest in zip(told, digests, strict=True):
        row = known.get((digest, one.occurred_at))
        new = row is None
        if row is None:
            row = TemporalEvent(
                id=new_id(),
                owner_id=current_owner(),
                text=one.text,
                text_hash=digest,
                occurred_at=one.occurred_at,
                recorded_at=moment,
                **scoped(target),
            )
            known[digest, one.occurred_at] = row
            created.append(row)
        found.append((row, new))
    TemporalEvent.objects.bulk_create(created)
    took_part = {
        (row.pk, entity_id) for one, (row, _) in zip(told, found, strict=True) for entity_id in one.participants
    }
    EventParticipant.objects.bulk_create(
        [EventParticipant(event_id=event_id, entity_id=entity_id) for event_id, entity_id in sorted(took_part)],
        ignore_conflicts=True,
    )
    reasons = [Reason(row.pk, one.memory) for one, (row, _) in zip(told, found, strict=True)]
    Reasons(reasons, part="event", now=moment).write({row.pk: row for row, _ in found})
    return found


def record_causes(told: Sequence[Causing], *, target: Target, moment: datetime) -> list[tuple[CausalLink, bool]]:
    """Add causes with their effects, or entities, confidence and reasons to those that are there.

    Call it while the graph is the caller's, see `change_graph`.

    Returns:
        The row of each, in order, and whether it is new.
    """
    ring = keyring().of(current_owner())
    digests = [cause_hash(ring, one.cause, one.effect) for one in told]
    rows = CausalLink.objects.filter(scope=target.scope, text_hash__in=sorted(set(digests)))
    known = {bytes(row.text_hash): row for row in rows}
    found: list[tuple[CausalLink, bool]] = []
    created: dict[UUID, CausalLink] = {}
    changed: dict[UUID, CausalLink] = {}
    for one, digest in zip(told, digests, strict=True):
        row = known.get(digest)
        new = row is None
        if row is None:
            row = CausalLink(
                id=new_id(),
                owner_id=current_owner(),
                cause=one.cause,
                effect=one.effect,
                text_hash=digest,
                confidence=one.confidence,
                recorded_at=moment,
                **scoped(target),
            )
            known[digest] = created[row.pk] = row
        elif row.pk not in created:
            changed[row.pk] = row
        row.cause_entity_id = one.cause_entity_id or row.cause_entity_id
        row.effect_entity_id = one.effect_entity_id or row.effect_entity_id
        row.confidence = max(row.confidence, one.confidence)
        found.append((row, new))
    CausalLink.objects.bulk_create(list(created.values()))
    for pk in sorted(changed):
        changed[pk].save(update_fields=["cause_entity", "effect_entity", "confidence"])
    reasons = [Reason(row.pk, one.memory) for one, (row, _) in zip(told, found, strict=True)]
    Reasons(reasons, part="cause", now=moment).write({row.pk: row for row, _ in found})
    return found
