"""What a person's decision does to memories: a fact is stored, an older statement makes way, and both can be undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput
from memory.graph.names import name_hash
from memory.graph.traversal import by_whole_name
from memory.models import (
    EdgeKind,
    Kind,
    Memory,
    MemoryEdge,
    MemorySource,
    ReviewItem,
    Status,
    owner_scope,
)
from memory.services.actors import Actor, Target
from memory.services.changes import add_to_indexes, draft_of, save_unique
from memory.services.drafts import Draft, Ready, make_ready
from memory.services.embedding import embed_texts
from memory.services.graph.entities import mention
from memory.services.hidden_places import redacted_text
from memory.services.retirement import CONTRADICTED, archive_memory
from memory.services.review_graph import acting, evidence_in_scope
from memory.services.superseding import Successor, supersede_contradicted
from memory.services.writing import Embedded, build_row, insert_rows, source_of

ORIGIN: Final = "review"
"""The source of an approved fact: a person states it now, and consolidation draws from it as from any statement."""

KINDS: Final = (Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.INSTRUCTION, Kind.NOTE)
MOST_NAMES: Final = 100


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked memory and its vector, made before the transaction."""

    ready: Ready
    embedded: Embedded | None


def prepare_fact(*, actor: Actor, payload: Mapping[str, Any]) -> Prepared:
    """Check and embed the fact that an item proposes; raises InvalidInput or TooLarge as remembering it would."""
    kind = payload.get("kind", Kind.FACT)
    if kind not in KINDS:
        raise InvalidInput(f"kind is one of {', '.join(KINDS)}.", code="kind.invalid", field="kind")
    draft = Draft(
        text=payload.get("text"),
        kind=str(kind),
        category=payload.get("category"),
        importance=payload.get("importance"),
        topics=payload.get("topics") or (),
        source=ORIGIN,
        occurred_at=payload.get("occurred_at"),
        valid_from=payload.get("valid_from"),
        valid_until=payload.get("valid_until"),
    )
    ready = make_ready(draft, ring=keyring().of(actor.owner_id))
    return Prepared(ready, embed_texts([ready.embeddable], owner_id=actor.owner_id, agent_id=actor.agent_id))


def store_fact(
    *, actor: Actor, item: ReviewItem, payload: Mapping[str, Any], prepared: Prepared, moment: datetime
) -> dict[str, Any]:
    """Store an approved fact with the memories behind it as its sources, or add these to the memory that says it.

    Its claims and what else it says are drawn by consolidation, as of any statement.
    """
    turns = evidence_in_scope(item)
    ready = prepared.ready
    row = build_row(
        ready, actor=acting(actor, item), target=Target(item.visibility, item.scope, item.group_id), now=moment
    )
    inserted = insert_rows(
        [row], [ready], embedded=prepared.embedded, now=moment, drawn_from={row.pk: turns[0]} if turns else None
    )
    created = row.pk in inserted
    if not created:
        row = Memory.objects.get(
            scope=item.scope, content_hash=ready.content_hash, status=Status.LIVE, session__isnull=True
        )
    known = set(MemorySource.objects.filter(memory_id=row.pk, turn_id__in=turns).values_list("turn_id", flat=True))
    sources = [
        source_of(row, agent_id=row.agent_id, now=moment, source=ORIGIN, turn_id=turn)
        for turn in turns
        if turn not in known and turn != row.pk
    ]
    MemorySource.objects.bulk_create(sources)
    mention([(entity_id, row.pk) for entity_id in _entities(actor, item, payload)])
    return {
        "memory": str(row.pk),
        "created": created,
        "version": row.version,
        "sources": [str(source.pk) for source in sources],
    }


def take_fact_back(*, actor: Actor, outcome: Mapping[str, Any]) -> None:
    """Archive the memory that an approval made, or take its sources off the one that was there.

    Raises Conflict when the memory was changed since, or a statement made way for it that would be missing then. A
    memory that was archived or erased meanwhile is passed over.
    """
    memory_id = UUID(outcome["memory"])
    row = Memory.objects.filter(pk=memory_id).first()
    if row is None:
        return
    if not outcome["created"]:
        MemorySource.objects.filter(pk__in=[UUID(pk) for pk in outcome["sources"]]).delete()
        return
    if row.version != outcome["version"] or row.status == Status.SUPERSEDED:
        raise Conflict(
            "The memory that this decision made was changed since. Nothing was changed.",
            code="review.changed",
            memory_id=str(memory_id),
        )
    if row.status == Status.LIVE:
        _refuse_to_leave_a_gap(memory_id)
        archive_memory(actor=actor, memory_id=memory_id, reason="review undone")


