"""The page about costs, in words: amounts, budgets with their bars, tables, and the trend by day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.palace.numbers import local, whole
from telemetry.palace import chart
from telemetry.services.costs.breakdown import NO_AGENT, UNKNOWN_AGENT, Line
from telemetry.services.costs.budgets import BudgetUse
from telemetry.services.costs.prices import shown
from telemetry.services.costs.report import UsageReport
from telemetry.services.costs.sums import Sums

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

HEIGHT: Final = 120
TOP: Final = 16
FOOT: Final = 20
EVERYTHING: Final = gettext_lazy("All together")
STATES: Final = {
    "ok": gettext_lazy("within the budget"),
    "soft": gettext_lazy("soft limit reached"),
    "hard": gettext_lazy("used up"),
}
NOTICES: Final = {"soft": "warning", "hard": "error"}
PERIODS: Final = {"day": gettext_lazy("today"), "month": gettext_lazy("this month")}
KINDS: Final = {
    "embedding": gettext_lazy("Embedding"),
    "llm": gettext_lazy("Language model"),
    "rerank": gettext_lazy("Reranking"),
}
NAMELESS: Final = {
    NO_AGENT: gettext_lazy("no agent"),
    UNKNOWN_AGENT: gettext_lazy("an agent without a legible name"),
    "unknown": gettext_lazy("unknown"),
}
"""What the report calls groups without a name of their own."""


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A budget as the page shows it; `soft_mark` is where its soft limit stands on the bar."""

    who: str
    agent: str
    period: str
    when: str
    spent: str
    limits: str
    state: str
    word: str
    width: str
    soft_mark: str
    own: bool
    version: int


@dataclass(frozen=True, slots=True)
class CostRow:
    """Calls of one group as a row of a table."""

    label: str
    calls: str
    failures: str
    tokens: str
    cost: str


@dataclass(frozen=True, slots=True)
class DayBar:
    """One day of the trend: where its bar stands, and its numbers."""

    day: str
    x: str
    width: str
    y: float
    height: float
    calls: str
    tokens: str
    cost: str


def money(amount: Decimal, currency: str) -> str:
    """Write an amount for people: to the cent from one unit on, else to four digits that say something."""
    if not amount:
        return f"0 {currency}"
    if amount >= 1:
        return local(f"{amount:,.2f} {currency}")
    digits = min(4 - 1 - amount.adjusted(), 12)
    return local(f"{shown(round(amount, digits))} {currency}")


def numbers(report: UsageReport, today: Decimal, month: Decimal) -> list[tuple[str, str]]:
    """Give what stands on top of the page."""
    total = report.total
    return [
        (_("This month"), money(month, report.currency)),
        (_("Today"), money(today, report.currency)),
        (_("Calls"), whole(total.calls)),
        (_("Failed"), whole(total.failures)),
        (_("Tokens read"), whole(total.input_tokens)),
        (_("Tokens written"), whole(total.output_tokens)),
        (_("Without a price"), whole(total.unpriced_calls)),
    ]


def budget_rows(uses: Sequence[BudgetUse], names: Mapping[UUID, str]) -> list[BudgetRow]:
    """Give the budgets with their bars; a bar ends at the highest limit."""
    return [_budget(one, names) for one in uses]


def warnings(rows: Sequence[BudgetRow]) -> list[tuple[str, str]]:
    """Say which limits are reached, as notices: their sort and a sentence."""
    found = []
    for row in rows:
        if row.state == "hard":
            said = _("%(who)s, %(when)s: the budget is used up. No model is asked that costs.")
            found.append((NOTICES["hard"], said % {"who": row.who, "when": row.when}))
        elif row.state == "soft":
            said = _("%(who)s, %(when)s: the soft limit is reached. Work goes on.")
            found.append((NOTICES["soft"], said % {"who": row.who, "when": row.when}))
    return found


def cost_rows(
    lines: Sequence[Line], currency: str, *, labels: Mapping[str, StrOrPromise] | None = None
) -> list[CostRow]:
    """Give lines of a report as rows of a table."""
    return [
        CostRow(
            label=str((labels or {}).get(line.key) or NAMELESS.get(line.label, line.label)),
            calls=whole(line.calls),
            failures=whole(line.failures),
            tokens=whole(line.input_tokens + line.output_tokens),
            cost=cost_words(line, currency),
        )
        for line in lines
    ]


def trend(report: UsageReport) -> dict[str, Any]:
    """Place a bar for each day of the window; days without calls have none."""
    days = _days(report)
    by_day = {line.key: line for line in report.lines}
    highest = max((line.cost for line in report.lines), default=Decimal(0))
    return {
        "height": HEIGHT,
        "top": TOP,
        "base": HEIGHT - FOOT,
        "highest": money(highest, report.currency),
        "days": [_bar(day, place, len(days), by_day, highest, report.currency) for place, day in enumerate(days)],
        "dates": chart.named_dates([day.isoformat() for day in days]),
        "told": _("%(called)d of %(days)d days had calls. The dearest day cost %(cost)s.")
        % {"called": len(by_day), "days": len(days), "cost": money(highest, report.currency)},
    }


def _budget(one: BudgetUse, names: Mapping[UUID, str]) -> BudgetRow:
    limits = [
        said % {"limit": money(limit, one.currency)}
        for said, limit in ((_("warned from %(limit)s"), one.soft), (_("at most %(limit)s"), one.hard))
        if limit is not None
    ]
    highest = one.hard if one.hard is not None else one.soft
    soft = float(one.soft / highest) if one.soft is not None and highest else None
    part = one.part
    return BudgetRow(
        who=names.get(one.agent_id, _("An agent")) if one.agent_id else str(EVERYTHING),
        agent=str(one.agent_id or ""),
        period=one.period.sort.value,
        when=str(PERIODS[one.period.sort.value]),
        spent=money(one.spent, one.currency),
        limits=", ".join(limits),
        state=one.state,
        word=str(STATES[one.state]),
        width=chart.percent(min(1.0 if part is None else part, 1.0)),
        soft_mark=chart.percent(soft) if soft is not None and soft < 1 else "",
        own=one.own,
        version=one.version,
    )


def cost_words(line: Sums, currency: str) -> str:
    """Write what calls cost; those without a price are not free."""
    if line.unpriced_calls == line.calls:
        return _("no price")
    known = money(line.cost, currency)
    if not line.unpriced_calls:
        return known
    return _("%(cost)s, and %(calls)s without a price") % {"cost": known, "calls": whole(line.unpriced_calls)}


def _days(report: UsageReport) -> list[date]:
    first, last = report.since.date(), (report.until - timedelta(hours=1)).date()
    return [first + timedelta(days=at) for at in range((last - first).days + 1)]


def _bar(day: date, place: int, many: int, by_day: Mapping[str, Line], highest: Decimal, currency: str) -> DayBar:
    line = by_day.get(day.isoformat())
    part = float(line.cost / highest) if line is not None and highest else 0.0
    height = round(part * (HEIGHT - TOP - FOOT), 1)
    return DayBar(
        day=day.isoformat(),
        x=chart.percent((place + 0.1) / many),
        width=chart.percent(0.8 / many),
        y=HEIGHT - FOOT - height,
        height=height,
        calls=whole(line.calls) if line else "0",
        tokens=whole(line.input_tokens + line.output_tokens) if line else "0",
        cost=cost_words(line, currency) if line else f"0 {currency}",
    )
