"""The budgets that hold for an owner, and what was spent of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection

from memory.models import current_owner
from telemetry.models import Budget, BudgetPeriod, ModelUsage
from telemetry.services.costs.periods import Period, period_of

SORT: Final = "budget"
"""What is announced when a budget is set or removed, and when its soft or hard limit is reached."""

SPENT: Final = f"""
    SELECT agent_id,
        coalesce(sum(cost) FILTER (WHERE hour >= %(day)s AND hour < %(day_ends)s), 0),
        coalesce(sum(cost) FILTER (WHERE hour >= %(month)s AND hour < %(month_ends)s), 0)
    FROM {ModelUsage._meta.db_table}
    WHERE owner_id = %(owner)s AND currency = %(currency)s AND hour >= %(month)s AND hour < %(month_ends)s
    GROUP BY agent_id
"""

Place = tuple[BudgetPeriod, UUID | None]
"""A sort of period, and an agent; None for the owner with all agents."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A budget that holds; `own` is False for the installation's default."""

    agent_id: UUID | None
    period: BudgetPeriod
    soft: Decimal | None
    hard: Decimal | None
    own: bool = True
    version: int = 0

    @property
    def place(self) -> Place:
        """Give of which spending it is."""
        return self.period, self.agent_id


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent in the day and the month of a moment, by period and agent."""

    day: Period
    month: Period
    amounts: Mapping[Place, Decimal]

    def of(self, place: Place) -> Decimal:
        """Give what was spent there."""
        return self.amounts.get(place, Decimal(0))

    def plus(self, costs: Iterable[tuple[datetime, UUID | None, Decimal]]) -> Spent:
        """Add costs by their moment and agent."""
        amounts = dict(self.amounts)
        for moment, agent_id, cost in costs:
            for period in (self.day, self.month):
                if period.holds(moment):
                    for one in {None, agent_id}:
                        amounts[period.sort, one] = amounts.get((period.sort, one), Decimal(0)) + cost
        return Spent(self.day, self.month, amounts)


def limits() -> Sequence[Limit]:
    """Give the budgets of the current owner, the owner's own before those of agents."""
    found = [
        Limit(row.agent_id, BudgetPeriod(row.period), row.soft, row.hard, version=row.version)
        for row in Budget.objects.order_by("agent_id", "period")
    ]
    default = default_limit()
    if default is not None and not any(one.place == default.place for one in found):
        found.append(default)
    return sorted(found, key=lambda one: (one.agent_id is not None, str(one.agent_id), one.period))


def default_limit() -> Limit | None:
    """Give the month's budget of owners who have none of their own; None where the installation sets none."""
    soft, hard = settings.BUDGET_SOFT or None, settings.BUDGET_HARD or None
    return Limit(None, BudgetPeriod.MONTH, soft, hard, own=False) if soft or hard else None


def spent(at: datetime) -> Spent:
    """Add up what the current owner has spent in the day and the month of a moment, as far as it is written.

    Costs in another currency than the present one do not count.
    """
    day, month = period_of(BudgetPeriod.DAY, at), period_of(BudgetPeriod.MONTH, at)
    with connection.cursor() as cursor:
        cursor.execute(
            SPENT,
            {
                "owner": current_owner(),
                "currency": settings.PRICE_CURRENCY,
                "day": day.begins,
                "day_ends": day.ends,
                "month": month.begins,
                "month_ends": month.ends,
            },
        )
        rows = cursor.fetchall()
    amounts: dict[Place, Decimal] = {}
    for agent_id, of_day, of_month in rows:
        for sort, cost in ((BudgetPeriod.DAY, of_day), (BudgetPeriod.MONTH, of_month)):
            for one in {None, agent_id}:
                amounts[sort, one] = amounts.get((sort, one), Decimal(0)) + cost
    return Spent(day, month, amounts)
