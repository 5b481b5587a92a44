"""What models cost a whole installation, for whoever runs it: sums over all owners, and nothing about any of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings

from memory.errors import InvalidInput, OwnerPurging
from memory.models import Owner
from memory.services.actors import operator
from telemetry.services.costs.report import GROUPS, Line, UsageRequest, total_of, usage_report

PERSONAL: Final = frozenset({"agent"})
"""Groupings that would tell owners apart."""


@dataclass(frozen=True, slots=True)
class InstallationUsage:
    """Calls of all owners together; `owners` is how many had any."""

    since: datetime
    until: datetime
    by: str
    currency: str
    owners: int
    lines: Sequence[Line]
    total: Line
    unpriced: Sequence[str]


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
    reports = []
    for owner_id in Owner.objects.filter(purging_at=None).order_by("pk").values_list("pk", flat=True):
        with suppress(OwnerPurging):
            reports.append(usage_report(actor=operator(owner_id), request=request))
    if not reports:
        raise InvalidInput("There is no owner yet, so no model was asked for one.", code="usage.no_owner")
    lines: dict[str, list[Line]] = {}
    for report in reports:
        for line in report.lines:
            lines.setdefault(line.key, []).append(line)
    added = [total_of(found, key=key, label=found[0].label) for key, found in sorted(lines.items())]
    if request.by not in ("day", "hour"):
        added.sort(key=lambda line: (-line.cost, -line.calls, line.key))
    return InstallationUsage(
        since=min(report.since for report in reports),
        until=max(report.until for report in reports),
        by=request.by,
        currency=settings.PRICE_CURRENCY,
        owners=sum(bool(report.lines) for report in reports),
        lines=added,
        total=total_of(added),
        unpriced=sorted({model for report in reports for model in report.unpriced}),
    )
