"""A few numbers of telemetry for a front page: turns and what fitted none, and what models have cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final

from django.db.models import Count, Q, Sum

from memory.models import owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from telemetry.models import ModelUsage, Outcome, Stream, TurnEvent

DAYS: Final = 30


@dataclass(frozen=True, slots=True)
class Summary:
    """The last thirty days: turns, those that no part of an agent fitted, those that failed, and costs by currency."""

    turns: int
    unfitted: int
    failed: int
    calls: int
    costs: dict[str, Decimal]


def summary(*, actor: Actor) -> Summary:
    """Sum up the last thirty days of the actor's owner, with two statements.

    Raises:
        PermissionRefused: the key may not read telemetry.
    """
    actor.require(Permission.TELEMETRY_READ)
    since = now() - timedelta(days=DAYS)
    with owner_scope(actor.owner_id):
        turns = TurnEvent.objects.filter(stream=Stream.LIVE, occurred_at__gte=since).aggregate(
            all=Count("pk"),
            unfitted=Count("pk", filter=Q(spoke__is_fallback=True)),
            failed=Count("pk", filter=~Q(outcome=Outcome.COMPLETED)),
        )
        usage = ModelUsage.objects.filter(hour__gte=since).order_by("currency").values_list("currency")
        sums = list(usage.annotate(calls=Sum("calls"), cost=Sum("cost")))
    return Summary(
        turns=turns["all"],
        unfitted=turns["unfitted"],
        failed=turns["failed"],
        calls=sum(calls for _, calls, _ in sums),
        costs={currency: cost for currency, _, cost in sums if cost},
    )
