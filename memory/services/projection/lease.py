"""Who may write an owner's projection: one worker at a time, in PostgreSQL by a lease and in Neo4j by its number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID, uuid4

from django.conf import settings
from django.db import OperationalError, connection
from psycopg.errors import LockNotAvailable

from memory.errors import ProjectionBusy
from memory.graph.projection import cypher
from memory.models import GraphProjection, ProjectionState, owner_scope
from memory.providers.composition import neo4j_client
from memory.providers.neo4j_client import MARGIN_SECONDS, Row, Statement
from memory.services.projection.place import present_place

# Longer than any write can take, so that nobody writes any more when the next worker begins.
SPARE_SECONDS: Final = 15.0
# How long the beginning waits for those who change the graph at that moment.
PATIENCE: Final = "10s"
CHANGING: Final = "Somebody has been changing this owner's graph for a while. Nothing was begun; try again in a moment."

# Not the clock of this process, which may differ from that of another machine.
TAKE: Final = """
    UPDATE memory_graphprojection
    SET fence = fence + 1, leased_until = clock_timestamp() + make_interval(secs => %(lease)s)
    WHERE owner_id = %(owner)s AND (leased_until IS NULL OR leased_until < clock_timestamp())
    RETURNING generation, fence, projected_seq
"""
EXTEND: Final = """
    UPDATE memory_graphprojection SET leased_until = clock_timestamp() + make_interval(secs => %(lease)s)
    WHERE owner_id = %(owner)s AND generation = %(generation)s AND fence = %(fence)s RETURNING fence
"""
LET_GO: Final = """
    UPDATE memory_graphprojection SET leased_until = NULL
    WHERE owner_id = %(owner)s AND generation = %(generation)s AND fence = %(fence)s
"""
FORGET_CHANGES: Final = "DELETE FROM memory_graphchange WHERE owner_id = %(owner)s"
# Whoever changes the graph holds one of these rows.
LOCK: Final = (
    "SELECT FROM memory_graphstate WHERE owner_id = %(owner)s FOR UPDATE",
    "SELECT FROM memory_owner WHERE id = %(owner)s FOR UPDATE",
)

AT_REST: Final[Mapping[str, Any]] = {
    "state": ProjectionState.RESTING,
    "position": {},
    "waiting": 0,
    "behind_since": None,
}
"""What the row of a projection holds for which no changes are noted."""
UNTROUBLED: Final[Mapping[str, Any]] = {"error_code": "", "failures": 0, "retry_at": None}
"""What the row of a projection holds whose last attempt has not failed."""


def unmade() -> dict[str, Any]:
    """Give what the row of a projection holds that stands nowhere; no lease of before can change it any more.

    One that is held keeps others out until it has run out, since its worker may be writing to Neo4j.
    """
    return {
        **AT_REST,
        **UNTROUBLED,
        "generation": uuid4(),
        "place": "",
        "fence": 0,
        "projected_seq": 0,
        "projected_at": None,
    }


class LeaseLost(ProjectionBusy):
    """Another worker has taken the projection over. What was written stays; it goes on there."""

    code = "projection.taken_over"


@dataclass(slots=True)
class Lease:
    """The right to write one owner's projection, with the number and the name by which Neo4j knows who has it.

    Attributes:
        seq: `projected_seq` as PostgreSQL has it; each write that brings something raises it.
    """

    owner_id: UUID
    generation: UUID
    fence: int
    seq: int
    holder: str = field(default_factory=lambda: str(uuid4()))

    def parameters(self, **more: Any) -> dict[str, Any]:
        """Give what every statement for Neo4j takes, and more."""
        return {"owner": str(self.owner_id), **more}

    def mark(self, statement: str, *, seq: int) -> Statement:
        """Give a statement about the owner's mark."""
        return statement, self.parameters(
            generation=str(self.generation), fence=self.fence, holder=self.holder, known=self.seq, seq=seq
        )

    def write(self, statements: Sequence[tuple[str, dict[str, Any]]], *, seq: int) -> list[Row]:
        """Write to Neo4j in one transaction, outside of one of PostgreSQL; gives the rows of the last statement.

        Args:
            statements: with their parameters, in order.
            seq: what `projected_seq` is raised to there; the caller saves it here afterwards.

        Raises:
            LeaseLost: another worker has taken over.
            GuardRefused: Neo4j holds another generation, none, or this one as it was at another time.
            ProjectionUnavailable: Neo4j did not answer usably.
        """
        self.extend()
        return self.send(statements, seq=seq)

    def send(self, statements: Sequence[tuple[str, dict[str, Any]]], *, seq: int) -> list[Row]:
        """Write as `write` does without extending the lease, which the caller has done just now; asks no database."""
        ready = [(text, self.parameters(**values)) for text, values in statements]
        return neo4j_client().write(ready, guard=self.mark(cypher.GUARD, seq=seq))

    def extend(self) -> None:
        """Hold the lease for longer; raises LeaseLost when another worker has it."""
        self._ask(EXTEND)

    def save(self, **changes: Any) -> None:
        """Change the projection's row, in the caller's transaction or none; raises LeaseLost."""
        mine = GraphProjection.objects.filter(owner_id=self.owner_id, generation=self.generation, fence=self.fence)
        if not mine.update(**changes):
            raise LeaseLost
        self.seq = changes.get("projected_seq", self.seq)

    def let_go(self) -> None:
        """Give the lease back; without effect when another worker has it."""
        with connection.cursor() as cursor:
            cursor.execute(LET_GO, self._named())

    def _ask(self, statement: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement, {**self._named(), "lease": _length()})
            if cursor.fetchone() is None:
                raise LeaseLost

    def _named(self) -> dict[str, Any]:
        """Name the lease as PostgreSQL knows it; numbers alone begin anew with a projection that was given up."""
        return {"owner": self.owner_id, "generation": self.generation, "fence": self.fence}


