"""What is kept for a while only: answers under idempotency keys, explanations, runs, archives, old acts of reading."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Final

from memory.errors import OwnerPurging
from memory.models import ConsolidationRun, IdempotencyRecord, Memory, Owner, RecallRecord, Status, owner_scope
from memory.ports.removers import removers
from memory.services.audit.pruning import prune_reads
from memory.services.bus.publishing import remove_expired
from memory.services.clock import now
from memory.services.erasing import erase_memories
from memory.services.graph.turn import take_turn
from memory.services.settings import current_settings

logger = logging.getLogger(__name__)

ANSWERS_KEPT: Final = timedelta(days=1)
EXPLANATIONS_KEPT: Final = timedelta(days=7)
RUNS_KEPT: Final = timedelta(days=30)
ERASED_AT_ONCE: Final = 1_000


def remove_outdated(*, at: datetime | None = None) -> dict[str, int]:
    """Remove what is past its time, owner by owner; repeating it has no further effect.

    Args:
        at: the moment that counts as now.

    Returns:
        How many answers, explanations, runs of consolidation, archived memories, acts of reading in the audit and
        messages of the bus were removed, and what apps have removed by the names under which they were added. Of one
        owner's archive at most 1,000 memories go in one run.

    Raises:
        Exception: the first failure, once the other owners have had their turn; it is logged without content.
    """
    moment = at or now()
    removed = {"answers": 0, "explanations": 0, "runs": 0, "archived": 0, "reads": 0, "messages": 0}
    removed |= dict.fromkeys(removers(), 0)
    failed: list[Exception] = []
    for owner_id in Owner.objects.order_by("pk").values_list("pk", flat=True).iterator():
        try:
            with owner_scope(owner_id):
                done = _remove(moment)
        except OwnerPurging:
            # Whoever is being purged loses all of it anyway.
            continue
        except Exception as error:
            # The others' turn must come although one owner's cannot be done.
            logger.error("outdated records of owner %s could not be removed: %s", owner_id, type(error).__name__)
            failed.append(error)
            continue
        for name, count in done.items():
            removed[name] += count
    if failed:
        raise failed[0]
    return removed


def _remove(moment: datetime) -> dict[str, int]:
    """Remove what is past its time of the current owner."""
    return {
        "answers": IdempotencyRecord.objects.filter(created_at__lte=moment - ANSWERS_KEPT).delete()[0],
        "explanations": RecallRecord.objects.filter(created_at__lte=moment - EXPLANATIONS_KEPT).delete()[0],
        "runs": ConsolidationRun.objects.filter(finished_at__lte=moment - RUNS_KEPT).delete()[0],
        "archived": _erase_archive(moment),
        "reads": prune_reads(at=moment),
        "messages": remove_expired(at=moment),
        **{name: remove(moment) for name, remove in removers().items()},
    }


def _erase_archive(moment: datetime) -> int:
    """Erase archived memories that are older than the owner's setting allows; 0 days keeps them for ever.

    What was drawn from them and is still in use stays.
    """
    days: int = current_settings()["values"]["archive_retention_days"]
    outdated = Memory.objects.filter(status=Status.ARCHIVED, archived_at__lte=moment - timedelta(days=days))
    if not days or not outdated.exists():
        return 0
    take_turn(at=moment)
    oldest = outdated.order_by("archived_at", "pk").values_list("pk", flat=True)[:ERASED_AT_ONCE]
    # Locked in the order of their ids; what somebody restored meanwhile is left alone.
    locked = outdated.select_for_update().filter(pk__in=list(oldest)).order_by("pk")
    rows = list(locked.values_list("pk", flat=True))
    return len(erase_memories(rows, at=moment, actor="system", reason="retention", with_live=False))
