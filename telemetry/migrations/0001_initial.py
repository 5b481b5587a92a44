"""Make the tables of telemetry, with the owner's wall round each."""

from __future__ import annotations

import django.contrib.postgres.fields
import django.db.models.deletion
import pgvector.django.halfvec
from django.db import migrations, models

import memory.ids
import memory.models.encrypted
import memory.models.tenancy
from memory.models.tenant_tables import TenantTable

# What others refer to comes first.
TENANT_TABLES = [
    "Spoke",
    "TurnEvent",
    "RequestVector",
    "TelemetryState",
    "RecallExperiment",
    "RecallObservation",
    "RecallFeedback",
    "TunerChange",
    "TunerState",
    "ModelUsage",
    "Budget",
]

# What the application never writes and could not read again would spoil reports about all else. Relevances and moments
# of arrays are looked at one by one; NaN is above every number for PostgreSQL, and null passes every comparison.
READABLE_MOMENTS = "BETWEEN timestamptz '0001-01-02 00:00:00+00' AND timestamptz '9999-12-30 00:00:00+00'"
MOMENTS = {
    "turnevent": ["occurred_at", "received_at"],
    "recallobservation": ["created_at"],
    "recallfeedback": ["created_at"],
    "recallexperiment": ["started_at", "ended_at"],
    "tunerchange": ["created_at", "undone_at"],
    "tunerstate": ["looked_until"],
    "telemetrystate": ["test_mode_since"],
    "modelusage": ["hour"],
    "budget": ["updated_at"],
}
SOUND = {
    "turnevent": [
        "stream IN ('live', 'test')",
        "outcome IN ('completed', 'failed', 'timeout')",
        "array_position(pii_kinds, NULL) IS NULL",
    ],
    "recallobservation": [
        "coalesce(array_ndims(relevances), 1) = 1 AND array_position(relevances, NULL) IS NULL",
        "0 <= ALL (relevances) AND 1 >= ALL (relevances)",
        "threshold BETWEEN 0 AND 1",
        "coalesce(array_ndims(degraded), 1) = 1 AND array_position(degraded, NULL) IS NULL",
        "jsonb_typeof(stages) = 'object'",
        """NOT jsonb_path_exists(stages, 'strict $.* ? (@.type() != "number" || @ < 0 || @ > 1000000000000)')""",
        "experiment_arm IN ('', 'control', 'variant')",
    ],
    "recallexperiment": ["share BETWEEN 0 AND 1", "array_position(agents, NULL) IS NULL"],
    "tunerchange": ["before BETWEEN 0 AND 1", "after BETWEEN 0 AND 1", "ndcg BETWEEN 0 AND 1"],
    "tunerstate": ["ndcg BETWEEN 0 AND 1", "threshold BETWEEN 0 AND 1"],
    "telemetrystate": [
        "coalesce(array_ndims(switched_at), 1) = 1 AND array_position(switched_at, NULL) IS NULL",
        "timestamptz '0001-01-02 00:00:00+00' <= ALL (switched_at)",
        "timestamptz '9999-12-30 00:00:00+00' >= ALL (switched_at)",
    ],
    "modelusage": ["cost BETWEEN 0 AND 1e17"],
    "budget": ["period IN ('day', 'month')", "soft BETWEEN 0 AND 1000000000", "hard BETWEEN 0 AND 1000000000"],
}


