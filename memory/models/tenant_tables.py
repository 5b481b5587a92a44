"""Migration operations that raise the database's wall round an owned table."""

from __future__ import annotations

from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from memory.models.tenancy import OWNER_SETTING, TenantForeignKey

POLICY = "only_the_owner"
# After a transaction the setting reads '' and not null, so the cast needs the NULLIF.
CURRENT_OWNER = f"NULLIF(current_setting('{OWNER_SETTING}', true), '')::uuid"


def row_security_sql(table: str) -> list[str]:
    """Give the statements that force row-level security on a table, for its owning role too."""
    return [
        f'ALTER TABLE "{table}" ENABLE ROW LEVEL SECURITY',
        f'ALTER TABLE "{table}" FORCE ROW LEVEL SECURITY',
        (
            f'CREATE POLICY {POLICY} ON "{table}" '
            f"USING (owner_id = {CURRENT_OWNER}) WITH CHECK (owner_id = {CURRENT_OWNER})"
        ),
    ]


def no_row_security_sql(table: str) -> list[str]:
    """Give the statements that take row-level security off again."""
    return [
        f'DROP POLICY IF EXISTS {POLICY} ON "{table}"',
        f'ALTER TABLE "{table}" NO FORCE ROW LEVEL SECURITY',
        f'ALTER TABLE "{table}" DISABLE ROW LEVEL SECURITY',
    ]


def reference_sql(table: str, column: str, target: str, action: str) -> str:
    """Give the statement that adds a composite foreign key from `(owner_id, column)` to `(owner_id, id)`."""
    when = f"SET NULL ({column})" if action == "SET NULL" else action
    return (
        f'ALTER TABLE "{table}" ADD CONSTRAINT "{constraint_name(table, column)}" '
        f'FOREIGN KEY (owner_id, "{column}") REFERENCES "{target}" (owner_id, id) ON DELETE {when} '
        "DEFERRABLE INITIALLY IMMEDIATE"
    )


def constraint_name(table: str, column: str) -> str:
    """Name the composite foreign key of a column."""
    return f"{table}_{column}_of_owner"


class TenantTable(Operation):
    """Give a freshly created table its owner-first primary key, composite foreign keys and row-level security.

    Run it after `CreateModel`, when the tables that the model refers to have had theirs.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, model_name: str) -> None:
        """Build the operation for one model of the migration's app."""
        self.model_name = model_name

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Leave the state alone: Django's view of the model does not change."""

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """Raise the wall."""
        model = to_state.apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        table = model._meta.db_table
        if has_own_id(model):
            schema_editor.execute(f'ALTER TABLE "{table}" DROP CONSTRAINT "{table}_pkey"')
            schema_editor.execute(f'ALTER TABLE "{table}" ADD PRIMARY KEY (owner_id, id)')
        for field in references(model):
            target = field.related_model._meta.db_table
            schema_editor.execute(reference_sql(table, field.column, target, field.when_deleted))
        for statement in row_security_sql(table):
            schema_editor.execute(statement)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """Take the wall down, so that the table can be dropped or changed."""
        model = from_state.apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        table = model._meta.db_table
        for statement in no_row_security_sql(table):
            schema_editor.execute(statement)
        for field in references(model):
            schema_editor.execute(f'ALTER TABLE "{table}" DROP CONSTRAINT "{constraint_name(table, field.column)}"')
        if has_own_id(model):
            schema_editor.execute(f'ALTER TABLE "{table}" DROP CONSTRAINT "{table}_pkey"')
            schema_editor.execute(f'ALTER TABLE "{table}" ADD PRIMARY KEY (id)')

    def describe(self) -> str:
        """Say in one line what the operation does."""
        return f"Raise the owner's wall round {self.model_name}"


def has_own_id(model: Any) -> bool:
    """Tell whether the table's key is an id, which the wall makes `(owner_id, id)`."""
    return bool(model._meta.pk.attname == "id")


def references(model: Any) -> list[Any]:
    """List the model's foreign keys to other owned tables."""
    return [field for field in model._meta.local_fields if isinstance(field, TenantForeignKey)]
