"""An owner who has rows in every table that can have any, also in later ones; and all that is stored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.backends.db import SessionStore
from django.db import DatabaseError, connection, models, transaction
from django_q.tasks import async_task
from pgvector.django import HalfVectorField

from memory.ids import new_id
from memory.models import DueWork, Owner, Purge, Skill, User, owner_scope
from memory.models.encrypted import EncryptedField, EncryptedJSONField
from memory.services.actors import Actor
from memory.services.agents import create_group
from memory.services.audit.sealing import seal_next
from memory.services.clock import now
from memory.services.graph.laying_out import lay_out_owner
from memory.services.writing import call_for_work
from tests.integration.keys.filled import filled

ROUNDS = 5


def owned_models() -> list[type[models.Model]]:
    """List every model with an owner in each row, of all apps."""
    return [
        model
        for model in apps.get_models()
        if any(isinstance(field, models.ForeignKey) and field.related_model is Owner for field in model._meta.fields)
    ]


def fill_everything(owner: Actor, agent: Actor) -> dict[str, UUID]:
    """Store rows in every owned table, and traces in the tables that all owners share; gives the ids of `filled`."""
    ids = filled(owner, agent)
    create_group(actor=owner, kind="squad", name="Kitchen")
    seal_next(owner.owner_id, at=now())
    lay_out_owner(owner_id=owner.owner_id, at=now())
    with owner_scope(owner.owner_id):
        call_for_work(DueWork.VECTORS, due_at=now() + timedelta(days=1))
        _fill_the_rest(owner.owner_id)
        _add_skill(owner.owner_id, ids["private"])
        _fill_the_rest(owner.owner_id)
        missing = empty_models(owner.owner_id)
    assert not missing, f"rows have to be made by hand in: {missing}"
    leave_traces(owner)
    return ids


def empty_models(owner_id: UUID) -> list[str]:
    """List the owned models without a row; within the owner's scope."""
    return [model.__name__ for model in owned_models() if not model._default_manager.filter(owner_id=owner_id).exists()]


def leave_traces(owner: Actor) -> None:
    """Leave the owner's and the login's id in browsers' sessions, the queue, the admin's log and earlier purges."""
    user = User.objects.get(owner__pk=owner.owner_id)
    session = SessionStore()
    session.update({"_auth_user_id": str(user.pk)})
    session.save()
    session = SessionStore()
    session.update({"seen": str(owner.owner_id)})
    session.save()
    async_task("memory.tasks.run_due_work", str(owner.owner_id))
    async_task("memory.tasks.run_due_work", owner=owner.owner_id)
    LogEntry.objects.create(
        user=user,
        content_type=ContentType.objects.get_for_model(Owner),
        object_id=str(owner.owner_id),
        object_repr="somebody",
        action_flag=2,
    )
    Purge.objects.create(
        of_owner=owner.owner_id,
        pseudonym=new_id(),
        subject="memory",
        target={"memories": [str(owner.owner_id)]},
        requested_by="person",
        requested_at=now(),
        token_digest=new_id().bytes * 2,
    )


def everything_stored(owner_id: UUID) -> Iterator[str]:
    """Give every row of every table that can be seen in an owner's scope, as text."""
    with owner_scope(owner_id, purging=True), connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
            " AND relnamespace = 'public'::regnamespace"
        )
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            yield from (f"{table}: {row[0]}" for row in cursor.fetchall())


def rows_of(owner: Actor) -> dict[str, list[str]]:
    """Give all rows of an owner by table, as text, in order."""
    found = {}
    with owner_scope(owner.owner_id), connection.cursor() as cursor:
        for model in owned_models():
            table = model._meta.db_table
            cursor.execute(f'SELECT t::text FROM "{table}" t WHERE owner_id = %s ORDER BY 1', [owner.owner_id])
            found[table] = [row[0] for row in cursor.fetchall()]
    return found


def _fill_the_rest(owner_id: UUID) -> None:
    """Make a row in every owned table that is still empty; those that refer to others come after them."""
    for _ in range(ROUNDS):
        for model in owned_models():
            if not model._default_manager.filter(owner_id=owner_id).exists():
                values = made_up_values(model, owner_id)
                if values is not None:
                    model(owner_id=owner_id, **values).save(force_insert=True)