def sound_rows(table: str) -> migrations.RunSQL:
    """Let the database refuse rows of a table that the application could not read."""
    wanted = [f"{column} {READABLE_MOMENTS}" for column in MOMENTS[table]] + SOUND.get(table, [])
    named = f"telemetry_{table}"
    return migrations.RunSQL(
        f"ALTER TABLE {named} ADD CONSTRAINT {named}_sound CHECK ({' AND '.join(f'({one})' for one in wanted)})",
        f"ALTER TABLE {named} DROP CONSTRAINT {named}_sound",
    )


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("memory", "0006_privacy"),
    ]

    operations = [
        migrations.CreateModel(
            name="RecallExperiment",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("label", memory.models.encrypted.EncryptedTextField()),
                ("control", models.CharField(max_length=32)),
                ("variant", models.CharField(max_length=32)),
                ("share", models.FloatField(default=0.5)),
                (
                    "agents",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
                ),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
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
        ),
        migrations.CreateModel(
            name="RecallFeedback",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("recall_id", models.UUIDField()),
                ("rank", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("helpful", models.BooleanField()),
                ("caller", models.UUIDField()),
                ("created_at", models.DateTimeField()),
                (
                    "memory",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.memory",
                        when_deleted="CASCADE",
                    ),
                ),
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
        ),
        migrations.CreateModel(
            name="RecallObservation",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("sort", models.CharField(max_length=32)),
                ("profile", models.CharField(max_length=32)),
                ("experiment_arm", models.CharField(blank=True, default="", max_length=7)),
                ("hits", models.PositiveSmallIntegerField()),
                ("wanted", models.PositiveSmallIntegerField()),
                ("considered", models.PositiveIntegerField(default=0)),
                (
                    "relevances",
                    django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), default=list, size=None),
                ),
                ("threshold", models.FloatField(default=0.0)),
                ("gate", models.CharField(blank=True, default="", max_length=32)),
                ("fallback", models.BooleanField(default=False)),
                (
                    "degraded",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                ("duration_us", models.PositiveBigIntegerField()),
                ("stages", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField()),
                (
                    "agent",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.agent",
                        when_deleted="CASCADE",
                    ),
                ),
                (
                    "experiment",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="telemetry.recallexperiment",
                        when_deleted="SET NULL",
                    ),
                ),
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
        ),
        migrations.CreateModel(
            name="RequestVector",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("request_hash", models.BigIntegerField()),
                ("vec", pgvector.django.halfvec.HalfVectorField()),
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
                (
                    "space",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.embeddingspace",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Spoke",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("name", memory.models.encrypted.EncryptedTextField()),
                ("name_hash", models.BigIntegerField()),
                ("is_fallback", models.BooleanField(default=False)),
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
        ),
        migrations.CreateModel(
            name="TelemetryState",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("test_mode", models.BooleanField(default=False)),
                ("test_mode_since", models.DateTimeField(blank=True, null=True)),
                (
                    "switched_at",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.DateTimeField(), default=list, size=None
                    ),
                ),
                ("live_events", models.PositiveIntegerField(default=0)),
                ("test_events", models.PositiveIntegerField(default=0)),
                ("version", models.PositiveBigIntegerField(default=0)),
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
        ),
        migrations.CreateModel(
            name="TunerChange",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("setting", models.CharField(max_length=40)),
                ("before", models.FloatField()),
                ("after", models.FloatField()),
                ("ndcg", models.FloatField()),
                ("recalls", models.PositiveIntegerField()),
                ("reason", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField()),
                ("undone_at", models.DateTimeField(blank=True, null=True)),
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
        ),
        migrations.CreateModel(
            name="TunerState",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("ndcg", models.FloatField(blank=True, null=True)),
                ("recalls", models.PositiveIntegerField(default=0)),
                ("looked_until", models.DateTimeField(blank=True, null=True)),
                ("threshold", models.FloatField(blank=True, null=True)),
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
        ),
        migrations.CreateModel(
            name="TurnEvent",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "stream",
                    models.CharField(choices=[("live", "live"), ("test", "test")], default="live", max_length=4),
                ),
                ("event_key", models.BigIntegerField()),
                ("occurred_at", models.DateTimeField()),
                ("received_at", models.DateTimeField()),
                ("request", memory.models.encrypted.EncryptedTextField()),
                ("request_hash", models.BigIntegerField()),
                (
                    "pii_kinds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32), default=list, size=None
                    ),
                ),
                ("details", memory.models.encrypted.EncryptedJSONField(default=dict)),
                (
                    "outcome",
                    models.CharField(
                        choices=[("completed", "completed"), ("failed", "failed"), ("timeout", "timeout")], max_length=9
                    ),
                ),
                ("tool_call_count", models.PositiveIntegerField(default=0)),
                ("duration_ms", models.PositiveBigIntegerField(default=0)),
                (
                    "agent",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.agent",
                        when_deleted="CASCADE",
                    ),
                ),
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
                (
                    "spoke",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="telemetry.spoke", when_deleted="NO ACTION"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Budget",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("period", models.CharField(choices=[("day", "day"), ("month", "month")], max_length=5)),
                ("soft", models.DecimalField(blank=True, decimal_places=6, max_digits=18, null=True)),
                ("hard", models.DecimalField(blank=True, decimal_places=6, max_digits=18, null=True)),
                ("version", models.PositiveIntegerField(default=1)),
                ("updated_at", models.DateTimeField()),
                (
                    "agent",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.agent",
                        when_deleted="CASCADE",
                    ),
                ),
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
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("owner", "agent", "period"), name="budget_once", nulls_distinct=False
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ModelUsage",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("hour", models.DateTimeField()),
                ("kind", models.CharField(max_length=16)),
                ("component", models.CharField(max_length=32)),
                ("provider", models.CharField(blank=True, default="", max_length=32)),
                ("model", models.CharField(blank=True, default="", max_length=200)),
                ("currency", models.CharField(max_length=3)),
                ("calls", models.PositiveBigIntegerField(default=0)),
                ("failures", models.PositiveBigIntegerField(default=0)),
                ("input_tokens", models.PositiveBigIntegerField(default=0)),
                ("output_tokens", models.PositiveBigIntegerField(default=0)),
                ("duration_us", models.PositiveBigIntegerField(default=0)),
                ("cost", models.DecimalField(decimal_places=12, default=0, max_digits=30)),
                ("unpriced_calls", models.PositiveBigIntegerField(default=0)),
                ("estimated_calls", models.PositiveBigIntegerField(default=0)),
                (
                    "agent",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.agent",
                        when_deleted="CASCADE",
                    ),
                ),
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
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("owner", "hour", "agent", "kind", "component", "provider", "model", "currency"),
                        name="usage_once",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="recallexperiment",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None)), fields=("owner",), name="one_running_experiment"
            ),
        ),
        migrations.AddIndex(
            model_name="recallfeedback",
            index=models.Index(fields=["owner", "-created_at"], name="feedback_by_time"),
        ),
        migrations.AddConstraint(
            model_name="recallfeedback",
            constraint=models.UniqueConstraint(
                fields=("owner", "recall_id", "memory", "caller"), name="feedback_once", nulls_distinct=False
            ),
        ),
        migrations.AddIndex(
            model_name="recallobservation",
            index=models.Index(fields=["owner", "-created_at"], name="observation_by_time"),
        ),
        migrations.AddConstraint(
            model_name="requestvector",
            constraint=models.UniqueConstraint(fields=("owner", "space", "request_hash"), name="request_vector_once"),
        ),
        migrations.AddConstraint(
            model_name="spoke",
            constraint=models.UniqueConstraint(fields=("owner", "name_hash"), name="spoke_name_once"),
        ),
        migrations.AddConstraint(
            model_name="telemetrystate",
            constraint=models.UniqueConstraint(fields=("owner",), name="telemetry_state_once"),
        ),
        migrations.AddIndex(
            model_name="tunerchange",
            index=models.Index(fields=["owner", "-created_at"], name="tuner_change_by_time"),
        ),
        migrations.AddConstraint(
            model_name="tunerstate",
            constraint=models.UniqueConstraint(fields=("owner",), name="tuner_state_once"),
        ),
        migrations.AddIndex(
            model_name="turnevent",
            index=models.Index(fields=["owner", "stream", "-occurred_at", "-id"], name="turn_event_by_time"),
        ),
        migrations.AddIndex(
            model_name="turnevent",
            index=models.Index(fields=["owner", "agent"], name="turn_event_by_agent"),
        ),
        migrations.AddIndex(
            model_name="turnevent",
            index=models.Index(fields=["owner", "request_hash"], name="turn_event_by_request"),
        ),
        migrations.AddIndex(
            model_name="turnevent",
            index=models.Index(fields=["owner", "spoke"], name="turn_event_by_spoke"),
        ),
        migrations.AddConstraint(
            model_name="turnevent",
            constraint=models.UniqueConstraint(fields=("owner", "stream", "event_key"), name="turn_event_once"),
        ),
        *[TenantTable(name) for name in TENANT_TABLES],
        *[sound_rows(table) for table in MOMENTS],
    ]
