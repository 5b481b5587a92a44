"""What models cost a whole installation, for whoever runs it: sums over all owners, and nothing about any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.conf import settings

from memory.errors import InvalidInput, OwnerPurging
from memory.models import Owner, owner_scope
from memory.services.clock import now
from telemetry.services.costs import spending
from telemetry.services.costs.breakdown import GROUPS, Breakdown, Line, breakdown, ordered
from telemetry.services.costs.prices import NOTHING
from telemetry.services.costs.report import UsageRequest, window_of
from telemetry.services.costs.sums import Sums, together

PERSONAL: Final = frozenset({"agent"})
"""Groupings that would tell owners apart."""


@dataclass(frozen=True, slots=True)
class InstallationUsage:
    """Calls of all owners together, as in UsageReport; `owners` is how many had any."""

    since: datetime
    until: datetime
    by: str
    currency: str
    owners: int
    lines: Sequence[Line]
    total: Sums
    unpriced: Sequence[str]
    other_costs: Mapping[str, Decimal]


def installation_usage(*, request: UsageRequest) -> InstallationUsage:
    """Add up the calls of all owners; only commands may, since nobody's permission covers it.

    Args:
        request: the window and the grouping, which cannot be `agent`.

    Raises:
        InvalidInput: as for `usage_report`, or a grouping that would tell owners apart.
    """
    if request.by in PERSONAL:
        known = ", ".join(name for name in GROUPS if name not in PERSONAL)
        raise InvalidInput(f"Over all owners, group by one of {known}.", code="usage.group_unknown", field="by")
    since, until = window_of(request, now())
    spending.flush()
    found: list[Breakdown] = []
    for owner_id in Owner.objects.filter(purging_at=None).order_by("pk").values_list("pk", flat=True):
        with suppress(OwnerPurging), owner_scope(owner_id):
            found.append(breakdown(since, until, (request.by,)))
    if not found:
        raise InvalidInput("There is no owner yet, so no model was asked for one.", code="usage.no_owner")
    lines: dict[str, Line] = {}
    other_costs: dict[str, Decimal] = {}
    for one in found:
        for currency, cost in one.other_costs.items():
            other_costs[currency] = other_costs.get(currency, NOTHING) + cost
        for line in one.lines[request.by]:
            lines[line.key] = lines[line.key].plus(line) if line.key in lines else line
    return InstallationUsage(
        since=since,
        until=until,
        by=request.by,
        currency=settings.PRICE_CURRENCY,
        owners=sum(bool(one.total.calls) for one in found),
        lines=ordered(list(lines.values()), request.by),
        total=together(lines.values()),
        unpriced=sorted({model for one in found for model in one.unpriced}),
        other_costs=dict(sorted(other_costs.items())),
    )
