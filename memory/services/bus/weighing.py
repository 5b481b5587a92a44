"""What a message says against what the reader remembers, and which of the two stands."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.db.models import Max

from memory.consolidation.contradiction import SURE, WEIGHTY
from memory.consolidation.trust import (
    DEFAULT_TRUST,
    UNKNOWN_TRUST,
    Relation,
    Verdict,
    compare,
    weigh,
)
from memory.errors import KeysUnavailable
from memory.models import BusMessage, Kind, Memory, MemorySource, MemoryVersion
from memory.recall.lexical import build_model, search
from memory.recall.profiles import shipped
from memory.recall.statistics import OwnerStatistics, owner_statistics
from memory.services.actors import Actor
from memory.services.bus.trusting import trust_of
from memory.services.consolidation.derived import made_here
from memory.services.questions import RecallRequest, without_vector

logger = logging.getLogger(__name__)

COMPARED: Final = 5
LOOKED_FOR: Final = 2_000
"""Characters of a message whose words find what to compare it with."""

# What somebody states; what was said in a conversation claims nothing and never makes way.
STATEMENTS: Final = (
    Kind.NOTE, Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.INSTRUCTION, Kind.INSIGHT,
)  # fmt: skip


class Resolution(StrEnum):
    """What becomes of a contradiction once the message is accepted."""

    KEEP = "keep_existing"
    ACCEPT = "accept_incoming"
    PERSON = "person_decides"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A memory that a message contradicts.

    `overlap` is the share of common words, `ground` says what decides: trust, time, or that a person stated the memory
    or it weighs much, and the message is not sure enough for either.
    """

    memory: Memory
    overlap: float
    resolution: Resolution
    ground: str


@dataclass(frozen=True, slots=True)
class Weighed:
    """A message against what its reader remembers: what says the same, and what it contradicts."""

    trust: float
    repeats: Memory | None
    contradictions: tuple[Contradiction, ...]


def weigh_messages(actor: Actor, messages: Sequence[BusMessage], *, at: datetime) -> list[Weighed]:
    """Compare messages with what their reader may read; call it within the owner's scope.

    Each is compared with the five memories that share its words most. Costs one search by words for each message.
    """
    trusted = trust_of([message.publisher_id for message in messages], unset=UNKNOWN_TRUST)
    owner = owner_statistics(actor.owner_id)
    return [_weighed(actor, message, trusted[message.publisher_id], owner, at) for message in messages]


def outweighed_by_default(trust: float) -> bool:
    """Tell whether an agent of this trust cannot override a memory of the usual trust, however new its message."""
    return weigh(incoming=trust, existing=DEFAULT_TRUST, newer=True)[0] is Verdict.KEEP


def _weighed(actor: Actor, message: BusMessage, trust: float, owner: OwnerStatistics, at: datetime) -> Weighed:
    repeats: Memory | None = None
    against: list[tuple[Memory, float]] = []
    for row in _nearest(actor, message.text, owner, at):
        compared = compare(message.text, row.text)
        if compared.relation is Relation.SAME:
            repeats = repeats or row
        elif compared.relation is Relation.CONTRADICTS:
            against.append((row, compared.overlap))
    return Weighed(trust, repeats, _resolved(message, trust, against))


def _nearest(actor: Actor, text: str, owner: OwnerStatistics, at: datetime) -> list[Memory]:
    """Give the live statements that the lexical arm of recall finds first."""
    query = without_vector(actor, text[:LOOKED_FOR], RecallRequest(query=text, kinds=STATEMENTS))
    query = replace(query, filters=replace(query.filters, unexpired_at=at))
    profile = shipped("default")
    model = build_model(query, profile, owner)
    if model is None:
        return []
    found = list(search(query, model, COMPARED))[:COMPARED]
    rows = {row.pk: row for row in Memory.objects.filter(pk__in=found)}
    return [rows[memory_id] for memory_id in found if memory_id in rows and opens(rows[memory_id])]


def opens(row: Memory | BusMessage) -> bool:
    """Tell whether the text of a row opens; one that does not is logged, and must not keep others from being read."""
    try:
        return isinstance(row.text, str)
    except KeysUnavailable:
        logger.error("%s %s does not open with its owner's key", row._meta.model_name, row.pk)
        return False


def _resolved(message: BusMessage, trust: float, against: Sequence[tuple[Memory, float]]) -> tuple[Contradiction, ...]:
    if not against:
        return ()
    rows = [row for row, _ in against]
    trusted = trust_of([row.agent_id for row in rows if row.agent_id is not None], unset=DEFAULT_TRUST)
    stated = _last_stated(rows)
    by_person = _stated_by_person(rows)
    found = []
    for row, share in against:
        existing = DEFAULT_TRUST if row.agent_id is None else trusted[row.agent_id]
        if row.agent_id == message.publisher_id:
            # Whoever corrects itself is trusted as much as before.
            existing = trust
        verdict, ground = weigh(incoming=trust, existing=existing, newer=message.published_at > stated[row.pk])
        protected = row.pk in by_person or row.importance >= WEIGHTY
        if verdict is Verdict.KEEP:
            found.append(Contradiction(row, share, Resolution.KEEP, ground))
        elif protected and trust < SURE:
            found.append(Contradiction(row, share, Resolution.PERSON, "protected"))
        else:
            found.append(Contradiction(row, share, Resolution.ACCEPT, ground))
    return tuple(found)


def _last_stated(rows: Sequence[Memory]) -> dict[UUID, datetime]:
    """Give when memories were last stated here; when something happened is for its author to say and does not count."""
    sources = MemorySource.objects.filter(memory_id__in=[row.pk for row in rows])
    newest = dict(sources.values_list("memory_id").annotate(at=Max("created_at")))
    return {row.pk: max(row.created_at, newest.get(row.pk) or row.created_at) for row in rows}


def _stated_by_person(rows: Sequence[Memory]) -> set[UUID]:
    """Find what a person has stated, stated again or put right."""
    ids = [row.pk for row in rows]
    changed = MemoryVersion.objects.filter(memory_id__in=ids, actor="person").values_list("memory_id", flat=True)
    said = {row.pk for row in rows if row.agent_id is None and not made_here(row)}
    return said | set(changed)
