"""The report about costs: calls, tokens, time and money of an owner, grouped as it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import CharField, F, Sum, Value
from django.db.models.functions import Concat, TruncDay

from memory.errors import InvalidInput
from memory.models import Agent, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.services.legible import legible
from telemetry.models import BudgetPeriod, ModelUsage
from telemetry.services.asked import require_days
from telemetry.services.costs import spending
from telemetry.services.costs.budgets import BudgetUse, budget_uses
from telemetry.services.costs.limits import spent

DAYS: Final = 30
MOST_DAYS: Final = 400
MOST_HOURLY_DAYS: Final = 31
MOST_UNPRICED: Final = 50
NO_AGENT: Final = "no agent"
"""What calls on no agent's behalf are called: those of people and of background work."""
UNKNOWN_AGENT: Final = "an agent without a legible name"

NAMES: Final = (
    "calls", "failures", "input_tokens", "output_tokens", "duration_us", "cost", "unpriced_calls", "estimated_calls",
)  # fmt: skip
GROUPS: Final[Mapping[str, Any]] = {
    "day": TruncDay("hour", tzinfo=UTC),
    "hour": F("hour"),
    "agent": F("agent_id"),
    "component": F("component"),
    "model": Concat("provider", Value("/"), "model", output_field=CharField()),
    "kind": F("kind"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRequest:
    """Which calls a report is about, and by what they are grouped.

    Attributes:
        days: those of so many days up to `until`, 30 when `since` is left out, too.
        since: those from this moment's hour on.
        until: those before this moment, now when left out.
        by: `day`, `hour`, `agent`, `component`, `model` or `kind`.
    """

    days: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    by: str = "day"


@dataclass(frozen=True, slots=True)
class Line:
    """Calls of one group; `key` and `label` are empty for the total."""

    key: str
    label: str
    calls: int
    failures: int
    input_tokens: int
    output_tokens: int
    duration_us: int
    cost: Decimal
    unpriced_calls: int
    estimated_calls: int

    @property
    def seconds(self) -> float:
        """Give how long the calls took together."""
        return self.duration_us / 1_000_000


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What models were asked for and what that cost.

    Attributes:
        since, until: whole hours, from the first to before the second.
        by: what the lines are grouped by.
        currency: of all amounts.
        lines: days and hours in their order, others the dearest first.
        total: of all calls.
        unpriced: models elsewhere without a price, the most called first, at most 50.
        budgets: the owner's budgets with what is spent of them, whatever window was asked for.
        spent_today, spent_this_month: in UTC, whatever window was asked for.
    """

    since: datetime
    until: datetime
    by: str
    currency: str
    lines: Sequence[Line]
    total: Line
    unpriced: Sequence[str]
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
    since, until = _window(request, moment)
    spending.flush()
    with owner_scope(actor.owner_id):
        rows = ModelUsage.objects.filter(hour__gte=since, hour__lt=until)
        sums = {name: Sum(name) for name in NAMES}
        found = list(rows.values(group=GROUPS[request.by]).annotate(**sums).order_by("group"))
        names = _agent_names() if request.by == "agent" else {}
        unpriced = rows.filter(unpriced_calls__gt=0).values(group=GROUPS["model"])
        lines = [_line(row, request.by, names) for row in found]
        if request.by not in ("day", "hour"):
            lines.sort(key=lambda line: (-line.cost, -line.calls, line.key))
        known = spent(moment)
        return UsageReport(
            since=since,
            until=until,
            by=request.by,
            currency=settings.PRICE_CURRENCY,
            lines=lines,
            total=total_of(lines),
            unpriced=[
                row["group"]
                for row in unpriced.annotate(calls=Sum("unpriced_calls")).order_by("-calls", "group")[:MOST_UNPRICED]
            ],
            budgets=budget_uses(known),
            spent_today=known.of((BudgetPeriod.DAY, None)),
            spent_this_month=known.of((BudgetPeriod.MONTH, None)),
        )


def total_of(lines: Sequence[Line], *, key: str = "", label: str = "") -> Line:
    """Add up lines into one of this name."""
    return Line(key, label, **{name: sum((getattr(line, name) for line in lines), _zero(name)) for name in NAMES})


def _zero(name: str) -> Any:
    return Decimal(0) if name == "cost" else 0


def _line(row: Mapping[str, Any], by: str, names: Mapping[UUID, str]) -> Line:
    key, label = _named(row["group"], by, names)
    return Line(key, label, **{name: row[name] for name in NAMES})


def _named(group: Any, by: str, names: Mapping[UUID, str]) -> tuple[str, str]:
    if by == "agent":
        return (str(group), names.get(group, UNKNOWN_AGENT)) if group else ("", NO_AGENT)
    if by == "day":
        return group.date().isoformat(), group.date().isoformat()
    if by == "hour":
        return group.isoformat(), f"{group:%Y-%m-%d %H:%M}"
    return group, group or "unknown"


def _agent_names() -> dict[UUID, str]:
    """Give the names of the current owner's agents that can be opened."""
    return {agent.pk: name for agent in Agent.objects.order_by("pk") if (name := legible(agent, "name"))}


def _window(request: UsageRequest, moment: datetime) -> tuple[datetime, datetime]:
    """Give the whole hours that a request is about."""
    if request.by not in GROUPS:
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
    most = MOST_HOURLY_DAYS if request.by == "hour" else MOST_DAYS
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
