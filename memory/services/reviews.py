"""What waits for a person's judgement: opening an item, and reading those that the reader may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, NotFound
from memory.ids import new_id
from memory.models import (
    EntityMention,
    Memory,
    ReviewEvidence,
    ReviewItem,
    ReviewKind,
    ReviewState,
    Status,
    Visibility,
    owner_scope,
)
from memory.services.actors import Actor, Permission, Target
from memory.services.announcing import reviews_changed
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.entities import visible_entity
from memory.services.graph.writing import checked_unit, cut_text
from memory.services.review_evidence import Evidence, evidence_of
from memory.services.review_payloads import EDITABLE, checked_payload, payload_hash

MOST_EVIDENCE: Final = 20
MAX_REASON_CHARACTERS: Final = 64


@dataclass(frozen=True, slots=True)
class Reviewed:
    """An item as one reader sees it: its state now, and the reasons that this reader may read."""

    item: ReviewItem
    state: str
    evidence: tuple[Evidence, ...]


def open_review(
    *,
    actor: Actor,
    kind: ReviewKind,
    reason: str,
    confidence: float,
    payload: Mapping[str, Any],
    target: Target,
    evidence: Sequence[tuple[UUID, str]] = (),
    run_id: UUID | None = None,
) -> ReviewItem | None:
    """Put something in doubt before a person; without effect when the same doubt is known already.

    A doubt is the same when it is of one kind and scope and about the same thing: the text of a fact, the name of an
    entity, the two entities of a merge. One that waits gets the new evidence; one that was decided stays decided, so
    that what a person has rejected does not come back. The transaction is the caller's where there is one.

    Args:
        actor: who has the doubt.
        kind: what is in doubt.
        reason: why, a code of at most 64 characters.
        confidence: how sure it is, 0 to 1.
        payload: what would be done, plain JSON of at most 64 KiB.
        target: who may read the item; what is drawn from a memory has the memory's.
        evidence: memories and the words of theirs that count, of which the first twenty are kept; those that are gone
            are passed over.
        run_id: the run of consolidation that it comes from.

    Returns:
        The new item; None when the doubt was known.

    Raises:
        InvalidInput, TooLarge: the kind, the reason, the confidence or the payload cannot be used.
    """
    if not reason or len(reason) > MAX_REASON_CHARACTERS:
        raise InvalidInput("reason is a code of at most 64 characters.", code="reason.invalid", field="reason")
    if kind not in EDITABLE:
        # A doubtful skill is a candidate, which nothing relies on.
        raise InvalidInput(f"kind is one of {', '.join(EDITABLE)}.", code="kind.invalid", field="kind")
    moment = now()
    whole = checked_payload(payload)
    item = ReviewItem(
        id=new_id(),
        owner_id=actor.owner_id,
        kind=kind,
        reason=reason,
        confidence=checked_unit(confidence, field="confidence"),
        payload=whole,
        payload_hash=payload_hash(keyring().of(actor.owner_id), kind, whole),
        run_id=run_id,
        created_at=moment,
        updated_at=moment,
        visibility=target.visibility,
        scope=target.scope,
    )
    with owner_scope(actor.owner_id):
        # The unique constraint decides between two that come at once.
        ReviewItem.objects.bulk_create([item], ignore_conflicts=True)
        standing: ReviewItem = ReviewItem.objects.get(scope=target.scope, kind=kind, payload_hash=item.payload_hash)
        if standing.state in (ReviewState.OPEN, ReviewState.SNOOZED):
            _add_evidence(standing, evidence)
            reviews_changed()
        return standing if standing.pk == item.pk else None


@reads("reviews")
def list_reviews(
    *,
    actor: Actor,
    state: str | None = ReviewState.OPEN,
    kinds: Sequence[str] = (),
    entity_id: UUID | None = None,
    after: tuple[datetime, UUID] | None = None,
    size: int = 50,
) -> list[Reviewed]:
    """List items that the actor may see, the newest first.

    Args:
        actor: who asks.
        state: one state only, None for all; an item whose snooze is over is open.
        kinds: of these kinds only; all when left out.
        entity_id: those drawn from memories that speak of this entity.
        after: creation time and id of the last row of the page before.
        size: most rows.

    Raises:
        InvalidInput: a state or kind that there is not.
        NotFound: no such entity here.
    """
    require_memory()
    actor.require(Permission.READ)
    moment = now()
    if state is not None and state not in ReviewState.values:
        raise InvalidInput(f"state is one of {', '.join(ReviewState.values)}.", code="state.invalid", field="state")
    if any(kind not in ReviewKind.values for kind in kinds):
        raise InvalidInput(f"kind is one of {', '.join(ReviewKind.values)}.", code="kind.invalid", field="kind")
    with owner_scope(actor.owner_id):
        rows = visible_reviews(actor)
        if state is not None:
            rows = rows.filter(in_state(state, moment))
        if kinds:
            rows = rows.filter(kind__in=list(kinds))
        if entity_id is not None:
            visible_entity(actor, entity_id)
            memories = EntityMention.objects.filter(entity_id=entity_id).values("memory_id")
            items = ReviewEvidence.objects.filter(memory_id__in=memories).values("item_id")
            if actor.readable is not None:
                # Evidence that the reader is not shown must not tell what it speaks of either.
                readable = Memory.objects.filter(scope__in=actor.readable).exclude(status=Status.ERASING)
                items = items.filter(scope__in=actor.readable, memory_id__in=readable.values("pk"))
            rows = rows.filter(pk__in=items)
        if after is not None:
            rows = rows.filter(Q(created_at__lt=after[0]) | Q(created_at=after[0], pk__lt=after[1]))
        return shown(actor, list(rows.order_by("-created_at", "-pk")[:size]), at=moment)


@reads("review", of="item_id")
def get_review(*, actor: Actor, item_id: UUID) -> Reviewed:
    """Give one item with its evidence; raises NotFound when it is not there or hidden."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        return shown(actor, [visible_review(actor, item_id)], at=now())[0]


