"""The reader of statements finds a missing owner in every shape of a statement, and takes no narrowed one for one."""

from __future__ import annotations

import pytest

from tests.statements.reader import Unreadable, findings

OWNED = frozenset({"memory", "label", "vector", "source"})

NARROWED = [
    "SELECT * FROM memory WHERE owner_id = %s AND id = %s",
    'SELECT "memory"."id" FROM "memory" WHERE ("memory"."owner_id" = %s AND "memory"."live")',
    "SELECT * FROM memory m WHERE m.owner_id = ANY(%s)",
    "SELECT * FROM memory m WHERE m.owner_id IN (%s, %s)",
    "SELECT * FROM memory m WHERE %(owner)s = m.owner_id",
    "SELECT * FROM memory m WHERE m.owner_id = current_setting('loci.owner')::uuid FOR UPDATE OF m SKIP LOCKED",
    "SELECT * FROM memory m JOIN label l ON l.owner_id = m.owner_id AND l.memory_id = m.id WHERE m.owner_id = %s",
    "SELECT * FROM memory m JOIN label l USING (owner_id, memory_id) WHERE m.owner_id = %s",
    "SELECT * FROM memory m, label l WHERE m.owner_id = l.owner_id AND l.owner_id = %s",
    "SELECT * FROM memory m LEFT JOIN label l ON l.owner_id = m.owner_id WHERE m.owner_id = %s",
    "SELECT * FROM unnest(%s::uuid[]) q (id) JOIN memory m ON m.owner_id = %s AND m.id = q.id",
    "SELECT * FROM (VALUES (%s, %s)) v (owner_id, id) JOIN memory m ON m.owner_id = v.owner_id AND m.id = v.id",
    "SELECT * FROM memory m WHERE (m.owner_id = %s AND m.live) OR (m.owner_id = %s AND NOT m.live)",
    "SELECT * FROM memory m WHERE (m.owner_id, m.id) = (%s, %s)",
    "SELECT * FROM memory m WHERE (m.owner_id, m.id) IN ((%s, %s))",
    "WITH found AS (SELECT * FROM memory WHERE owner_id = %s) SELECT * FROM found",
    "WITH memory AS (SELECT * FROM label WHERE owner_id = %s) SELECT * FROM memory",
    """WITH RECURSIVE walk AS (SELECT id FROM memory WHERE owner_id = %(o)s UNION
    SELECT m.id FROM walk JOIN memory m ON m.owner_id = %(o)s AND m.parent = walk.id) SELECT * FROM walk""",
    "SELECT * FROM memory m WHERE m.owner_id = %s AND EXISTS (SELECT FROM label l WHERE l.owner_id = m.owner_id)",
    """SELECT * FROM memory m, LATERAL (SELECT * FROM label l WHERE l.owner_id = m.owner_id LIMIT 3) x
    WHERE m.owner_id = %s""",
    "SELECT 1 FROM memory WHERE owner_id = %s UNION ALL SELECT 1 FROM label WHERE owner_id = %s",
    "INSERT INTO memory (owner_id, id) VALUES (%s, %s)",
    "INSERT INTO memory (id, owner_id) SELECT id, %s FROM label WHERE owner_id = %s",
    "INSERT INTO memory AS m (owner_id, id) VALUES (%s, %s) ON CONFLICT (owner_id, id) DO UPDATE SET n = m.n + 1",
    "INSERT INTO memory (owner_id, id) VALUES (%s, %s) ON CONFLICT DO NOTHING",
    "UPDATE memory SET n = 1 WHERE owner_id = %s AND id = %s RETURNING id",
    "UPDATE memory m SET n = l.n FROM label l WHERE m.owner_id = %s AND l.owner_id = m.owner_id",
    "UPDATE memory m SET n = v.n FROM (VALUES (%s, %s)) v (id, n) WHERE m.owner_id = %s AND m.id = v.id",
    "DELETE FROM memory WHERE owner_id = %s",
    "DELETE FROM memory m USING label l WHERE m.owner_id = %s AND l.owner_id = m.owner_id",
    "COPY (SELECT id FROM memory WHERE owner_id = $1) TO STDOUT (FORMAT binary)",
    "DECLARE rows CURSOR FOR SELECT * FROM memory WHERE owner_id = %s",
    "EXPLAIN (ANALYZE, FORMAT json) SELECT * FROM memory WHERE owner_id = %s",
    "SELECT * FROM memory WHERE owner_id = %s AND t = ANY(%s::regclass[]::oid[])",
    "SELECT * FROM elsewhere",
    "SET LOCAL statement_timeout = 5",
    "SELECT set_config('memory', %s, true)",
]

