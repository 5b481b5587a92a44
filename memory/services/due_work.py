"""Background work that waits for owners: vectors and token vectors, memories to erase or archive, keys to rotate,
texts to look at for personal data, pictures of graphs to lay out, graphs to project, vectors of an embedder to
move to.

`DueWork` says whose work is due, and each job's own rows say what there is to do. A claim moves the due time on; the
claim's row goes only when the job has finished and nothing was asked for meanwhile, so a killed worker loses nothing.
"""

from __future__ import annotations

import logging
from collections import ChainMap
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import connection

from memory.errors import LociError
from memory.models import DueWork, owner_scope
from memory.ports.due_jobs import Job, add_job, added
from memory.ports.outbound import on_behalf_of
from memory.services.backfill import backfill_vectors
from memory.services.classifying import classify_flagged
from memory.services.clock import now
from memory.services.graph.laying_out import lay_out_owner
from memory.services.keys.rotation import rekey_owner
from memory.services.missing_tokens import fill_tokens
from memory.services.projection.projecting import project_owner
from memory.services.retirement import archive_expired, erase_due
from memory.services.spaces.filling import fill_spaces
from memory.services.writing import call_for_work

__all__ = ["JOBS", "add_job", "run_due_work"]

logger = logging.getLogger(__name__)

CLAIMED_FOR: Final = timedelta(minutes=10)
MOST_OWNERS: Final = 200

_OWN: Final[dict[str, Job]] = {
    DueWork.ERASE: erase_due,
    DueWork.EXPIRE: archive_expired,
    DueWork.VECTORS: backfill_vectors,
    DueWork.TOKENS: fill_tokens,
    DueWork.REKEY: rekey_owner,
    DueWork.CLASSIFY: classify_flagged,
    DueWork.LAYOUT: lay_out_owner,
    DueWork.PROJECT: project_owner,
    DueWork.SPACES: fill_spaces,
}
# In this order: what apps have added comes last.
JOBS: Final[Mapping[str, Job]] = ChainMap(added, _OWN)

CLAIM: Final = """
    UPDATE memory_duework SET due_at = %(until)s WHERE id IN (
        SELECT id FROM memory_duework WHERE job = %(job)s AND due_at <= %(now)s
        ORDER BY due_at LIMIT %(most)s FOR UPDATE SKIP LOCKED
    ) RETURNING owner_id
"""


def run_due_work(*, at: datetime | None = None) -> dict[str, int]:
    """Do all work that is due, owner by owner; repeating it has no further effect.

    Args:
        at: the moment that counts as now.

    Returns:
        Rows done by kind of work. An owner whose work fails is logged and tried again later.

    Raises:
        Exception: the first failure that was no domain error, once the others have had their turn.
    """
    moment = at or now()
    failed: list[Exception] = []
    done = {job: sum(_run(job, owner_id, moment, failed) for owner_id in _claim(job, moment)) for job in JOBS}
    if failed:
        raise failed[0]
    return done


def _claim(job: str, moment: datetime) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, {"job": job, "now": moment, "until": moment + CLAIMED_FOR, "most": MOST_OWNERS})
        return [row[0] for row in cursor.fetchall()]


def _run(job: str, owner_id: UUID, moment: datetime, failed: list[Exception]) -> int:
    try:
        with on_behalf_of(owner_id, job):
            count, more_at = JOBS[job](owner_id=owner_id, at=moment)
        with owner_scope(owner_id):
            DueWork.objects.filter(owner_id=owner_id, job=job, due_at=moment + CLAIMED_FOR).delete()
            if more_at is not None:
                call_for_work(job, due_at=more_at)
        return count
    except LociError as error:
        logger.warning("%s for owner %s failed: %s", job, owner_id, error.machine_code)
    except Exception as error:
        # Of one owner only: the others, who were claimed together with this one, must not wait for it.
        logger.error("%s for owner %s failed: %s", job, owner_id, type(error).__name__)
        failed.append(error)
    return 0
