"""Let a second embedding space be filled beside the one in use, and stand by after a switch."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """See the module."""

    dependencies: ClassVar = [("memory", "0008_projection")]

    overlap: ClassVar[dict[str, str]] = {
        "AddConstraint one_space_beside": "the table has a handful of rows, and the release before writes one state only"
    }

    operations: ClassVar = [
        migrations.CreateModel(
            name="SpaceFill",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id", "space_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("done", models.PositiveIntegerField(default=0)),
                ("total", models.PositiveIntegerField(default=0)),
                ("closed", models.PositiveIntegerField(default=0)),
                ("whole_at", models.DateTimeField(blank=True, null=True)),
                ("updated_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
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
        migrations.AddField(
            model_name="embeddingspace",
            name="pause",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="embeddingspace", name="paused_at", field=models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddField(
            model_name="embeddingspace", name="switched_at", field=models.DateTimeField(blank=True, null=True)
        ),
        migrations.AlterField(
            model_name="embeddingspace",
            name="state",
            field=models.CharField(
                choices=[
                    ("filling", "Filling"),
                    ("active", "Active"),
                    ("standby", "Standby"),
                    ("retired", "Retired"),
                ],
                default="filling",
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="embeddingspace",
            constraint=models.UniqueConstraint(
                models.Value(1),
                condition=models.Q(("state__in", ["filling", "standby"])),
                name="one_space_beside",
            ),
        ),
    ]
