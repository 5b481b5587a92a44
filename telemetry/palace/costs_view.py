"""The page about costs, in words: amounts, budgets with their bars, tables, and the trend by day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from telemetry.palace import chart
from telemetry.services.costs.breakdown import Line
from telemetry.services.costs.budgets import BudgetUse
from telemetry.services.costs.prices import shown
from telemetry.services.costs.report import UsageReport
from telemetry.services.costs.sums import Sums

HEIGHT: Final = 120
TOP: Final = 16
FOOT: Final = 20
EVERYTHING: Final = "All together"
STATES: Final = {"ok": "within the budget", "soft": "soft limit reached", "hard": "used up"}
NOTICES: Final = {"soft": "warning", "hard": "error"}
PERIODS: Final = {"day": "today", "month": "this month"}
KINDS: Final = {"embedding": "Embedding", "llm": "Language model", "rerank": "Reranking"}


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
        return f"{amount:,.2f} {currency}"
    digits = min(4 - 1 - amount.adjusted(), 12)
    return f"{shown(round(amount, digits))} {currency}"


def numbers(report: UsageReport, today: Decimal, month: Decimal) -> list[tuple[str, str]]:
    """Give what stands on top of the page."""
    total = report.total
    return [
        ("This month", money(month, report.currency)),
        ("Today", money(today, report.currency)),
        ("Calls", f"{total.calls:,}"),
        ("Failed", f"{total.failures:,}"),
        ("Tokens read", f"{total.input_tokens:,}"),
        ("Tokens written", f"{total.output_tokens:,}"),
        ("Without a price", f"{total.unpriced_calls:,}"),
    ]


def budget_rows(uses: Sequence[BudgetUse], names: Mapping[UUID, str]) -> list[BudgetRow]:
    """Give the budgets with their bars; a bar ends at the highest limit."""
    return [_budget(one, names) for one in uses]


def warnings(rows: Sequence[BudgetRow]) -> list[tuple[str, str]]:
    """Say which limits are reached, as notices: their sort and a sentence."""
    found = []
    for row in rows:
        if row.state == "hard":
            found.append(
                (NOTICES["hard"], f"{row.who}, {row.when}: the budget is used up. No model is asked that costs.")
            )
        elif row.state == "soft":
            found.append((NOTICES["soft"], f"{row.who}, {row.when}: the soft limit is reached. Work goes on."))
    return found


def cost_rows(lines: Sequence[Line], currency: str, *, labels: Mapping[str, str] | None = None) -> list[CostRow]:
    """Give lines of a report as rows of a table."""
    return [
        CostRow(
            label=(labels or {}).get(line.key, line.label),
            calls=f"{line.calls:,}",
            failures=f"{line.failures:,}",
            tokens=f"{line.input_tokens + line.output_tokens:,}",
            cost=_cost(line, currency),
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
        "told": f"{len(by_day)} of {len(days)} days had calls. The dearest day cost {money(highest, report.currency)}.",
    }


def _budget(one: BudgetUse, names: Mapping[UUID, str]) -> BudgetRow:
    limits = [
        f"{word} {money(limit, one.currency)}" for word, limit in (("warned from", one.soft), ("at most", one.hard))
        if limit is not None
    ]  # fmt: skip
    highest = one.hard if one.hard is not None else one.soft
    soft = float(one.soft / highest) if one.soft is not None and highest else None
    part = one.part
    return BudgetRow(
        who=names.get(one.agent_id, "An agent") if one.agent_id else EVERYTHING,
        agent=str(one.agent_id or ""),
        period=one.period.sort.value,
        when=PERIODS[one.period.sort.value],
        spent=money(one.spent, one.currency),
        limits=", ".join(limits),
        state=one.state,
        word=STATES[one.state],
        width=chart.percent(min(1.0 if part is None else part, 1.0)),
        soft_mark=chart.percent(soft) if soft is not None and soft < 1 else "",
        own=one.own,
        version=one.version,
    )


def _cost(line: Sums, currency: str) -> str:
    """Write what calls cost; those without a price are not free."""
    if line.unpriced_calls == line.calls:
        return "no price"
    known = money(line.cost, currency)
    return f"{known}, and {line.unpriced_calls:,} without a price" if line.unpriced_calls else known


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
        calls=f"{line.calls:,}" if line else "0",
        tokens=f"{line.input_tokens + line.output_tokens:,}" if line else "0",
        cost=_cost(line, currency) if line else f"0 {currency}",
    )
