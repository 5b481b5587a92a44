"""Calls of models of one owner, added up by several groupings in one pass over their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection

from memory.models import Agent, current_owner
from memory.services.legible import legible
from telemetry.models import ModelUsage
from telemetry.services.costs.sums import NAMES, Sums, together

MOST_UNPRICED: Final = 50
NO_AGENT: Final = "no agent"
"""What calls on no agent's behalf are called: those of people and of background work."""
UNKNOWN_AGENT: Final = "an agent without a legible name"

GROUPS: Final[Mapping[str, str]] = {
    "day": "date_trunc('day', hour, 'UTC')",
    "hour": "hour",
    "agent": "agent_id",
    "component": "component",
    "model": "provider || '/' || model",
    "kind": "kind",
}
"""By what calls can be grouped, with the expression that tells groups apart."""
TIMES: Final = frozenset({"day", "hour"})
CURRENCY: Final = "currency"
TELLS: Final[Mapping[str, str]] = {**GROUPS, CURRENCY: "currency"}
ADDED: Final = ", ".join(
    "coalesce(sum(cost) FILTER (WHERE currency = %(currency)s), 0)"
    if name == "cost"
    else f"coalesce(sum({name}), 0)::bigint"
    for name in NAMES
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Sums):
    """Calls of one group; `label` is its name for people."""

    key: str
    label: str


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Calls of one owner within a window.

    Attributes:
        lines: by grouping; days and hours in their order, others the dearest first.
        total: of all calls.
        unpriced: models elsewhere without a price, the most called first, at most 50.
        other_costs: what was counted under other currencies than the present one, and stands in no sum.
    """

    lines: Mapping[str, Sequence[Line]]
    total: Sums
    unpriced: Sequence[str]
    other_costs: Mapping[str, Decimal]


def breakdown(since: datetime, until: datetime, groups: Sequence[str]) -> Breakdown:
    """Add up the current owner's calls from one whole hour to before another.

    Takes one statement, and one more for the names of agents.

    Args:
        since, until: the window.
        groups: names of GROUPS.
    """
    wanted = list(dict.fromkeys([*groups, "model", CURRENCY]))
    values: dict[str, Any] = {
        "owner": current_owner(),
        "since": since,
        "until": until,
        "currency": settings.PRICE_CURRENCY,
    }
    with connection.cursor() as cursor:
        cursor.execute(_statement(wanted), values)
        rows = cursor.fetchall()
    names = _agent_names() if "agent" in groups else {}
    lines: dict[str, list[Line]] = {name: [] for name in wanted}
    other_costs: dict[str, Decimal] = {}
    for row in rows:
        by, group = _grouped(row, wanted)
        *sums, cost = row[1 + len(wanted) :]
        key, label = _named(group, by, names)
        lines[by].append(Line(*sums, key=key, label=label))
        if by == CURRENCY and cost and group != settings.PRICE_CURRENCY:
            other_costs[group] = cost
    return Breakdown(
        lines={name: ordered(lines[name], name) for name in groups},
        total=together(lines["model"]),
        unpriced=_unpriced(lines["model"]),
        other_costs=dict(sorted(other_costs.items())),
    )


def ordered(lines: Sequence[Line], by: str) -> Sequence[Line]:
    """Put lines into the order in which they are shown."""
    if by in TIMES:
        return sorted(lines, key=lambda line: line.key)
    return sorted(lines, key=lambda line: (-line.cost, -line.calls, line.key))


def _statement(groups: Sequence[str]) -> str:
    columns = [f"by_{name}" for name in groups]
    told = ", ".join(f"{TELLS[name]} AS by_{name}" for name in groups)
    return f"""
        SELECT grouping({", ".join(columns)}), {", ".join(columns)}, {ADDED}, coalesce(sum(cost), 0)
        FROM (
            SELECT {told}, currency, {", ".join(NAMES)} FROM {ModelUsage._meta.db_table}
            WHERE owner_id = %(owner)s AND hour >= %(since)s AND hour < %(until)s
        ) AS one
        GROUP BY GROUPING SETS ({", ".join(f"({column})" for column in columns)})
    """


def _grouped(row: Sequence[Any], groups: Sequence[str]) -> tuple[str, Any]:
    """Tell by what a row is grouped, and the group. Its bit alone is not set; the last column has the lowest."""
    place = next(at for at in range(len(groups)) if not row[0] >> (len(groups) - 1 - at) & 1)
    return groups[place], row[1 + place]


def _named(group: Any, by: str, names: Mapping[UUID, str]) -> tuple[str, str]:
    if by == "agent":
        return (str(group), names.get(group, UNKNOWN_AGENT)) if group else ("", NO_AGENT)
    if by in TIMES:
        moment = group.astimezone(UTC)
        day = moment.date().isoformat()
        return (day, day) if by == "day" else (moment.isoformat(), f"{moment:%Y-%m-%d %H:%M}")
    return group, group or "unknown"


def _unpriced(models: Sequence[Line]) -> Sequence[str]:
    found = sorted((line for line in models if line.unpriced_calls), key=lambda line: (-line.unpriced_calls, line.key))
    return [line.key for line in found[:MOST_UNPRICED]]


def _agent_names() -> dict[UUID, str]:
    """Give the names of the current owner's agents that can be opened."""
    return {agent.pk: name for agent in Agent.objects.order_by("pk") if (name := legible(agent, "name"))}
