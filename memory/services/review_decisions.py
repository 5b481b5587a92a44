"""What a person decides about a review item: to do it, not to do it, later, or to take a decision back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput, LociError
from memory.models import (
    EntitiesApart,
    Entity,
    EntityMerge,
    ReviewItem,
    ReviewKind,
    ReviewState,
    owner_scope,
)
from memory.services.actors import Actor, Permission
from memory.services.announcing import reviews_changed
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.disputes import take_back, uphold
from memory.services.features import require_memory
from memory.services.graph.merging import merge_two
from memory.services.graph.unmerging import undo_merge
from memory.services.graph.writing import change_graph
from memory.services.resolution import in_order, keep_apart, kept_apart
from memory.services.review_changes import Changes
from memory.services.review_graph import KINDS as OF_GRAPH
from memory.services.review_graph import write_to_graph
from memory.services.review_memories import (
    Prepared,
    bring_back,
    prepare_fact,
    prepare_return,
    store_fact,
    supersede,
    take_fact_back,
)
from memory.services.review_payloads import edited, payload_hash
from memory.services.reviews import Reviewed, shown, state_of, visible_review
from memory.text import limits

MOST_AT_ONCE: Final = 100
DECISIONS: Final = ("approve", "reject", "snooze", "undo")


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of one item of several: the item, or the error that kept it as it was."""

    item_id: UUID | str
    reviewed: Reviewed | None = None
    error: LociError | None = None


def approve(
    *, actor: Actor, item_id: UUID, changes: Mapping[str, Any] | None = None, version: int | None = None
) -> Reviewed:
    """Do what an item proposes.

    A fact becomes a memory with the memories behind it as sources; an entity, relation, event or cause enters the
    graph; two entities become one; the newer of two statements takes the place of the older; a disputed memory is
    archived.

    Args:
        actor: a person, or an agent whose key may decide.
        item_id: which.
        changes: fields of the payload to change first.
        version: refuse when the item has another version by now.

    Raises:
        NotFound: not there or hidden.
        Conflict: `review.version`; `review.decided`, it was decided already; `review.gone`, what it is about is gone.
        InvalidInput, TooLarge: a change, or the payload with it, cannot be used; nothing was changed.
        PermissionRefused: the actor may not decide.
    """
    item = _waiting(actor, item_id, version)
    payload = edited(item.kind, item.payload, changes or {})
    prepared = prepare_fact(actor=actor, payload=payload) if item.kind == ReviewKind.FACT else None
    moment = now()
    with change_graph(actor, now=moment):
        row = _locked(actor, item.pk, item.version)
        row.outcome = {"changes": dict(changes or {}), **_carry_out(actor, row, payload, prepared, moment)}
        return _decide(actor, row, ReviewState.APPROVED, "approve", moment)


def reject(*, actor: Actor, item_id: UUID, version: int | None = None) -> Reviewed:
    """Do not do what an item proposes, and never ask again; two entities are kept apart. Raises as `approve`."""
    item = _waiting(actor, item_id, version)
    moment = now()
    with owner_scope(actor.owner_id):
        row = _locked(actor, item.pk, item.version)
        row.outcome = {"apart": _keep_apart(actor, row)} if row.kind == ReviewKind.MERGE else None
        return _decide(actor, row, ReviewState.REJECTED, "reject", moment)


def snooze(*, actor: Actor, item_id: UUID, until: Any, version: int | None = None) -> Reviewed:
    """Put an item off until a moment, from which on it is open again; raises as `approve`.

    Raises InvalidInput too when the moment is none or lies in the past.
    """
    moment = now()
    later = limits.checked_moment(until, field="until")
    if later <= moment:
        raise InvalidInput("until lies in the past.", code="date.past", field="until")
    item = _waiting(actor, item_id, version)
    with owner_scope(actor.owner_id):
        row = _locked(actor, item.pk, item.version)
        row.snoozed_until = later
        return _decide(actor, row, ReviewState.SNOOZED, "snooze", moment)


