"""Judges operations of Django's migrations by the models before and after them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.postgres import operations as postgres
from django.db import connection, migrations, models
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import NOT_PROVIDED
from django.db.models.expressions import Value

from memory.management.upgrades.finding import Finding
from memory.management.upgrades.statements import judge
from memory.models.tenant_tables import TenantTable

_LATER = "Leave it until the release after the next: first stop using it, then take it out of the state alone."
_DECLARE = "Say in the migration's `overlap` why processes of the last release survive it."
_CONCURRENTLY = "Use AddIndexConcurrently in a migration that is not atomic."
_NOT_VALID = "Use AddConstraintNotValid, and ValidateConstraint in a later migration."
_USED = "processes of the last release still use it"


@dataclass(slots=True)
class Step:
    """An operation within its migration.

    Attributes:
        app: label of the migration's app.
        before, after: the models on both sides of it.
        new: tables that the last release does not know, added to by whoever creates one.
    """

    operation: Any
    app: str
    before: ProjectState
    after: ProjectState
    new: set[str]

    def model(self, name: str, state: ProjectState | None = None) -> Any:
        """Give a model of the app as it was before, or in another state."""
        return (state or self.before).apps.get_model(self.app, name)

    def is_new(self, name: str) -> bool:
        """Tell whether the last release does not know a model's table."""
        return self.model(name)._meta.db_table in self.new

    def named(self, *subject: str) -> str:
        """Give the key of a finding."""
        return f"{type(self.operation).__name__} {'.'.join(subject)}"


def judge_operation(step: Step) -> Iterator[Finding]:
    """Tell what an operation does to processes of the last release; nothing for what they do not notice."""
    operation = step.operation
    if isinstance(operation, HARMLESS):
        return
    for kind, judged in JUDGES:
        if isinstance(operation, kind):
            yield from judged(step)
            return
    yield Finding(type(operation).__name__, "it is not known what this does", _DECLARE)


def _create_model(step: Step) -> Iterator[Finding]:
    model = step.model(step.operation.name, step.after)
    step.new.add(model._meta.db_table)
    step.new.update(field.m2m_db_table() for field in model._meta.local_many_to_many)
    yield from ()


def _model_goes(step: Step) -> Iterator[Finding]:
    name = getattr(step.operation, "old_name", None) or step.operation.name
    if not step.is_new(name):
        yield Finding(step.named(name), _USED, _LATER)
    elif not isinstance(step.operation, migrations.DeleteModel):
        later = getattr(step.operation, "new_name", name)
        step.new.add(step.model(later, step.after)._meta.db_table)


def _field_goes(step: Step) -> Iterator[Finding]:
    name = getattr(step.operation, "old_name", None) or step.operation.name
    if not step.is_new(step.operation.model_name):
        yield Finding(step.named(_class(step), name), _USED, _LATER)


def _class(step: Step) -> str:
    return str(step.model(step.operation.model_name)._meta.object_name)


def _add_field(step: Step) -> Iterator[Finding]:
    if step.is_new(step.operation.model_name):
        return
    model = step.model(step.operation.model_name, step.after)
    field = model._meta.get_field(step.operation.name)
    key = step.named(_class(step), step.operation.name)
    if field.many_to_many:
        step.new.add(field.m2m_db_table())
        return
    if not field.null and field.db_default is NOT_PROVIDED:
        yield Finding(key, "processes of the last release write rows without it", "Give it null=True or a db_default.")
    elif field.unique or field.db_index:
        yield Finding(key, "nothing can be written while its index is built", _CONCURRENTLY)
    elif getattr(field, "db_constraint", False) and field.remote_field is not None:
        yield Finding(key, "its foreign key is checked while both tables are locked", _NOT_VALID)
    elif not _is_constant(field.db_default):
        yield Finding(key, "a default that is computed for each row rewrites the table", _DECLARE)


def _is_constant(default: Any) -> bool:
    return default is NOT_PROVIDED or isinstance(default, Value) or not hasattr(default, "resolve_expression")


_VARCHAR = re.compile(r"varchar(?:\((\d+)\))?$")


def widens(before: str, after: str) -> bool:
    """Tell whether a column's type can hold all it could and changes without rewriting rows."""
    if before == after:
        return True
    former, later = _VARCHAR.match(before), _VARCHAR.match(after)
    if former is None or (later is None and after != "text"):
        return False
    if later is None or later[1] is None:
        return True
    return former[1] is not None and int(later[1]) >= int(former[1])


