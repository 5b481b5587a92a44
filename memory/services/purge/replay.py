"""Erasing again, in a database that was restored from a backup, what the ledger says was erased since."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.errors import Conflict, LociError
from memory.models import Agent, Memory, MemorySource, Owner, Purge, PurgeSubject, owner_scope
from memory.services.clock import now
from memory.services.graph.turn import take_turn
from memory.services.provenance import lose_sources, resting_on
from memory.services.purge.lease import OPEN
from memory.services.purge.ledger import REPLAY, Named, named_in_ledger
from memory.services.purge.older_database import note_replayed
from memory.services.purge.requests import proven_purge, request_purge
from memory.services.purge.runner import run_purge

IDS_OF_PURGE: Final = 10_000


@dataclass(slots=True)
class Replayed:
    """What was erased again: owners, agents, memories and single sources; and the codes of what failed, by number."""

    owners: int = 0
    agents: int = 0
    memories: int = 0
    sources: int = 0
    failed: dict[str, int] = field(default_factory=dict)


def replay() -> Replayed:
    """Erase what the ledger of purges names and this database holds; what it does not hold is passed over.

    Repeating it has no further effect. Reads the ids of all memories of owners whom the ledger names.

    Raises:
        KeysUnavailable: the ledger cannot be read; nothing was erased.
    """
    done = Replayed()
    owner_ids = list(Owner.objects.order_by("pk").values_list("pk", flat=True))
    for owner_id, named in sorted(named_in_ledger(owner_ids).items()):
        try:
            if named.everything:
                _purge_owner(owner_id)
                done.owners += 1
            else:
                _purge_rows(owner_id, named, done)
                if named.newest is not None:
                    note_replayed(owner_id, named.newest)
        except LociError as error:
            # The others have their turn; whoever called this sees that something is left.
            done.failed[error.machine_code] = done.failed.get(error.machine_code, 0) + 1
    return done


def _purge_owner(owner_id: UUID) -> None:
    # A backup that was made while the purge went on holds it; where what proves it is lost, the ledger proves it.
    purge = proven_purge(owner_id=owner_id)
    if purge is None:
        purge = request_purge(
            owner_id=owner_id,
            subject=PurgeSubject.OWNER,
            target={},
            requested_by=REPLAY,
            expected={},
            at=now(),
            call=_nobody,
            again=True,
        ).purge
    run_purge(purge_id=purge.pk)


def _purge_rows(owner_id: UUID, named: Named, done: Replayed) -> None:
    with owner_scope(owner_id):
        agents = named.among(Agent.objects.order_by("pk").values_list("pk", flat=True).iterator())
    for agent_id in agents:
        _run(owner_id, PurgeSubject.AGENT, {"agent": str(agent_id)})
        done.agents += 1
    with owner_scope(owner_id):
        memories = named.among(Memory.objects.order_by("pk").values_list("pk", flat=True).iterator())
        lost = _named_sources(named, set(memories))
        bereft = resting_on(lost, allowed=set(Memory.objects.values_list("pk", flat=True)))
    every = [*memories, *(one for one in bereft.everything if one not in set(memories))]
    for part in _parts(every):
        _run(owner_id, PurgeSubject.MEMORY, {"memories": [str(one) for one in part]})
        done.memories += len(part)
    done.sources += _lose(owner_id, bereft.staying)


def _run(owner_id: UUID, subject: PurgeSubject, target: Mapping[str, Any]) -> None:
    wanted = {**target, "within": None, "seal": False}
    try:
        purge = request_purge(
            owner_id=owner_id,
            subject=subject,
            target=wanted,
            requested_by=REPLAY,
            expected={},
            at=now(),
            call=_nobody,
        ).purge
    except Conflict as error:
        # A replay that could not be finished before has left it; whether it is proven is looked at when it runs.
        left = Purge.objects.filter(of_owner=owner_id, state__in=OPEN, subject=subject, target=wanted).first()
        if error.machine_code != "purge.under_way" or left is None:
            raise
        purge = left
    run_purge(purge_id=purge.pk)


def _named_sources(named: Named, without: set[UUID]) -> dict[UUID, set[UUID]]:
    """Give the named rows of `MemorySource` of memories that are not erased themselves, by memory."""
    rows = dict(MemorySource.objects.order_by("pk").values_list("pk", "memory_id").iterator())
    lost: dict[UUID, set[UUID]] = defaultdict(set)
    for pk in named.among(rows):
        if rows[pk] not in without:
            lost[rows[pk]].add(pk)
    return dict(lost)


def _lose(owner_id: UUID, staying: Mapping[UUID, set[UUID]]) -> int:
    if not staying:
        return 0
    with owner_scope(owner_id):
        take_turn(at=now())
        rows = list(Memory.objects.select_for_update().filter(pk__in=staying).order_by("pk"))
        lost = {row.pk: staying[row.pk] for row in rows}
        ring = keyring().of(owner_id)
        return lose_sources(rows, lost, ring=ring, actor=REPLAY, at=now(), keep_history=False)


def _parts(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    for start in range(0, len(ids), IDS_OF_PURGE):
        yield ids[start : start + IDS_OF_PURGE]


def _nobody() -> None:
    """Call no worker: the work is done here and now."""
