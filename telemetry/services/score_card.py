"""How healthy an owner's memory is, as a score with reasons and as plain numbers of what waits."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.consolidation.policies import policy_named
from memory.consolidation.strength import DECAY, strength_parameters
from memory.models import (
    EmbeddingSpace,
    Entity,
    Memory,
    MemoryAccess,
    MemoryVector,
    Reflection,
    Relation,
    ReviewItem,
    ReviewKind,
    ReviewState,
    SpaceState,
    Status,
    owner_scope,
)
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.services.consolidation.situation import MADE_HERE, UNHEARD, WAITS
from memory.services.settings import current_settings
from telemetry.quality.score import (
    ACTIVE_ABOVE,
    STALE_BELOW,
    Deduction,
    Standing,
    deductions_of,
    score_of,
)

KEPT_FOR: Final = timedelta(seconds=60)
MOST_KEPT: Final = 1_000
LOW_CONFIDENCE: Final = 0.5
"""Confidence of a memory below which it counts as low."""

# One pass over the owner's live memories; the rest are look-ups in indexes and counts of smaller tables.
MEMORIES: Final = f"""
    SELECT count(*), count(*) FILTER (WHERE decay > {ACTIVE_ABOVE}), count(*) FILTER (WHERE decay < {STALE_BELOW}),
           coalesce(avg(decay), 0), count(*) FILTER (WHERE uses > 0),
           count(*) FILTER (WHERE confidence < {LOW_CONFIDENCE}), count(*) FILTER (WHERE waits)
    FROM (
        SELECT {DECAY} AS decay, a.access_count AS uses, m.confidence, ({WAITS}) AS waits
        FROM {Memory._meta.db_table} m
        LEFT JOIN {MemoryAccess._meta.db_table} a ON a.owner_id = m.owner_id AND a.memory_id = m.id
        WHERE m.owner_id = %(owner)s AND m.status = %(live)s
    ) AS one
"""
GRAPH: Final = f"""
    SELECT (SELECT count(*) FROM {Entity._meta.db_table} WHERE owner_id = %(owner)s),
           (SELECT count(*) FROM {Entity._meta.db_table} e WHERE e.owner_id = %(owner)s
            AND NOT EXISTS (SELECT FROM {Relation._meta.db_table} r WHERE r.owner_id = %(owner)s AND r.source_id = e.id
                            AND r.retracted_at IS NULL AND r.valid_until IS NULL)
            AND NOT EXISTS (SELECT FROM {Relation._meta.db_table} r WHERE r.owner_id = %(owner)s AND r.target_id = e.id
                            AND r.retracted_at IS NULL AND r.valid_until IS NULL)),
           (SELECT count(*) FROM {Relation._meta.db_table}
            WHERE owner_id = %(owner)s AND retracted_at IS NULL AND valid_until IS NULL),
           (SELECT count(*) FROM {Reflection._meta.db_table} r JOIN {Memory._meta.db_table} m ON m.owner_id = r.owner_id
            AND m.id = r.memory_id AND m.status = %(live)s WHERE r.owner_id = %(owner)s),
           (SELECT coalesce(avg(r.confidence), 0) FROM {Reflection._meta.db_table} r JOIN {Memory._meta.db_table} m
            ON m.owner_id = r.owner_id AND m.id = r.memory_id AND m.status = %(live)s WHERE r.owner_id = %(owner)s)
"""
WAITING: Final = f"""
    SELECT (SELECT count(*) FROM {Memory._meta.db_table} m WHERE m.owner_id = %(owner)s AND m.status = %(live)s
            AND NOT EXISTS (SELECT FROM {MemoryVector._meta.db_table} v JOIN {EmbeddingSpace._meta.db_table} s
                            ON s.id = v.space_id AND s.state = %(active)s
                            WHERE v.owner_id = %(owner)s AND v.memory_id = m.id)),
           (SELECT count(*) FROM {ReviewItem._meta.db_table} WHERE owner_id = %(owner)s
            AND (state = %(open)s OR (state = %(snoozed)s AND snoozed_until <= %(moment)s))),
           (SELECT count(*) FROM {ReviewItem._meta.db_table} WHERE owner_id = %(owner)s AND kind = %(contradiction)s
            AND state IN (%(open)s, %(snoozed)s))
