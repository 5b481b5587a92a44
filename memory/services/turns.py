"""Turns of conversations: stored verbatim, each once, in the order of their session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import F
from django.db.models.functions import Greatest

from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import Conflict, InvalidInput, LociError, NotFound
from memory.models import Kind, Memory, Session, current_owner, owner_scope
from memory.services.actors import UNSET, Actor, Permission, Target, write_target
from memory.services.clock import now
from memory.services.consolidation.triggers import note_stored
from memory.services.drafts import Draft, Ready, make_ready, refuse_expired
from memory.services.embedding import embed_into, ready_spaces
from memory.services.features import require_memory
from memory.services.writing import Embedded, build_row, insert_rows
from memory.text import limits

MAX_TURNS: Final = 2000
MAX_POSITION: Final = 2_000_000_000
# Large enough that a transaction's fixed cost is small, small enough that embedding and writing overlap.
CHUNK: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDraft:
    """One turn as it came in.

    `position` is its place in the session, the next free one when left out; `reply_to` is the position of the turn
    that it answers. The other fields are those of a draft.
    """

    draft: Draft
    position: int | None = None
    reply_to: int | None = None


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What became of one turn: its row and position, or the error that kept it out."""

    index: int
    memory_id: UUID | None = None
    position: int | None = None
    created: bool = False
    vector_pending: bool = False
    notes: list[dict[str, str]] = field(default_factory=list)
    error: LociError | None = None


@dataclass(frozen=True, slots=True)
class Ingested:
    """The session that turns went into, None when no turn could be used; and what became of each."""

    session_id: UUID | None
    turns: list[TurnResult]


def ingest_turns(*, actor: Actor, session: str, turns: Sequence[TurnDraft], scope: Any = UNSET) -> Ingested:
    """Store the turns of a conversation verbatim.

    A turn that stands at its position already with the same text is left as it is, so a conversation can be sent
    again. Equal texts at two positions are two rows. Embedding and writing overlap; turns are stored in chunks, so
    an interrupted request has stored the chunks before.

    Args:
        actor: who ingests; the session belongs to its agent.
        session: the client's own name of the conversation.
        turns: between 1 and 2,000 turns in order.
        scope: who may read them; the key's default when left out.

    Raises:
        InvalidInput, InvalidScope, PermissionRefused, NotFound: nothing was stored.
    """
    require_memory()
    actor.require(Permission.WRITE)
    if not 1 <= len(turns) <= MAX_TURNS:
        raise InvalidInput(f"Send between 1 and {MAX_TURNS} turns at a time.", code="batch.size")
    label = limits.checked_text(session, field="session", max_bytes=800).strip()
    target = write_target(actor, scope)
    ring = keyring().of(actor.owner_id)
    session_id: UUID | None = None
    results: dict[int, TurnResult] = {}
    for chunk, embedded in _embedded_chunks(actor, turns, ring, results):
        # Only a turn that can be used begins a session, or opens a closed one again.
        session_id = session_id or _session(actor, ring, label)
        for result in _write_chunk(actor, target, session_id, chunk, embedded):
            results[result.index] = result
    return Ingested(session_id, [results[index] for index in range(len(turns))])


def _session(actor: Actor, ring: OwnerRing, label: str) -> UUID:
    moment = now()
    with owner_scope(actor.owner_id):
        row: Session
        row, _ = Session.objects.get_or_create(
            owner_id=actor.owner_id,
            agent_id=actor.agent_id,
            label_hash=ring.name(label),
            defaults={"label": label, "started_at": moment},
        )
        if row.closed_at is not None:
            row.closed_at = None
            row.save(update_fields=["closed_at"])
        return row.pk


@dataclass(slots=True)
class _Item:
    index: int
    ready: Ready
    position: int | None
    reply_to: int | None


def _embedded_chunks(
    actor: Actor, turns: Sequence[TurnDraft], ring: OwnerRing, results: dict[int, TurnResult]
) -> Iterator[tuple[list[_Item], Embedded | None]]:
    """Give chunk after chunk with its vectors, embedding the next while the caller writes this one.

    The space is looked up here, since the embedding thread's own database connection would be closed by nobody.
    """
    spaces = ready_spaces()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed") as pool:
        waiting: tuple[list[_Item], Future[Embedded | None]] | None = None
        for start in range(0, len(turns), CHUNK):
            items = _prepare(turns, start, ring, results)
            if not items:
                continue
            texts = [item.ready.embeddable for item in items]
            following = items, pool.submit(embed_into, spaces, texts, owner_id=ring.owner_id, agent_id=actor.agent_id)
            if waiting is not None:
                yield waiting[0], waiting[1].result()
            waiting = following
        if waiting is not None:
            yield waiting[0], waiting[1].result()


