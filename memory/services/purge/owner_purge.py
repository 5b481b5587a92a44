"""The purge of a whole owner, stage by stage. Each stage can be repeated, and each step commits with its count.

A store elsewhere that cannot be looked at holds up the end only: rows and keys go without it.

The owner's row goes last: every owned table refers to it, so the database itself refuses while a row is left, and
refuses rows that come later. What is found then is erased in another round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from memory.errors import Conflict
from memory.models import AgentKey, PurgeState, owner_scope
from memory.services.clock import now
from memory.services.open_transactions import database_clock, have_ended
from memory.services.projection.erasing import was_given_up
from memory.services.purge.caches import forget_owner
from memory.services.purge.emptying import empty, empty_or_hold, look_elsewhere
from memory.services.purge.held import LAST_STAGE, held_codes, spared
from memory.services.purge.ledger import REPLAY, note_owner
from memory.services.purge.progress import counts, ids, kept
from memory.services.purge.receipts import Stay, issue, neo4j_stays, owner_stays
from memory.services.purge.registry import NEEDED_BY, Phase, Subject, Traces, targets
from memory.services.purge.reindexing import Rebuilding, reindex_vectors
from memory.services.purge.samples import Search, count_samples, search_others, take_samples, traces_of
from memory.services.purge.verification import Look, look_through
from memory.services.purge.work import Work

MOST_ROUNDS: Final = 5
SETTLING_SECONDS: Final = 30.0
SETTLING_PAUSE: Final = 0.1
# All but the keys, which go when everything else has gone.
ERASED: Final = tuple(phase for phase in Phase if phase is not Phase.KEYS)
SEARCH_SECONDS: Final = 60.0


class RowsLeft(Conflict):
    """Rows of the owner are left, or came later again and again. What was erased stays so; it is tried again."""

    code = "purge.left"


def purge_owner(work: Work) -> None:
    """Work on the purge of an owner until it is done; the receipt stands in its row then.

    Raises:
        TimeUp: the turn is over.
        LeaseLost: another worker has taken it over.
        RowsLeft: something was left after several rounds.
        KeysUnavailable: the key vault or the ledger of purges cannot be used.
        LociError: everything is erased but for a store elsewhere, which has given this error.
    """
    stages: Mapping[str, Callable[[Work], None]] = {
        "ledger": _note,
        "settle": _settle,
        "collect": _collect,
        "erase": _erase,
        "reindex": _reindex,
        "keys": _destroy_keys,
        "verify": _verify,
        LAST_STAGE: lambda work: look_elsewhere(work, subject_of(work)),
    }
    names = list(stages)
    at = names.index(work.purge.stage) if work.purge.stage in stages else 0
    if at:
        # Whatever the row says about how far it is: nothing is erased that the ledger does not name.
        _note(work)
    # Nothing signs the row: a purge is closed only by the turn that has looked at everything itself.
    work.position.pop("whole", None)
    for _ in range(MOST_ROUNDS):
        for name in names[at:]:
            work.enter(name)
            stages[name](work)
        if work.position.get("whole") and not work.position["left"] and _close(work):
            return
        at = names.index("erase")
    raise RowsLeft(left=work.position.get("left"))


def subject_of(work: Work) -> Subject:
    """Say whose everything goes, as it was signed; the owner's row loses its login on the way."""
    purge = work.purge
    if purge.of_owner is None:
        raise RowsLeft("This purge names no owner any more.")
    user = purge.target.get("user")
    login = UUID(user) if user is not None else None
    return Subject(purge.of_owner, purge.pseudonym, purge.pk, login, ids((purge.samples or {}).get("agent_keys")))


def _note(work: Work) -> None:
    """Note the purge in the ledger before the first row goes; what the ledger itself asks for stands there."""
    if work.purge.requested_by != REPLAY:
        note_owner(owner_id=subject_of(work).owner_id, purge_id=work.purge.pk, at=work.purge.requested_at)
    work.stepped("ledger.noted", progress=False)


def _settle(work: Work) -> None:
    """Wait for transactions that began before the owner was closed; what one still writes after that is a late row."""
    began = database_clock()
    until = time.monotonic() + SETTLING_SECONDS
    while time.monotonic() < until and not have_ended(before=began):
        work.beat()
        time.sleep(SETTLING_PAUSE)
    work.stepped("settle.waited", progress=False)


def _collect(work: Work) -> None:
    """Take samples and note which keys there are, once: another time there would be less."""
    if work.purge.samples is None:
        subject = subject_of(work)
        forget_owner(subject.owner_id)
        known = {target.name: target.count(subject) for target in targets(Phase.KEYS)}
        with owner_scope(subject.owner_id, purging=True):
            samples = take_samples(subject.owner_id)
            samples["agent_keys"] = [str(one) for one in AgentKey.objects.order_by("pk").values_list("pk", flat=True)]
            expected = work.purge.expected or _counted(subject)
            work.position["keys"] = known
            work.save(samples=samples, expected=expected)
    work.stepped("collect.sampled", progress=False)


