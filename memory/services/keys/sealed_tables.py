"""Which columns hold sealed values, found from the models, and SQL that tells their versions without opening them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from memory.crypto.sealing import VERSION_BYTES
from memory.models import TokenVectors, owner_scope
from memory.models.encrypted import EncryptedField
from memory.models.tenancy import TenantModel

TOKENS = TokenVectors._meta.db_table


@dataclass(frozen=True, slots=True)
class SealedTable:
    """An owned table and those of its columns that hold sealed texts."""

    model: type[TenantModel]
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        """Give the name in the database."""
        return str(self.model._meta.db_table)


@cache
def sealed_tables() -> tuple[SealedTable, ...]:
    """List every table with sealed texts; raises ImproperlyConfigured where rotation could not reach one."""
    tables = []
    for model in apps.get_models():
        fields = [field for field in model._meta.local_concrete_fields if isinstance(field, EncryptedField)]
        if not fields:
            continue
        if not issubclass(model, TenantModel):
            raise ImproperlyConfigured(f"{model._meta.label} has encrypted fields and is no TenantModel.")
        tables.append(SealedTable(model, tuple(str(field.column) for field in fields)))
    return tuple(tables)


def of_versions(columns: Sequence[str], *, none_of: bool = False) -> str:
    """Give the condition that any of these columns was sealed with one of the versions of the parameter `texts`.

    With `none_of` it was sealed, but with none of them.
    """
    match = "<> ALL" if none_of else "= ANY"
    return "(" + " OR ".join(f"split_part(\"{column}\", ':', 2) {match}(%(texts)s)" for column in columns) + ")"


def tokens_of_versions(*, none_of: bool = False) -> str:
    """Give the same condition for token vectors, over the parameter `heads`."""
    return f"substring(sealed FROM 1 FOR {VERSION_BYTES}) {'<> ALL' if none_of else '= ANY'}(%(heads)s)"


def version_parameters(versions: Sequence[int]) -> dict[str, Any]:
    """Give the parameters of the two conditions for some versions of a text key."""
    return {
        "texts": [f"v{version}" for version in versions],
        "heads": [version.to_bytes(VERSION_BYTES, "big") for version in versions],
    }


def rows_sealed_with(*, owner_id: UUID, versions: Sequence[int]) -> dict[str, int]:
    """Count an owner's rows that hold a value sealed with one of these versions, by table; tables without are left out.

    Reads every row, those of archived memories too.
    """
    return _counted(owner_id, versions, none_of=False)


def rows_without_key(*, owner_id: UUID, versions: Sequence[int]) -> dict[str, int]:
    """Count an owner's rows that hold a value sealed with none of the versions that exist, by table."""
    return _counted(owner_id, versions, none_of=True)


def _counted(owner_id: UUID, versions: Sequence[int], *, none_of: bool) -> dict[str, int]:
    parameters = {"owner": owner_id, **version_parameters(versions)}
    conditions = {table.name: of_versions(table.columns, none_of=none_of) for table in sealed_tables()}
    conditions[TOKENS] = tokens_of_versions(none_of=none_of)
    found = {}
    with owner_scope(owner_id), connection.cursor() as cursor:
        for name, condition in conditions.items():
            cursor.execute(f'SELECT count(*) FROM "{name}" WHERE owner_id = %(owner)s AND {condition}', parameters)
            count = cursor.fetchone()[0]
            if count:
                found[name] = count
    return found
