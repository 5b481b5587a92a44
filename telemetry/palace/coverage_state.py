"""Which coverage report a page shows is decided by its address alone: this reads the address and writes it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final
from urllib.parse import urlencode

from django.conf import settings
from django.http import QueryDict
from django.urls import reverse

from telemetry.services.asked import days_of
from telemetry.services.coverage.reporting import ReportRequest

WINDOWS: Final = (7, 14, 30)
DEFAULT_DAYS: Final = "14"


@dataclass(frozen=True, slots=True)
class CoverageState:
    """The report that an address asks for, all of it text as typed; blank means the report's own value."""

    days: str = ""
    agent: str = ""
    stream: str = ""

    @property
    def chosen_days(self) -> str:
        """Give the days that are chosen, or those of a report that names none."""
        return self.days or DEFAULT_DAYS

    def address(self, page: str, **further: str) -> str:
        """Give the address of a page with what is chosen, and with further parameters; blank ones are left out."""
        chosen = {one.name: str(getattr(self, one.name)) for one in fields(self)} | further
        written = urlencode({name: value for name, value in chosen.items() if value})
        return f"{reverse(page)}?{written}" if written else reverse(page)

    def with_days(self, days: int) -> CoverageState:
        """Give the same report over other days."""
        return replace(self, days="" if str(days) == DEFAULT_DAYS else str(days))

    def request(self) -> ReportRequest:
        """Make the request of the report.

        Raises:
            InvalidInput: the days are no whole number.
        """
        days = days_of(self.chosen_days, most=settings.TELEMETRY_RETENTION_DAYS)
        return ReportRequest(days=days, agent=self.agent or None, stream=self.stream or None)


def state_of(query: QueryDict) -> CoverageState:
    """Read a report from an address; unknown parameters are passed over."""
    return CoverageState(**{one.name: query.get(one.name, "").strip() for one in fields(CoverageState)})
