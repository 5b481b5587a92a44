"""Add what is kept for the projection of the graph, and the triggers that note what changes."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

from memory.models.tenant_tables import TenantTable

ENTITY, RELATION, EVENT, CAUSE = 1, 2, 3, 4
# Table, sort of the row that counts as changed, column of that row's id.
NOTED = (
    ("memory_entity", ENTITY, "id"),
    ("memory_entityname", ENTITY, "entity_id"),
    ("memory_relation", RELATION, "id"),
    ("memory_graphevidence", RELATION, "relation_id"),
    ("memory_temporalevent", EVENT, "id"),
    ("memory_eventparticipant", EVENT, "event_id"),
    ("memory_causallink", CAUSE, "id"),
)
# One call for each statement. Where nothing is projected it costs one look at an empty table. The community of an
# entity is not projected, and a new look at all of them would have every entity noted.
NOTE = """
CREATE FUNCTION loci_note_graph_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    whose uuid := NULLIF(current_setting('loci.owner', true), '')::uuid;
    noted bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM memory_graphprojection p WHERE p.owner_id = whose AND p.state <> 'resting') THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'memory_entity' THEN
        INSERT INTO memory_graphchange (owner_id, part, row_id)
        SELECT n.owner_id, 1, n.id FROM changed n JOIN before b ON b.owner_id = n.owner_id AND b.id = n.id
        WHERE to_jsonb(n) - 'community' IS DISTINCT FROM to_jsonb(b) - 'community';
    ELSE
        EXECUTE format(
            'INSERT INTO memory_graphchange (owner_id, part, row_id) '
            'SELECT DISTINCT owner_id, %s, %I FROM changed WHERE %I IS NOT NULL',
            TG_ARGV[0], TG_ARGV[1], TG_ARGV[1]);
    END IF;
    GET DIAGNOSTICS noted = ROW_COUNT;
    IF noted > 0 THEN
        UPDATE memory_graphprojection SET behind_since = now() WHERE owner_id = whose AND behind_since IS NULL;
        INSERT INTO memory_duework AS w (owner_id, job, due_at) VALUES (whose, 'project', now())
        ON CONFLICT (owner_id, job) DO UPDATE SET due_at = excluded.due_at WHERE w.due_at > excluded.due_at;
    END IF;
    RETURN NULL;
END $$
"""
COLUMNS = (
    "ALTER TABLE memory_graphchange ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY",
    "ALTER TABLE memory_graphchange ALTER COLUMN noted_at SET DEFAULT now()",
)
EVENTS = {"INSERT": "NEW TABLE AS changed", "DELETE": "OLD TABLE AS changed"}
UPDATED = "NEW TABLE AS changed OLD TABLE AS before"


def noting(table: str, part: int, column: str) -> migrations.RunSQL:
    """Have each statement that changes a table note which rows it has changed."""
    made, dropped = [], []
    for event, tables in {**EVENTS, "UPDATE": UPDATED}.items():
        name = f"graph_change_by_{event.lower()}"
        made.append(
            f"CREATE TRIGGER {name} AFTER {event} ON {table} REFERENCING {tables} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION loci_note_graph_change('{part}', '{column}')"
        )
        dropped.append(f"DROP TRIGGER {name} ON {table}")
    return migrations.RunSQL(made, dropped)


class Migration(migrations.Migration):
    """See the module."""

    overlap: ClassVar[dict[str, str]] = {
        "RunSQL CREATE FUNCTION": "A new function, which the former release does not call itself.",
        "RunSQL CREATE TRIGGER": "Notes nothing before a worker of this release has begun a projection; what the "
        "former release writes from then on is noted like everything else.",
        "RunSQL ALTER TABLE": "Changes the columns of a table that the same migration makes.",
    }

    dependencies: ClassVar = [("memory", "0007_palace")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="GraphProjection",
            fields=[
                (
                    "owner",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="memory.owner",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("building", "Building"), ("following", "Following"), ("resting", "Resting")],
                        default="building",
                        max_length=9,
                    ),
                ),
                ("generation", models.UUIDField()),
                ("text", models.CharField(max_length=6)),
                ("fence", models.BigIntegerField(default=0)),
                ("projected_seq", models.BigIntegerField(default=0)),
                ("projected_at", models.DateTimeField(blank=True, null=True)),
                ("position", models.JSONField(blank=True, default=dict)),
                ("waiting", models.BigIntegerField(default=0)),
                ("behind_since", models.DateTimeField(blank=True, null=True)),
                ("leased_until", models.DateTimeField(blank=True, null=True)),
                ("error_code", models.CharField(blank=True, default="", max_length=64)),
                ("failures", models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="GraphChange",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("seq", models.BigIntegerField()),
                (
                    "part",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "Entity"), (2, "Relation"), (3, "Event"), (4, "Cause")]
                    ),
                ),
                ("row_id", models.UUIDField()),
                ("noted_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
            options={"abstract": False, "base_manager_name": "objects"},
        ),
        migrations.RunSQL(list(COLUMNS), migrations.RunSQL.noop),
        TenantTable("GraphChange"),
        migrations.RunSQL(NOTE, "DROP FUNCTION loci_note_graph_change()"),
        *(noting(*one) for one in NOTED),
    ]
