"""What every report of telemetry is asked for, read in one way: how many days back, and about which agents."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from uuid import UUID

from memory.errors import InvalidInput, NotFound
from memory.models import Agent

UNKNOWN_AGENT: Final = "There is no agent with this id here."


def require_days(days: object, *, most: int) -> None:
    """Refuse a window that is no whole number of days from 1 to `most`; raises InvalidInput, `days.out_of_range`."""
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= most:
        raise InvalidInput(
            f"days is a whole number from 1 to {most}.", code="days.out_of_range", field="days", limit=most
        )


def days_of(text: str, *, most: int) -> int:
    """Read a window from text, as addresses have it; raises as `require_days` does."""
    days = int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else None
    require_days(days, most=most)
    assert days is not None
    return days


def require_agents(agents: Collection[UUID]) -> None:
    """Refuse ids that are of no agent of the current owner; raises NotFound, `agent.unknown`."""
    wanted = set(agents)
    if wanted and Agent.objects.filter(pk__in=wanted).count() < len(wanted):
        raise NotFound(UNKNOWN_AGENT, code="agent.unknown")
