"""Accepting a message: it becomes a memory of its reader, and what it contradicts makes way, stays, or is put to a
person.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.consolidation.policies import clipped
from memory.consolidation.trust import UNKNOWN_TRUST
from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, PermissionRefused
from memory.models import BusMessage, Memory, MemorySource, ReviewKind, Status, Visibility, owner_scope
from memory.services.actors import UNSET, Actor, Permission, Target, parse_scope, write_target
from memory.services.audit.recording import record
from memory.services.bus.reading import readable_message
from memory.services.bus.trusting import trust_of
from memory.services.bus.weighing import (
    STATEMENTS,
    Contradiction,
    Resolution,
    Weighed,
    outweighed_by_default,
    weigh_messages,
)
from memory.services.clock import now
from memory.services.consolidation.derived import target_of
from memory.services.consolidation.triggers import note_stored
from memory.services.drafts import Draft, Ready, make_ready
from memory.services.embedding import embed_texts
from memory.services.features import require_memory
from memory.services.graph.writing import change_graph
from memory.services.retention_policies import policy_for
from memory.services.retirement import CONTRADICTED
from memory.services.reviews import open_review
from memory.services.superseding import Successor, supersede_contradicted
from memory.services.writing import Embedded, build_row, insert_rows, note_uses, source_of

ORIGIN: Final = "bus"
CONTESTED: Final = "bus.contested"


@dataclass(slots=True)
class Accepted:
    """What became of an accepted message.

    Attributes:
        memory_id: the memory that holds it now, new or the one that says the same.
        created: whether it is new.
        status: `live`, or `superseded` where something that is trusted more stands against it.
        superseded: the memories that made way for it.
        kept: the memory that it made way for itself.
        reviews: the review items in which a person decides.
        notes: for the caller.
    """

    memory_id: UUID
    created: bool
    status: str = Status.LIVE
    superseded: list[UUID] = field(default_factory=list)
    kept: UUID | None = None
    reviews: list[UUID] = field(default_factory=list)
    notes: list[dict[str, str]] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """Name what was decided, for the audit."""
        if self.kept is not None:
            return "kept"
        if self.reviews:
            return "review"
        return "superseded" if self.superseded else "stored"


@dataclass(frozen=True, slots=True)
class _Prepared:
    ready: Ready
    embedded: Embedded | None
    target: Target


def accept_message(
    *, actor: Actor, token: str | None, message_id: UUID, scope: Any = UNSET, kind: str = "note"
) -> Accepted:
    """Store a message as a memory of the agent that reads it, and settle what it contradicts.

    A memory makes way for the message, or the message for a memory, as trust and time decide, and only where all who
    may read the one may read the other; else both stand. What a person stated, or weighs much, is not overridden by an
    agent that is not sure: both stand and a person decides. Nothing more is drawn from what is in doubt, or comes from
    an agent that could not override a memory of the usual trust. Whoever accepts a message vouches for it: from then on
    it counts with that agent's trust.

    Args:
        actor: the agent that accepts it.
        token: its capability token.
        message_id: a message that is delivered to it.
        scope: who may read the memory: the message's own readers when left out, the agent alone, or, of an owner-wide
            message, any scope that the agent may write.
        kind: what sort of statement it is.

    Raises:
        CapabilityRefused, PermissionRefused: as for reading; a scope that the message was not for (`scope.wider`).
        NotFound: no message that is delivered to this agent.
        InvalidInput, InvalidScope: a kind that is no statement, a scope that cannot be used.
    """
    require_memory()
    actor.require(Permission.READ)
    actor.require(Permission.WRITE)
    if kind not in STATEMENTS:
        raise InvalidInput(f"kind is one of {', '.join(STATEMENTS)}.", code="kind.invalid", field="kind")
    if scope is not UNSET:
        parse_scope(scope)
    with owner_scope(actor.owner_id):
        reader, message = readable_message(actor=actor, token=token, message_id=message_id, at=now())
        target = _target(reader, message, scope)
        trust = trust_of([message.publisher_id], unset=UNKNOWN_TRUST)[message.publisher_id]
    # Asks a model, and so stands between the two transactions.
    prepared = _prepare(reader, message, target, kind, trust)
    moment = now()
    with change_graph(actor, now=moment):
        # Asked again: the token, the membership and the message may be gone by now.
        reader, message = readable_message(actor=actor, token=token, message_id=message_id, at=moment)
        _target(reader, message, scope)
        accepted = _store(reader, message, prepared, moment)
        record(
            actor=actor.label,
            verb="accept",
            object_kind="bus_message",
            object_id=message.pk,
            reason=accepted.outcome,
            at=moment,
        )
        return accepted


def _target(reader: Actor, message: BusMessage, scope: Any) -> Target:
    """Resolve who may read the memory: never anybody whom the message was not for."""
    if scope is UNSET:
        return Target(message.visibility, message.scope, message.group_id)
    target = write_target(reader, scope)
    if message.visibility == Visibility.OWNER or target.visibility == Visibility.AGENT or target.scope == message.scope:
        return target
    raise PermissionRefused(
        "The message was not for everybody who may read that scope. Nothing was stored.", code="scope.wider"
    )


def _prepare(reader: Actor, message: BusMessage, target: Target, kind: str, trust: float) -> _Prepared:
    """Check and embed what is to be stored, cut where the owner's policy says so."""
    ring = keyring().of(reader.owner_id)
    draft = Draft(
        text=message.text,
        kind=kind,
        importance=message.importance,
        confidence=trust,
        topics=message.topics,
        source=f"{ORIGIN}/{message.publisher_id}",
        occurred_at=message.published_at,
    )
    ready = make_ready(draft, ring=ring)
    kept = clipped(ready.text, policy=policy_for(reader), tier=ready.tier)
    if kept != ready.text:
        ready = make_ready(replace(draft, text=kept), ring=ring)
    embedded = embed_texts([ready.embeddable], owner_id=reader.owner_id, agent_id=reader.agent_id)
    return _Prepared(ready, embedded, target)