"""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits or is weak, as plain numbers that change no score.

    Attributes:
        low_confidence, low_confidence_share: live memories whose confidence is below 0.5, and their share, 0 to 1.
        without_vector, without_vector_share: live memories that are found by words only, and their share.
        unextracted: memories from which consolidation has drawn nothing yet.
        reviews: doubts that wait for a person.
        contradictions: among all doubts not yet decided, those of two memories that contradict each other.
    """

    low_confidence: int
    low_confidence_share: float
    without_vector: int
    without_vector_share: float
    unextracted: int
    reviews: int
    contradictions: int


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """A score from 41 to 100, what was taken off and why, and the numbers behind it, as of a moment."""

    score: int
    deductions: tuple[Deduction, ...]
    standing: Standing
    backlog: Backlog
    at: datetime


def score_card(*, actor: Actor) -> ScoreCard:
    """Score the whole memory of the actor's owner; kept for a minute, unless it is empty.

    Takes four statements when it is not kept. Memories count whole, however many agents they belong to; nothing of
    what they say is opened.

    Raises:
        PermissionRefused: no `telemetry:read`.
    """
    actor.require(Permission.TELEMETRY_READ)
    moment = now()
    known = _kept.get(actor.owner_id, moment)
    if known is None:
        with owner_scope(actor.owner_id):
            known = _counted(actor.owner_id, moment)
        # Whoever stores a first memory wants to see it count at once.
        if known.standing.memories or known.standing.entities:
            _kept.put(actor.owner_id, known)
    return known


def forget_score_cards(owner_id: UUID | None = None) -> None:
    """Drop what is kept of one owner, or of all."""
    _kept.forget(owner_id)


def _counted(owner_id: UUID, moment: datetime) -> ScoreCard:
    policy = policy_named(current_settings()["values"]["retention_policy"])
    values: dict[str, Any] = {
        **strength_parameters(policy, moment=moment),
        "owner": owner_id,
        "live": str(Status.LIVE),
        "active": str(SpaceState.ACTIVE),
        "made": [str(kind) for kind in MADE_HERE],
        "unheard": [str(role) for role in UNHEARD],
        "open": str(ReviewState.OPEN),
        "snoozed": str(ReviewState.SNOOZED),
        "contradiction": str(ReviewKind.CONTRADICTION),
    }
    memories, active, stale, decay, used, unsure, unextracted = _row(MEMORIES, values)
    entities, unrelated, relations, reflections, confidence = _row(GRAPH, values)
    without_vector, reviews, contradictions = _row(WAITING, values)
    standing = Standing(
        memories=memories,
        active=active,
        stale=stale,
        average_decay=decay,
        used=used,
        entities=entities,
        unrelated_entities=unrelated,
        relations=relations,
        reflections=reflections,
        reflection_confidence=confidence,
    )
    backlog = Backlog(
        low_confidence=unsure,
        low_confidence_share=_share(unsure, memories),
        without_vector=without_vector,
        without_vector_share=_share(without_vector, memories),
        unextracted=unextracted,
        reviews=reviews,
        contradictions=contradictions,
    )
    deductions = deductions_of(standing)
    return ScoreCard(score_of(deductions), deductions, standing, backlog, moment)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _row(statement: str, values: dict[str, Any]) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row: tuple[Any, ...] = cursor.fetchone()
        return row


class _Kept:
    """The last cards of this process by owner; the oldest makes room."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cards: dict[UUID, ScoreCard] = {}

    def get(self, owner_id: UUID, moment: datetime) -> ScoreCard | None:
        card = self._cards.get(owner_id)
        return card if card is not None and timedelta(0) <= moment - card.at < KEPT_FOR else None

    def put(self, owner_id: UUID, card: ScoreCard) -> None:
        with self._lock:
            self._cards.pop(owner_id, None)
            if len(self._cards) >= MOST_KEPT:
                del self._cards[next(iter(self._cards))]
            self._cards[owner_id] = card

    def forget(self, owner_id: UUID | None) -> None:
        with self._lock:
            if owner_id is None:
                self._cards.clear()
            else:
                self._cards.pop(owner_id, None)


_kept: Final = _Kept()
