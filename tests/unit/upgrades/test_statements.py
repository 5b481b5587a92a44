"""SQL of migrations: what processes of the last release do not notice passes, all else is told by its name."""

from __future__ import annotations

import pytest

from memory.management.upgrades.statements import judge, split

HARMLESS = [
    "CREATE TABLE memory_new (id uuid PRIMARY KEY); CREATE UNIQUE INDEX new_once ON memory_new (id)",
    """CREATE TABLE memory_new (id int) PARTITION BY HASH (id);
    CREATE TABLE memory_new_00 PARTITION OF memory_new FOR VALUES WITH (MODULUS 1, REMAINDER 0)""",
    "CREATE TABLE memory_new (id int); ALTER TABLE memory_new ADD PRIMARY KEY (id); DROP TABLE memory_new",
    """CREATE TABLE "memory_new" (id int); CREATE POLICY p ON "memory_new" USING (true);
    ALTER TABLE memory_new ENABLE ROW LEVEL SECURITY; INSERT INTO memory_new VALUES (1)""",
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS by_time ON memory_memory (created_at)",
    "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM memory_memory; RETURN NEW; END $$",
    "ALTER TABLE memory_memory ADD COLUMN mood text",
    "ALTER TABLE memory_memory ADD COLUMN IF NOT EXISTS mood text NOT NULL DEFAULT 'calm', ADD rank numeric(3, 1)",
    "ALTER TABLE public.memory_memory ADD CONSTRAINT calm CHECK (mood <> 'x, y') NOT VALID",
    "ALTER TABLE memory_memory VALIDATE CONSTRAINT calm",
    "ALTER TABLE memory_memory SET (fillfactor = 70)",
    "ALTER TABLE memory_memory ALTER COLUMN mood SET DEFAULT 'calm'",
    "-- said before\nCOMMENT ON TABLE memory_memory IS 'rows; of owners'",
    "GRANT SELECT ON memory_memory TO loci_app",
    "SET LOCAL lock_timeout = '5s'",
    "DROP INDEX CONCURRENTLY by_time",
]
TOLD = {
    "CREATE INDEX by_time ON memory_memory (created_at)": "RunSQL CREATE INDEX by_time",
    "CREATE UNIQUE INDEX CONCURRENTLY once ON memory_memory (x)": "RunSQL CREATE INDEX once",
    "CREATE TABLE memory_part PARTITION OF memory_lexposting DEFAULT": "RunSQL CREATE TABLE memory_part",
    "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'": "RunSQL CREATE OR REPLACE FUNCTION f",
    "CREATE TRIGGER t BEFORE INSERT ON memory_memory FOR EACH ROW EXECUTE FUNCTION f()": (
        "RunSQL CREATE TRIGGER memory_memory"
    ),
    "CREATE POLICY p ON memory_memory USING (true)": "RunSQL CREATE POLICY memory_memory",
    "ALTER TABLE memory_memory DROP COLUMN text": "RunSQL ALTER TABLE memory_memory DROP COLUMN",
    "ALTER TABLE memory_memory RENAME COLUMN text TO words": "RunSQL ALTER TABLE memory_memory RENAME COLUMN",
    "ALTER TABLE memory_memory RENAME TO m": "RunSQL ALTER TABLE memory_memory RENAME TO",
    "ALTER TABLE memory_memory ADD COLUMN mood text NOT NULL": "RunSQL ALTER TABLE memory_memory ADD COLUMN",
    "ALTER TABLE memory_memory ADD COLUMN mood text UNIQUE": "RunSQL ALTER TABLE memory_memory ADD COLUMN",
    "ALTER TABLE memory_memory ADD COLUMN u uuid DEFAULT random()": "RunSQL ALTER TABLE memory_memory ADD COLUMN",
    "ALTER TABLE memory_memory ADD CONSTRAINT calm CHECK (mood = 'calm')": (
        "RunSQL ALTER TABLE memory_memory ADD CONSTRAINT"
    ),
    "ALTER TABLE memory_memory ADD PRIMARY KEY (owner_id, id)": "RunSQL ALTER TABLE memory_memory ADD PRIMARY",
    "ALTER TABLE memory_memory SET (fillfactor = 70), ALTER COLUMN text TYPE varchar(9)": (
        "RunSQL ALTER TABLE memory_memory ALTER COLUMN"
    ),
    "ALTER TABLE memory_memory ALTER COLUMN text SET NOT NULL": "RunSQL ALTER TABLE memory_memory ALTER COLUMN",
    "ALTER TABLE memory_memory ALTER text DROP DEFAULT": "RunSQL ALTER TABLE memory_memory ALTER TEXT",
    "ALTER TABLE memory_memory FORCE ROW LEVEL SECURITY": "RunSQL ALTER TABLE memory_memory FORCE ROW",
    "DROP TABLE IF EXISTS memory_memory": "RunSQL DROP TABLE memory_memory",
    "DROP TRIGGER t ON memory_memory": "RunSQL DROP TRIGGER t",
    "DROP INDEX by_time": "RunSQL DROP INDEX by_time",
    "UPDATE memory_memory SET mood = 'calm'": "RunSQL UPDATE memory_memory",
    "DELETE FROM memory_memory": "RunSQL DELETE FROM memory_memory",
    "INSERT INTO memory_embeddingspace VALUES (1)": "RunSQL INSERT INTO memory_embeddingspace",
    "TRUNCATE memory_memory": "RunSQL TRUNCATE memory_memory",
    "REVOKE UPDATE ON memory_memory FROM loci_app": "RunSQL REVOKE UPDATE",
    "DO $$ BEGIN DROP TABLE memory_memory; END $$": "RunSQL DO $$",
    "LOCK TABLE memory_memory": "RunSQL LOCK TABLE",
}


@pytest.mark.parametrize("sql", HARMLESS)
def test_what_is_not_noticed_passes(sql: str) -> None:
    assert [one.key for one in judge(sql, set())] == []


@pytest.mark.parametrize(("sql", "key"), TOLD.items())
def test_what_breaks_or_is_unknown_is_told(sql: str, key: str) -> None:
    found = list(judge(sql, set()))
    assert [one.key for one in found] == [key]
    assert found[0].why
    assert found[0].instead


def test_functions_are_one_statement() -> None:
    body = "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n  x := 1; -- one\n  RETURN NEW;\nEND $$;"
    assert len(split(f"{body}\nCREATE TRIGGER t BEFORE INSERT ON m FOR EACH ROW EXECUTE FUNCTION f();")) == 2
