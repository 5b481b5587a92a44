"""Filters of recalls and lists, made from what a request names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.crypto.keyring import OwnerRing
from memory.models import LabelKind
from memory.recall.filter_language import compile_filter
from memory.recall.filters import Filters, Past, refuse_empty_span
from memory.services.actors import Actor
from memory.text import limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """What limits a recall or a list; empty means any.

    Of the values of one field any will do, and all fields have to hold. A source matches whole path segments. Spans
    begin with `…_from` and end before `…_until`. `filter` is an expression of the filter language, and `as_of` a
    moment: only what was believed and held then. `true_on` is the moment at which it has to have held: as it is known
    now, or as it was known at `as_of`.
    """

    tiers: Sequence[str] = ()
    kinds: Sequence[str] = ()
    categories: Sequence[str] = ()
    tags: Sequence[str] = ()
    topics: Sequence[str] = ()
    sources: Sequence[str] = ()
    session_id: UUID | None = None
    agent_id: UUID | None = None
    occurred_from: Any = None
    occurred_until: Any = None
    created_from: Any = None
    created_until: Any = None
    least_importance: float = 0.0
    filter: Any = None
    as_of: Any = None
    true_on: Any = None


def filters_of(asked: Narrowed, *, actor: Actor, ring: OwnerRing, at: datetime) -> Filters:
    """Check what limits a request and make its filters.

    Args:
        asked: the request.
        actor: who asks.
        ring: the owner's keys, by which labels are compared.
        at: the present.

    Raises:
        InvalidInput: `date.invalid`, `date.out_of_range`, `date.order` or `filter.invalid`.
    """
    occurred_from, occurred_until = _span(asked, "occurred")
    created_from, created_until = _span(asked, "created")
    as_of, held_at = moment_of(asked, "as_of"), moment_of(asked, "true_on")
    return Filters(
        tiers=tuple(asked.tiers),
        kinds=tuple(asked.kinds),
        categories=tuple(asked.categories),
        labels={
            int(kind): tuple(ring.name(word.casefold()) for word in words)
            for kind, words in (
                (LabelKind.TAG, asked.tags),
                (LabelKind.TOPIC, asked.topics),
                (LabelKind.SOURCE, asked.sources),
            )
            if words
        },
        session_id=asked.session_id,
        agent_id=asked.agent_id,
        occurred_from=occurred_from,
        occurred_until=occurred_until,
        created_from=created_from,
        created_until=created_until,
        least_importance=asked.least_importance,
        expression=None if asked.filter is None else compile_filter(asked.filter, ring=ring, at=as_of or at),
        past=None if as_of is None else Past(as_of, actor.readable, held_at),
        held_at=held_at if as_of is None else None,
    )


def moment_of(asked: Narrowed, name: str) -> datetime | None:
    """Check a moment that a request names; None when it is left out."""
    value = getattr(asked, name)
    return None if value is None else limits.checked_moment(value, field=name)


def _span(asked: Narrowed, name: str) -> tuple[datetime | None, datetime | None]:
    start, end = moment_of(asked, f"{name}_from"), moment_of(asked, f"{name}_until")
    refuse_empty_span(start, end, until=f"{name}_until")
    return start, end
