"""Add the graph about the owner, and the links between memories."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import memory.ids
import memory.models.encrypted
import memory.models.tenancy
from memory.models.tenant_tables import TenantTable

TENANT_TABLES = [
    "GraphState",
    "Entity",
    "EntityName",
    "EntityMention",
    "Relation",
    "TemporalEvent",
    "EventParticipant",
    "CausalLink",
    "GraphEvidence",
    "MemoryEdge",
]


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0003_evidence"),
    ]

    operations = [
        migrations.CreateModel(
            name="GraphState",
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
                ("version", models.BigIntegerField(default=0)),
                ("changed_at", models.DateTimeField()),
            ],
            options={
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="Entity",
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
                    "type",
                    models.CharField(
                        choices=[
                            ("person", "Person"),
                            ("topic", "Topic"),
                            ("project", "Project"),
                            ("tool", "Tool"),
                            ("url", "Url"),
                            ("concept", "Concept"),
                            ("organization", "Organization"),
                        ],
                        max_length=12,
                    ),
                ),
                ("name", memory.models.encrypted.EncryptedTextField()),
                ("aliases", memory.models.encrypted.EncryptedJSONField(blank=True, null=True)),
                ("properties", memory.models.encrypted.EncryptedJSONField(blank=True, null=True)),
                ("importance", models.FloatField(default=0.5)),
                ("mention_count", models.PositiveIntegerField(default=1)),
                ("stated", models.BooleanField(default=False)),
                ("first_seen", models.DateTimeField()),
                ("last_seen", models.DateTimeField()),
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
            name="CausalLink",
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
                ("cause", memory.models.encrypted.EncryptedTextField()),
                ("effect", memory.models.encrypted.EncryptedTextField()),
                ("text_hash", models.BinaryField(max_length=32)),
                ("confidence", models.FloatField(default=1.0)),
                ("recorded_at", models.DateTimeField()),
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
                    "cause_entity",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.entity",
                        when_deleted="SET NULL",
                    ),
                ),
                (
                    "effect_entity",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.entity",
                        when_deleted="SET NULL",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="EntityMention",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id",
                        "entity_id",
                        "memory_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "entity",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.entity", when_deleted="CASCADE"
                    ),
                ),
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
        ),
        migrations.CreateModel(
            name="EntityName",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id",
                        "kind",
                        "name",
                        "entity_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "kind",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "Canonical"), (2, "Alias"), (3, "Word"), (4, "Prefix")]
                    ),
                ),
                ("name", models.BigIntegerField()),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("person", "Person"),
                            ("topic", "Topic"),
                            ("project", "Project"),
                            ("tool", "Tool"),
                            ("url", "Url"),
                            ("concept", "Concept"),
                            ("organization", "Organization"),
                        ],
                        max_length=12,
                    ),
                ),
                ("scope", models.UUIDField()),
                (
                    "entity",
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
        ),
        migrations.CreateModel(
            name="MemoryEdge",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("sealed_for", models.UUIDField(editable=False, null=True)),
                ("scope", models.UUIDField(editable=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("related_to", "Related To"),
                            ("caused_by", "Caused By"),
                            ("supports", "Supports"),
                            ("contradicts", "Contradicts"),
                            ("part_of", "Part Of"),
                            ("followed_by", "Followed By"),
                            ("derived_from", "Derived From"),
                            ("similar_to", "Similar To"),
                        ],
                        max_length=12,
                    ),
                ),
                ("weight", models.FloatField(default=0.7)),
                ("relationship", memory.models.encrypted.EncryptedTextField(blank=True, null=True)),
                ("relationship_hash", models.BigIntegerField()),
                ("created_at", models.DateTimeField()),
                (
                    "insight",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.memory",
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
                (
                    "source",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
                    ),
                ),
                (
                    "target",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Relation",
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
                ("label", memory.models.encrypted.EncryptedTextField()),
                ("label_hash", models.BigIntegerField()),
                ("weight", models.FloatField(default=0.5)),
                ("confidence", models.FloatField(default=1.0)),
                ("valid_from", models.DateTimeField()),
                ("valid_until", models.DateTimeField(blank=True, null=True)),
                ("recorded_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("retracted_at", models.DateTimeField(blank=True, null=True)),
                ("last_seen", models.DateTimeField()),
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
                    "source",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.entity", when_deleted="CASCADE"
                    ),
                ),
                (
                    "target",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.entity", when_deleted="CASCADE"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="TemporalEvent",
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
                ("text", memory.models.encrypted.EncryptedTextField()),
                ("text_hash", models.BinaryField(max_length=32)),
                ("occurred_at", models.DateTimeField()),
                ("recorded_at", models.DateTimeField()),
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
            name="GraphEvidence",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("sealed_for", models.UUIDField(editable=False, null=True)),
                ("scope", models.UUIDField(editable=False)),
                ("text", memory.models.encrypted.EncryptedTextField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                (
                    "cause",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.causallink",
                        when_deleted="CASCADE",
                    ),
                ),
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
                (
                    "relation",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.relation",
                        when_deleted="CASCADE",
                    ),
                ),
                (
                    "event",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.temporalevent",
                        when_deleted="CASCADE",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="EventParticipant",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id",
                        "event_id",
                        "entity_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "entity",
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
                    "event",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.temporalevent", when_deleted="CASCADE"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="entity",
            index=models.Index(fields=["owner", "-mention_count", "-id"], name="entity_by_mentions"),
        ),
        migrations.AddIndex(
            model_name="entity",
            index=models.Index(fields=["owner", "type", "-mention_count", "-id"], name="entity_by_type"),
        ),
        migrations.AddConstraint(
            model_name="entity",
            constraint=models.CheckConstraint(
                condition=models.Q(("importance__gte", 0), ("importance__lte", 1)), name="entity_importance_is_unit"
            ),
        ),
        migrations.AddIndex(
            model_name="causallink",
            index=models.Index(fields=["owner", "-recorded_at", "-id"], name="causal_link_by_time"),
        ),
        migrations.AddIndex(
            model_name="causallink",
            index=models.Index(fields=["owner", "cause_entity"], name="causal_link_by_cause"),
        ),
        migrations.AddIndex(
            model_name="causallink",
            index=models.Index(fields=["owner", "effect_entity"], name="causal_link_by_effect"),
        ),
        migrations.AddConstraint(
            model_name="causallink",
            constraint=models.UniqueConstraint(fields=("owner", "scope", "text_hash"), name="causal_link_once"),
        ),
        migrations.AddConstraint(
            model_name="causallink",
            constraint=models.CheckConstraint(
                condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                name="causal_link_confidence_is_unit",
            ),
        ),
        migrations.AddIndex(
            model_name="entitymention",
            index=models.Index(fields=["owner", "memory"], name="mention_by_memory"),
        ),
        migrations.AddIndex(
            model_name="entityname",
            index=models.Index(fields=["owner", "entity"], name="entity_name_by_entity"),
        ),
        migrations.AddConstraint(
            model_name="entityname",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind__in", [1, 2])),
                fields=("owner", "scope", "type", "name"),
                name="entity_name_once",
            ),
        ),
        migrations.AddIndex(
            model_name="memoryedge",
            index=models.Index(
                fields=["owner", "source", "-weight"], include=("target", "kind"), name="memory_edge_out"
            ),
        ),
        migrations.AddIndex(
            model_name="memoryedge",
            index=models.Index(
                fields=["owner", "target", "-weight"], include=("source", "kind"), name="memory_edge_in"
            ),
        ),
        migrations.AddIndex(
            model_name="memoryedge",
            index=models.Index(
                condition=models.Q(("insight__isnull", False)),
                fields=["owner", "insight"],
                name="memory_edge_by_insight",
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryedge",
            constraint=models.UniqueConstraint(
                fields=("owner", "source", "target", "kind", "relationship_hash"), name="memory_edge_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryedge",
            constraint=models.CheckConstraint(
                condition=models.Q(("source", models.F("target")), _negated=True), name="memory_edge_of_two"
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryedge",
            constraint=models.CheckConstraint(
                condition=models.Q(("weight__gte", 0), ("weight__lte", 1)), name="memory_edge_weight_is_unit"
            ),
        ),
        migrations.AddIndex(
            model_name="relation",
            index=models.Index(
                condition=models.Q(("retracted_at", None)),
                fields=["owner", "source", "-weight", "id"],
                include=("target", "scope", "label_hash", "valid_from", "valid_until"),
                name="relation_out",
            ),
        ),
        migrations.AddIndex(
            model_name="relation",
            index=models.Index(
                condition=models.Q(("retracted_at", None)),
                fields=["owner", "target", "-weight", "id"],
                include=("source", "scope", "label_hash", "valid_from", "valid_until"),
                name="relation_in",
            ),
        ),
        migrations.AddIndex(
            model_name="relation",
            index=models.Index(fields=["owner", "source", "recorded_at"], name="relation_out_history"),
        ),
        migrations.AddIndex(
            model_name="relation",
            index=models.Index(fields=["owner", "target", "recorded_at"], name="relation_in_history"),
        ),
        migrations.AddConstraint(
            model_name="relation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("retracted_at", None), ("valid_until", None)),
                fields=("owner", "scope", "source", "label_hash", "target"),
                name="relation_open_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="relation",
            constraint=models.CheckConstraint(
                condition=models.Q(("source", models.F("target")), _negated=True), name="relation_of_two"
            ),
        ),
        migrations.AddConstraint(
            model_name="relation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("closed_at", None), ("valid_until", None)),
                    models.Q(("closed_at__isnull", False), ("valid_until__isnull", False)),
                    _connector="OR",
                ),
                name="relation_end_is_dated",
            ),
        ),
        migrations.AddConstraint(
            model_name="relation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("valid_until", None), ("valid_until__gte", models.F("valid_from")), _connector="OR"
                ),
                name="relation_ends_after_it_began",
            ),
        ),
        migrations.AddConstraint(
            model_name="relation",
            constraint=models.CheckConstraint(
                condition=models.Q(("weight__gte", 0), ("weight__lte", 1)), name="relation_weight_is_unit"
            ),
        ),
        migrations.AddConstraint(
            model_name="relation",
            constraint=models.CheckConstraint(
                condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)), name="relation_confidence_is_unit"
            ),
        ),
        migrations.AddIndex(
            model_name="temporalevent",
            index=models.Index(fields=["owner", "-occurred_at", "-id"], name="temporal_event_by_time"),
        ),
        migrations.AddConstraint(
            model_name="temporalevent",
            constraint=models.UniqueConstraint(
                fields=("owner", "scope", "text_hash", "occurred_at"), name="temporal_event_once"
            ),
        ),
        migrations.AddIndex(
            model_name="graphevidence",
            index=models.Index(fields=["owner", "memory"], name="evidence_by_memory"),
        ),
        migrations.AddConstraint(
            model_name="graphevidence",
            constraint=models.UniqueConstraint(
                condition=models.Q(("relation__isnull", False)),
                fields=("owner", "relation", "memory"),
                name="evidence_of_relation_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="graphevidence",
            constraint=models.UniqueConstraint(
                condition=models.Q(("event__isnull", False)),
                fields=("owner", "event", "memory"),
                name="evidence_of_event_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="graphevidence",
            constraint=models.UniqueConstraint(
                condition=models.Q(("cause__isnull", False)),
                fields=("owner", "cause", "memory"),
                name="evidence_of_cause_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="graphevidence",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("cause", None), ("event", None), ("relation__isnull", False)),
                    models.Q(("cause", None), ("event__isnull", False), ("relation", None)),
                    models.Q(("cause__isnull", False), ("event", None), ("relation", None)),
                    _connector="OR",
                ),
                name="evidence_of_one_thing",
            ),
        ),
        migrations.AddIndex(
            model_name="eventparticipant",
            index=models.Index(fields=["owner", "entity"], name="participant_by_entity"),
        ),
        *[TenantTable(name) for name in TENANT_TABLES],
    ]
