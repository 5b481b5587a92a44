"""The report about costs: calls, tokens, time and money of an owner, grouped as it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from django.conf import settings

from memory.errors import InvalidInput
from memory.models import owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from telemetry.models import BudgetPeriod
from telemetry.services.asked import require_days
from telemetry.services.costs import spending
from telemetry.services.costs.breakdown import GROUPS, Line, breakdown
from telemetry.services.costs.budgets import BudgetUse, budget_uses
from telemetry.services.costs.limits import spent
from telemetry.services.costs.sums import Sums

DAYS: Final = 30
MOST_DAYS: Final = 400
MOST_HOURLY_DAYS: Final = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRequest:
    """Which calls a report is about, and by what they are grouped.

    Attributes:
        days: those of so many days up to `until`, 30 when `since` is left out, too.
        since: those from this moment's hour on.
        until: those before this moment, now when left out.
        by: `day`, `hour`, `agent`, `component`, `model` or `kind`.
        also: further groupings of the same calls.
    """

    days: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    by: str = "day"
    also: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What models were asked for and what that cost.

    Attributes:
        since, until: whole hours, from the first to before the second.
        by: what the lines are grouped by.
        currency: of all amounts but `other_costs`.
        lines: days and hours in their order, others the dearest first.
        further: the lines of the further groupings that were asked for, by their names.
        total: of all calls.
        unpriced: models elsewhere without a price, the most called first, at most 50.
        other_costs: by currency, what was counted while prices had another one; it is converted and added nowhere.
        budgets: the owner's budgets with what is spent of them, whatever window was asked for.
        spent_today, spent_this_month: in UTC, whatever window was asked for.
    """

    since: datetime
    until: datetime
    by: str
    currency: str
    lines: Sequence[Line]
    further: Mapping[str, Sequence[Line]]
    total: Sums
    unpriced: Sequence[str]
    other_costs: Mapping[str, Decimal]
    budgets: Sequence[BudgetUse]
    spent_today: Decimal
    spent_this_month: Decimal


def usage_report(*, actor: Actor, request: UsageRequest) -> UsageReport:
    """Add up the owner's calls of models, what waits in this process included.

    Args:
        actor: who asks; it needs `telemetry:read`.
        request: the window and the grouping.

    Raises:
        InvalidInput: days out of bounds, a window that is empty, turned round or too long, or an unknown grouping.
        PermissionRefused: the permission is missing.
    """
    actor.require(Permission.TELEMETRY_READ)
    moment = now()
    since, until = window_of(request, moment)
    spending.flush()
    with owner_scope(actor.owner_id):
        found = breakdown(since, until, (request.by, *request.also))
        known = spent(moment)
        return UsageReport(
            since=since,
            until=until,
            by=request.by,
            currency=settings.PRICE_CURRENCY,
            lines=found.lines[request.by],
            further={name: found.lines[name] for name in request.also},
            total=found.total,
            unpriced=found.unpriced,
            other_costs=found.other_costs,
            budgets=budget_uses(known),
            spent_today=known.of((BudgetPeriod.DAY, None)),
            spent_this_month=known.of((BudgetPeriod.MONTH, None)),
        )


def window_of(request: UsageRequest, moment: datetime) -> tuple[datetime, datetime]:
    """Give the whole hours that a request is about, as of a moment.

    Raises:
        InvalidInput: as for `usage_report`.
    """
    if not GROUPS.keys() >= {request.by, *request.also}:
        raise InvalidInput(f"Group by one of {', '.join(GROUPS)}.", code="usage.group_unknown", field="by")
    if request.days is not None:
        require_days(request.days, most=MOST_DAYS)
    if request.days is not None and request.since is not None:
        raise InvalidInput("Give days or from, not both.", code="usage.window", field="days")
    # The hour that a moment lies in counts whole.
    until = _whole_hour(request.until or moment, up=True)
    since = _whole_hour(request.since) if request.since else _first_day(until, request.days or DAYS)
    if since >= until:
        raise InvalidInput("from lies after until.", code="usage.window", field="from")
    most = MOST_HOURLY_DAYS if "hour" in (request.by, *request.also) else MOST_DAYS
    if until - since > timedelta(days=most):
        raise InvalidInput(f"By {request.by}, {most} days can be looked at at once.", code="usage.window", field="from")
    return since, until


def _whole_hour(moment: datetime, *, up: bool = False) -> datetime:
    whole = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return whole + timedelta(hours=1) if up and whole < moment else whole


def _first_day(until: datetime, days: int) -> datetime:
    """Give the beginning of the first of so many days of which the last one holds the hour before `until`."""
    last = (until - timedelta(hours=1)).replace(hour=0)
    return last - timedelta(days=days - 1)
