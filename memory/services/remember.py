"""Remembering: single statements and batches of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from memory.consolidation.policies import RetentionPolicy, clipped
from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import Conflict, InvalidInput, LociError
from memory.models import Kind, Memory, MemorySource, Status, owner_scope
from memory.services.actors import UNSET, Actor, Permission, Target, write_target
from memory.services.clock import now
from memory.services.consolidation.triggers import note_stored
from memory.services.drafts import Draft, Ready, make_ready, refuse_expired
from memory.services.embedding import embed_texts
from memory.services.features import require_memory
from memory.services.retention_policies import policy_for
from memory.services.writing import Embedded, build_row, insert_rows, note_expiry, note_uses, source_of

MAX_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of one statement: its row, whether it is new, and notes for the caller."""

    memory_id: UUID
    created: bool
    vector_pending: bool
    notes: list[dict[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class BatchItem:
    """What became of one item of a batch: stored, or the error that kept it out."""

    index: int
    stored: Stored | None = None
    error: LociError | None = None


def remember(*, actor: Actor, draft: Draft, scope: Any = UNSET) -> Stored:
    """Store a statement, or reinforce the row that says the same already.

    Args:
        actor: who states it.
        draft: the statement; kind `turn` is refused here, since turns belong to a session.
        scope: who may read it; the key's default when left out.

    Returns:
        The row, which recall finds from now on. When the embedder is unavailable its vector is queued.

    Raises:
        InvalidInput, TooLarge, InvalidScope, PermissionRefused, NotFound: nothing was stored.
    """
    item = remember_many(actor=actor, drafts=[draft], scope=scope)[0]
    if item.error is not None:
        raise item.error
    assert item.stored is not None
    return item.stored


def remember_many(*, actor: Actor, drafts: Sequence[Draft], scope: Any = UNSET) -> list[BatchItem]:
    """Store several statements; a bad one is reported and the others are stored.

    Raises:
        InvalidInput: no item, or more than 500.
        InvalidScope, PermissionRefused, NotFound: the scope cannot be written; nothing was stored.
    """
    require_memory()
    actor.require(Permission.WRITE)
    if not 1 <= len(drafts) <= MAX_BATCH:
        raise InvalidInput(f"A batch holds between 1 and {MAX_BATCH} items.", code="batch.size")
    target = write_target(actor, scope)
    policy = policy_for(actor)
    ring = keyring().of(actor.owner_id)
    results: dict[int, BatchItem] = {}
    ready: dict[int, Ready] = {}
    for index, draft in enumerate(drafts):
        try:
            if draft.kind == Kind.TURN:
                raise InvalidInput(
                    "Turns belong to a session: send them to the turns endpoint.", code="kind.invalid", field="kind"
                )
            one = _ready(draft, policy, ring)
            refuse_expired(one, now=now())
            ready[index] = one
        except LociError as error:
            results[index] = BatchItem(index, error=error)
    if ready:
        for index, stored in _store(actor, target, ready).items():
            results[index] = BatchItem(index, stored=stored)
    return [results[index] for index in range(len(drafts))]


def _ready(draft: Draft, policy: RetentionPolicy, ring: OwnerRing) -> Ready:
    """Check a statement and make it ready, cut where the owner's policy says so."""
    one = make_ready(draft, ring=ring)
    kept = clipped(one.text, policy=policy, tier=one.tier)
    if kept == one.text:
        return one
    one = make_ready(replace(draft, text=kept), ring=ring)
    message = f"The owner's retention policy cuts statements to {policy.clip_characters} characters; this one was cut."
    one.notes.append({"code": "text.clipped", "message": message})
    return one


def _store(actor: Actor, target: Target, ready: dict[int, Ready]) -> dict[int, Stored]:
    known = _known(actor, target, ready)
    fresh = [index for index, one in ready.items() if one.content_hash not in known]
    texts = [ready[index].embeddable for index in fresh]
    embedded = embed_texts(texts, owner_id=actor.owner_id, agent_id=actor.agent_id) if fresh else None
    # A row may be archived between our look and our write; then the second round inserts it.
    for _ in range(3):
        stored = _write(actor, target, ready, embedded, fresh)
        if stored is not None:
            return stored
    raise Conflict("The same statement is being changed by another request. Nothing was stored; try again.")


def _known(actor: Actor, target: Target, ready: dict[int, Ready]) -> set[bytes]:
    with owner_scope(actor.owner_id):
        found = Memory.objects.filter(
            scope=target.scope,
            content_hash__in=[one.content_hash for one in ready.values()],
            status=Status.LIVE,
            session__isnull=True,
        ).values_list("content_hash", flat=True)
        return {bytes(digest) for digest in found}


def _write(
    actor: Actor, target: Target, ready: dict[int, Ready], embedded: Embedded | None, fresh: list[int]
) -> dict[int, Stored] | None:
    moment = now()
    # Sorted by the constraint's key, so that two batches with common statements cannot wait for each other.
    order = sorted(ready, key=lambda index: (ready[index].content_hash, index))
    vector_at = {index: place for place, index in enumerate(fresh)}
    with owner_scope(actor.owner_id):
        if len(fresh) < len(ready):
            _lock(target, [one.content_hash for index, one in ready.items() if index not in vector_at])
        # Made in the caller's order, which their ids keep; written in the sorted one.
        rows = {index: build_row(ready[index], actor=actor, target=target, now=moment) for index in sorted(ready)}
        inserted: set[UUID] = set()
        for part in ([i for i in order if i in vector_at], [i for i in order if i not in vector_at]):
            if part:
                vectors = _selected(embedded, [vector_at[i] for i in part if i in vector_at])
                inserted |= insert_rows([rows[i] for i in part], [ready[i] for i in part], embedded=vectors, now=moment)
        existing = _reinforce(actor, target, {i: ready[i] for i in order if rows[i].pk not in inserted}, moment)
        if existing is None:
            return None
        if inserted:
            note_stored(moment=moment)
    return {
        index: Stored(
            memory_id=rows[index].pk if rows[index].pk in inserted else existing[ready[index].content_hash].pk,
            created=rows[index].pk in inserted,
            vector_pending=rows[index].pk in inserted and (embedded is None or index not in vector_at),
            notes=ready[index].notes
            if rows[index].pk in inserted
            else _notes_again(ready[index], existing[ready[index].content_hash]),
        )
        for index in order
    }


def _lock(target: Target, hashes: Sequence[bytes]) -> None:
    """Lock the rows that say the same already, before anything that is shared, as all who change memories do."""
    rows = Memory.objects.select_for_update(no_key=True).filter(
        scope=target.scope, content_hash__in=hashes, status=Status.LIVE, session__isnull=True
    )
    list(rows.order_by("pk").values_list("pk"))


def _notes_again(again: Ready, row: Memory) -> list[dict[str, str]]:
    """Tell the caller what a statement that is known already does not take over."""
    same = (again.kind, again.category, again.importance) == (row.kind, row.category, row.importance)
    if same and not (again.tags or again.topics or again.metadata):
        return again.notes
    message = (
        "The statement is stored already and was reinforced. Its other fields stay as they were; change them there."
    )
    return [*again.notes, {"code": "memory.known", "message": message}]


def _selected(embedded: Embedded | None, places: list[int]) -> Embedded | None:
    return embedded.chosen(places) if embedded is not None and places else None


def _reinforce(actor: Actor, target: Target, again: dict[int, Ready], moment: Any) -> dict[bytes, Memory] | None:
    """Add a source and an access to the rows that say the same; None when one of them is gone."""
    if not again:
        return {}
    rows = {
        bytes(row.content_hash): row
        for row in Memory.objects.filter(
            scope=target.scope,
            content_hash__in={one.content_hash for one in again.values()},
            status=Status.LIVE,
            session__isnull=True,
        )
    }
    if any(one.content_hash not in rows for one in again.values()):
        return None
    MemorySource.objects.bulk_create(
        [
            source_of(rows[one.content_hash], agent_id=actor.agent_id, now=moment, source=one.source)
            for one in again.values()
        ]
    )
    times = Counter(rows[one.content_hash].pk for one in again.values())
    note_uses({memory_id: (count, moment) for memory_id, count in times.items()})
    for one in again.values():
        _prolong(rows[one.content_hash], one)
    return rows


def _prolong(row: Memory, again: Ready) -> None:
    """Let a memory live as long as it was last said to: for good, or until the later of two times."""
    asked = again.moments["expires_at"]
    if row.expires_at is None or (asked is not None and asked <= row.expires_at):
        return
    row.expires_at = asked
    row.save(update_fields=["expires_at"])
    note_expiry([row])