def get_reviews(*, actor: Actor, item_ids: Sequence[UUID]) -> list[Reviewed]:
    """Give those of some items that are there and that the actor may see, without the memories behind them."""
    require_memory()
    actor.require(Permission.READ)
    moment = now()
    with owner_scope(actor.owner_id):
        rows = visible_reviews(actor).filter(pk__in=list(item_ids)).order_by("created_at", "pk")
        return [Reviewed(row, state_of(row, at=moment), ()) for row in rows]


def stored_review_version(*, actor: Actor, item_id: UUID) -> int:
    """Give the version of an item, to callers that may read or decide it; raises NotFound and PermissionRefused."""
    require_memory()
    if Permission.REVIEW not in actor.permissions:
        actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        return int(visible_review(actor, item_id).version)


def count_waiting(*, actor: Actor) -> int:
    """Count the items that wait for a person and that the actor may see."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        return count_open(actor)


def count_open(actor: Actor) -> int:
    """Count the items that wait and that the actor may see, within its owner's scope."""
    return visible_reviews(actor).filter(in_state(ReviewState.OPEN, now())).count()


def visible_review(actor: Actor, item_id: UUID, *, lock: bool = False) -> ReviewItem:
    """Give an item that the actor may see, within its owner's scope; raises NotFound otherwise."""
    rows: QuerySet[ReviewItem] = ReviewItem.objects.select_for_update() if lock else ReviewItem.objects.all()
    row = rows.filter(pk=item_id).first()
    if row is None or not actor.may_read(row.scope):
        raise NotFound("There is no review item with this id here.")
    return row


def shown(actor: Actor, items: Sequence[ReviewItem], *, at: datetime) -> list[Reviewed]:
    """Show items as they stand at a moment, with the evidence from memories that the actor may read now."""
    reasons = evidence_of(actor, items)
    return [Reviewed(item, state_of(item, at=at), reasons[item.pk]) for item in items]


def state_of(item: ReviewItem, *, at: datetime) -> str:
    """Give the state of an item at a moment: one whose snooze is over is open."""
    over = item.state == ReviewState.SNOOZED and item.snoozed_until is not None and item.snoozed_until <= at
    return str(ReviewState.OPEN if over else item.state)


def forget_reviews(memory_ids: Sequence[UUID]) -> None:
    """Delete the items, in any state, that were drawn from nothing but memories that are about to be erased.

    Call it within the owner's scope, just before the memories are deleted.
    """
    gone = list(memory_ids)
    touched = set(ReviewEvidence.objects.filter(memory_id__in=gone).values_list("item_id", flat=True))
    if not touched:
        return
    others = ReviewEvidence.objects.filter(item_id__in=touched).exclude(memory_id__in=gone)
    bereft = touched - set(others.values_list("item_id", flat=True))
    if bereft:
        ReviewItem.objects.filter(pk__in=bereft).delete()
        reviews_changed()


def in_state(state: str, at: datetime) -> Q:
    """Give the condition of the items that are in a state at a moment: one whose snooze is over is open."""
    over = Q(state=ReviewState.SNOOZED, snoozed_until__lte=at)
    if state == ReviewState.OPEN:
        return Q(state=ReviewState.OPEN) | over
    return Q(state=state) & ~over


def visible_reviews(actor: Actor) -> QuerySet[ReviewItem]:
    """Give the items that the actor may see, within its owner's scope."""
    rows: QuerySet[ReviewItem] = ReviewItem.objects.all()
    return rows if actor.readable is None else rows.filter(scope__in=actor.readable)


def _add_evidence(item: ReviewItem, evidence: Sequence[tuple[UUID, str]]) -> None:
    known = set(ReviewEvidence.objects.filter(item_id=item.pk).values_list("memory_id", flat=True))
    words: dict[UUID, str] = {}
    for memory_id, text in evidence:
        if memory_id not in known:
            words.setdefault(memory_id, text)
    rows = Memory.objects.filter(pk__in=list(words)).only("id", "owner_id", "scope", "visibility")
    memories = {row.pk: row for row in rows}
    kept = [memory_id for memory_id in words if memory_id in memories][: max(MOST_EVIDENCE - len(known), 0)]
    ReviewEvidence.objects.bulk_create(
        [
            ReviewEvidence(
                owner_id=item.owner_id,
                item_id=item.pk,
                memory_id=memory_id,
                text=cut_text(words[memory_id], field="evidence") if words[memory_id].strip() else None,
                scope=memories[memory_id].scope,
                sealed_for=_sealing_agent(item, memories[memory_id]),
            )
            for memory_id in sorted(kept)
        ],
        ignore_conflicts=True,
    )


def _sealing_agent(item: ReviewItem, memory: Memory) -> UUID | None:
    return memory.scope if memory.visibility == Visibility.AGENT else item.sealing_agent_id