def _add_skill(owner_id: UUID, memory_id: UUID) -> None:
    """Make a second skill, which the first may need."""
    values = {**(made_up_values(Skill, owner_id) or {}), "memory_id": memory_id, "name_hash": 2}
    Skill(owner_id=owner_id, **values).save(force_insert=True)


def one_more(model: type[models.Model], owner_id: UUID, number: int, texts: list[str] | None = None) -> Any:
    """Make a further row of a model, other than those before in what may be there once only; None where none can be.

    Within the owner's scope.

    Args:
        model: of which.
        owner_id: whose.
        number: another for each row.
        texts: what its encrypted columns hold, a list all of them and a text the first.
    """
    values = made_up_values(model, owner_id)
    if values is None:
        return None
    for field in model._meta.local_concrete_fields:
        if field.attname in values and field.name in _told_apart_by(model):
            values[field.attname] = _another(field, owner_id, number, values[field.attname])
        if texts and isinstance(field, EncryptedField):
            values[field.attname] = texts if isinstance(field, EncryptedJSONField) else texts[0]
    if any(field.name == "owner" for field in model._meta.local_fields):
        values["owner_id"] = owner_id
    try:
        with transaction.atomic():
            row = model(**values)
            row.save(force_insert=True)
    except DatabaseError:
        return None
    return row


def _told_apart_by(model: type[models.Model]) -> set[str]:
    unique = [one.fields for one in model._meta.constraints if isinstance(one, models.UniqueConstraint)]
    single = [(field.name,) for field in model._meta.local_fields if field.unique]
    return {name for names in (*unique, *single) for name in names}


def _another(field: models.Field, owner_id: UUID, number: int, value: Any) -> Any:  # type: ignore[type-arg]
    if isinstance(field, models.ForeignKey):
        target = field.related_model._default_manager
        rows = target.filter(owner_id=owner_id) if field.related_model in owned_models() else target
        keys = list(rows.order_by("pk").values_list("pk", flat=True)[: number + 1])
        return keys[-1]
    if isinstance(value, bool) or field.choices:
        return value
    if isinstance(value, int):
        return value + 1_000 + number
    made: tuple[tuple[type[Any], Any], ...] = (
        (UUID, new_id()),
        (bytes, number.to_bytes(2) * 16),
        (str, f"made up {number}"),
        (datetime, now() + timedelta(days=2 + number)),
    )
    return next((other for kind, other in made if isinstance(value, kind)), value)


def made_up_values(model: type[models.Model], owner_id: UUID) -> dict[str, Any] | None:
    """Make up values of a row; None where it refers to a table that is still empty."""
    values: dict[str, Any] = {}
    used: list[Any] = []
    for field in model._meta.local_concrete_fields:
        if isinstance(field, models.CompositePrimaryKey) or field.name in ("id", "owner") or field.null:
            continue
        if isinstance(field, models.ForeignKey):
            target = field.related_model._default_manager
            rows = target.filter(owner_id=owner_id).order_by("pk") if field.related_model in owned_models() else target
            row = next((one for one in rows.values_list("pk", flat=True) if one not in used), None)
            if row is None:
                return None
            used.append(row)
            values[field.attname] = row
        elif not field.has_default() and not getattr(field, "auto_now_add", False):
            values[field.attname] = _value(field)
    return values


def _value(field: models.Field) -> Any:  # type: ignore[type-arg]
    if field.choices:
        return next(iter(field.flatchoices))[0]
    made: tuple[tuple[type[models.Field], Any], ...] = (  # type: ignore[type-arg]
        (EncryptedJSONField, ["made up"]),
        (EncryptedField, "made up"),
        (models.UUIDField, new_id()),
        (models.DateTimeField, now() + timedelta(days=1)),
        (models.BinaryField, b"\x07" * 32),
        (models.BooleanField, True),
        (models.FloatField, 0.5),
        (HalfVectorField, [0.6, 0.8]),
        (models.DecimalField, Decimal(1)),
        # Behind what a sequence gives to the rows that come later.
        (models.BigIntegerField, 2**40),
        (models.IntegerField, 1),
        (models.JSONField, {}),
        (models.TextField, "x"),
        (models.CharField, "x"),
    )
    # Of another sort it is left out, which the table refuses.
    return next((value for kind, value in made if isinstance(field, kind)), None)
