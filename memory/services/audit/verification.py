"""Verifying chains: whether what was sealed is still there, as it was, in its order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from memory.crypto.signing import signer
from memory.models import AuditEvent, AuditSeal, RetiredAuditEvent, RetiredAuditSeal, owner_scope
from memory.services.audit.chain import (
    BEFORE_THE_FIRST,
    COLUMNS,
    Batch,
    Event,
    Link,
    batch_of,
    digest_of,
    is_ours,
    said_by,
    same,
)
from memory.services.audit.sealing import pseudonym_of, take_turn
from memory.services.clock import now

READS_KEPT: Final = timedelta(days=90)
# Findings about one chain that are told; a chain cut apart could have as many as it has seals.
MOST_FINDINGS: Final = 100
FETCHED_AT_ONCE: Final = 2_000


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it was sealed.

    `code` is one of `seal.missing`, `seal.order`, `seal.digest`, `seal.signature`, `acts.changed`, `acts.missing`,
    `acts.added`, `reads.changed`, `reads.missing`, `reads.added`, `event.unknown_seal`, `event.unproved`,
    `chain.not_purged`, and, against an earlier file of heads, `head.missing`, `head.changed`, `chain.missing`.
    """

    chain: UUID
    code: str
    seal: int | None
    detail: str


@dataclass(slots=True)
class Verified:
    """What was looked at in one chain, and what was found; `unsealed` events are not covered by any seal yet."""

    chain: UUID
    retired: bool = False
    seals: int = 0
    acts: int = 0
    reads: int = 0
    pruned_reads: int = 0
    unsealed: int = 0
    # The digests of the seals by number, for a comparison with earlier heads.
    digests: dict[int, bytes] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def found(self, code: str, number: int | None, detail: str) -> None:
        """Add a finding, up to a hundred."""
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(self.chain, code, number, detail))


def verify_owner(owner_id: UUID, *, public_key: bytes | None = None, at: datetime | None = None) -> Verified:
    """Verify an owner's chain from its first seal to its last.

    Reads every event of the owner once, at least 15,000 a second, and holds one digest for each seal.

    Args:
        owner_id: whose.
        public_key: the key that signed, 32 bytes; this installation's when left out.
        at: the moment that counts as now; reads may be missing under seals that are 90 days older.

    Raises:
        OwnerPurging: everything of this owner is being erased.
    """
    with owner_scope(owner_id):
        result = Verified(pseudonym_of(owner_id))
        # Or a batch that is sealed meanwhile would have events and no seal here.
        take_turn(result.chain)
        result.unsealed = AuditEvent.objects.filter(sealed_in=None).count()
        seals = AuditSeal.objects.order_by("number").iterator(FETCHED_AT_ONCE)
        _verify(result, seals, _stored("memory_auditevent", "owner_id", owner_id), public_key, at)
    return result


def verify_retired(pseudonym: UUID, *, public_key: bytes | None = None, at: datetime | None = None) -> Verified:
    """Verify the chain of an owner who was purged; arguments as `verify_owner`."""
    with transaction.atomic():
        take_turn(pseudonym)
        result = Verified(pseudonym, retired=True)
        result.unsealed = RetiredAuditEvent.objects.filter(pseudonym=pseudonym, sealed_in=None).count()
        seals = RetiredAuditSeal.objects.filter(pseudonym=pseudonym).order_by("number").iterator(FETCHED_AT_ONCE)
        _verify(result, seals, _stored("memory_retiredauditevent", "pseudonym", pseudonym), public_key, at)
    return result


def retired_chains() -> list[UUID]:
    """List the chains of owners who were purged."""
    seals = RetiredAuditSeal.objects.values_list("pseudonym", flat=True)
    events = RetiredAuditEvent.objects.values_list("pseudonym", flat=True)
    return sorted(set(seals.distinct()) | set(events.distinct()))


