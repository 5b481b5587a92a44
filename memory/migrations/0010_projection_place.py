"""Keep with each projection in which Neo4j it stands, and when one in which it stood was given up."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """See the module."""

    dependencies: ClassVar = [("memory", "0009_spaces")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="graphprojection",
            name="place",
            field=models.CharField(blank=True, db_default="", default="", max_length=32),
        ),
        migrations.AddField(
            model_name="graphprojection",
            name="given_up_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