def _alter_field(step: Step) -> Iterator[Finding]:
    if step.is_new(step.operation.model_name):
        return
    name = step.operation.name
    before = step.model(step.operation.model_name)._meta.get_field(name)
    after = step.model(step.operation.model_name, step.after)._meta.get_field(name)
    key = step.named(_class(step), name)
    if before.column != after.column:
        yield Finding(key, _USED, _LATER)
    if not widens(str(before.db_type(connection)), str(after.db_type(connection))):
        why = "the type is narrowed or all rows are rewritten"
        yield Finding(key, why, "Add a column beside it, fill it, and change over within two releases.")
    if before.null and not after.null:
        yield Finding(key, "rows of processes of the last release may be empty there", _NOT_VALID)
    if after.null and not before.null:
        yield Finding(key, "processes of the last release read rows that are empty there", _DECLARE)
    if before.db_default is not NOT_PROVIDED and after.db_default is NOT_PROVIDED:
        yield Finding(key, "processes of the last release write rows without it", "Keep the database's default.")
    if (after.unique and not before.unique) or (after.db_index and not before.db_index):
        yield Finding(key, "nothing can be written while its index is built", _CONCURRENTLY)


def _add_index(step: Step) -> Iterator[Finding]:
    if not step.is_new(step.operation.model_name):
        key = step.named(_class(step), step.operation.index.name)
        yield Finding(key, "nothing can be written while it is built", _CONCURRENTLY)


def _add_constraint(step: Step) -> Iterator[Finding]:
    if not step.is_new(step.operation.model_name):
        key = step.named(_class(step), step.operation.constraint.name)
        is_check = isinstance(step.operation.constraint, models.CheckConstraint)
        yield Finding(key, "all rows are read while nobody can write", _NOT_VALID if is_check else _DECLARE)


def _remove_constraint(step: Step) -> Iterator[Finding]:
    """A check may go; upserts of the last release name the keys that they rely on."""
    if step.is_new(step.operation.model_name):
        return
    options = step.before.models[step.app, step.operation.model_name_lower].options
    constraint = next(one for one in options["constraints"] if one.name == step.operation.name)
    if not isinstance(constraint, models.CheckConstraint):
        yield Finding(step.named(_class(step), step.operation.name), _USED, _LATER)


def _together(step: Step) -> Iterator[Finding]:
    if not step.is_new(step.operation.name):
        yield Finding(step.named(step.operation.name), "nothing can be written while keys are built", _DECLARE)


def _raise_wall(step: Step) -> Iterator[Finding]:
    model = step.model(step.operation.model_name, step.after)
    if model._meta.db_table not in step.new:
        yield Finding(step.named(model._meta.object_name), "the primary key is built anew behind a lock", _DECLARE)


def _run_sql(step: Step) -> Iterator[Finding]:
    sql = step.operation.sql
    for one in [sql] if isinstance(sql, str) else sql:
        yield from judge(one if isinstance(one, str) else one[0], step.new)


def _run_python(step: Step) -> Iterator[Finding]:
    why = "rows are changed under processes of the last release, which go on writing theirs"
    yield Finding(step.named(step.operation.code.__name__), why, _DECLARE)


def _separate(step: Step) -> Iterator[Finding]:
    """Judge what is done to the database; what is only said of the models changes nothing there."""
    state = step.before.clone()
    for operation in step.operation.database_operations:
        before = state.clone()
        operation.state_forwards(step.app, state)
        yield from judge_operation(Step(operation, step.app, before, state, step.new))


HARMLESS: Final[tuple[type[Operation], ...]] = (
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
    migrations.AlterModelTableComment,
    migrations.RenameIndex,
    migrations.RemoveIndex,
    postgres.AddIndexConcurrently,
    postgres.RemoveIndexConcurrently,
    postgres.AddConstraintNotValid,
    postgres.ValidateConstraint,
)
# The first that fits: those of PostgreSQL derive from Django's own and stand above.
JUDGES: Final[tuple[tuple[type[Operation], Callable[[Step], Iterator[Finding]]], ...]] = (
    (migrations.CreateModel, _create_model),
    (migrations.DeleteModel, _model_goes),
    (migrations.RenameModel, _model_goes),
    (migrations.AlterModelTable, _model_goes),
    (migrations.AddField, _add_field),
    (migrations.RemoveField, _field_goes),
    (migrations.RenameField, _field_goes),
    (migrations.AlterField, _alter_field),
    (migrations.AddIndex, _add_index),
    (migrations.AddConstraint, _add_constraint),
    (migrations.RemoveConstraint, _remove_constraint),
    (migrations.AlterUniqueTogether, _together),
    (migrations.AlterIndexTogether, _together),
    (migrations.AlterOrderWithRespectTo, _together),
    (migrations.RunSQL, _run_sql),
    (migrations.RunPython, _run_python),
    (migrations.SeparateDatabaseAndState, _separate),
    (TenantTable, _raise_wall),
)
