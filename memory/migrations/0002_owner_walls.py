"""Raise the owner's wall round every owned table, make the partitioned indexes of recall and the functions."""

from __future__ import annotations

from django.db import migrations

from memory.models.tenant_tables import TenantTable, reference_sql, row_security_sql

PARTITIONS = 16

VECTOR = """
    CREATE TABLE memory_memoryvector (
        owner_id uuid NOT NULL REFERENCES memory_owner (id),
        memory_id uuid NOT NULL,
        space_id integer NOT NULL REFERENCES memory_embeddingspace (id),
        scope uuid NOT NULL,
        live boolean NOT NULL,
        vec halfvec NOT NULL,
        PRIMARY KEY (owner_id, memory_id, space_id)
    ) PARTITION BY HASH (owner_id)
"""
POSTING = """
    CREATE TABLE memory_lexposting (
        owner_id uuid NOT NULL REFERENCES memory_owner (id),
        term bigint NOT NULL,
        memory_id uuid NOT NULL,
        tf smallint NOT NULL,
        highest_tf smallint NOT NULL,
        length smallint NOT NULL,
        scope uuid NOT NULL,
        live boolean NOT NULL,
        PRIMARY KEY (owner_id, term, memory_id) INCLUDE (tf, highest_tf, length, scope, live)
    ) PARTITION BY HASH (owner_id)
"""
# Counted df and index-only scans want a fresh visibility map, so inserts alone must bring the vacuum.
VACUUM = (
    "autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02, "
    "autovacuum_analyze_scale_factor = 0.02"
)

# Runs as the tables' owner, so that the application role can have an index made for a new space and nothing else.
INDEX_SPACE = """
CREATE FUNCTION loci_index_space(space integer, width integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
BEGIN
    IF width NOT BETWEEN 1 AND 4000 THEN
        RAISE EXCEPTION 'a vector index takes 1 to 4000 dimensions';
    END IF;
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS memory_vector_space_%s ON public.memory_memoryvector '
        'USING hnsw ((vec::public.halfvec(%s)) public.halfvec_cosine_ops) WITH (m = 16, ef_construction = 64) '
        'WHERE space_id = %s AND live',
        space, width, space);
END $$
"""

# An agent key is looked up before its owner is known. The policy shows a row to whoever presents its digest, and
# the function presents it for one statement, so this works with row-level security forced on every role.
KEY_POLICY = """
CREATE POLICY presented_key ON memory_agentkey FOR SELECT
USING (encode(digest, 'hex') = current_setting('loci.presented_key', true))
"""
FIND_KEY = """
CREATE FUNCTION loci_find_key(presented bytea)
RETURNS TABLE (owner_id uuid, key_id uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
BEGIN
    PERFORM set_config('loci.presented_key', encode(presented, 'hex'), true);
    RETURN QUERY SELECT k.owner_id, k.id FROM public.memory_agentkey k WHERE k.digest = presented;
    PERFORM set_config('loci.presented_key', '', true);
END $$
"""

AUDIT_GUARD = """
CREATE FUNCTION loci_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is append-only';
END $$
"""
AUDIT_TRIGGER = """
CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON memory_auditevent
FOR EACH ROW EXECUTE FUNCTION loci_refuse_change()
"""

EXTENSION = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') THEN
        RAISE EXCEPTION 'The extension "vector" is missing in this database. A superuser runs: CREATE EXTENSION vector';
    END IF;
END $$
"""

TENANT_TABLES = [
    "OwnerSettings",
    "OwnerActivity",
    "Agent",
    "AgentGroup",
    "GroupMembership",
    "AgentKey",
    "Session",
    "Memory",
    "MemoryVersion",
    "MemorySource",
    "MemoryLabel",
    "MemoryAccess",
    "LexStats",
    "PendingVector",
    "IdempotencyRecord",
    "RecallRecord",
    "ProfileOverride",
    "AuditEvent",
]


def partitioned(table: str, create: str, prepare: tuple[str, ...] = ()) -> migrations.RunSQL:
    """Create a table partitioned by owner; the walls stand round each partition too, which can be named directly."""
    statements = [create, *prepare, reference_sql(table, "memory_id", "memory_memory", "CASCADE")]
    statements += row_security_sql(table)
    for number in range(PARTITIONS):
        name = f"{table}_{number:02d}"
        statements.append(
            f"CREATE TABLE {name} PARTITION OF {table} FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number}) "
            f"WITH ({VACUUM})"
        )
        statements += row_security_sql(name)
    return migrations.RunSQL(statements, [f"DROP TABLE {table}"])


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial")]

    operations = [
        migrations.RunSQL(EXTENSION, migrations.RunSQL.noop),
        *[TenantTable(name) for name in TENANT_TABLES],
        partitioned(
            "memory_memoryvector",
            VECTOR,
            ("ALTER TABLE memory_memoryvector ALTER COLUMN vec SET STORAGE PLAIN",),
        ),
        partitioned("memory_lexposting", POSTING),
        migrations.RunSQL(
            # Covering, so that candidates of another arm are scored without touching the table.
            "CREATE INDEX lex_posting_by_memory ON memory_lexposting (owner_id, memory_id) "
            "INCLUDE (term, tf, highest_tf, length, live)",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(
            "ALTER TABLE memory_memoryaccess SET (fillfactor = 70)",
            "ALTER TABLE memory_memoryaccess RESET (fillfactor)",
        ),
        migrations.RunSQL(INDEX_SPACE, "DROP FUNCTION loci_index_space(integer, integer)"),
        migrations.RunSQL(KEY_POLICY, "DROP POLICY presented_key ON memory_agentkey"),
        migrations.RunSQL(FIND_KEY, "DROP FUNCTION loci_find_key(bytea)"),
        migrations.RunSQL(AUDIT_GUARD, "DROP FUNCTION loci_refuse_change()"),
        migrations.RunSQL(AUDIT_TRIGGER, "DROP TRIGGER audit_is_append_only ON memory_auditevent"),
    ]
