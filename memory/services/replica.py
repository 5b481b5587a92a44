"""Searching in a replica of the database, where one is configured and has what was stored before the question.

A success answer means that what was stored can be recalled at once. So a recall first asks the database how far its
log is, and searches in the replica only once that has replayed as far; it waits a little for that. A replica that is
behind, gone or fails costs the answer nothing: the database itself is asked.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final, Literal, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, connections

from memory.models import owner_scope
from memory.ports.reading import REPLICA, reading_from
from memory.services.findings import Finding

logger = logging.getLogger(__name__)

T = TypeVar("T")

Place = Literal["", "replica", "behind", "failed", "paused"]
"""Where a recall searched: in the replica, or in the database since the replica was behind, failed, or is left alone
after a failure; empty where there is none."""

# After a failure of the connection. A look costs up to the patience of connecting.
PAUSE_SECONDS: Final = 15.0
# The first look comes at once; the replay of a commit takes about a millisecond.
FIRST_PAUSE: Final = 0.001
LONGEST_PAUSE: Final = 0.016
# A single recall right after a large write says nothing of the replica.
BEHIND_IN_A_ROW: Final = 3

# What is answered is on the disk, unless commits do not wait for it. The place of insertion alone would also count what
# nobody has committed, which is written later than a recall can wait for.
POSITION_SQL: Final = """
    SELECT CASE WHEN pg_is_in_recovery() THEN NULL
                WHEN current_setting('synchronous_commit') = 'off' THEN pg_current_wal_insert_lsn()
                ELSE pg_current_wal_flush_lsn() END::text
"""
# A server that was promoted keeps the place where its replay ended.
CAUGHT_UP_SQL: Final = "SELECT coalesce(pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %s::pg_lsn, false)"

# Classes of errors that say that the server cannot be used now, and not that one statement failed.
_UNUSABLE: Final = frozenset({"08", "28", "3D", "53"})


class _State:
    """How the last uses of the replica went in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        self.used, self.behind, self.failure, self._until = 0, 0, "", 0.0

    def paused(self) -> bool:
        return time.monotonic() < self._until

    def answered(self) -> None:
        with self._lock:
            self.used, self.behind, self.failure = self.used + 1, 0, ""

    def lagged(self) -> None:
        with self._lock:
            self.behind, self.failure = self.behind + 1, ""

    def failed(self, reason: str, *, unusable: bool) -> None:
        with self._lock:
            self.failure = reason
            if unusable:
                self._until = time.monotonic() + PAUSE_SECONDS


_state: Final = _State()


def configured() -> bool:
    """Tell whether there is a replica to ask."""
    return REPLICA in connections.settings


def position() -> str | None:
    """Give how far the database's log is, where a replica may be asked; one statement then, within the transaction.

    Ask it on the database itself after the question has come: all that was answered before lies before it.
    """
    if not configured() or _state.paused():
        return None
    with connection.cursor() as cursor:
        cursor.execute(POSITION_SQL)
        found: str | None = cursor.fetchone()[0]
        return found


def read(owner_id: UUID, since: str | None, work: Callable[[], T], *, sound: Callable[[T], bool]) -> tuple[T, Place]:
    """Do reading work in an owner's scope: in the replica if that is as far as a position, else in the database.

    Args:
        owner_id: whose rows.
        since: what `position` gave.
        work: reads, changes nothing, and can be repeated.
        sound: tells whether a result of the replica can be used; it is not where a part failed that the database could
            answer, as when the replica's replay removes what is being read.

    Returns:
        What `work` gave, and where.

    Raises:
        django.db.DatabaseError, django.db.InterfaceError: the database itself failed.
    """
    place: Place = ""
    if since is not None:
        found, place = _in_replica(owner_id, since, work)
        if found is not None and sound(found):
            _state.answered()
            return found, place
        if found is not None:
            _state.failed("a part of the search failed there", unusable=False)
            place = "failed"
    elif configured():
        place = "paused"
    with owner_scope(owner_id):
        return work(), place


def _in_replica(owner_id: UUID, since: str, work: Callable[[], T]) -> tuple[T | None, Place]:
    try:
        with reading_from(REPLICA), owner_scope(owner_id):
            if not _caught_up(since):
                _state.lagged()
                return None, "behind"
            return work(), "replica"
    except (DatabaseError, InterfaceError) as error:
        _note(error)
        return None, "failed"


def _caught_up(since: str) -> bool:
    """Wait until the replica has replayed as far as a position, or until its time is over."""
    until, pause = time.monotonic() + settings.DATABASE_REPLICA_WAIT / 1000, FIRST_PAUSE
    while True:
        # Within the transaction in which the search follows: behind a pooler another one could be another replica's.
        with connections[REPLICA].cursor() as cursor:
            cursor.execute(CAUGHT_UP_SQL, [since])
            if cursor.fetchone()[0]:
                return True
        left = until - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(pause, left))
        pause = min(pause * 2, LONGEST_PAUSE)


def _note(error: DatabaseError | InterfaceError) -> None:
    cause = error.__cause__ or error
    code = getattr(cause, "sqlstate", None) or ""
    unusable = not code or code[:2] in _UNUSABLE or code.startswith("57P")
    if not _state.failure:
        logger.warning("the replica cannot be read (%s), recall searches in the database", type(cause).__name__)
    _state.failed(type(cause).__name__, unusable=unusable)


def forget() -> None:
    """Know nothing of former uses; for tests and after a change of the configuration."""
    _state.forget()


def replica_findings() -> list[Finding]:
    """Tell how the last recalls of this process fared with the replica; nothing is asked. Empty without a replica."""
    if not configured():
        return []
    name, remedy = "replica", "Look at the server of DATABASE_REPLICA_URL; `python3 manage.py doctor` asks it."
    if _state.failure:
        detail = f"The replica failed ({_state.failure}): recall searches in the database itself."
        return [Finding(name, "degraded", detail, remedy)]
    if _state.behind >= BEHIND_IN_A_ROW:
        detail = f"The replica was behind for the last {_state.behind} recalls, which searched in the database itself."
        return [Finding(name, "degraded", detail, "Look at its replay, or raise DATABASE_REPLICA_WAIT.")]
    return [Finding(name, "ok", "Recall searches in the replica." if _state.used else "The replica was not used yet.")]
