"""Add what consolidation keeps: runs, doubts, claims, skills, reflections, merges and communities."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import memory.ids
import memory.models.encrypted
import memory.models.tenancy
from memory.models.tenant_tables import TenantTable

TENANT_TABLES = [
    "ConsolidationRun",
    "ConsolidationLease",
    "ExtractionFailure",
    "ReviewItem",
    "ReviewEvidence",
    "MemoryClaim",
    "Skill",
    "SkillDependency",
    "Reflection",
    "EntityMerge",
    "EntitiesApart",
    "CommunityState",
    "Community",
]


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0004_graph"),
    ]

    operations = [
        migrations.CreateModel(
            name="ConsolidationRun",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "trigger",
                    models.CharField(
                        choices=[("count", "Count"), ("schedule", "Schedule"), ("hand", "Hand"), ("write", "Write")],
                        max_length=8,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("interrupted", "Interrupted"),
                            ("deferred", "Deferred"),
                        ],
                        default="running",
                        max_length=11,
                    ),
                ),
                ("stage", models.CharField(blank=True, default="", max_length=24)),
                ("stages", models.JSONField(default=list)),
                (
                    "risk_class",
                    models.CharField(choices=[("none", "None"), ("read", "Read")], default="none", max_length=4),
                ),
                ("extractor", models.CharField(blank=True, default="", max_length=64)),
                ("batches", models.PositiveIntegerField(default=0)),
                ("rows_seen", models.PositiveIntegerField(default=0)),
                ("bytes_seen", models.PositiveBigIntegerField(default=0)),
                ("bytes_skipped", models.PositiveBigIntegerField(default=0)),
                ("backlog_rows", models.PositiveIntegerField(default=0)),
                ("backlog_bytes", models.PositiveBigIntegerField(default=0)),
                ("failed_writes", models.PositiveIntegerField(default=0)),
                ("llm_calls", models.PositiveIntegerField(default=0)),
                ("llm_failures", models.PositiveIntegerField(default=0)),
                ("prompt_tokens", models.PositiveBigIntegerField(default=0)),
                ("completion_tokens", models.PositiveBigIntegerField(default=0)),
                ("error_code", models.CharField(blank=True, default="", max_length=64)),
                ("started_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
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
                "indexes": [models.Index(fields=["owner", "-started_at", "-id"], name="run_by_start")],
            },
        ),
        migrations.CreateModel(
            name="ConsolidationLease",
            fields=[
                (
                    "owner",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="memory.owner",
                    ),
                ),
                ("run_id", models.UUIDField()),
                ("heartbeat_at", models.DateTimeField()),
            ],
            options={
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="ExtractionFailure",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id", "memory_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("code", models.CharField(max_length=64)),
                ("attempts", models.PositiveSmallIntegerField(default=1)),
                ("failed_at", models.DateTimeField()),
                ("next_at", models.DateTimeField(blank=True, null=True)),
                (
                    "memory",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
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
                "indexes": [models.Index(fields=["owner", "-failed_at"], name="failure_by_time")],
            },
        ),
        migrations.CreateModel(
            name="ReviewItem",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "visibility",
                    models.CharField(
                        choices=[("agent", "Agent"), ("squad", "Squad"), ("project", "Project"), ("owner", "Owner")],
                        default="owner",
                        max_length=8,
                    ),
                ),
                ("scope", models.UUIDField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("fact", "Fact"),
                            ("entity", "Entity"),
                            ("relation", "Relation"),
                            ("event", "Event"),
                            ("cause", "Cause"),
                            ("merge", "Merge"),
                            ("contradiction", "Contradiction"),
                            ("skill", "Skill"),
                        ],
                        max_length=13,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("snoozed", "Snoozed"),
                            ("approved", "Approved"),
                            ("rejected", "Rejected"),
                        ],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("reason", models.CharField(max_length=64)),
                ("confidence", models.FloatField()),
                ("payload", memory.models.encrypted.EncryptedJSONField()),
                ("payload_hash", models.BinaryField(max_length=32)),
                ("outcome", memory.models.encrypted.EncryptedJSONField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("snoozed_until", models.DateTimeField(blank=True, null=True)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("decided_by", models.CharField(blank=True, default="", max_length=64)),
                ("version", models.PositiveIntegerField(default=1)),
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
                    "run",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.consolidationrun",
                        when_deleted="SET NULL",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["owner", "state", "-created_at", "-id"], name="review_by_state"),
                    models.Index(
                        condition=models.Q(("state", "snoozed")),
                        fields=["owner", "snoozed_until"],
                        name="review_by_end_of_snooze",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "scope", "kind", "payload_hash"), name="review_item_once"),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                        name="review_item_confidence_is_unit",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReviewEvidence",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("sealed_for", models.UUIDField(editable=False, null=True)),
                ("scope", models.UUIDField(editable=False)),
                ("text", memory.models.encrypted.EncryptedTextField(blank=True, null=True)),
                (
                    "memory",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
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
                    "item",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.reviewitem", when_deleted="CASCADE"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["owner", "memory"], name="review_evidence_by_memory")],
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "item", "memory"), name="review_evidence_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryClaim",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id",
                        "memory_id",
                        "slot",
                        "value",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("scope", models.UUIDField()),
                ("slot", models.BigIntegerField()),
                ("value", models.BigIntegerField()),
                ("polarity", models.SmallIntegerField(default=1)),
                ("single", models.BooleanField(default=False)),
                (
                    "memory",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
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
                "indexes": [models.Index(fields=["owner", "slot", "value"], name="claim_by_slot")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("polarity__in", [-1, 1])), name="claim_polarity_is_a_sign"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Skill",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "visibility",
                    models.CharField(
                        choices=[("agent", "Agent"), ("squad", "Squad"), ("project", "Project"), ("owner", "Owner")],
                        default="owner",
                        max_length=8,
                    ),
                ),
                ("scope", models.UUIDField()),
                ("name", memory.models.encrypted.EncryptedTextField()),
                ("name_hash", models.BigIntegerField()),
                ("steps", memory.models.encrypted.EncryptedJSONField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("candidate", "Candidate"),
                            ("verified", "Verified"),
                            ("released", "Released"),
                            ("degraded", "Degraded"),
                            ("deprecated", "Deprecated"),
                            ("archived", "Archived"),
                        ],
                        default="candidate",
                        max_length=10,
                    ),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[("human", "Human"), ("llm", "Llm"), ("rules", "Rules"), ("builtin", "Builtin")],
                        max_length=7,
                    ),
                ),
                ("trust", models.PositiveSmallIntegerField(default=1)),
                ("success_rate", models.FloatField(default=0.0)),
                ("uses", models.PositiveIntegerField(default=0)),
                ("utility", models.FloatField(default=0.5)),
                ("redundancy", models.FloatField(default=0.0)),
                ("freshness", models.FloatField(default=1.0)),
                ("risk", models.FloatField(default=0.0)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "memory",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
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
                "indexes": [models.Index(fields=["owner", "state", "-updated_at", "-id"], name="skill_by_state")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "archived"), _negated=True),
                        fields=("owner", "scope", "name_hash"),
                        name="skill_name_once",
                    ),
                    models.UniqueConstraint(fields=("owner", "memory"), name="skill_of_memory_once"),
                    models.CheckConstraint(
                        condition=models.Q(("success_rate__gte", 0), ("success_rate__lte", 1)),
                        name="skill_success_rate_is_unit",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("utility__gte", 0), ("utility__lte", 1)), name="skill_utility_is_unit"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("redundancy__gte", 0), ("redundancy__lte", 1)),
                        name="skill_redundancy_is_unit",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("freshness__gte", 0), ("freshness__lte", 1)), name="skill_freshness_is_unit"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("risk__gte", 0), ("risk__lte", 1)), name="skill_risk_is_unit"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SkillDependency",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id",
                        "skill_id",
                        "needs_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "needs",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.skill", when_deleted="NO ACTION"
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
                    "skill",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.skill", when_deleted="CASCADE"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["owner", "needs"], name="skill_dependency_by_need")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("skill", models.F("needs")), _negated=True), name="skill_needs_another"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Reflection",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("sealed_for", models.UUIDField(editable=False, null=True)),
                ("scope", models.UUIDField(editable=False)),
                ("pattern_hash", models.BigIntegerField()),
                ("supporting_events", models.PositiveIntegerField(default=1)),
                ("confidence", models.FloatField(default=0.5)),
                ("sessions", memory.models.encrypted.EncryptedJSONField(blank=True, null=True)),
                ("last_reinforced_at", models.DateTimeField()),
                (
                    "memory",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
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
                "indexes": [models.Index(fields=["owner", "last_reinforced_at"], name="reflection_by_reinforcement")],
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "scope", "pattern_hash"), name="reflection_pattern_once"),
                    models.UniqueConstraint(fields=("owner", "memory"), name="reflection_of_memory_once"),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                        name="reflection_confidence_is_unit",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EntityMerge",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "visibility",
                    models.CharField(
                        choices=[("agent", "Agent"), ("squad", "Squad"), ("project", "Project"), ("owner", "Owner")],
                        default="owner",
                        max_length=8,
                    ),
                ),
                ("scope", models.UUIDField()),
                ("merged_id", models.UUIDField()),
                ("record", memory.models.encrypted.EncryptedJSONField()),
                ("score", models.FloatField(blank=True, null=True)),
                ("rule", models.CharField(max_length=32)),
                ("actor", models.CharField(max_length=64)),
                ("merged_at", models.DateTimeField()),
                ("undone_at", models.DateTimeField(blank=True, null=True)),
                (
                    "kept",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.entity", when_deleted="CASCADE"
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
                "indexes": [models.Index(fields=["owner", "-merged_at", "-id"], name="merge_by_time")],
            },
        ),
        migrations.CreateModel(
            name="EntitiesApart",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id",
                        "first_id",
                        "second_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("decided_at", models.DateTimeField()),
                (
                    "first",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.entity", when_deleted="CASCADE"
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
                    "second",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.entity", when_deleted="CASCADE"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["owner", "second"], name="apart_by_second")],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("first__lt", models.F("second"))), name="apart_in_order")
                ],
            },
        ),
        migrations.CreateModel(
            name="CommunityState",
            fields=[
                (
                    "owner",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="memory.owner",
                    ),
                ),
                ("graph_version", models.BigIntegerField()),
                ("modularity", models.FloatField()),
                ("communities", models.PositiveIntegerField()),
                ("nodes", models.PositiveIntegerField()),
                ("edges", models.PositiveIntegerField()),
                ("next_number", models.PositiveIntegerField(default=1)),
                ("computed_at", models.DateTimeField()),
            ],
            options={
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="Community",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("name", memory.models.encrypted.EncryptedTextField(blank=True, null=True)),
                ("memories", models.PositiveIntegerField(default=0)),
                ("entities", models.PositiveIntegerField(default=0)),
                ("inner_weight", models.FloatField(default=0.0)),
                ("outer_weight", models.FloatField(default=0.0)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
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
                "constraints": [models.UniqueConstraint(fields=("owner", "number"), name="community_number_once")],
            },
        ),
        migrations.AddField(
            model_name="entity",
            name="community",
            field=models.IntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="owneractivity",
            name="consolidate_after",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="owneractivity",
            name="consolidation_errors",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="owneractivity",
            name="last_forgotten_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="owneractivity",
            name="last_reflected_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="owneractivity",
            name="last_slept_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="owneractivity",
            name="last_summarised_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="session",
            name="learned_until",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="session",
            name="summarised_until",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddIndex(
            model_name="entity",
            index=models.Index(
                condition=models.Q(("community__isnull", False)),
                fields=["owner", "community"],
                name="entity_by_community",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("community__isnull", False)),
                fields=["owner", "community"],
                name="memory_by_community",
            ),
        ),
        *[TenantTable(name) for name in TENANT_TABLES],
    ]
