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
from memory.models import Memory, MemorySource, Purge, PurgeSubject, owner_scope
from memory.services.clock import now
from memory.services.erasing import erase_memories
from memory.services.graph.turn import take_turn
from memory.services.keys.rotation import begin_rotation, next_rotation
from memory.services.provenance import lose_sources
from memory.services.purge.ledger import note_erased
from memory.services.purge.owner_purge import RowsLeft
from memory.services.purge.partial_agent import erase_agent, silence_agent
from memory.services.purge.partial_choice import choose
from memory.services.purge.partial_verification import Found, look_for
from memory.services.remains import close_explanations

BATCH: Final = 500
# Ids of so many erased rows are kept until the verification has looked for them everywhere.
MOST_LOOKED_FOR: Final = 5_000
REASON: Final = "purge"
REPLAY: Final = "replay"
"""Who asks for what the ledger names in a restored database."""

Beat = Callable[[], None]


@dataclass(frozen=True, slots=True)
class PartialOutcome:
    """What a partial purge did: rows erased and rows left, by kind; what was looked at; what stays, and the keys."""

    erased: dict[str, int]
    left: dict[str, int]
    looked_at: dict[str, Any]
    stays: list[dict[str, Any]]
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
        _count(purge, {"explanations": close_explanations()})
    _stage(purge, "sources", beat)
    for part in _batches(sorted(chosen.staying)):
        _lose(purge, owner_id, {one: chosen.staying[one] for one in part}, at)
        beat()
    if agent_id is not None:
        _stage(purge, "agent", beat)
        with owner_scope(owner_id):
            take_turn(at=at)
            _count(purge, erase_agent(agent_id), [agent_id])
            _note(purge, owner_id, [agent_id], at)
    keys = _seal(purge, owner_id)
    _stage(purge, "verification", beat)
    return _outcome(purge, owner_id, keys)


def _erase(purge: Purge, owner_id: UUID, part: Sequence[UUID], named: set[UUID], at: datetime) -> None:
    with owner_scope(owner_id):
        take_turn(at=at)
        locked = Memory.objects.select_for_update().filter(pk__in=part).order_by("pk")
        gone = erase_memories(
            list(locked.values_list("pk", flat=True)),
            at=at,
            actor=purge.requested_by,
            reason=REASON,
            event_id=purge.pk,
            in_purge=True,
        )
        counted = len(named.intersection(gone))
        _count(purge, {"memories": counted, "drawn": len(gone) - counted}, gone)
        _note(purge, owner_id, gone, at)


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


def _outcome(purge: Purge, owner_id: UUID, keys: dict[str, Any]) -> PartialOutcome:
    erased = [UUID(one) for one in (purge.samples or {}).get("ids", [])]
    with owner_scope(owner_id):
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
    looked_at = {"tables": found.tables, "columns": found.columns, "sealed_values": found.opened, "ids": len(erased)}
    return PartialOutcome(dict(purge.erased), left, looked_at, stays(purge), keys)


def stays(purge: Purge) -> list[dict[str, Any]]:
    """Say what a partial purge leaves, and why."""
    found = [
        {
            "what": "audit events",
            "until": "the owner is purged",
            "why": "They say that something was done to an id, and hold no text.",
        },
        {
            "what": "remains in dead rows and backups",
            "until": "the text key's version is destroyed by the next rotation",
            "why": "They are encrypted; the vault's own backups keep the former version for as long as they are kept.",
        },
        {
            "what": "entries of the purge ledger",
            "until": "the key vault's place is given up",
            "why": "Without them a restored backup would bring back what was erased. They hold salted hashes only.",
        },
    ]
    if purge.subject != PurgeSubject.MEMORY:
        found.append(
            {
                "what": "memories that others have stated too",
                "until": "they are erased",
                "why": "Somebody else speaks for them; what was purged is no longer named as a source of theirs.",
            }
        )
    return found


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
