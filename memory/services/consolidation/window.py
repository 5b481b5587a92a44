"""The memories that a sleep pass looks at: the newest of one scope that no pass has looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Q

from memory.consolidation.extraction.llm_pieces import divided
from memory.models import Kind, Memory, Role, Status, Tier
from memory.services.opening import UNREADABLE, opened

SHOWN_CHARACTERS: Final = 1_000
# What was made from memories is not made into more, and nobody says what a tool or a system prompt says.
_DERIVED: Final = (Kind.INSIGHT, Kind.SUMMARY, Kind.REFLECTION, Kind.PATTERN, Kind.SKILL)
_UNHEARD: Final = (Role.SYSTEM, Role.TOOL)
_TIERS: Final = (Tier.EPISODIC, Tier.SEMANTIC)


@dataclass(frozen=True, slots=True)
class Window:
    """The memories of one scope that a pass looks at, newest first.

    Attributes:
        rows: opened, at least one.
        seen: all that the pass has dealt with, also what does not open and is shown to nobody.
    """

    rows: Sequence[Memory]
    seen: Sequence[Memory]

    def parts(self) -> list[dict[str, Any]]:
        """Write the memories for a prompt, numbered from 1; ids are nobody's business there."""
        return [
            {"id": number, "date": f"{row.occurred_at:%Y-%m-%d}", "kind": row.kind, "text": _shown(row)}
            for number, row in enumerate(self.rows, start=1)
        ]

    def at(self, number: Any) -> Memory | None:
        """Give the memory with a number of the prompt; None for anything that is none."""
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(self.rows):
            return None
        return self.rows[number - 1]


def waiting_scopes(moment: datetime, *, again_before: datetime | None = None) -> list[tuple[UUID, int]]:
    """List the scopes of the current owner with memories to look at, and how many these are, the most first."""
    counted = _waiting(moment, again_before).values("scope").annotate(rows=Count("pk"))
    return [(one["scope"], one["rows"]) for one in counted.order_by("-rows", "scope")]


def window_of(scope: UUID, *, size: int, moment: datetime, again_before: datetime | None = None) -> Window | None:
    """Open the newest memories of a scope; None where none of them opens.

    Args:
        scope: whose.
        size: most memories.
        moment: the moment that counts as now.
        again_before: memories that were looked at before this moment count as not looked at.
    """
    rows = list(_waiting(moment, again_before).filter(scope=scope).order_by("-created_at", "-pk")[:size])
    readable = [row for row in opened(rows) if row.text != UNREADABLE]
    return Window(readable, rows) if readable else None


def locked(rows: Sequence[Memory]) -> dict[UUID, Memory]:
    """Lock those of some memories that are still what they were, by their ids; call it within the owner's scope."""
    before = {row.pk: (row.version, row.scope) for row in rows}
    found = Memory.objects.select_for_update().filter(pk__in=list(before), status=Status.LIVE).order_by("pk")
    return {row.pk: row for row in found if (row.version, row.scope) == before[row.pk]}


def _waiting(moment: datetime, again_before: datetime | None) -> Any:
    unslept = Q(slept_at=None) if again_before is None else Q(slept_at=None) | Q(slept_at__lt=again_before)
    lasts = Q(expires_at=None) | Q(expires_at__gt=moment)
    rows = Memory.objects.filter(unslept, lasts, status=Status.LIVE, tier__in=_TIERS)
    return rows.exclude(kind__in=_DERIVED).exclude(role__in=_UNHEARD)


def _shown(row: Memory) -> str:
    text: str = f"{row.speaker}: {row.text}" if row.speaker else row.text
    return divided(text, characters=SHOWN_CHARACTERS)[0]
