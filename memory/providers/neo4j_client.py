"""Neo4j over Bolt: one driver for each process, opened at the first use, and its errors in the words of Loci."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memory.errors import ProjectionUnavailable
from memory.providers.per_process import PerProcess

if TYPE_CHECKING:
    from neo4j import Driver, ManagedTransaction, Session

Parameters = Mapping[str, Any]
Statement = tuple[str, Parameters]
Row = dict[str, Any]
Ask = Callable[[str, Parameters], list[Row]]
T = TypeVar("T")

CONNECT_SECONDS: Final = 5.0
# For so long it counts as away, so that a hundred owners do not wait for it one after the other. Twice as long after
# each further attempt to which nothing answers, so that a server that hangs for hours costs readers little.
AWAY_SECONDS: Final = 5.0
LONGEST_AWAY_SECONDS: Final = 60.0
# Of connections that have been idle for longer, a firewall between may have dropped the other end.
IDLE_SECONDS: Final = 30.0
SLOW: Final = "Neo4j took too long. It is tried again."
# Whatever else a server calls an error is not repeated: it may hold anything, line breaks and control characters too.
CODE: Final = re.compile(r"([A-Za-z]{1,60}\.){0,4}([A-Za-z]{1,60})")
# Of the seconds that a read has left, so that a time-out of the server arrives as an answer while it is waited for.
SERVER_SHARE: Final = 0.8
# 0 would be no limit.
LEAST_SECONDS: Final = 0.001
# What a write may take besides its time on the server: the way there, and the driver's own further attempts.
MARGIN_SECONDS: Final = 15.0


class GuardRefused(Exception):
    """The guard of a transaction gave no row; nothing was written."""


class Neo4jClient:
    """Sends statements with parameters; safe to use from several threads and after a fork."""

    def __init__(
        self,
        uri: str,
        *,
        user: str,
        password: str,
        database: str = "",
        write_seconds: float = 30.0,
        read_seconds: float = 2.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Build it; nothing is opened yet.

        Args:
            uri: of Bolt, with `+s` for TLS.
            user, password: the login.
            database: its name; empty for the login's own.
            write_seconds: that one writing transaction may take on the server.
            read_seconds: that one read may take, from the wait for a connection to the last row.
            monotonic: gives seconds; replaced in tests.
        """
        self._uri, self._auth, self._database = uri, (user, password), database or None
        self._write_seconds, self._read_seconds = write_seconds, read_seconds
        self._monotonic = monotonic
        self._drivers: PerProcess[Driver] = PerProcess(self._open)
        self._away_until, self._pause = 0.0, AWAY_SECONDS
        self._failure: ProjectionUnavailable | None = None

    def read(self, statement: str, parameters: Parameters) -> list[Row]:
        """Give the rows that a reading statement answers, within the seconds of a read.

        Raises:
            ProjectionUnavailable: Neo4j is away, slow, or refuses.
        """
        return self.reading(lambda ask: ask(statement, parameters))

    def reading(self, work: Callable[[Ask], T]) -> T:
        """Let reads follow one another in one session, all of them within the seconds of a read.

        Args:
            work: is given what sends a statement; it runs in another thread, so it asks no database.

        Raises:
            ProjectionUnavailable: Neo4j is away, slow, or refuses.
        """
        from neo4j import Query

        until = self._monotonic() + self._read_seconds

        def read(session: Session) -> T:
            def ask(statement: str, parameters: Parameters) -> list[Row]:
                left = max(LEAST_SECONDS, SERVER_SHARE * (until - self._monotonic()))
                # Not as a managed transaction: that would be tried again for longer than a reader waits.
                query = Query(statement, timeout=left)
                return [record.data() for record in session.run(query, dict(parameters))]

            return work(ask)

        return self._within(self._read_seconds, read, access="READ")

    def rows(self, statement: str, parameters: Parameters) -> list[Row]:
        """Give the rows that a statement answers, within the seconds of a write; raises as `read` does."""
        return self.write([(statement, parameters)])

    def write(self, statements: Sequence[Statement], *, guard: Statement | None = None) -> list[Row]:
        """Send statements in one transaction; gives the rows of the last one.

        What was sent may be sent again by the driver where the connection broke, so each has to bear that.

        Args:
            statements: with their parameters, in order.
            guard: sent first; where it gives no row, nothing is written.

        Raises:
            ProjectionUnavailable: Neo4j is away, slow, or refuses; all of it is undone, or its end is not known.
            GuardRefused: the guard gave no row.
        """
        from neo4j import unit_of_work

        @unit_of_work(timeout=self._write_seconds)
        def work(transaction: ManagedTransaction) -> list[Row]:
            if guard is not None and not _sent(transaction, guard):
                raise GuardRefused
            rows: list[Row] = []
            for statement in statements:
                rows = _sent(transaction, statement)
            return rows

        return self._within(self._write_seconds + MARGIN_SECONDS, lambda session: session.execute_write(work))

    def change_schema(self, statements: Sequence[str]) -> list[str]:
        """Make constraints and indexes, each in a transaction of its own; what is there already is passed over.

        Returns:
            The statements that make a constraint which what stands there contradicts.

        Raises:
            ProjectionUnavailable: Neo4j is away or refuses.
        """
        from neo4j.exceptions import Neo4jError

        contradicted: list[str] = []

        def work(session: Session) -> None:
            for statement in statements:
                try:
                    session.run(statement).consume()
                except Neo4jError as error:
                    code = error.code or ""
                    if code.endswith("ConstraintCreationFailed"):
                        contradicted.append(statement)
                    # Under another name, or made by another worker at this very moment.
                    elif not is_there_already(code):
                        raise

        self._within(self._write_seconds + MARGIN_SECONDS, work)
        return contradicted

    def failure(self) -> ProjectionUnavailable | None:
        """Give why Neo4j did not answer this process last; None where it did, or was never asked."""
        return self._failure

    def close(self) -> None:
        """Close the driver; the next use opens another one."""
        driver = self._drivers.take()
        if driver is not None:
            driver.close()

    def _within(self, seconds: float, work: Callable[[Session], T], *, access: str = "WRITE") -> T:
        """Work with a session in a thread of its own: the driver waits for ever for a server that has stopped.

        A thread that does not come back in time is left behind with its driver, and the next use opens another one.
        Where it is answered after all, Neo4j was only slow with that statement, and is not left alone any longer.
        """
        begun = self._monotonic()
        if self._failure is not None and begun < self._away_until:
            # A copy: what is raised again and again gathers the frames of all who have waited.
            raise _in_our_words(self._failure)
        done: list[T] = []
        failed: list[Exception] = []
        left = threading.Event()
        driver = self._drivers.get()

        def run() -> None:
            try:
                with driver.session(database=self._database, default_access_mode=access) as session:
                    done.append(work(session))
            except Exception as error:
                failed.append(error)
            finally:
                if left.is_set():
                    if not failed or has_answered(failed[0]):
                        self._present()
                    driver.close()

        thread = threading.Thread(target=run, name="neo4j", daemon=True)
        thread.start()
        thread.join(seconds)
        if thread.is_alive():
            slow = self._away(ProjectionUnavailable(SLOW, code="projection.slow"), begun)
            if self._drivers.made() is driver:
                self._drivers.take()
            left.set()
            raise slow
        if failed and is_away(failed[0]):
            raise self._away(_in_our_words(failed[0]), begun) from failed[0]
        self._present()
        if failed and isinstance(failed[0], GuardRefused | ProjectionUnavailable):
            # Neo4j has answered; what its answer says of one owner is no failure of the installation.
            self._failure = None
            raise failed[0]
        self._failure = _in_our_words(failed[0]) if failed else None
        if self._failure is not None:
            raise self._failure from failed[0]
        return done[0]

    def _away(self, failure: ProjectionUnavailable, begun: float) -> ProjectionUnavailable:
        """Leave Neo4j alone for a while; those who waited together for one answer count as one attempt."""
        self._failure = failure
        if begun >= self._away_until:
            self._away_until = self._monotonic() + self._pause
            self._pause = min(2 * self._pause, LONGEST_AWAY_SECONDS)
        return failure

    def _present(self) -> None:
        self._away_until, self._pause = 0.0, AWAY_SECONDS

    def _open(self) -> Driver:
        from neo4j import GraphDatabase

        return GraphDatabase.driver(
            self._uri,
            auth=self._auth,
            connection_timeout=CONNECT_SECONDS,
            connection_acquisition_timeout=2 * CONNECT_SECONDS,
            max_transaction_retry_time=CONNECT_SECONDS,
            max_connection_pool_size=16,
            liveness_check_timeout=IDLE_SECONDS,
            user_agent="loci",
            telemetry_disabled=True,
            notifications_min_severity="OFF",
        )