def _refuse_to_leave_a_gap(memory_id: UUID) -> None:
    made_way = MemoryEdge.objects.filter(
        source_id=memory_id,
        kind=EdgeKind.CONTRADICTS,
        target__status=Status.SUPERSEDED,
        target__archive_reason=CONTRADICTED,
    )
    older = made_way.order_by("target_id").values_list("target_id", flat=True).first()
    if older is not None:
        raise Conflict(
            "Another statement has made way for the one that this decision made. Restore that one first. "
            "Nothing was changed.",
            code="review.changed",
            memory_id=str(older),
        )


def supersede(*, actor: Actor, item: ReviewItem, payload: Mapping[str, Any], moment: datetime) -> dict[str, Any]:
    """Let the newer of two statements take the place of the older, which stays in the history.

    Raises:
        Conflict: `review.gone`, one of them is gone, no longer live, or no longer of the scope in which they differ.
    """
    ids = [UUID(payload["older"]), UUID(payload["newer"])]
    rows = {row.pk: row for row in Memory.objects.select_for_update().filter(pk__in=ids).order_by("pk")}
    older, newer = rows.get(ids[0]), rows.get(ids[1])
    here = [row for row in rows.values() if row.status == Status.LIVE and row.scope == item.scope]
    if older is None or newer is None or len(here) < len(ids):
        raise Conflict("One of the two statements is no longer live here. Nothing was changed.", code="review.gone")
    until = max(newer.valid_from or newer.occurred_at, older.valid_from or older.occurred_at)
    former = older.valid_until
    links = supersede_contradicted(
        actor=actor, rows=[older], successors={older.pk: Successor(newer.pk, until)}, moment=moment
    )
    return {
        "older": str(older.pk),
        "newer": str(newer.pk),
        "version": older.version,
        "valid_until": former.isoformat() if former else None,
        "edge": str(links[older.pk]) if older.pk in links else None,
    }


def prepare_return(*, actor: Actor, outcome: Mapping[str, Any]) -> Prepared | None:
    """Embed the statement that is to come back, before the transaction; None when it was erased meanwhile."""
    with owner_scope(actor.owner_id):
        row = Memory.objects.filter(pk=UUID(outcome["older"])).first()
        if row is None:
            return None
        ready = make_ready(draft_of(row, {"valid_until": outcome["valid_until"]}), ring=keyring().of(actor.owner_id))
        ready.redacted = redacted_text(row)
    return Prepared(ready, embed_texts([ready.embeddable], owner_id=actor.owner_id, agent_id=actor.agent_id))


def bring_back(*, outcome: Mapping[str, Any], prepared: Prepared | None, moment: datetime) -> None:
    """Make the older statement live again; raises Conflict when it was changed since or another one says the same."""
    row = Memory.objects.select_for_update().filter(pk=UUID(outcome["older"])).first()
    if row is None or prepared is None:
        return
    if row.status != Status.SUPERSEDED or row.version != outcome["version"]:
        raise Conflict(
            "The statement that made way was changed since. Nothing was changed.",
            code="review.changed",
            memory_id=str(row.pk),
        )
    row.status, row.archive_reason, row.archived_at, row.retracted_at = Status.LIVE, "", None, None
    row.valid_until = prepared.ready.moments["valid_until"]
    row.updated_at = moment
    row.version += 1
    save_unique(row)
    add_to_indexes(row, prepared.ready, prepared.embedded, moment)
    if outcome["edge"]:
        MemoryEdge.objects.filter(pk=UUID(outcome["edge"])).delete()


def _entities(actor: Actor, item: ReviewItem, payload: Mapping[str, Any]) -> list[UUID]:
    """Find the entities that the extractor read in a fact, of those that stand by now."""
    names = [name for name in payload.get("entities") or () if isinstance(name, str) and name.strip()]
    ring = keyring().of(actor.owner_id)
    found = by_whole_name([name_hash(ring, name) for name in names[:MOST_NAMES]], scopes=[item.scope])
    return sorted({one[0].entity_id for one in found.values()})
