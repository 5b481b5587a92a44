"""Add the tables of two kinds of evidence: token vectors, and the times that texts speak of."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import memory.models.tenancy
from memory.models.tenant_tables import TenantTable


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0002_owner_walls"),
    ]

    operations = [
        migrations.AlterField(
            model_name="memorylabel",
            name="kind",
            field=models.PositiveSmallIntegerField(
                choices=[(1, "Tag"), (2, "Topic"), (3, "Source"), (4, "Name"), (5, "Speaker"), (6, "Metadata")]
            ),
        ),
        migrations.CreateModel(
            name="TokenVectors",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id",
                        "memory_id",
                        "space_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("sealed", models.BinaryField()),
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
                    "space",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.embeddingspace",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="MentionedTime",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id",
                        "memory_id",
                        "starts_at",
                        "ends_at",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
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
                "indexes": [
                    models.Index(fields=["owner", "starts_at", "ends_at", "memory"], name="mentioned_time_by_span")
                ],
            },
        ),
        TenantTable("TokenVectors"),
        TenantTable("MentionedTime"),
        migrations.RunSQL(
            # Sealed bytes do not compress, so trying to is wasted.
            "ALTER TABLE memory_tokenvectors ALTER COLUMN sealed SET STORAGE EXTERNAL",
            migrations.RunSQL.noop,
        ),
    ]