def _verify(
    result: Verified,
    seals: Iterator[Any],
    events: Iterator[tuple[int, Event]],
    public_key: bytes | None,
    at: datetime | None,
) -> None:
    """Go through seals and events side by side, both in the order of the seals' numbers."""
    key = public_key or signer().public_key
    pruned_before = (at or now()) - READS_KEPT
    batches = groupby(events, key=lambda one: one[0])
    number, group = next(batches, (None, iter(())))
    expected, previous = 1, BEFORE_THE_FIRST
    for seal in seals:
        while number is not None and number < seal.number:
            _without_seal(result, number, group)
            number, group = next(batches, (None, iter(())))
        if seal.number != expected:
            result.found("seal.missing", expected, f"The seals {expected} to {seal.number - 1} are missing.")
        elif not same(bytes(seal.previous), previous):
            result.found("seal.order", seal.number, "The seal does not follow the one before it.")
        _check_seal(result, seal, key)
        of_seal = (event for _, event in group) if number == seal.number else iter(())
        before = len(result.findings)
        there = batch_of(result.chain, of_seal)
        _check_events(result, seal, there, pruned_before)
        # Only the key that proves can check, and what was changed after it was sealed is told already.
        if there.unproved and len(result.findings) == before and is_ours(seal, public_key=signer().public_key):
            result.found("event.unproved", seal.number, f"{there.unproved} events were not recorded by this product.")
        if number == seal.number:
            number, group = next(batches, (None, iter(())))
        expected, previous = seal.number + 1, bytes(seal.digest)
        result.seals += 1
        result.digests[seal.number] = previous
    while number is not None:
        _without_seal(result, number, group)
        number, group = next(batches, (None, iter(())))


def _check_seal(result: Verified, seal: Link, public_key: bytes) -> None:
    counted = digest_of(
        result.chain, seal.number, said_by(seal), previous=bytes(seal.previous), sealed_at=seal.sealed_at
    )
    if not same(counted, bytes(seal.digest)):
        result.found("seal.digest", seal.number, "The seal says something else than what was digested.")
    if not is_ours(seal, public_key=public_key):
        result.found("seal.signature", seal.number, "The seal was not signed with this key.")


def _check_events(result: Verified, seal: Link, there: Batch, pruned_before: datetime) -> None:
    said = said_by(seal)
    result.acts, result.reads = result.acts + there.acts, result.reads + there.reads
    _compare(result, "acts", seal.number, (said.acts, said.acts_digest), (there.acts, there.acts_digest))
    if not there.reads and said.reads and seal.sealed_at < pruned_before:
        result.pruned_reads += said.reads
        return
    _compare(result, "reads", seal.number, (said.reads, said.reads_digest), (there.reads, there.reads_digest))


def _compare(result: Verified, what: str, number: int, said: tuple[int, bytes], there: tuple[int, bytes]) -> None:
    if same(said[1], there[1]) and said[0] == there[0]:
        return
    code = "changed" if said[0] == there[0] else "missing" if said[0] > there[0] else "added"
    result.found(f"{what}.{code}", number, f"{said[0]} {what} were sealed, {there[0]} are there.")


def _without_seal(result: Verified, number: int, group: Iterator[tuple[int, Event]]) -> None:
    count = sum(1 for _ in group)
    result.found("event.unknown_seal", number, f"{count} events name a seal that is not there.")


def _stored(table: str, column: str, value: UUID) -> Iterator[tuple[int, Event]]:
    """Read all sealed events in the order of seals and ids, through a cursor of the server.

    So that a long audit need not fit into memory. Called within a transaction, in which such a cursor lives.
    """
    with connection.chunked_cursor() as cursor:
        cursor.execute(
            f"SELECT sealed_in, {COLUMNS} FROM {table} WHERE {column} = %s AND sealed_in IS NOT NULL"
            " ORDER BY sealed_in, id",
            [value],
        )
        while rows := cursor.fetchmany(FETCHED_AT_ONCE):
            for sealed_in, *rest in rows:
                yield sealed_in, Event(*rest)
