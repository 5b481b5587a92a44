"""The days and months of budgets, in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from telemetry.models import BudgetPeriod


@dataclass(frozen=True, slots=True)
class Period:
    """The day or month that a moment lies in: from `begins` to before `ends`, aware, in UTC."""

    sort: BudgetPeriod
    begins: datetime
    ends: datetime

    def holds(self, moment: datetime) -> bool:
        """Tell whether a moment lies in it."""
        return self.begins <= moment < self.ends


def period_of(sort: BudgetPeriod, moment: datetime) -> Period:
    """Give the day or month of a moment."""
    day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if sort is BudgetPeriod.DAY:
        return Period(sort, day, day + timedelta(days=1))
    first = day.replace(day=1)
    return Period(sort, first, (first + timedelta(days=32)).replace(day=1))


def hour_of(moment: datetime) -> datetime:
    """Give the beginning of a moment's hour."""
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
