"""The memories and entities of a view: what is known of each, and their words, masked and short."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.models import Entity, Kind, Memory, ReviewEvidence, ReviewState
from memory.privacy import pii
from memory.privacy.masking import masked
from memory.recall.id_arrays import id_array
from memory.services.actors import Actor
from memory.services.graph_view.walking import Sight
from memory.services.opening import opened
from memory.services.past import as_then
from memory.services.reviews import in_state, visible_reviews

LABEL_CHARACTERS: Final = 28
PREVIEW_CHARACTERS: Final = 80
INFERRED_KINDS: Final = frozenset({Kind.INSIGHT, Kind.SUMMARY, Kind.REFLECTION, Kind.PATTERN})
"""Kinds of memories that Loci concluded and nobody said."""

WORDS: Final = ("id", "owner_id", "agent_id", "visibility", "text", "pii_kinds", "pii_tier")
MEMORIES: Final = """
    SELECT m.id, m.kind, m.category, m.community, m.importance, m.confidence, m.valid_from, m.valid_until,
           m.recorded_at, m.retracted_at, p.x, p.y,
           (SELECT count(*) FROM memory_memorysource s WHERE s.owner_id = m.owner_id AND s.memory_id = m.id)
    FROM memory_memory m
    LEFT JOIN memory_graphposition p ON p.owner_id = m.owner_id AND p.id = m.id
    WHERE m.owner_id = %(owner)s AND m.id = ANY(%(ids)s::uuid[]) AND {seen}
"""
ENTITIES: Final = """
    SELECT e.id, e.type, e.type, e.community, e.importance, 1.0, NULL::timestamptz, NULL::timestamptz,
           e.first_seen, NULL::timestamptz, p.x, p.y, e.mention_count
    FROM memory_entity e
    LEFT JOIN memory_graphposition p ON p.owner_id = e.owner_id AND p.id = e.id
    WHERE e.owner_id = %(owner)s AND e.id = ANY(%(ids)s::uuid[]) {readable}
"""


@dataclass(slots=True)
class Thing:
    """A memory or an entity in a view.

    Attributes:
        id, is_memory: which.
        kind: of a memory, or the type of an entity.
        category: of a memory, or the type of an entity.
        community: its number; None for none.
        importance, confidence: 0 to 1.
        support: independent statements of a memory, or mentions of an entity.
        valid_from, valid_until, recorded_at, retracted_at: when it held and when it was believed.
        inferred: whether it was concluded and not said.
        contested: whether a person is asked about it, or another memory contradicts it.
        score: what it counts in this view.
        seed: whether the view starts from it.
        place: x and y as stored; None where none are.
        label, preview: its words, masked; empty where they were not opened.
        masked: whether its words hide something.
        more: how many links it has that the view does not show.
    """

    id: UUID
    is_memory: bool
    kind: str
    category: str
    community: int | None
    importance: float
    confidence: float
    valid_from: datetime | None
    valid_until: datetime | None
    recorded_at: datetime
    retracted_at: datetime | None
    place: tuple[float, float] | None
    support: int
    score: float = 0.0
    seed: bool = False
    inferred: bool = False
    contested: bool = False
    label: str = ""
    preview: str = ""
    masked: bool = False
    more: int = 0


def things(memories: Mapping[UUID, float], entities: Mapping[UUID, float], *, sight: Sight) -> list[Thing]:
    """Give what is known of memories and entities that can be seen, what counts most first, without their words.

    Two statements.
    """
    found = _read(MEMORIES, memories, sight, is_memory=True) + _read(ENTITIES, entities, sight, is_memory=False)
    return sorted(found, key=lambda one: (-one.score, -one.importance, one.id.int))


def put_words(chosen: Sequence[Thing], *, sight: Sight) -> None:
    """Open the words of things, as they were known then, masked. Two statements, and two more for a past moment."""
    texts: dict[UUID, tuple[str, bool]] = {}
    ids = [one.id for one in chosen if one.is_memory]
    chosen_rows = Memory.objects.filter(pk__in=ids)
    # What a row said then is put together from all of it; what it says now takes these columns.
    wanted = chosen_rows if sight.times.known is not None else chosen_rows.only(*WORDS)
    rows = opened(list(wanted)) if ids else []
    if sight.times.known is not None and rows:
        rows = as_then(rows, at=sight.times.known)
    for row in rows:
        shown = masked(row.text, row.pii_kinds, row.pii_tier)
        if sight.times.known is not None and not shown.hidden:
            # What it said then has not been looked at for personal data.
            said = pii.redact(shown.text)
            texts[row.pk] = (said, said != shown.text)
        else:
            texts[row.pk] = (shown.text, shown.hidden)
    names = [one.id for one in chosen if not one.is_memory]
    for entity in Entity.objects.filter(pk__in=names).only("id", "owner_id", "name", "visibility", "scope"):
        said = pii.redact(entity.name)
        texts[entity.pk] = (said, said != entity.name)
    for one in chosen:
        text, one.masked = texts.get(one.id, ("", False))
        flat = " ".join(text.split())
        one.label, one.preview = shortened(flat, LABEL_CHARACTERS), shortened(flat, PREVIEW_CHARACTERS)


def put_contested(chosen: Sequence[Thing], contradicting: Collection[UUID], *, actor: Actor, now: datetime) -> None:
    """Mark what is in doubt: what a link contradicts, and what open questions to a person are about. One statement."""
    waiting = visible_reviews(actor).filter(in_state(ReviewState.OPEN, now)).values("pk")
    ids = [one.id for one in chosen if one.is_memory]
    doubted = set(
        ReviewEvidence.objects.filter(memory_id__in=ids, item_id__in=waiting).values_list("memory_id", flat=True)
    )
    for one in chosen:
        one.contested = one.id in doubted or one.id in contradicting


def shortened(text: str, most: int) -> str:
    """Cut a text to a number of characters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _read(statement: str, scores: Mapping[UUID, float], sight: Sight, *, is_memory: bool) -> list[Thing]:
    if not scores:
        return []
    written = statement.format(seen=sight.memories(), readable=sight.readable())
    parameters: dict[str, Any] = {**sight.parameters, "ids": id_array(scores)}
    with connection.cursor() as cursor:
        cursor.execute(written, parameters)
        rows = cursor.fetchall()
    return [
        Thing(
            id=one,
            is_memory=is_memory,
            kind=kind,
            category=category,
            community=community,
            importance=importance,
            confidence=confidence,
            valid_from=valid_from,
            valid_until=valid_until,
            recorded_at=recorded_at,
            retracted_at=retracted_at,
            place=None if x is None else (x, y),
            support=support,
            score=scores[one],
            inferred=is_memory and kind in INFERRED_KINDS,
        )
        for (
            one, kind, category, community, importance, confidence, valid_from, valid_until, recorded_at, retracted_at,
            x, y, support,
        ) in rows
    ]  # fmt: skip