def undo(*, actor: Actor, item_id: UUID, version: int | None = None) -> Reviewed:
    """Take a decision back, so that the item is open again.

    A memory that an approval made is archived; rows of the graph are as they were; a merge is taken apart; a statement
    that made way is live again.

    Raises:
        NotFound: not there or hidden.
        Conflict: `review.open`, nothing was decided; `review.version`; `review.changed`, what was made was changed
            since; what undoing a merge or restoring a memory raises.
        PermissionRefused: the actor may not decide.
    """
    with _deciding(actor):
        item = visible_review(actor, item_id)
        _require_version(item, version)
        _refuse_open(item, now())
        outcome = item.outcome or {}
    made_way = item.kind in (ReviewKind.CONTRADICTION, ReviewKind.DISPUTE) and item.state == ReviewState.APPROVED
    prepared = prepare_return(actor=actor, outcome=outcome) if made_way else None
    moment = now()
    with change_graph(actor, now=moment):
        row = _locked(actor, item.pk, item.version)
        if row.state == ReviewState.APPROVED:
            _take_back(actor, row, prepared, moment)
        elif row.state == ReviewState.REJECTED and outcome.get("apart"):
            pair = [UUID(one) for one in outcome["apart"]]
            EntitiesApart.objects.filter(first_id=pair[0], second_id=pair[1]).delete()
        row.outcome = row.snoozed_until = None
        return _decide(actor, row, ReviewState.OPEN, "reopen", moment)


def undo_merge_by_id(*, actor: Actor, merge_id: UUID) -> EntityMerge:
    """Take a merge back as `undo_merge` does; the review item whose approval made it is open again.

    Raises as `undo_merge`.
    """
    moment = now()
    with change_graph(actor, now=moment):
        made = undo_merge(actor=actor, merge_id=merge_id)
        about = {"first": made.record["kept"], "second": str(made.merged_id)}
        digest = payload_hash(keyring().of(actor.owner_id), ReviewKind.MERGE, about)
        items = ReviewItem.objects.filter(kind=ReviewKind.MERGE, state=ReviewState.APPROVED, payload_hash=digest)
        for item in items.select_for_update().order_by("pk"):
            if (item.outcome or {}).get("merge") == str(made.pk):
                item.outcome = None
                _decide(actor, item, ReviewState.OPEN, "reopen", moment)
        return made


def decide_many(*, actor: Actor, item_ids: Sequence[UUID | str], decision: str, until: Any = None) -> list[Decided]:
    """Decide several items alike, each for itself; one that cannot be decided does not keep the others from it.

    Args:
        actor: a person, or an agent whose key may decide.
        item_ids: between 1 and 100; what is no id is refused by itself, with `id.invalid`.
        decision: `approve`, `reject`, `snooze` or `undo`.
        until: until when, for `snooze`.

    Raises:
        InvalidInput: the number of items, the decision or the moment cannot be used; nothing was changed.
        PermissionRefused: the actor may not decide.
    """
    if not 1 <= len(item_ids) <= MOST_AT_ONCE:
        raise InvalidInput(f"Between 1 and {MOST_AT_ONCE} at once.", code="batch.size", field="ids")
    if decision not in DECISIONS:
        raise InvalidInput(f"decision is one of {', '.join(DECISIONS)}.", code="decision.invalid", field="decision")
    if decision == "snooze":
        limits.checked_moment(until, field="until")
    actor.require(Permission.REVIEW)
    doing: Mapping[str, Callable[[UUID], Reviewed]] = {
        "approve": lambda item_id: approve(actor=actor, item_id=item_id),
        "reject": lambda item_id: reject(actor=actor, item_id=item_id),
        "snooze": lambda item_id: snooze(actor=actor, item_id=item_id, until=until),
        "undo": lambda item_id: undo(actor=actor, item_id=item_id),
    }
    results: list[Decided] = []
    for item_id in dict.fromkeys(item_ids):
        if isinstance(item_id, str):
            results.append(Decided(item_id, error=InvalidInput("This has to be an id.", code="id.invalid")))
            continue
        try:
            results.append(Decided(item_id, reviewed=doing[decision](item_id)))
        except LociError as error:
            if error.status >= 500:
                raise
            results.append(Decided(item_id, error=error))
    return results


@contextmanager
def _deciding(actor: Actor) -> Iterator[None]:
    require_memory()
    actor.require(Permission.REVIEW)
    with owner_scope(actor.owner_id):
        yield