def _counted(subject: Subject) -> dict[str, int]:
    counts = {target.name: target.count(subject) for target in targets() if not target.outside}
    return {name: count for name, count in counts.items() if count}


def _erase(work: Work) -> None:
    """Erase target after target, in steps; what was looked at before does not count any more."""
    for name in ("look", "search"):
        work.position.pop(name, None)
    work.position["held"] = {}
    subject = subject_of(work)
    for target in targets(*ERASED):
        if target.name in spared(work.position["held"]):
            continue
        if target.name in NEEDED_BY and was_given_up(subject.owner_id):
            # The receipt is to say it when the row that tells it has gone.
            work.position["given_up"] = True
        empty_or_hold(work, subject, target)


def _reindex(work: Work) -> None:
    """Build the vector indexes anew from which vectors have gone."""
    rebuilding = kept(Rebuilding, work.position.get("reindexed"))
    if work.purge.erased.get("vectors") and not rebuilding.complete:

        def rebuilt() -> None:
            work.position["reindexed"] = asdict(rebuilding)
            work.save()
            work.rest()

        with work.lease.beating():
            reindex_vectors(subject_of(work).owner_id, rebuilding=rebuilding, tell=rebuilt)
        work.position["reindexed"] = asdict(rebuilding)
        work.save()
    work.stepped("reindex.done", progress=False)


def _destroy_keys(work: Work) -> None:
    """Destroy the root key: what copies there are of the owner's texts do not open any more."""
    subject = subject_of(work)
    for target in targets(Phase.KEYS):
        empty(work, subject, target)


def _verify(work: Work) -> None:
    """Look for what is left, by ids, by stored values and by vectors; goes on where it was interrupted."""
    subject, traces = subject_of(work), traces_of(work.purge.samples)
    held = held_codes(work.position)
    look = kept(Look, work.position.get("look"))

    def looked() -> None:
        work.position["look"] = asdict(look)
        work.save()
        work.rest()

    with work.lease.beating():
        look_through(subject, traces, look=look, tell=looked, without=spared(held))
    work.stepped("verify.tables", progress=False)
    search = kept(Search, work.position.get("search"))

    def searched() -> None:
        work.position["search"] = asdict(search)
        work.save()
        work.rest()

    with work.lease.beating():
        search_others(subject.owner_id, traces, search=search, seconds=SEARCH_SECONDS, tell=searched)
    look.note("samples in rows of others", search.found)
    work.position["left"] = look.left
    work.position["whole"] = not held
    work.position["looked_at"] = {
        "tables_by_owner": look.tables,
        "tables_read_row_by_row": look.read_whole,
        "tables_searched_for_ids_and_samples": look.outside_walls,
        "targets": look.targets,
        "samples": count_samples(traces),
        "other_owners": search.owners,
        "all_other_owners": search.complete,
        "vector_indexes": kept(Rebuilding, work.position.get("reindexed")).summary(),
    }
    for name in ("look", "search"):
        work.position.pop(name, None)
    work.save()
    work.stepped("verify.done", progress=False)


def _close(work: Work) -> bool:
    """Delete the owner's row and issue the receipt, in one transaction; False when something is there after all."""
    purge, moment = work.purge, now()
    owner_id = purge.of_owner
    subject = subject_of(work)
    if any(target.remains(subject, Traces()) for target in targets(Phase.KEYS)):
        return False
    # What was found before counts: a worker may have died between destroying the keys and counting them.
    found = counts(work.position.get("keys"), known=[target.name for target in targets(Phase.KEYS)])
    keys = {"root": "destroyed" if found.get("keys") else "was missing before"}
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # First the purge's row, so that a worker that has lost it goes no further.
            work.beat()
            cursor.execute("DELETE FROM memory_owner WHERE id = %s", [owner_id])
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            receipt = issue(
                purge,
                erased={**counts(purge.erased), **found},
                left={},
                looked_at=work.position["looked_at"],
                keys=keys,
                stays=_stays(work),
                at=moment,
            )
            work.position = {}
            work.save(**_closed(receipt), finished_at=moment)
    except IntegrityError:
        work.position["late"] = int(work.position.get("late", 0)) + 1
        work.stepped("close.late", progress=False)
        return False
    return True


def _stays(work: Work) -> tuple[Stay, ...]:
    projected, given_up = bool(work.purge.erased.get("neo4j")), work.position.get("given_up") is True
    return (*owner_stays(), *neo4j_stays(projected=projected, given_up=given_up))


def _closed(receipt: dict[str, Any]) -> dict[str, Any]:
    """Give what a purge's row is in the end: it names nobody, and holds the receipt."""
    return {
        "state": PurgeState.DONE,
        "stage": "",
        "of_owner": None,
        "target": {},
        "samples": None,
        "error_code": "",
        "receipt": receipt,
    }
