"""Emptying the targets of an owner's purge, and holding up its end for those elsewhere that cannot be looked at."""

from __future__ import annotations

from django.db import connection

from memory.errors import LociError
from memory.models import owner_scope
from memory.services.purge.held import held_codes
from memory.services.purge.lease import LeaseLost
from memory.services.purge.progress import counts
from memory.services.purge.registry import Phase, PurgeTarget, Subject, targets
from memory.services.purge.work import Work


def empty_or_hold(work: Work, subject: Subject, target: PurgeTarget) -> LociError | None:
    """Empty a target; one elsewhere that cannot be looked at is noted as held up, and gives its error."""
    try:
        empty(work, subject, target)
    except LeaseLost:
        raise
    except LociError as error:
        if not target.outside:
            raise
        work.position["held"] = {**held_codes(work.position), target.name: error.machine_code}
        work.save()
        return error
    return None


def empty(work: Work, subject: Subject, target: PurgeTarget) -> None:
    """Erase all of a target, step by step; each is counted in the transaction that erases."""
    while True:
        if target.outside:
            count = target.erase(subject, work.most)
            _count(work, target, count)
        else:
            with owner_scope(subject.owner_id, purging=True), connection.cursor() as cursor:
                # The database looks for children of each row: with a plan of its own for each, it would plan for
                # longer than it looks. And a table that was just emptied is no table to be read from its beginning.
                cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
                cursor.execute("SET LOCAL enable_seqscan = off")
                count = target.erase(subject, work.most)
                _count(work, target, count)
        work.stepped(f"erase.{target.name}", progress=count > 0)
        if not count:
            return


def _count(work: Work, target: PurgeTarget, count: int) -> None:
    """Keep count, in the transaction that erases, so that an interruption loses none and counts none twice."""
    erased = counts(work.purge.erased)
    if count:
        erased[target.name] = erased.get(target.name, 0) + count
    work.save(erased=erased)


def look_elsewhere(work: Work, subject: Subject) -> None:
    """Empty what was held up, when nothing else is left; another round then looks at everything.

    Raises:
        LociError: the first error, after each store had its turn.
    """
    held = held_codes(work.position)
    if work.position.get("left") or not held:
        return
    first: LociError | None = None
    for target in targets(Phase.STORES):
        if target.name not in held:
            continue
        error = empty_or_hold(work, subject, target)
        if error is None:
            work.position["held"].pop(target.name, None)
            work.save()
        first = first or error
    if first is not None:
        raise first