def _prepare(turns: Sequence[TurnDraft], start: int, ring: OwnerRing, results: dict[int, TurnResult]) -> list[_Item]:
    items = []
    for index in range(start, min(start + CHUNK, len(turns))):
        turn = turns[index]
        try:
            for name in ("position", "reply_to"):
                _check_position(getattr(turn, name), name)
            ready = make_ready(replace(turn.draft, kind=Kind.TURN), ring=ring)
            refuse_expired(ready, now=now())
            items.append(_Item(index, ready, turn.position, turn.reply_to))
        except LociError as error:
            results[index] = TurnResult(index, error=error)
    return items


def _check_position(value: Any, name: str) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_POSITION:
        raise InvalidInput(f"{name} is a whole number from 0.", code=f"{name}.invalid", field=name)


def _write_chunk(
    actor: Actor, target: Target, session_id: UUID, items: list[_Item], embedded: Embedded | None
) -> list[TurnResult]:
    moment = now()
    with owner_scope(actor.owner_id):
        session = Session.objects.select_for_update().filter(pk=session_id).first()
        if session is None:
            raise NotFound("The session has been erased meanwhile. The turns of this chunk were not stored.")
        results, fresh = _place(session, items)
        rows = []
        for item in fresh:
            row = build_row(item.ready, actor=actor, target=target, now=moment, session_id=session_id)
            rows.append(row)
        _link_replies(session_id, fresh, rows, results)
        kept = [place for place, item in enumerate(fresh) if item.index not in results]
        vectors = None
        if embedded is not None:
            where = {item.index: place for place, item in enumerate(items)}
            vectors = embedded.chosen([where[fresh[place].index] for place in kept])
        if kept:
            insert_rows([rows[p] for p in kept], [fresh[p].ready for p in kept], embedded=vectors, now=moment)
            _advance(session, [rows[p] for p in kept], moment)
        for place in kept:
            item, row = fresh[place], rows[place]
            results[item.index] = TurnResult(
                item.index, row.pk, row.position, True, embedded is None, notes=item.ready.notes
            )
    return list(results.values())


def _place(session: Session, items: list[_Item]) -> tuple[dict[int, TurnResult], list[_Item]]:
    """Give each turn its position; those that stand there already are results at once."""
    asked = [item.position for item in items if item.position is not None]
    standing = {
        row.position: row
        for row in Memory.objects.filter(session_id=session.pk, position__in=asked).defer("text", "metadata")
    }
    results: dict[int, TurnResult] = {}
    fresh: list[_Item] = []
    taken: dict[int, bytes] = {}
    following = session.next_position
    for item in items:
        position = following if item.position is None else item.position
        row = standing.get(position)
        digest = bytes(row.content_hash) if row is not None else taken.get(position)
        if digest is not None and digest != item.ready.content_hash:
            error = Conflict("Another turn stands at this position already; it was kept.", code="turn.position_taken")
            results[item.index] = TurnResult(item.index, position=position, error=error)
        elif row is not None:
            results[item.index] = TurnResult(item.index, row.pk, position)
        elif digest is not None:
            error = Conflict("The same turn stands twice in this request; the first was stored.", code="turn.repeated")
            results[item.index] = TurnResult(item.index, position=position, error=error)
        else:
            item.ready.position = position
            taken[position] = item.ready.content_hash
            fresh.append(item)
        following = max(following, position + 1)
    return results, fresh


def _link_replies(session_id: UUID, fresh: list[_Item], rows: list[Memory], results: dict[int, TurnResult]) -> None:
    wanted = {item.reply_to for item in fresh if item.reply_to is not None}
    if not wanted:
        return
    targets: dict[int | None, UUID] = dict(
        Memory.objects.filter(session_id=session_id, position__in=wanted).values_list("position", "pk")
    )
    for item, row in zip(fresh, rows, strict=True):
        if item.reply_to is not None:
            row.reply_to_id = targets.get(item.reply_to)
            if row.reply_to_id is None:
                error = InvalidInput("reply_to names no earlier turn of this session.", code="reply_to.unknown")
                results[item.index] = TurnResult(item.index, position=row.position, error=error)
                continue
        targets[row.position] = row.pk


def _advance(session: Session, rows: Sequence[Memory], moment: datetime) -> None:
    """Move the session on and count the owner's turns durably; enough of them begin a run of consolidation."""
    # A turn of the future, as clocks that are wrong give, must not let a conversation count as going on until then.
    last = min(moment, max(row.occurred_at for row in rows))
    Session.objects.filter(pk=session.pk).update(
        turn_count=F("turn_count") + len(rows),
        next_position=max(session.next_position, max(row.position or 0 for row in rows) + 1),
        last_turn_at=Greatest(F("last_turn_at"), last),
    )
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO memory_owneractivity (id, owner_id, turns_since_consolidation, last_turn_at)
            VALUES (gen_random_uuid(), %s, %s, %s)
            ON CONFLICT (owner_id) DO UPDATE SET
                turns_since_consolidation = memory_owneractivity.turns_since_consolidation + %s,
                last_turn_at = GREATEST(memory_owneractivity.last_turn_at, excluded.last_turn_at)
            RETURNING turns_since_consolidation""",
            [current_owner(), len(rows), moment, len(rows)],
        )
        turns: int = cursor.fetchone()[0]
    note_stored(moment=moment, turns=turns)
