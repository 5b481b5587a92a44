"""Add what the palace keeps."""

from __future__ import annotations

from typing import ClassVar

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import memory.ids
import memory.models.encrypted
import memory.models.tenancy
from memory.models.tenant_tables import TenantTable

TENANT_TABLES: list[str] = [
    "AgentFile",
    "AgentFileVersion",
    "GraphLayout",
    "GraphPosition",
    "SavedSearch",
    "AgentSettings",
]


class Migration(migrations.Migration):
    """See the module."""

    dependencies: ClassVar = [("memory", "0006_privacy")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="AgentFile",
            fields=[
                (
                    "id",
                    models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("scope", models.UUIDField(editable=False)),
                ("path", memory.models.encrypted.EncryptedTextField()),
                ("content", memory.models.encrypted.EncryptedTextField()),
                (
                    "media_type",
                    models.CharField(
                        choices=[("text/markdown", "Markdown"), ("text/plain", "Plain")],
                        default="text/markdown",
                        max_length=13,
                    ),
                ),
                ("size", models.PositiveIntegerField()),
                (
                    "change",
                    models.CharField(
                        choices=[
                            ("created", "Created"),
                            ("written", "Written"),
                            ("renamed", "Renamed"),
                            ("deleted", "Deleted"),
                            ("restored", "Restored"),
                        ],
                        max_length=8,
                    ),
                ),
                ("changed_by", models.CharField(max_length=64)),
                ("language_model", memory.models.encrypted.EncryptedTextField(blank=True, null=True)),
                (
                    "injection_kinds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=48), default=list, size=None
                    ),
                ),
                ("path_hash", models.BinaryField(max_length=32)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
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
        ),
        migrations.CreateModel(
            name="AgentFileVersion",
            fields=[
                (
                    "id",
                    models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("scope", models.UUIDField(editable=False)),
                ("path", memory.models.encrypted.EncryptedTextField()),
                ("content", memory.models.encrypted.EncryptedTextField()),
                (
                    "media_type",
                    models.CharField(
                        choices=[("text/markdown", "Markdown"), ("text/plain", "Plain")],
                        default="text/markdown",
                        max_length=13,
                    ),
                ),
                ("size", models.PositiveIntegerField()),
                (
                    "change",
                    models.CharField(
                        choices=[
                            ("created", "Created"),
                            ("written", "Written"),
                            ("renamed", "Renamed"),
                            ("deleted", "Deleted"),
                            ("restored", "Restored"),
                        ],
                        max_length=8,
                    ),
                ),
                ("changed_by", models.CharField(max_length=64)),
                ("language_model", memory.models.encrypted.EncryptedTextField(blank=True, null=True)),
                (
                    "injection_kinds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=48), default=list, size=None
                    ),
                ),
                ("sealed_for", models.UUIDField(editable=False, null=True)),
                ("number", models.PositiveIntegerField()),
                ("made_at", models.DateTimeField()),
                (
                    "file",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.agentfile", when_deleted="CASCADE"
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
        migrations.AddIndex(
            model_name="agentfile",
            index=models.Index(fields=["owner", "agent"], name="agent_file_by_agent"),
        ),
        migrations.AddConstraint(
            model_name="agentfile",
            constraint=models.UniqueConstraint(
                condition=models.Q(("deleted_at__isnull", True)),
                fields=("owner", "scope", "path_hash"),
                name="agent_file_path_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="agentfileversion",
            constraint=models.UniqueConstraint(fields=("owner", "file", "number"), name="agent_file_version_once"),
        ),
        migrations.CreateModel(
            name="GraphLayout",
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
                ("nodes", models.PositiveIntegerField()),
                ("computed_at", models.DateTimeField()),
            ],
            options={"base_manager_name": "objects"},
        ),
        migrations.CreateModel(
            name="GraphPosition",
            fields=[
                (
                    "id",
                    models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("x", models.FloatField()),
                ("y", models.FloatField()),
                (
                    "entity",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.entity",
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
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("memory__isnull", False)),
                        fields=["owner", "memory"],
                        name="position_by_memory",
                    ),
                    models.Index(
                        condition=models.Q(("entity__isnull", False)),
                        fields=["owner", "entity"],
                        name="position_by_entity",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("entity", None), ("memory__isnull", False)),
                            models.Q(("entity__isnull", False), ("memory", None)),
                            _connector="OR",
                        ),
                        name="position_of_one_thing",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedSearch",
            fields=[
                (
                    "id",
                    models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("name", memory.models.encrypted.EncryptedTextField()),
                ("question", memory.models.encrypted.EncryptedTextField()),
                ("choices", memory.models.encrypted.EncryptedTextField()),
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
        ),
        migrations.AddIndex(
            model_name="savedsearch",
            index=models.Index(fields=["owner", "-created_at"], name="saved_search_by_time"),
        ),
        migrations.CreateModel(
            name="AgentSettings",
            fields=[
                (
                    "id",
                    models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("values", models.JSONField(default=dict)),
                ("version", models.PositiveIntegerField(default=1)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "agent",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.agent", when_deleted="CASCADE"
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
                "constraints": [models.UniqueConstraint(fields=("owner", "agent"), name="agent_settings_once")],
            },
        ),
        migrations.AlterField(
            model_name="reviewitem",
            name="kind",
            field=models.CharField(
                choices=[
                    ("fact", "Fact"),
                    ("entity", "Entity"),
                    ("relation", "Relation"),
                    ("event", "Event"),
                    ("cause", "Cause"),
                    ("merge", "Merge"),
                    ("contradiction", "Contradiction"),
                    ("skill", "Skill"),
                    ("dispute", "Dispute"),
                ],
                max_length=13,
            ),
        ),
        *(TenantTable(name) for name in TENANT_TABLES),
    ]
