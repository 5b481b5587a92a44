"""Searching in a replica of the database, where one is configured and has what was stored before the question.

A success answer means that what was stored can be recalled at once. So a recall first asks the database how far its
log is, and searches in the replica only once that has replayed as far; it waits a little for that. A replica that is
behind, gone or fails costs the answer nothing: the database itself is asked. So it is where what calls itself a replica
is none of this database, or its role could see every owner's rows.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, connections, transaction

from memory.errors import OwnerPurging
from memory.models import owner_scope
from memory.ports.reading import REPLICA, reading_from
from memory.services.findings import Finding
from memory.services.server_sql import IDENTITY, IS_HELD

logger = logging.getLogger(__name__)

T = TypeVar("T")

Place = Literal["", "replica", "behind", "failed", "refused", "paused"]
"""Where a recall searched: in the replica, or in the database since the replica was behind, failed, may not be read, or
is left alone after one of the latter two; empty where there is none."""

# After a failure of the connection or a refusal. A look costs up to the patience of connecting.
PAUSE_SECONDS: Final = 15.0
# The first look comes at once; the replay of a commit takes about a millisecond.
FIRST_PAUSE: Final = 0.001
LONGEST_PAUSE: Final = 0.016
# A single recall right after a large write says nothing of the replica.
BEHIND_IN_A_ROW: Final = 3

# What is answered is on the disk, unless commits do not wait for it. The place of insertion alone would also count what
# nobody has committed, which is written later than a recall can wait for.
POSITION_SQL: Final = f"""
    SELECT CASE WHEN pg_is_in_recovery() THEN NULL
                WHEN current_setting('synchronous_commit') = 'off' THEN pg_current_wal_insert_lsn()
                ELSE pg_current_wal_flush_lsn() END::text,
           {IDENTITY}
"""
# A server that was promoted keeps the place where its replay ended.
_REPLAYED: Final = "WHEN pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %(log)s::pg_lsn THEN 'there' ELSE 'behind'"
LOOK_SQL: Final = f"""
    SELECT CASE WHEN {IDENTITY} <> %(database)s THEN 'another'
                WHEN NOT {IS_HELD} THEN 'unheld'
                {_REPLAYED} END
"""
# Within a transaction the server and the role stay the same, and the identity is read from a file each time.
LOOK_AGAIN_SQL: Final = f"SELECT CASE {_REPLAYED} END"
ANOTHER: Final = "DATABASE_REPLICA_URL leads to another server or database."
UNHELD: Final = "The role of DATABASE_REPLICA_URL ignores row-level security."
URL: Final = "Name a streaming replica of the server of DATABASE_URL in DATABASE_REPLICA_URL, as loci_app."
_REFUSALS: Final[Mapping[str, str]] = {"another": ANOTHER, "unheld": UNHELD}

# Classes of errors that say that the server cannot be used now, and not that one statement failed.
_UNUSABLE: Final = frozenset({"08", "28", "3D", "53"})


@dataclass(frozen=True, slots=True)
class Position:
    """How far the log of the database is, and which database of which server that is."""

    log: str
    database: str


class _State:
    """How the last uses of the replica went in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        self.used, self.behind, self.failure, self.refusal, self._until = 0, 0, "", "", 0.0

    def paused(self) -> bool:
        return time.monotonic() < self._until

    def answered(self) -> None:
        with self._lock:
            self.used, self.behind, self.failure, self.refusal = self.used + 1, 0, "", ""

    def lagged(self) -> None:
        with self._lock:
            self.behind, self.failure, self.refusal = self.behind + 1, "", ""

    def failed(self, reason: str, *, unusable: bool) -> None:
        with self._lock:
            self.failure, self.refusal = reason, ""
            if unusable:
                self._until = time.monotonic() + PAUSE_SECONDS

    def refused(self, why: str) -> None:
        with self._lock:
            self.failure, self.refusal, self._until = "", why, time.monotonic() + PAUSE_SECONDS


_state: Final = _State()


def configured() -> bool:
    """Tell whether there is a replica to ask."""
    return REPLICA in connections.settings


