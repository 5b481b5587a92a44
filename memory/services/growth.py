"""How the memories of an owner have grown, week by week."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from django.db.models import Count
from django.db.models.functions import TruncWeek

from memory.models import Memory, Status, Tier, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.services.features import require_memory

MOST_WEEKS: Final = 104
WEEK: Final = timedelta(days=7)
TIERS: Final = tuple(tier.value for tier in Tier if tier != Tier.WORKING)


@dataclass(frozen=True, slots=True)
class Week:
    """A week that begins on a Monday: how many memories there were at its end, by tier, and how many were new in it."""

    monday: date
    total: dict[str, int]
    new: int


def growth(*, actor: Actor) -> list[Week]:
    """Count the memories that are kept (live, replaced and archived) by the week in which they were stored.

    Returns:
        Every week from the first memory to the present, at most the last 104; what is older is in their totals. Empty
        where there is no memory.

    Raises:
        PermissionRefused: the permission `memory:read` is missing.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        rows = Memory.objects.exclude(status=Status.ERASING)
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        weekly = rows.annotate(week=TruncWeek("created_at")).order_by().values_list("week", "tier")
        counted = list(weekly.annotate(count=Count("pk")))
    if not counted:
        return []
    new: dict[date, dict[str, int]] = defaultdict(dict)
    for moment, tier, count in counted:
        new[moment.date()][tier] = count
    last = max(now().date(), max(new))
    last -= timedelta(days=last.weekday())
    weeks, total, monday = list[Week](), dict.fromkeys(TIERS, 0), min(new)
    while monday <= last:
        here = new.get(monday, {})
        total = {tier: total.get(tier, 0) + here.get(tier, 0) for tier in total}
        weeks.append(Week(monday, total, sum(here.values())))
        monday += WEEK
    return weeks[-MOST_WEEKS:]