def _store(reader: Actor, message: BusMessage, prepared: _Prepared, moment: datetime) -> Accepted:
    weighed = weigh_messages(reader, [message], at=moment)[0]
    against = _locked(weighed)
    row, created = _written(reader, prepared, weighed, moment)
    accepted = Accepted(row.pk, created, notes=prepared.ready.notes)
    against = [one for one in against if one.memory.pk != row.pk]
    stronger = [
        one.memory
        for one in against
        if one.resolution is Resolution.KEEP and created and _may_give_way(row, one.memory)
    ]
    if stronger:
        _supersede(reader, [row], stronger[0], moment)
        accepted.status, accepted.kept = Status.SUPERSEDED, stronger[0].pk
        return accepted
    weaker = [one.memory for one in against if one.resolution is Resolution.ACCEPT and _may_give_way(one.memory, row)]
    _supersede(reader, weaker, row, moment)
    accepted.superseded = [one.pk for one in weaker]
    accepted.reviews = _ask(reader, row, [one for one in against if one.memory.scope == row.scope])
    if created and row.extracted_at is None:
        note_stored(moment=moment)
    return accepted


def _locked(weighed: Weighed) -> list[Contradiction]:
    """Lock the memories that a message contradicts, and leave out those that were changed meanwhile."""
    seen = {one.memory.pk: one for one in weighed.contradictions}
    live = Memory.objects.select_for_update(no_key=True).filter(pk__in=seen, status=Status.LIVE).order_by("pk")
    return [replace(seen[row.pk], memory=row) for row in live if row.version == seen[row.pk].memory.version]


def _written(reader: Actor, prepared: _Prepared, weighed: Weighed, moment: datetime) -> tuple[Memory, bool]:
    """Store the statement, or reinforce the one of the same scope that says the same."""
    ready, target, known = prepared.ready, prepared.target, weighed.repeats
    if known is None or known.scope != target.scope:
        row = build_row(ready, actor=reader, target=target, now=moment)
        contested = any(one.resolution is Resolution.PERSON for one in weighed.contradictions)
        if contested or outweighed_by_default(weighed.trust):
            # Else the graph and the claims drawn from it would override what the statement itself could not.
            row.extracted_at = row.slept_at = moment
        if insert_rows([row], [ready], embedded=prepared.embedded, now=moment):
            return Memory.objects.get(pk=row.pk), True
        known = Memory.objects.get(
            scope=target.scope, content_hash=ready.content_hash, status=Status.LIVE, session__isnull=True
        )
    source = source_of(known, agent_id=reader.agent_id, now=moment, source=ready.source)
    MemorySource.objects.bulk_create([source])
    note_uses({known.pk: (1, moment)})
    return known, False


def _may_give_way(loser: Memory, winner: Memory) -> bool:
    """Tell whether all who may read one memory may read the other; both are readable to the agent that accepts."""
    return loser.scope == winner.scope or loser.visibility == Visibility.AGENT or winner.visibility == Visibility.OWNER


def _supersede(reader: Actor, losers: list[Memory], winner: Memory, moment: datetime) -> None:
    begins = winner.valid_from or winner.occurred_at
    successors = {row.pk: Successor(winner.pk, max(begins, row.valid_from or row.occurred_at)) for row in losers}
    supersede_contradicted(actor=reader, rows=losers, successors=successors, moment=moment)
    for row in losers:
        record(
            actor=reader.label,
            verb="supersede",
            object_kind="memory",
            object_id=row.pk,
            reason=CONTRADICTED,
            at=moment,
        )


def _ask(reader: Actor, row: Memory, against: list[Contradiction]) -> list[UUID]:
    """Put to a person which of two statements stands, where trust does not decide."""
    opened = []
    for one in against:
        if one.resolution is not Resolution.PERSON:
            continue
        item = open_review(
            actor=reader,
            kind=ReviewKind.CONTRADICTION,
            reason=CONTESTED,
            confidence=row.confidence,
            payload={"older": str(one.memory.pk), "newer": str(row.pk), "reason": CONTESTED},
            target=target_of(row),
            evidence=[(row.pk, ""), (one.memory.pk, "")],
        )
        if item is not None:
            opened.append(item.pk)
    return opened
