"""The vector indexes of a space: one in each partition, made and removed while others go on writing.

Only the role that owns the tables may, so this goes over the `schema` connection, in which each statement stands for
itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.db import DatabaseError, connection, transaction
from psycopg import sql
from psycopg.errors import InsufficientPrivilege, LockNotAvailable

from memory.errors import Conflict
from memory.models import EmbeddingSpace, MemoryVector
from memory.services.direct_connections import OWNING, owning_cursor

WIDEST: Final = 4_000
"""The most dimensions that an index of half-precision vectors takes."""
# The index of the first space hangs on the table of all partitions, whose removal asks for it alone for a moment.
PATIENCE: Final = "2s"
ATTEMPTS: Final = 30
BETWEEN_SECONDS: Final = 1.0

# The partitions, or the table itself where it is spread over servers instead.
PARTITIONS: Final = """
    SELECT c.relname FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    WHERE c.relkind = 'r' AND coalesce(i.inhparent, c.oid) = %(table)s::regclass ORDER BY c.relname
"""
INDEXES: Final = """
    SELECT count(*), coalesce(sum(pg_relation_size(c.oid)), 0)::bigint, coalesce(bool_and(x.indisvalid), false)
    FROM pg_index x
    JOIN pg_class c ON c.oid = x.indexrelid
    JOIN pg_am a ON a.oid = c.relam AND a.amname = 'hnsw'
    JOIN pg_class t ON t.oid = x.indrelid AND t.relkind = 'r'
    LEFT JOIN pg_inherits i ON i.inhrelid = x.indrelid
    WHERE coalesce(i.inhparent, t.oid) = %(table)s::regclass
      AND pg_get_expr(x.indpred, x.indrelid) LIKE %(condition)s
"""
# Those of the table itself and of its partitions, the former first: the latter may hang on it.
OF_SPACE: Final = """
    SELECT n.nspname, c.relname, x.indisvalid, c.relkind = 'I', p.relname
    FROM pg_index x
    JOIN pg_class c ON c.oid = x.indexrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class p ON p.oid = x.indrelid
    JOIN pg_am a ON a.oid = c.relam AND a.amname = 'hnsw'
    WHERE (x.indrelid = %(table)s::regclass
           OR x.indrelid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = %(table)s::regclass))
      AND pg_get_expr(x.indpred, x.indrelid) LIKE %(condition)s
    ORDER BY c.relkind <> 'I', c.relname
"""
CREATE: Final = """
    CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {partition}
    USING hnsw ((vec::halfvec({width})) halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)
    WHERE space_id = {space} AND live
"""


MAY_CHANGE: Final = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = %(table)s::regclass"


@dataclass(frozen=True, slots=True)
class Indexes:
    """The indexes of a space over all partitions: how many, their size in bytes, and whether all can be used."""

    count: int
    size: int
    valid: bool


def require_owning_role() -> None:
    """See that indexes can be made and removed here, before anything else is done; one statement.

    Raises:
        Conflict: `space.no_privilege`, the role of the schema connection may not.
    """
    with _connection() as cursor:
        cursor.execute(MAY_CHANGE, {"table": MemoryVector._meta.db_table})
        if not cursor.fetchone()[0]:
            raise _no_privilege()


def indexes_of(space_id: int) -> Indexes:
    """Tell how the indexes of a space stand, in one statement."""
    with connection.cursor() as cursor:
        cursor.execute(INDEXES, _named(space_id))
        count, size, valid = cursor.fetchone()
    return Indexes(count, size, bool(valid))


def make_indexes(space: EmbeddingSpace, *, tell: Callable[[int, int], None]) -> None:
    """Make the indexes of a space that it lacks, and those anew that an interruption has left unusable.

    Nobody waits for it; it waits for the transactions that are open. Reads each partition twice, some seconds for a
    million vectors. Call it outside transactions.

    Args:
        space: the space.
        tell: called after each partition with how many are done and how many there are.

    Raises:
        Conflict: `space.no_privilege`, the role of the schema connection may not.
    """
    with _connection() as cursor:
        cursor.execute(OF_SPACE, _named(space.pk))
        known = cursor.fetchall()
        for schema, name, valid, _, _ in known:
            if not valid:
                cursor.execute(_drop(schema, name))
        held = {partition for _, _, valid, _, partition in known if valid}
        cursor.execute(PARTITIONS, {"table": MemoryVector._meta.db_table})
        partitions = [row[0] for row in cursor.fetchall()]
        for number, partition in enumerate(partitions):
            if partition not in held:
                statement = sql.SQL(CREATE).format(
                    name=sql.Identifier(f"memory_vector_space_{space.pk}_{number:02d}"),
                    partition=sql.Identifier(partition),
                    width=sql.Literal(space.dimension),
                    space=sql.Literal(space.pk),
                )
                cursor.execute(statement)
            tell(number + 1, len(partitions))


def drop_indexes(space_id: int) -> int:
    """Remove the indexes of a space, and give how many there were; call it outside transactions.

    Raises:
        Conflict: `space.no_privilege`, the role of the schema connection may not; `space.busy`, the table was in use
            all the time.
    """
    dropped = 0
    with _connection() as cursor:
        while True:
            cursor.execute(OF_SPACE, _named(space_id))
            found = cursor.fetchall()
            if not found:
                return dropped
            schema, name, _, whole, _ = found[0]
            if whole:
                _drop_patiently(cursor, schema, name)
            else:
                cursor.execute(_drop(schema, name))
            dropped += 1


def _drop_patiently(cursor: Any, schema: str, name: str) -> None:
    """Remove an index of the whole table, waiting a moment at a time: whoever waits keeps all others waiting."""
    statement = sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(schema, name))
    for _ in range(ATTEMPTS):
        try:
            with transaction.atomic(using=OWNING):
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [PATIENCE])
                cursor.execute(statement)
            return
        except DatabaseError as error:
            if not isinstance(error.__cause__, LockNotAvailable):
                raise
            time.sleep(BETWEEN_SECONDS)
    raise Conflict("The table of vectors was in use all the time. Try again.", code="space.busy")


def _drop(schema: str, name: str) -> sql.Composed:
    return sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(schema, name))


def _named(space_id: int) -> dict[str, Any]:
    return {"table": MemoryVector._meta.db_table, "condition": f"%space_id = {int(space_id)})%"}


@contextmanager
def _connection() -> Iterator[Any]:
    try:
        with owning_cursor(statement_timeout="0") as cursor:
            yield cursor
    except DatabaseError as error:
        if isinstance(error.__cause__, InsufficientPrivilege):
            raise _no_privilege() from error
        raise


def _no_privilege() -> Conflict:
    return Conflict(
        "The role of the schema connection does not own the tables, so it makes no indexes. Set "
        "DATABASE_SCHEMA_URL to the role that migrates.",
        code="space.no_privilege",
    )