def _waiting(actor: Actor, item_id: UUID, version: int | None) -> ReviewItem:
    """Give an item that waits for a decision, with its texts opened."""
    with _deciding(actor):
        item = visible_review(actor, item_id)
        _require_version(item, version)
        if item.state not in (ReviewState.OPEN, ReviewState.SNOOZED):
            raise Conflict("It was decided already. Undo that decision first.", code="review.decided", state=item.state)
        return item


def _locked(actor: Actor, item_id: UUID, version: int) -> ReviewItem:
    item = visible_review(actor, item_id, lock=True)
    _require_version(item, version)
    return item


def _require_version(item: ReviewItem, version: int | None) -> None:
    if version is not None and item.version != version:
        raise Conflict(
            "The item was decided or changed meanwhile. Nothing was changed; read it again.",
            code="review.version",
            version=item.version,
        )


def _refuse_open(item: ReviewItem, moment: datetime) -> None:
    if state_of(item, at=moment) == ReviewState.OPEN:
        raise Conflict("Nothing was decided that could be undone.", code="review.open")


def _decide(actor: Actor, row: ReviewItem, state: ReviewState, verb: str, moment: datetime) -> Reviewed:
    reopened = state == ReviewState.OPEN
    row.state, row.updated_at = state, moment
    row.decided_at, row.decided_by = (None, "") if reopened else (moment, actor.label)
    if state != ReviewState.SNOOZED:
        row.snoozed_until = None
    row.version += 1
    row.save()
    reviews_changed()
    record(actor=actor.label, verb=verb, object_kind="review", object_id=row.pk, reason=row.kind, at=moment)
    return shown(actor, [row], at=moment)[0]


def _carry_out(
    actor: Actor, row: ReviewItem, payload: Mapping[str, Any], prepared: Prepared | None, moment: datetime
) -> dict[str, Any]:
    if prepared is not None:
        return store_fact(actor=actor, item=row, payload=payload, prepared=prepared, moment=moment)
    if row.kind in OF_GRAPH:
        return write_to_graph(actor=actor, item=row, payload=payload, moment=moment)
    if row.kind == ReviewKind.MERGE:
        return _merge(actor, payload)
    if row.kind == ReviewKind.DISPUTE:
        return uphold(actor=actor, payload=payload)
    return supersede(actor=actor, item=row, payload=payload, moment=moment)


def _take_back(actor: Actor, row: ReviewItem, prepared: Prepared | None, moment: datetime) -> None:
    outcome = row.outcome
    if row.kind == ReviewKind.FACT:
        take_fact_back(actor=actor, outcome=outcome)
    elif row.kind in OF_GRAPH:
        Changes.read(outcome["rows"]).undo()
    elif row.kind == ReviewKind.MERGE:
        # One that was taken back elsewhere must not keep its item decided for good.
        if not EntityMerge.objects.filter(pk=UUID(outcome["merge"]), undone_at__isnull=False).exists():
            undo_merge(actor=actor, merge_id=UUID(outcome["merge"]))
    elif row.kind == ReviewKind.DISPUTE:
        take_back(outcome=outcome, prepared=prepared, moment=moment)
    else:
        bring_back(outcome=outcome, prepared=prepared, moment=moment)


def _merge(actor: Actor, payload: Mapping[str, Any]) -> dict[str, Any]:
    ids = [UUID(payload["first"]), UUID(payload["second"])]
    rows = list(Entity.objects.filter(pk__in=ids))
    if len(rows) < len(ids):
        raise Conflict("One of the two entities is not there any more. Nothing was changed.", code="review.gone")
    # The one that is spoken of more keeps its name; of two alike the one that was known first.
    rows.sort(key=lambda row: (-row.mention_count, row.first_seen, row.pk))
    made = merge_two(
        actor=actor,
        kept_id=rows[0].pk,
        merged_id=rows[1].pk,
        rule=str(payload.get("rule") or "review")[:32],
        score=payload.get("score"),
    )
    return {"merge": str(made.pk), "kept": str(made.kept_id)}


def _keep_apart(actor: Actor, row: ReviewItem) -> list[str] | None:
    """Keep two entities apart and give their ids, where both are there and it was not said before."""
    pair = in_order(UUID(row.payload["first"]), UUID(row.payload["second"]))
    if Entity.objects.filter(pk__in=pair).count() < len(pair) or kept_apart([pair]):
        return None
    keep_apart(actor=actor, first_id=pair[0], second_id=pair[1])
    return [str(one) for one in pair]
