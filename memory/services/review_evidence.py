"""What the memories behind review items say, in the words that count, as far as a reader may read them now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from memory.consolidation.summarising import split_sentences
from memory.models import Memory, ReviewEvidence, ReviewItem, ReviewKind, Status
from memory.services.actors import Actor
from memory.services.opening import opened

MOST_CHARACTERS: Final = 500
ENDS: Final = ("older", "newer")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A memory behind an item.

    Attributes:
        memory_id: which.
        text: the words that count: those that the item was drawn from, the sentences that name a cause or its effect,
            or else the memory; at most 500 characters.
        occurred_at: when it was so.
        role: `older` or `newer`, for the two statements of a contradiction.
    """

    memory_id: UUID
    text: str
    occurred_at: datetime
    role: str | None


def evidence_of(actor: Actor, items: Sequence[ReviewItem]) -> dict[UUID, tuple[Evidence, ...]]:
    """Give what is behind each item, within the owner's scope; of memories that the actor may read now."""
    found: dict[UUID, list[Evidence]] = {item.pk: [] for item in items}
    known = {item.pk: item for item in items}
    rows: QuerySet[ReviewEvidence] = ReviewEvidence.objects.filter(item_id__in=list(found)).order_by("pk")
    reasons = list(rows if actor.readable is None else rows.filter(scope__in=actor.readable))
    readable: QuerySet[Memory] = Memory.objects.filter(pk__in={one.memory_id for one in reasons})
    if actor.readable is not None:
        readable = readable.filter(scope__in=actor.readable).exclude(status=Status.ERASING)
    memories = {row.pk: row for row in opened(list(readable))}
    for reason in reasons:
        memory = memories.get(reason.memory_id)
        if memory is not None:
            item = known[reason.item_id]
            text = reason.text or _words(item, memory.text)
            found[item.pk].append(Evidence(memory.pk, _cut(text), memory.occurred_at, _role(item, memory.pk)))
    return {item_id: tuple(one) for item_id, one in found.items()}


def _role(item: ReviewItem, memory_id: UUID) -> str | None:
    if item.kind != ReviewKind.CONTRADICTION:
        return None
    return next((end for end in ENDS if item.payload.get(end) == str(memory_id)), None)


def _words(item: ReviewItem, text: str) -> str:
    if item.kind != ReviewKind.CAUSE:
        return text
    named = [_folded(item.payload.get(end)) for end in ("cause", "effect")]
    telling = [one for one in split_sentences(text) if any(words and words in _folded(one) for words in named)]
    return " ".join(telling) or text


def _folded(value: Any) -> str:
    return " ".join(str(value or "").split()).casefold()


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
