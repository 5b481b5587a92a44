"""What the database's own catalogue says of the tables: columns, keys, references, triggers, partitions, functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from django.db import connections

# Temporary and foreign schemas are none of ours.
OURS: Final = "relnamespace = 'public'::regnamespace"

TABLES: Final = f"""
    SELECT c.relname, c.relkind::text,
           ARRAY(SELECT a.attname::text FROM pg_attribute a
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum),
           ARRAY(SELECT p.relname::text FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid
                 WHERE i.inhparent = c.oid ORDER BY 1),
           c.relrowsecurity,
           coalesce((SELECT sum(pg_total_relation_size(t.relid)) FROM pg_partition_tree(c.oid) t),
                    pg_total_relation_size(c.oid))::bigint,
           coalesce((SELECT sum(greatest(l.reltuples, 0)) FROM pg_partition_tree(c.oid) t
                     JOIN pg_class l ON l.oid = t.relid AND l.relkind = 'r'), greatest(c.reltuples, 0))::bigint,
           (SELECT array_to_string(l.reloptions, ', ') FROM pg_inherits i JOIN pg_class l ON l.oid = i.inhrelid
            WHERE i.inhparent = c.oid ORDER BY l.relname LIMIT 1)
    FROM pg_class c
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.{OURS}
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
    ORDER BY 1
"""
INDEXES: Final = f"""
    SELECT t.relname, c.relname, x.indisunique, k.conname, k.contype::text,
           ARRAY(SELECT a.attname::text FROM unnest(x.indkey) WITH ORDINALITY u (number, place)
                 JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = u.number
                 WHERE u.place <= x.indnkeyatts ORDER BY u.place),
           x.indexprs IS NOT NULL, pg_get_expr(x.indpred, x.indrelid), pg_get_indexdef(x.indexrelid),
           pg_get_constraintdef(k.oid)
    FROM pg_index x
    JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid AND NOT t.relispartition
    LEFT JOIN pg_constraint k ON k.conindid = x.indexrelid AND k.contype IN ('p', 'u', 'x')
    WHERE t.{OURS} ORDER BY 1, 2
"""
REFERENCES: Final = f"""
    SELECT t.relname, k.conname, o.relname,
           ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY u (number, place)
                 JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = u.number ORDER BY u.place),
           ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY u (number, place)
                 JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum = u.number ORDER BY u.place),
           k.confdeltype::text,
           ARRAY(SELECT a.attname::text FROM unnest(k.confdelsetcols) u (number)
                 JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = u.number),
           pg_get_constraintdef(k.oid)
    FROM pg_constraint k
    JOIN pg_class t ON t.oid = k.conrelid AND NOT t.relispartition
    JOIN pg_class o ON o.oid = k.confrelid AND NOT o.relispartition
    WHERE k.contype = 'f' AND k.conparentid = 0 AND t.{OURS} ORDER BY 1, 2
"""
TRIGGERS: Final = f"""
    SELECT t.relname, g.tgname, p.proname, pg_get_triggerdef(g.oid)
    FROM pg_trigger g JOIN pg_class t ON t.oid = g.tgrelid AND NOT t.relispartition
    JOIN pg_proc p ON p.oid = g.tgfoid
    WHERE NOT g.tgisinternal AND t.{OURS} ORDER BY 1, 2
"""
FUNCTIONS: Final = """
    SELECT p.proname, p.prosecdef, p.prosrc, pg_get_functiondef(p.oid)
    FROM pg_proc p
    WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f'
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    ORDER BY 1
"""
POLICIES: Final = f"""
    SELECT t.relname, p.polname FROM pg_policy p JOIN pg_class t ON t.oid = p.polrelid AND NOT t.relispartition
    WHERE t.{OURS} ORDER BY 1, 2
"""
SPREAD: Final = "SELECT logicalrelid::regclass::text FROM pg_dist_partition"
PROJECTIONS: Final = "memory_graphprojection"
# One that was not begun has nothing in Neo4j.
PROJECTED: Final = f"SELECT EXISTS (SELECT FROM {PROJECTIONS} WHERE fence > 0)"


@dataclass(frozen=True, slots=True)
class Index:
    """An index; `constraint` is the name of the key that it keeps, '' for none."""

    name: str
    unique: bool
    constraint: str
    primary: bool
    columns: tuple[str, ...]
    has_expressions: bool
    predicate: str
    definition: str
    constraint_definition: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key."""

    name: str
    target: str
    columns: tuple[str, ...]
    target_columns: tuple[str, ...]
    sets_null: bool
    nulled: tuple[str, ...]
    definition: str


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger and the function that it calls."""

    name: str
    function: str
    definition: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function of ours."""

    name: str
    security_definer: bool
    source: str
    definition: str


@dataclass(slots=True)
class Table:
    """A table with everything that hangs on it; a partitioned one counts with its partitions."""

    name: str
    is_partitioned: bool
    columns: tuple[str, ...]
    partitions: tuple[str, ...]
    has_row_security: bool
    bytes: int
    rows: int
    partition_options: str
    indexes: list[Index] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    triggers: list[Trigger] = field(default_factory=list)
    policies: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All of it.

    `has_citus` tells whether the extension is in this database, `projected` whether graphs stand in a Neo4j.
    """

    database: str
    tables: dict[str, Table]
    functions: tuple[Function, ...]
    has_citus: bool
    distributed: frozenset[str] = frozenset()
    projected: bool = False


def read_catalogue(using: str) -> Catalogue:
    """Read the catalogue in eight queries, nine where Citus is.

    Args:
        using: alias of a connection as the role that owns the tables.

    Raises:
        django.db.DatabaseError: the database cannot be asked.
    """
    found: dict[str, Table] = {}
    for name, kind, columns, partitions, secured, size, rows, options in _rows(using, TABLES):
        found[name] = Table(name, kind == "p", tuple(columns), tuple(partitions), secured, size, rows, options or "")
    for table, name, unique, key, kind, columns, expressions, predicate, text, key_text in _rows(using, INDEXES):
        found[table].indexes.append(
            Index(
                name, unique, key or "", kind == "p", tuple(columns), expressions, predicate or "", text, key_text or ""
            )
        )
    for table, name, target, columns, target_columns, action, nulled, text in _rows(using, REFERENCES):
        sets_null = action in ("n", "d")
        found[table].references.append(
            Reference(name, target, tuple(columns), tuple(target_columns), sets_null, tuple(nulled), text)
        )
    for table, name, function, text in _rows(using, TRIGGERS):
        found[table].triggers.append(Trigger(name, function, text))
    for table, name in _rows(using, POLICIES):
        found[table].policies.append(name)
    functions = tuple(Function(*row) for row in _rows(using, FUNCTIONS))
    ((database, has_citus),) = _rows(
        using, "SELECT current_database(), EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
    )
    spread: frozenset[str] = frozenset()
    if has_citus:
        spread = frozenset(name for (name,) in _rows(using, SPREAD))
    projected = PROJECTIONS in found and _rows(using, PROJECTED)[0][0]
    return Catalogue(database, found, functions, has_citus, spread, projected)


def _rows(using: str, statement: str) -> list[tuple[Any, ...]]:
    with connections[using].cursor() as cursor:
        cursor.execute(statement)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
