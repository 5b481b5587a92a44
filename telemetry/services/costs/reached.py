"""Which owners have reached a limit, noted where every process sees it without a look at anybody's budgets.

The note is a row of due work: ids and a time only, and purged with its owner. It says until when a limit of that sort
is reached, which is the end of a day or month in UTC, and comes due then, to be looked at anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import Count

from memory.errors import OwnerPurging
from memory.models import DueWork, Owner, current_owner, owner_scope
from memory.ports.due_jobs import Done
from memory.services.clock import now
from telemetry.models import BudgetPeriod
from telemetry.services.costs.limits import limits, spent
from telemetry.services.costs.periods import period_of

SOFT: Final = "budget_soft"
HARD: Final = "budget_hard"
JOBS: Final = (HARD, SOFT)

# Whoever adds an owner's costs or changes a budget takes turns, so that exactly one sees a limit reached, and no note
# rests on what another one is changing.
TURN: Final = "SELECT pg_advisory_xact_lock(hashtextextended('loci.usage.' || %s, 0))"


def take_turn() -> None:
    """Wait for the current owner's turn at costs and budgets, and have it until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(TURN, [str(current_owner())])


def note_reached(*, at: datetime) -> None:
    """Note anew which limits the current owner and the agents have reached, and until when.

    Args:
        at: the moment whose day and month count.
    """
    take_turn()
    until: dict[str, datetime] = {}
    for job, ends in _reached(at):
        until[job] = max(ends, until.get(job, ends))
    rows = DueWork.objects.filter(owner_id=current_owner(), job__in=JOBS)
    rows.exclude(job__in=until).delete()
    DueWork.objects.bulk_create(
        [DueWork(owner_id=current_owner(), job=job, due_at=until[job]) for job in sorted(until)],
        update_conflicts=True,
        unique_fields=["owner", "job"],
        update_fields=["due_at"],
    )


def look_when_over(*, owner_id: UUID, at: datetime) -> Done:
    """Look at an owner's limits anew when the day or month is over for which one was reached; the job of workers.

    A limit of nothing is reached in the next day and month, too.
    """
    with owner_scope(owner_id):
        note_reached(at=at)
    return 0, None


def look_at_all() -> int:
    """Look at every owner's limits anew, for what no call and no change of a budget has noted.

    That is a changed default budget or currency, restored data, and a clock that was wrong.

    Returns:
        How many owners were looked at.
    """
    looked = 0
    for owner_id in Owner.objects.filter(purging_at=None).order_by("pk").values_list("pk", flat=True).iterator():
        with suppress(OwnerPurging), owner_scope(owner_id):
            note_reached(at=now())
            looked += 1
    return looked


def owners_reached() -> Mapping[str, int]:
    """Count the owners who have reached a limit in the present day or month, by `budget_hard` and `budget_soft`.

    A row that a worker has claimed, or that a wrong clock has made, does not end when a present period does.
    """
    ends = {period_of(sort, now()).ends for sort in BudgetPeriod}
    rows = DueWork.objects.filter(job__in=JOBS, due_at__in=ends).values_list("job").annotate(owners=Count("pk"))
    return dict.fromkeys(JOBS, 0) | dict(rows)


def _reached(at: datetime) -> Iterator[tuple[str, datetime]]:
    known = spent(at)
    for limit in limits():
        amount, ends = known.of(limit.place), period_of(limit.period, at).ends
        for job, highest in ((HARD, limit.hard), (SOFT, limit.soft)):
            if highest is not None and amount >= highest:
                yield job, ends