def _sent(transaction: ManagedTransaction, statement: Statement) -> list[Row]:
    text, parameters = statement
    return [record.data() for record in transaction.run(text, dict(parameters))]


def is_there_already(code: str) -> bool:
    """Tell whether Neo4j refuses a constraint or an index because there is one."""
    return code.endswith(("EquivalentSchemaRuleAlreadyExists", "ConstraintAlreadyExists", "IndexAlreadyExists"))


def is_away(error: Exception) -> bool:
    """Tell whether an error says that the server cannot be reached or does not let us in, whatever is asked."""
    from neo4j.exceptions import AuthError, ServiceUnavailable

    return isinstance(error, AuthError | ServiceUnavailable | OSError)


def has_answered(error: Exception) -> bool:
    """Tell whether an error is what a server has said that lets us in, such as that a statement took too long."""
    from neo4j.exceptions import Neo4jError

    return isinstance(error, Neo4jError) and not is_away(error)


def _in_our_words(error: Exception) -> ProjectionUnavailable:
    """Say what happened without a statement, a value or an address, which the driver's messages quote."""
    from neo4j.exceptions import AuthError, Neo4jError

    if isinstance(error, ProjectionUnavailable):
        return ProjectionUnavailable(error.message, code=error.machine_code, **error.details)
    if isinstance(error, AuthError):
        return ProjectionUnavailable(
            "Neo4j refuses the login. Check NEO4J_USER and NEO4J_PASSWORD.", code="projection.refused"
        )
    if isinstance(error, Neo4jError) and "Timed" in (error.code or ""):
        return ProjectionUnavailable(SLOW, code="projection.slow")
    if isinstance(error, Neo4jError):
        known = CODE.fullmatch(error.code or "")
        kind = known[2] if known else type(error).__name__
        return ProjectionUnavailable(f"Neo4j refused a statement ({kind}).", code="projection.failed", kind=kind)
    return ProjectionUnavailable(kind=type(error).__name__)