# With the tables that are told of.
OPEN = [
    ("SELECT * FROM memory", ["memory"]),
    ("SELECT * FROM memory WHERE id = %s", ["memory"]),
    ("SELECT * FROM memory WHERE owner_id IS NOT NULL", ["memory"]),
    ("SELECT * FROM memory WHERE owner_id > %s ORDER BY owner_id LIMIT 1", ["memory"]),
    ("SELECT * FROM memory WHERE owner_id <> %s", ["memory"]),
    ("SELECT * FROM memory WHERE NOT (owner_id = %s)", ["memory"]),
    ("SELECT * FROM memory WHERE owner_id = owner_id", ["memory"]),
    ("SELECT * FROM memory WHERE owner_id = id", ["memory"]),
    ("SELECT * FROM memory WHERE owner_id = %s OR live", ["memory"]),
    ("SELECT owner_id = %s FROM memory", ["memory"]),
    ("SELECT * FROM memory m JOIN label l ON l.memory_id = m.id WHERE m.owner_id = %s", ["label"]),
    ("SELECT * FROM memory m JOIN label l ON l.owner_id = m.owner_id", ["label", "memory"]),
    ("SELECT * FROM memory m LEFT JOIN label l ON m.owner_id = %s AND l.owner_id = m.owner_id", ["label", "memory"]),
    ("SELECT * FROM memory m FULL JOIN label l ON l.owner_id = m.owner_id WHERE m.owner_id = %s", ["label"]),
    ("SELECT * FROM memory m LEFT JOIN label l ON l.memory_id = m.id WHERE m.owner_id = %s", ["label"]),
    ("WITH found AS (SELECT * FROM memory) SELECT * FROM found WHERE owner_id = %s", ["memory"]),
    ("WITH found AS (SELECT * FROM label WHERE owner_id = %s) SELECT * FROM memory JOIN found USING (id)", ["memory"]),
    ("SELECT * FROM memory WHERE owner_id = %s AND id IN (SELECT memory_id FROM label)", ["label"]),
    ("SELECT (SELECT count(*) FROM label) FROM memory WHERE owner_id = %s", ["label"]),
    ("SELECT 1 FROM memory WHERE owner_id = %s UNION ALL SELECT 1 FROM label", ["label"]),
    ("INSERT INTO memory (id) VALUES (%s)", ["memory"]),
    ("INSERT INTO memory VALUES (%s, %s)", ["memory"]),
    ("INSERT INTO memory (owner_id, id) SELECT owner_id, id FROM label", ["label"]),
    ("INSERT INTO memory (owner_id, id) VALUES (%s, %s) ON CONFLICT (id) DO NOTHING", ["memory"]),
    ("UPDATE memory SET n = 1", ["memory"]),
    ("UPDATE memory SET owner_id = %s", ["memory"]),
    ("UPDATE memory m SET n = l.n FROM label l WHERE m.owner_id = %s AND l.id = m.id", ["label"]),
    ("DELETE FROM memory WHERE id = ANY(%s)", ["memory"]),
    ("DELETE FROM memory m USING label l WHERE l.owner_id = %s AND l.id = m.id", ["memory"]),
    ("COPY (SELECT id FROM memory) TO STDOUT", ["memory"]),
    ("COPY memory FROM STDIN", ["memory"]),
    ("TRUNCATE memory", ["memory"]),
    ("LOCK TABLE memory", ["memory"]),
    ("DO $$ BEGIN DELETE FROM memory; END $$", ["memory"]),
]


@pytest.mark.parametrize("sql", NARROWED)
def test_a_narrowed_statement_is_let_through(sql: str) -> None:
    assert findings(sql, OWNED) == []


@pytest.mark.parametrize(("sql", "tables"), OPEN)
def test_a_missing_owner_is_found(sql: str, tables: list[str]) -> None:
    assert [one.table for one in findings(sql, OWNED)] == tables


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(Unreadable):
        findings("SELECT FROM memory WHERE ((", OWNED)
    with pytest.raises(Unreadable):
        findings("MERGE INTO memory m USING label l ON m.id = l.id WHEN MATCHED THEN DELETE", OWNED)


def test_a_finding_says_which_table_and_why() -> None:
    [found] = findings("SELECT * FROM memory m WHERE m.id = %s", OWNED)
    assert str(found) == "memory (m): no owner_id in WHERE or ON"
