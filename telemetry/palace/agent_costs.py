"""What the models asked on behalf of each agent have cost, for the page about agents."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.utils.translation import ngettext

from memory.services.actors import Actor
from telemetry.palace.costs_view import cost_words
from telemetry.services.costs.report import UsageRequest, usage_report

DAYS: Final = 30


def costs_of_agents(actor: Actor) -> dict[UUID, str]:
    """Say by agent how often models were asked in the last 30 days, and what that cost."""
    report = usage_report(actor=actor, request=UsageRequest(by="agent", days=DAYS))
    found = {}
    for line in report.lines:
        if not line.key:
            # Calls on no agent's behalf.
            continue
        words = ngettext(
            "%(count)d call of a model in 30 days, %(cost)s",
            "%(count)d calls of models in 30 days, %(cost)s",
            line.calls,
        )
        found[UUID(line.key)] = words % {"count": line.calls, "cost": cost_words(line, report.currency)}
    return found
