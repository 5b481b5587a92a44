"""The chain's arithmetic: the form in which events are digested, and what a seal signs."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from memory.crypto.signing import canonical, is_signed, signer
from memory.models import AuditEvent

PURPOSE: Final = "audit"
BEFORE_THE_FIRST: Final = bytes(32)
COLUMNS: Final = "id, actor, verb, object_kind, object_id, reason, count, created_at, proof"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class Event(NamedTuple):
    """What is sealed of an event; the fields are the `COLUMNS`, in their order."""

    id: UUID
    actor: str
    verb: str
    object_kind: str
    object_id: UUID | None
    reason: str
    times: int
    created_at: datetime
    proof: bytes


class Link(Protocol):
    """A stored seal, of a living owner or of a purged one."""

    number: int
    acts: int
    reads: int
    acts_digest: Any
    reads_digest: Any
    previous: Any
    digest: Any
    signature: Any
    sealed_at: datetime


@dataclass(frozen=True, slots=True)
class Batch:
    """Counts and digests of the events under one seal; `unproved` ones were not recorded by this installation."""

    acts: int
    reads: int
    acts_digest: bytes
    reads_digest: bytes
    unproved: int = 0


def proof_of(pseudonym: UUID, event: Event) -> bytes:
    """Give the code with which an event is stored, 32 bytes; it shows who has recorded it before it gets under a seal.

    Raises:
        KeysUnavailable: there is no signing key.
    """
    return signer().mac(_form(pseudonym, event), purpose=PURPOSE)


def batch_of(pseudonym: UUID, events: Iterable[Event]) -> Batch:
    """Digest events, which must come in the order of their ids; acts and reads apart (SHA-256).

    Each event counts as the digest of its canonical form and its proof, so that no two lists of events give the same
    bytes. The form names the owner by `pseudonym`, which a purge leaves as it is. What was recorded before there were
    proofs has an empty one, and the database takes no new event like that.
    """
    acts, reads = sha256(), sha256()
    counts, unproved = [0, 0], 0
    for event in events:
        is_read = event.verb == AuditEvent.READ
        form, proof = _form(pseudonym, event), bytes(event.proof)
        (reads if is_read else acts).update(sha256(form + proof).digest())
        counts[is_read] += 1
        unproved += bool(proof) and not same(proof, signer().mac(form, purpose=PURPOSE))
    return Batch(counts[0], counts[1], acts.digest(), reads.digest(), unproved)


def digest_of(pseudonym: UUID, number: int, batch: Batch, *, previous: bytes, sealed_at: datetime) -> bytes:
    """Digest a seal with everything that it says and the digest of the seal before it."""
    said = {
        "chain": str(pseudonym),
        "number": number,
        "acts": batch.acts,
        "reads": batch.reads,
        "acts_digest": batch.acts_digest.hex(),
        "reads_digest": batch.reads_digest.hex(),
        "previous": previous.hex(),
        "sealed_at": _microseconds(sealed_at),
    }
    return sha256(canonical(said)).digest()


def said_by(link: Link) -> Batch:
    """Give the counts and digests that a stored seal states."""
    return Batch(link.acts, link.reads, bytes(link.acts_digest), bytes(link.reads_digest))


def sign(digest: bytes) -> bytes:
    """Sign a seal's digest in the name of this installation."""
    return signer().sign(digest, purpose=PURPOSE)


def is_ours(link: Link, *, public_key: bytes) -> bool:
    """Tell whether a seal's digest was signed with the private key to `public_key`."""
    return is_signed(bytes(link.digest), bytes(link.signature), public_key=public_key, purpose=PURPOSE)


def same(one: bytes, other: bytes) -> bool:
    """Compare two digests in constant time."""
    return hmac.compare_digest(one, other)


def _form(pseudonym: UUID, event: Event) -> bytes:
    return canonical(
        [
            str(pseudonym),
            str(event.id),
            event.actor,
            event.verb,
            event.object_kind,
            str(event.object_id) if event.object_id else None,
            event.reason,
            event.times,
            _microseconds(event.created_at),
        ]
    )


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