def take(owner_id: UUID) -> Lease:
    """Take up an owner's projection, which exists.

    Raises:
        ProjectionBusy: another worker is at it.
    """
    with connection.cursor() as cursor:
        cursor.execute(TAKE, {"owner": owner_id, "lease": _length()})
        row = cursor.fetchone()
    if row is None:
        raise ProjectionBusy
    return Lease(owner_id, *row)


def ensure(owner_id: UUID, *, text: str) -> None:
    """Have a row for an owner's projection, at rest until it is begun."""
    GraphProjection.objects.get_or_create(
        owner_id=owner_id, defaults={"generation": uuid4(), "text": text, "state": ProjectionState.RESTING}
    )


def begin(lease: Lease, *, text: str) -> None:
    """Begin to note changes and to build from nothing; what was noted before is covered by what stands now.

    Waits for those who change the graph at that moment: who looked whether changes are noted before this has been
    committed, has to have written before this looks at the graph.

    Raises:
        LeaseLost: another worker has taken over.
        ProjectionBusy: somebody changes the graph for longer than is waited.
    """
    generation = uuid4()
    try:
        _begin(lease, generation, text)
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise ProjectionBusy(CHANGING) from error
    lease.generation = generation


def _begin(lease: Lease, generation: UUID, text: str) -> None:
    with owner_scope(lease.owner_id), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [PATIENCE])
        for statement in LOCK:
            cursor.execute(statement, {"owner": lease.owner_id})
        cursor.execute(FORGET_CHANGES, {"owner": lease.owner_id})
        lease.save(
            state=ProjectionState.BUILDING,
            generation=generation,
            text=text,
            place=present_place(),
            position={},
            projected_seq=0,
            waiting=0,
            behind_since=None,
        )


def rest(owner_id: UUID, *, purging: bool = False) -> None:
    """Note no more changes of an owner and forget those that wait; the projection is built anew when it goes on."""
    with owner_scope(owner_id, purging=purging), connection.cursor() as cursor:
        GraphProjection.objects.filter(owner_id=owner_id).update(**AT_REST)
        cursor.execute(FORGET_CHANGES, {"owner": owner_id})


def _length() -> float:
    return float(settings.NEO4J_TIMEOUT) + MARGIN_SECONDS + SPARE_SECONDS
