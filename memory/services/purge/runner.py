"""Running purges: those that wait, and those whose worker has died."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Case, F, Value, When, Window
from django.db.models.functions import RowNumber

from memory.errors import Conflict, LociError, NotFound, ProjectionBusy, ProjectionOff, ProjectionUnavailable
from memory.models import Purge, PurgeState, PurgeSubject
from memory.services.clock import now
from memory.services.projection.erasing import Neo4jTarget
from memory.services.purge.held import longest_pause, waits_only_elsewhere
from memory.services.purge.lease import OPEN, LeaseLost, due, take
from memory.services.purge.owner_purge import purge_owner
from memory.services.purge.partial import run_partial
from memory.services.purge.proof import PurgeUnproven, is_proven
from memory.services.purge.receipts import issue
from memory.services.purge.work import TimeUp, Work

logger = logging.getLogger(__name__)

ROWS_OF_A_STEP: Final = 20_000
# Far below the queue's time-out; a purge that takes longer goes on in the next turn.
TURN_SECONDS: Final = 240.0


def run_due(*, at: datetime | None = None, seconds: float = TURN_SECONDS) -> int:
    """Work on the purges that wait; a job of the workers.

    Those of whole owners go first. Then owners have their turns one after the other, so that one who asks for many
    keeps nobody else waiting.

    Args:
        at: the moment that counts as now.
        seconds: after which no further step is begun.

    Returns:
        How many came to their end.

    Raises:
        LociError, DatabaseError, OSError: the first error of a purge, after all of them had their turn. It stands in
            the purge as its code, and is tried again later. That nothing but a store elsewhere is waited for is none.
    """
    until = time.monotonic() + seconds
    done, first_error = 0, None
    for purge_id in _in_turn(at or now()):
        left = until - time.monotonic()
        if left <= 0:
            break
        try:
            done += run_purge(purge_id=purge_id, at=at, seconds=left).state == PurgeState.DONE
        except Conflict as error:
            logger.info("purge %s is left alone: %s", purge_id, error.machine_code)
        except Exception as error:
            # A store that is away is no fault of the job, which looks every minute; the purge says it.
            if not _waits_elsewhere(purge_id):
                first_error = first_error or error
    if first_error is not None:
        raise first_error
    return done


def _waits_elsewhere(purge_id: UUID) -> bool:
    purge = Purge.objects.filter(pk=purge_id).first()
    return purge is not None and waits_only_elsewhere(purge)


def purge_is_due(*, at: datetime | None = None) -> bool:
    """Tell whether a purge waits for a worker."""
    return due(moment=at or now()).exists()


def _in_turn(moment: datetime) -> list[UUID]:
    """List the purges that are due: whole owners, then of each owner one, then of each a second."""
    parts_last = Case(When(subject=PurgeSubject.OWNER, then=Value(0)), default=Value(1))
    turn = Window(RowNumber(), partition_by=[F("of_owner")], order_by=["requested_at", "pk"])
    longest_ago = F("heartbeat_at").asc(nulls_first=True)
    rows = due(moment=moment).annotate(parts_last=parts_last, turn=turn)
    return list(rows.order_by("parts_last", "turn", longest_ago, "requested_at").values_list("pk", flat=True))


def run_purge(
    *,
    purge_id: UUID,
    at: datetime | None = None,
    seconds: float = float("inf"),
    most: int = ROWS_OF_A_STEP,
    after_step: Callable[[str], None] | None = None,
) -> Purge:
    """Work on a purge to its end, or until the time is up; it goes on where it was interrupted.

    Args:
        purge_id: which.
        at: the moment that counts as now.
        seconds: after which no further step is begun.
        most: rows of one step, about.
        after_step: called after each step with its name.

    Returns:
        The purge as it stands now; done, or waiting for its next turn.

    Raises:
        NotFound: there is no such purge.
        Conflict: another worker is at it (`purge.running`), or has taken it over (`purge.taken_over`).
        PurgeUnproven: it was not asked for here, or was changed since; it has failed for good.
        LociError: it has failed; the code stands in the purge, and it is tried again after a pause that grows, of
            a minute at most where nothing but a store elsewhere is waited for.
    """
    moment = at or now()
    purge = Purge.objects.filter(pk=purge_id).first()
    if purge is None:
        raise NotFound("There is no such purge.", code="purge.unknown")
    if purge.state not in OPEN:
        return purge
    lease = take(purge_id, moment=moment)
    if lease is None:
        raise Conflict("Another worker is at this purge.", code="purge.running")
    purge.refresh_from_db()
    if not is_proven(purge):
        logger.warning("purge %s has no proof that it was asked for, and is not carried out", purge_id)
        lease.save(state=PurgeState.FAILED, error_code=PurgeUnproven.code, finished_at=moment)
        raise PurgeUnproven
    work = Work(purge, lease, moment, time.monotonic() + seconds, most, after_step, dict(purge.position))
    try:
        if purge.subject == PurgeSubject.OWNER:
            purge_owner(work)
        else:
            _run_partial(work)
    except LeaseLost:
        raise
    except TimeUp:
        lease.put_back(moment=now(), position=work.position)
    except Exception as error:
        code = error.machine_code if isinstance(error, LociError) else f"internal.{type(error).__name__}"
        # The same again, every minute where a store is away, is no news.
        log = logger.info if code == purge.error_code else logger.warning
        log("purge %s failed in its stage %s: %s", purge_id, purge.stage, code)
        lease.put_back(
            moment=at or now(),
            position=work.position,
            error_code=code[:64],
            longest_pause=longest_pause(purge, work.position, code),
        )
        raise
    purge.refresh_from_db()
    return purge


def _run_partial(work: Work) -> None:
    purge = work.purge

    def beat() -> None:
        work.beat()
        work.stepped("batch")

    work.position.pop("held", None)
    try:
        outcome = run_partial(purge=purge, at=work.moment, beat=beat)
    except (ProjectionUnavailable, ProjectionBusy, ProjectionOff) as error:
        work.position["held"] = {Neo4jTarget.name: error.machine_code}
        raise
    moment = now()
    receipt = issue(
        purge,
        erased=outcome.erased,
        left=outcome.left,
        looked_at=outcome.looked_at,
        keys=outcome.keys,
        stays=outcome.stays,
        at=moment,
    )
    work.lease.save(
        state=PurgeState.DONE, stage="", erased=outcome.erased, receipt=receipt, error_code="", finished_at=moment
    )
