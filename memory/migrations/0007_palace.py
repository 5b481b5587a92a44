"""Add what the palace keeps."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from memory.models.tenant_tables import TenantTable

TENANT_TABLES: list[str] = []


class Migration(migrations.Migration):
    """See the module."""

    dependencies: ClassVar = [("memory", "0006_privacy")]

    operations: ClassVar = [
        *(TenantTable(name) for name in TENANT_TABLES),
    ]
