"""What makes a run due: what is stored, and an hourly look at everybody for what no write has noted."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from memory.errors import OwnerPurging
from memory.models import DueWork, Owner, owner_scope
from memory.services.clock import now
from memory.services.consolidation.cadence import counts_full
from memory.services.settings import current_settings
from memory.services.writing import call_for_work


def note_stored(*, moment: datetime, turns: int = 0) -> None:
    """Note that the current owner has stored something from which nothing was drawn yet; two statements.

    Call it last in the transaction, so that concurrent writers wait for one another no longer than they must.

    Args:
        moment: the moment of writing.
        turns: the owner's turns since the last run, where turns were stored.
    """
    settings = current_settings()["values"]
    if not settings["consolidation"]:
        return
    if settings["consolidation_on_write"] or counts_full(settings, turns):
        call_for_work(DueWork.CONSOLIDATE, due_at=moment)
    elif settings["consolidation_every_minutes"]:
        interval = timedelta(minutes=settings["consolidation_every_minutes"])
        call_for_work(DueWork.CONSOLIDATE, due_at=moment + interval)


def note_ended(*, moment: datetime) -> None:
    """Note that a conversation of the current owner has ended, so that a worker looks whether it is to be summed up.

    Args:
        moment: when it was closed.
    """
    if current_settings()["values"]["consolidation"]:
        call_for_work(DueWork.CONSOLIDATE, due_at=moment)


def call_for_consolidation() -> int:
    """Let a worker look at each owner whose consolidation is switched on and not noted; gives how many were.

    Finds what no write has noted: data from before an upgrade or in a restored backup, changes of the graph, and the
    days of owners who are silent.
    """
    noted = DueWork.objects.filter(job=DueWork.CONSOLIDATE).values("owner_id")
    called = 0
    unnoted = Owner.objects.filter(purging_at=None).exclude(pk__in=noted)
    for owner_id in unnoted.order_by("pk").values_list("pk", flat=True).iterator():
        with suppress(OwnerPurging), owner_scope(owner_id):
            if current_settings()["values"]["consolidation"]:
                call_for_work(DueWork.CONSOLIDATE, due_at=now())
                called += 1
    return called
