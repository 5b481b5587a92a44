"""Forgetting on purpose: what has expired, what has faded, and whatever came from a source.

By default memories are archived and can be brought back together, by the id of the purge. A person or an operator can
have them erased instead, with the memories that were drawn from them and from nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, PermissionRefused
from memory.ids import new_id
from memory.models import Memory, MemorySource, PurgeSubject, Status, Tier, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.erasing import erase_memories, would_go_with
from memory.services.features import require_memory
from memory.services.graph.turn import take_turn, take_turn_for
from memory.services.provenance import Provenance, lose_sources, of_provenance
from memory.services.purge.ledger import note_erased
from memory.services.writing import remove_from_indexes
from memory.text import limits

BATCH: Final = 500
MOST_DAYS: Final = 36_500
MAX_PREFIX_BYTES: Final = 800

EXPIRED: Final = "purge.expired"
DECAYED: Final = "purge.decay"
FORGOTTEN: Final = "purge.provenance"


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeRequest:
    """What to forget; at least one of the three has to be named.

    Attributes:
        expired: whatever expired by now.
        decay_days: episodes that were stored more than so many days ago, whenever they happened, and whose salience is
            at most `salience_floor`.
        salience_floor: from 0 to 1.
        provenance: what came from a source, `user:al`, or from below it, `user:al/chat`; whole segments count.
        erase: erase for good instead of archiving; persons only.
        dry_run: count and change nothing.
        most: memories that are forgotten at most, besides those drawn from them; None for all.
    """

    expired: bool = False
    decay_days: Any = None
    salience_floor: Any = 0.2
    provenance: Any = None
    erase: bool = False
    dry_run: bool = False
    most: int | None = None


@dataclass(slots=True)
class Purged:
    """What was forgotten, or would be: counts by what was asked for.

    Attributes:
        id: what brings archived memories back together.
        drawn: memories that were drawn from the others and from nothing else.
        sources: sources taken off memories for which others speak too.
        more: whether there is more than was asked to be forgotten at once.
    """

    id: UUID
    dry_run: bool
    erased: bool
    expired: int = 0
    decayed: int = 0
    provenance: int = 0
    drawn: int = 0
    sources: int = 0
    more: bool = False


@dataclass(slots=True)
class _Work:
    """One purge under way."""

    actor: Actor
    request: PurgeRequest
    purged: Purged
    moment: datetime
    done: set[UUID] = field(default_factory=set)
    expected: set[UUID] = field(default_factory=set)

    def statuses(self, reason: str) -> list[str]:
        """Give what can be taken: time archives what is live, a source takes its history along, erasing the archive."""
        if self.request.erase:
            return [Status.LIVE, Status.SUPERSEDED, Status.ARCHIVED]
        return [Status.LIVE, Status.SUPERSEDED] if reason == FORGOTTEN else [Status.LIVE]

    def seen(self) -> QuerySet[Memory]:
        """Give what the actor may read."""
        rows: QuerySet[Memory] = Memory.objects.exclude(status=Status.ERASING)
        return rows if self.actor.readable is None else rows.filter(scope__in=self.actor.readable)

    def within(self, rows: QuerySet[Memory], reason: str) -> QuerySet[Memory]:
        """Limit rows to those that this purge may take for a reason."""
        found = rows.filter(status__in=self.statuses(reason))
        return found if self.actor.readable is None else found.filter(scope__in=self.actor.readable)

    def expect(self, ids: Iterable[UUID]) -> None:
        """Count what would go along, each once."""
        self.expected.update(ids)
        self.purged.drawn = len(self.expected - self.done)

    def cut(self, ids: Sequence[UUID]) -> list[UUID]:
        """Leave out what was taken already and what is more than was asked for at once."""
        fresh = [one for one in ids if one not in self.done]
        if self.request.most is not None and len(fresh) > (room := self.request.most - len(self.done)):
            self.purged.more, fresh = True, fresh[:room]
        self.done.update(fresh)
        return fresh


def purge(*, actor: Actor, request: PurgeRequest) -> Purged:
    """Forget what a request names, in batches of 500; see `PurgeRequest`.

    Raises:
        PermissionRefused: the permission `memory:delete` is missing, or an agent asks to erase.
        InvalidInput: nothing is named (`purge.empty`), or days, floor or source cannot be used; nothing was forgotten.
    """
    require_memory()
    actor.require(Permission.DELETE)
    if request.erase and actor.kind == "agent":
        raise PermissionRefused("An agent cannot erase. Leave `erase` out, and the memories are archived.")
    if not request.expired and request.decay_days is None and request.provenance is None:
        raise InvalidInput("Name at least one of expired, decay_days and provenance.", code="purge.empty")
    days = None if request.decay_days is None else _number(request.decay_days, "decay_days", MOST_DAYS)
    floor = _number(request.salience_floor, "salience_floor", 1)
    prefix = None if request.provenance is None else checked_prefix(request.provenance)
    work = _Work(actor, request, Purged(new_id(), request.dry_run, request.erase), now())
    if request.expired:
        work.purged.expired = _forget(work, Q(expires_at__lte=work.moment), EXPIRED)
    if days is not None:
        faded = Q(tier=Tier.EPISODIC, created_at__lt=work.moment - timedelta(days=days), salience__lte=floor)
        work.purged.decayed = _forget(work, faded, DECAYED)
    if prefix is not None:
        work.purged.provenance = _forget_source(work, prefix)
    return work.purged


def purge_expired(*, actor: Actor, erase: bool = False, dry_run: bool = False) -> Purged:
    """Forget what has expired by now; see `purge`."""
    return purge(actor=actor, request=PurgeRequest(expired=True, erase=erase, dry_run=dry_run))


def decay_episodic(
    *, actor: Actor, max_age_days: float = 90, floor: float = 0.2, erase: bool = False, dry_run: bool = False
) -> Purged:
    """Forget episodes that are older than some days and whose salience is at most a floor; see `purge`."""
    request = PurgeRequest(decay_days=max_age_days, salience_floor=floor, erase=erase, dry_run=dry_run)
    return purge(actor=actor, request=request)


def forget_by_provenance(*, actor: Actor, prefix: str, erase: bool = False, dry_run: bool = False) -> Purged:
    """Forget what came from a source or from below it, and from nowhere else; see `purge`.

    A memory for which another source speaks too stays and loses this source only.
    """
    return purge(actor=actor, request=PurgeRequest(provenance=prefix, erase=erase, dry_run=dry_run))


def checked_prefix(prefix: Any, *, field: str = "provenance") -> str:
    """Bring the name of a source to the form in which sources are compared; raises InvalidInput or TooLarge.

    Args:
        prefix: the name, as it came in.
        field: what errors call it.
    """
    text = limits.checked_text(prefix, field=field, max_bytes=MAX_PREFIX_BYTES).strip().casefold().rstrip("/")
    if not text:
        raise InvalidInput(f"{field} names no source.", code="provenance.invalid", field=field)
    return text


def _number(value: Any, name: str, most: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{name} is a number.", code="field.type", field=name)
    if not 0 <= value <= most:
        raise InvalidInput(f"{name} lies between 0 and {most}.", code=f"{name}.out_of_range", field=name)
    return float(value)


def _forget(work: _Work, condition: Q, reason: str) -> int:
    """Forget the memories that fit a condition, which is looked at again when they are locked."""
    with owner_scope(work.actor.owner_id):
        rows = work.within(Memory.objects.filter(condition), reason).order_by("pk")
        found = work.cut(list(rows.values_list("pk", flat=True)))
        if work.request.dry_run:
            work.expect(would_go_with(found) if work.request.erase else ())
            return len(found)
    return _take(work, found, condition, reason)


def _forget_source(work: _Work, prefix: str) -> int:
    with owner_scope(work.actor.owner_id):
        # What was archived before still counts as forgotten with the rest.
        found = of_provenance(prefix, ring=keyring().of(work.actor.owner_id), rows=work.seen())
        mine = set(work.within(Memory.objects.filter(pk__in=found.everything), FORGOTTEN).values_list("pk", flat=True))
        named = work.cut([one for one in found.forgotten if one in mine])
        drawn = [one for one in found.drawn if one in mine and one not in work.done]
        if work.request.dry_run:
            work.expect({*drawn, *(would_go_with([*named, *drawn]) if work.request.erase else ())})
            work.purged.sources += found.lost
            return len(named)
    count = _take(work, named, Q(), FORGOTTEN)
    # Where they are erased, those that are left now count by themselves.
    archived = _take(work, drawn, Q(), FORGOTTEN)
    work.purged.drawn += archived
    if not work.purged.more:
        _lose(work, found)
    return count


def _lose(work: _Work, found: Provenance) -> None:
    for memory_ids in _batches(sorted(found.staying)):
        with owner_scope(work.actor.owner_id):
            rows = Memory.objects.select_for_update().filter(pk__in=memory_ids).order_by("pk")
            lost = {row.pk: found.staying[row.pk] for row in rows}
            count = lose_sources(
                list(rows), lost, ring=keyring().of(work.actor.owner_id), actor=work.actor.label, at=work.moment,
                keep_history=not work.request.erase,
            )  # fmt: skip
            _audit(work, "lose_source", FORGOTTEN, count)
            work.purged.sources += count
            if work.request.erase:
                ids = {one for sources in lost.values() for one in sources}
                left = set(MemorySource.objects.filter(pk__in=ids).values_list("pk", flat=True))
                _note(work, FORGOTTEN, ids - left)


def _take(work: _Work, ids: Sequence[UUID], condition: Q, reason: str) -> int:
    """Archive or erase memories in batches; gives how many of those that were named are gone."""
    count = 0
    for part in _batches(ids):
        with owner_scope(work.actor.owner_id):
            if work.request.erase:
                take_turn(at=work.moment)
            else:
                take_turn_for(part, at=work.moment)
            locked = work.within(Memory.objects.select_for_update().filter(condition, pk__in=part), reason)
            named = list(locked.order_by("pk").values_list("pk", flat=True))
            if work.request.erase:
                gone = erase_memories(
                    named, at=work.moment, actor=work.actor.label, reason=reason, event_id=work.purged.id
                )
                _note(work, reason, gone)
                # One batch may take along what another one was to take.
                work.purged.drawn += len(set(gone) - work.done)
                count += len(set(gone) & work.done)
            else:
                _archive(work, named, reason)
                count += len(named)
    return count


def _note(work: _Work, reason: str, ids: Iterable[UUID]) -> None:
    """Note what is erased in the ledger, so that a backup does not bring it back."""
    subject = PurgeSubject.SOURCE if reason == FORGOTTEN else PurgeSubject.MEMORY
    note_erased(owner_id=work.actor.owner_id, purge_id=work.purged.id, subject=subject, ids=ids, at=work.moment)


def _archive(work: _Work, ids: Sequence[UUID], reason: str) -> None:
    if not ids:
        return
    remove_from_indexes(ids)
    Memory.objects.filter(pk__in=ids).update(
        status=Status.ARCHIVED, archived_at=work.moment, archive_reason=reason, updated_at=work.moment
    )
    _audit(work, "archive", reason, len(ids))


def _audit(work: _Work, verb: str, reason: str, count: int) -> None:
    if not count:
        return
    record(
        actor=work.actor.label,
        verb=verb,
        object_kind="memory",
        object_id=work.purged.id,
        reason=reason,
        count=count,
        at=work.moment,
    )


def _batches(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]
