"""Partial purges: single memories, what came from a source, or an agent with all that it stored; the work itself.

The work goes in batches, each with its own transaction that also counts what it did, so that a purge that was killed
goes on where it was: what is chosen is chosen anew, and what is gone is not found again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.models import BusMessage, Memory, MemorySource, Purge, PurgeSubject, owner_scope
from memory.services.clock import now
from memory.services.erasing import erase_memories
from memory.services.graph.turn import take_turn
from memory.services.keys.rotation import begin_rotation, next_rotation
from memory.services.projection.erasing import settle, was_given_up
from memory.services.provenance import lose_sources
from memory.services.purge.held import LAST_STAGE
from memory.services.purge.ledger import REPLAY, note_erased
from memory.services.purge.owner_purge import RowsLeft
from memory.services.purge.partial_agent import erase_agent, silence_agent
from memory.services.purge.partial_choice import Target, accepted_as, choose, going_with, is_told_all, told_of
from memory.services.purge.partial_stays import stays_of
from memory.services.purge.partial_verification import Found, look_for
from memory.services.purge.receipts import Stay, neo4j_stays
from memory.services.remains import close_answers, close_explanations, forget_sources_in_reviews

BATCH: Final = 500
# Ids of so many erased rows are kept until the verification has looked for them everywhere.
MOST_LOOKED_FOR: Final = 5_000
REASON: Final = "purge"

Beat = Callable[[], None]


@dataclass(frozen=True, slots=True)
class PartialOutcome:
    """What a partial purge did: rows erased and rows left, by kind; what was looked at; what stays, and the keys."""

    erased: dict[str, int]
    left: dict[str, int]
    looked_at: dict[str, Any]
    stays: tuple[Stay, ...]
    keys: dict[str, Any]


def run_partial(*, purge: Purge, at: datetime, beat: Beat = lambda: None) -> PartialOutcome:
    """Carry a partial purge out, or go on with it, and look everywhere for what it has erased.

    Args:
        purge: its row, of any subject but an owner.
        at: the moment that counts as now.
        beat: called after each batch; may raise, and then the purge is left where it is.

    Raises:
        RowsLeft: something came meanwhile, or was not erased; what was erased stays so.
        KeysUnavailable: the ledger or the keys cannot be used; nothing more is erased.
        ProjectionUnavailable, ProjectionBusy, ProjectionOff: what is erased here stands in Neo4j still; the row's stage
            is LAST_STAGE then.
    """
    assert purge.of_owner is not None
    owner_id = purge.of_owner
    agent_id = UUID(purge.target["agent"]) if purge.subject == PurgeSubject.AGENT else None
    if agent_id is not None:
        with owner_scope(owner_id):
            _count(purge, silence_agent(agent_id, at=at))
    with owner_scope(owner_id):
        chosen = choose(purge.subject, purge.target, until=purge.requested_at)
    _stage(purge, "memories", beat)
    named = set(chosen.memories)
    for part in _batches([*chosen.memories, *chosen.drawn]):
        _erase(purge, owner_id, part, named, at)
        beat()
    with owner_scope(owner_id):
        closed = close_explanations()
        # How often others found something is not for an agent to know.
        _count(purge, {"explanations": closed if is_told_all(purge.target) else 0})
    _stage(purge, "sources", beat)
    for part in _batches(sorted(chosen.staying)):
        _lose(purge, owner_id, {one: chosen.staying[one] for one in part}, at)
        beat()
    if agent_id is not None:
        _stage(purge, "agent", beat)
        with owner_scope(owner_id):
            take_turn(at=at)
            _count(purge, erase_agent(agent_id))
            _note(purge, owner_id, [agent_id], at)
    keys = _seal(purge, owner_id)
    _stage(purge, LAST_STAGE, beat)
    projected = settle(owner_id=owner_id, beat=beat)
    _stage(purge, "verification", beat)
    return _outcome(purge, owner_id, keys, projected=projected)


def _erase(purge: Purge, owner_id: UUID, part: Sequence[UUID], named: set[UUID], at: datetime) -> None:
    with owner_scope(owner_id):
        take_turn(at=at)
        locked = list(
            Memory.objects.select_for_update().filter(pk__in=part).order_by("pk").values_list("pk", flat=True)
        )
        going = going_with(locked)
        told = told_of(going, purge.target)
        messages = _unsay(going, purge.target)
        gone = erase_memories(
            locked,
            at=at,
            actor=purge.requested_by,
            reason=REASON,
            event_id=purge.pk,
            in_purge=True,
        )
        counted = len(told & named)
        _count(purge, {"memories": counted, "drawn": len(told) - counted, "messages": messages}, gone)
        _note(purge, owner_id, gone, at)


def _unsay(going: set[UUID], target: Target) -> int:
    """Delete the messages from which memories that go were accepted; gives how many whoever asked may know of."""
    told = accepted_as(going, target).count()
    messages = set(accepted_as(going).values_list("pk", flat=True))
    if messages:
        close_answers(messages)
        BusMessage.objects.filter(pk__in=messages).delete()
    return told


def _lose(purge: Purge, owner_id: UUID, lost: dict[UUID, set[UUID]], at: datetime) -> None:
    with owner_scope(owner_id):
        rows = list(Memory.objects.select_for_update().filter(pk__in=lost).order_by("pk"))
        # What was stated by others has lost these others meanwhile, and goes with the next look.
        lost = {row.pk: lost[row.pk] for row in rows}
        ids = sorted(one for sources in lost.values() for one in sources)
        there = set(MemorySource.objects.filter(pk__in=ids).values_list("pk", flat=True))
        count = lose_sources(
            rows, lost, ring=keyring().of(owner_id), actor=purge.requested_by, at=at, keep_history=False
        )
        gone = there - set(MemorySource.objects.filter(pk__in=ids).values_list("pk", flat=True))
        if gone:
            close_answers(gone)
            forget_sources_in_reviews(gone)
        _count(purge, {"sources": count}, sorted(gone))
        _note(purge, owner_id, gone, at)


def _seal(purge: Purge, owner_id: UUID) -> dict[str, Any]:
    """Say when the remains in dead rows and backups become unreadable; begin that at once where it was asked for."""
    if not purge.target.get("seal"):
        due = next_rotation(owner_id=owner_id)
        return {"seal": "with_next_rotation", "rotation_due": due.isoformat() if due else None}
    kept = purge.samples or {}
    version = kept.get("sealed_by_version")
    if version is None:
        version = begin_rotation(owner_id=owner_id)
        purge.samples = {**kept, "sealed_by_version": version}
        Purge.objects.filter(pk=purge.pk).update(samples=purge.samples)
    return {"seal": "begun", "sealed_by_version": version}


def _outcome(purge: Purge, owner_id: UUID, keys: dict[str, Any], *, projected: bool) -> PartialOutcome:
    erased = [UUID(one) for one in (purge.samples or {}).get("ids", [])]
    if purge.subject == PurgeSubject.AGENT:
        # Apart from those that are kept, of which there are so many at most.
        erased.append(UUID(purge.target["agent"]))
    with owner_scope(owner_id):
        # Answers to requests that were under way meanwhile.
        close_answers(set(erased))
        found: Found = look_for(erased)
        again = choose(purge.subject, purge.target, until=purge.requested_at)
    left = dict(found.left)
    if not again.empty:
        left["memory_memory"] = left.get("memory_memory", 0) + len(again.memories) + len(again.drawn)
        left["memory_memorysource"] = left.get("memory_memorysource", 0) + len(again.staying)
    if left:
        raise RowsLeft(tables=sorted(left))
    purge.samples = None
    Purge.objects.filter(pk=purge.pk).update(samples=None)
    looked_at: dict[str, Any] = {"tables": found.tables, "columns": found.columns}
    if is_told_all(purge.target):
        looked_at |= {"sealed_values": found.opened, "ids": len(erased)}
    in_neo4j = neo4j_stays(projected=projected, given_up=was_given_up(owner_id))
    return PartialOutcome(dict(purge.erased), left, looked_at, (*stays_of(purge.subject), *in_neo4j), keys)


def _count(purge: Purge, more: dict[str, int], gone: Sequence[UUID] = ()) -> None:
    """Add to the counts of a purge, in the transaction that did what is counted."""
    standing = Purge.objects.select_for_update().get(pk=purge.pk)
    for name, count in more.items():
        if count:
            standing.erased[name] = standing.erased.get(name, 0) + count
    kept = standing.samples or {}
    ids = kept.get("ids", [])
    more_ids = [str(one) for one in gone[: max(MOST_LOOKED_FOR - len(ids), 0)]]
    standing.samples = {**kept, "ids": [*ids, *more_ids]}
    standing.save(update_fields=["erased", "samples"])
    purge.erased, purge.samples = standing.erased, standing.samples


def _note(purge: Purge, owner_id: UUID, ids: Iterable[UUID], at: datetime) -> None:
    """Note in the ledger what went, as the last thing of a transaction; what comes from the ledger stands there."""
    if purge.requested_by != REPLAY:
        note_erased(owner_id=owner_id, purge_id=purge.pk, subject=purge.subject, ids=ids, at=at)


def _stage(purge: Purge, name: str, beat: Beat) -> None:
    purge.stage, purge.heartbeat_at = name, now()
    Purge.objects.filter(pk=purge.pk).update(stage=name)
    beat()


def _batches(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]
