"""Which recalls the page is about is decided by its address alone: this reads the address and writes it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict
from django.urls import reverse

from memory.errors import NotFound
from telemetry.services.asked import days_of
from telemetry.services.recalls.report import DAYS, MOST_DAYS, QualityRequest

WINDOWS: Final = (1, 7, 14, 30)


@dataclass(frozen=True, slots=True)
class RecallsState:
    """The report that an address asks for, all of it text; blank means the usual days, all agents, all profiles."""

    days: str = ""
    agent: str = ""
    profile: str = ""

    @property
    def address(self) -> str:
        """Give the page's address with what is chosen."""
        written = urlencode({one.name: value for one in fields(self) if (value := getattr(self, one.name))})
        return f"{reverse('telemetry:recall')}?{written}" if written else reverse("telemetry:recall")

    @property
    def limited(self) -> bool:
        """Tell whether one agent or profile is chosen."""
        return bool(self.agent or self.profile)

    def windows(self) -> list[tuple[int, str, bool]]:
        """Give the days that are offered, each with its address and whether it is chosen."""
        chosen = self.request().days
        return [(days, replace(self, days=str(days)).address, days == chosen) for days in WINDOWS]

    def request(self) -> QualityRequest:
        """Make the request of the report.

        Raises:
            InvalidInput: the days are no whole number, or more than rows are kept for.
            NotFound: the agent is no id.
        """
        days = days_of(self.days or str(DAYS), most=MOST_DAYS)
        return QualityRequest(days=days, agent=_agent(self.agent), profile=self.profile or None)


def state_of(query: QueryDict) -> RecallsState:
    """Read the state from an address; unknown parameters are passed over."""
    return RecallsState(**{one.name: query.get(one.name, "").strip() for one in fields(RecallsState)})


def _agent(text: str) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        raise NotFound("There is no agent with this id here.", code="agent.unknown") from None