def position() -> Position | None:
    """Give how far the database's log is, where a replica may be asked: one statement then, in a savepoint.

    Ask it on the database itself after the question has come: all that was answered before lies before it.

    Returns:
        None where no replica is to be asked, since there is none, it is left alone, or the database does not say.

    Raises:
        django.db.DatabaseError, django.db.InterfaceError: the transaction that is under way is lost.
    """
    if not configured() or _state.paused():
        return None
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(POSITION_SQL)
            log, database = cursor.fetchone()
    except DatabaseError as error:
        if connection.needs_rollback:
            raise
        _fail(f"the database does not say how far it is: {_cause_of(error)}", unusable=True)
        return None
    return None if log is None else Position(log, database)


def read(
    owner_id: UUID, since: Position | None, work: Callable[[], T], *, sound: Callable[[T], bool]
) -> tuple[T, Place]:
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


def _in_replica(owner_id: UUID, since: Position, work: Callable[[], T]) -> tuple[T | None, Place]:
    try:
        with reading_from(REPLICA), owner_scope(owner_id):
            found = _looked_at(since)
            if found == "there":
                return work(), "replica"
    except (DatabaseError, InterfaceError) as error:
        _note(error)
        return None, "failed"
    except OwnerPurging:
        # Whether it is so is for the database to say, which has just let this owner in.
        _fail("it says that the owner is being erased", unusable=True)
        return None, "failed"
    if found == "behind":
        _state.lagged()
        return None, "behind"
    _refuse(_REFUSALS[found])
    return None, "refused"


def _looked_at(since: Position) -> str:
    """Say what the replica is: `there` once it has replayed as far as a position, `behind` when the time is over.

    `another` is one of another database, `unheld` one where the walls between owners do not hold the role.
    """
    until, pause = time.monotonic() + settings.DATABASE_REPLICA_WAIT / 1000, FIRST_PAUSE
    statement = LOOK_SQL
    while True:
        # Within the transaction in which the search follows: behind a pooler another one could be another server's.
        with connections[REPLICA].cursor() as cursor:
            cursor.execute(statement, {"log": since.log, "database": since.database})
            found: str = cursor.fetchone()[0]
        left = until - time.monotonic()
        if found != "behind" or left <= 0:
            return found
        time.sleep(min(pause, left))
        statement, pause = LOOK_AGAIN_SQL, min(pause * 2, LONGEST_PAUSE)


def _refuse(why: str) -> None:
    if _state.refusal != why:
        logger.error("the replica is not read, recall searches in the database: %s", why)
    _state.refused(why)


def _note(error: DatabaseError | InterfaceError) -> None:
    code = getattr(error.__cause__ or error, "sqlstate", None) or ""
    _fail(_cause_of(error), unusable=not code or code[:2] in _UNUSABLE or code.startswith("57P"))


def _cause_of(error: DatabaseError | InterfaceError) -> str:
    return type(error.__cause__ or error).__name__


def _fail(reason: str, *, unusable: bool) -> None:
    if not _state.failure:
        logger.warning("the replica cannot be read (%s), recall searches in the database", reason)
    _state.failed(reason, unusable=unusable)


def forget() -> None:
    """Know nothing of former uses; for tests and after a change of the configuration."""
    _state.forget()


def replica_findings() -> list[Finding]:
    """Tell how the last recalls of this process fared with the replica; nothing is asked. Empty without a replica."""
    if not configured():
        return []
    name, remedy = "replica", "Look at the server of DATABASE_REPLICA_URL; `python3 manage.py doctor` asks it."
    if _state.refusal:
        return [Finding(name, "degraded", _state.refusal, URL)]
    if _state.failure:
        detail = f"The replica failed ({_state.failure}): recall searches in the database itself."
        return [Finding(name, "degraded", detail, remedy)]
    if _state.behind >= BEHIND_IN_A_ROW:
        detail = f"The replica was behind for the last {_state.behind} recalls, which searched in the database itself."
        return [Finding(name, "degraded", detail, "Look at its replay, or raise DATABASE_REPLICA_WAIT.")]
    return [Finding(name, "ok", "Recall searches in the replica." if _state.used else "The replica was not used yet.")]
