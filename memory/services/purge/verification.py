"""The proof that nothing of an owner is left: every table of the database is searched, whatever the models say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from memory.models import Owner, Purge, owner_scope
from memory.services.purge.registry import EXEMPT, Subject, Traces, targets

# A table up to this size is also read row by row, so that a damaged index cannot hide a row.
READ_WHOLE_BYTES: Final = 512 * 1024 * 1024
MOST_PATTERNS: Final = 60

TABLES: Final = """
    SELECT c.relname, c.relrowsecurity,
           EXISTS (SELECT FROM pg_attribute a
                   WHERE a.attrelid = c.oid AND a.attname = 'owner_id' AND NOT a.attisdropped),
           coalesce((SELECT sum(pg_table_size(p.relid)) FROM pg_partition_tree(c.oid) p), pg_table_size(c.oid))::bigint
    FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    ORDER BY 1
"""
# What the search finds by itself: the owner's own row and this purge.
BUT: Final = {
    Owner._meta.db_table: "id <> %(owner)s",
    Purge._meta.db_table: "id <> %(purge)s",
}


@dataclass(slots=True)
class Look:
    """What a verification has looked at, and rows that it has found, by table or target; can be kept as JSON.

    `done` names what need not be looked at again when the verification was interrupted.
    """

    tables: int = 0
    read_whole: int = 0
    outside_walls: int = 0
    targets: int = 0
    left: dict[str, int] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    def note(self, name: str, count: int) -> None:
        """Note rows that were found."""
        if count:
            self.left[name] = self.left.get(name, 0) + count


def look_through(
    subject: Subject,
    traces: Traces,
    *,
    look: Look,
    tell: Callable[[], None],
    without: Collection[str] = (),
) -> None:
    """Look for an owner in every table of the catalogue and in every registered target.

    Tables with an owner are asked for the owner's id, through their indexes and, up to 512 MB, row by row. All columns
    of tables outside row-level security are searched for the ids of owner and login and for samples of sealed values.

    Args:
        subject: whose rows.
        traces: samples that were taken before.
        look: what has been looked at already, and gets what is found.
        tell: called after each table and target; what it raises ends the look, which can go on later.
        without: names of targets that are left out, with their tables.
    """
    looked_at = [target for target in targets() if target.name not in without]
    left_out = {table for target in targets() if target.name in without for table in target.tables}
    for table, walled, owned, size in _ask(TABLES, {}):
        if table in look.done or table in left_out:
            continue
        if owned:
            _look_for_rows(look, table, subject.owner_id, whole=size <= READ_WHOLE_BYTES)
        if not walled:
            look.outside_walls += 1
            look.note(f"{table} (content)", _mentions(table, subject, traces))
        look.done.append(table)
        tell()
    for target in looked_at:
        if f"target {target.name}" in look.done:
            continue
        if target.outside:
            count = target.remains(subject, traces)
        else:
            with owner_scope(subject.owner_id, purging=True):
                count = target.remains(subject, traces)
        look.targets += 1
        look.note(target.name, count)
        look.done.append(f"target {target.name}")
        tell()


def _look_for_rows(look: Look, table: str, owner_id: UUID, *, whole: bool) -> None:
    look.tables += 1
    look.read_whole += whole
    found = _rows(table, owner_id, by_index=True)
    if whole and not found:
        found = _rows(table, owner_id, by_index=False)
    look.note(table, found)


def _rows(table: str, owner_id: UUID, *, by_index: bool) -> int:
    """Count an owner's rows in one of two ways, which agree unless an index is damaged."""
    avoided = ("enable_seqscan",) if by_index else ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan")
    with owner_scope(owner_id, purging=True), connection.cursor() as cursor:
        for setting in avoided:
            cursor.execute(f"SET LOCAL {setting} = off")
        cursor.execute(f'SELECT count(*) FROM "{table}" WHERE owner_id = %s', [owner_id])
        return int(cursor.fetchone()[0])


def _mentions(table: str, subject: Subject, traces: Traces) -> int:
    """Count rows of a table outside row-level security in which an id or a sample stands, in whatever column."""
    # Texts can stand only in tables that hold something of owners, of which the retired audit is the largest.
    sought = Traces() if table in EXEMPT else traces
    values = {"patterns": _patterns(subject, sought), "owner": subject.owner_id, "purge": subject.purge_id}
    but = f"{BUT[table]} AND" if table in BUT else ""
    with transaction.atomic():
        found = _ask(f'SELECT count(*) FROM "{table}" t WHERE {but} t::text LIKE ANY (%(patterns)s)', values)
    return int(found[0][0])


def _patterns(subject: Subject, traces: Traces) -> list[str]:
    ids = [form for one in subject.ids for form in (str(one), one.hex)]
    samples = [value for columns in traces.sealed.values() for some in columns.values() for value in some]
    texts = [value.replace("\\", "\\\\").replace("_", "\\_").replace("%", "\\%") for value in samples]
    return [f"%{one}%" for one in (*ids, *texts[:MOST_PATTERNS])]


def _ask(statement: str, values: dict[str, Any]) -> Sequence[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
