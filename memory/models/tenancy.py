"""Tenancy: every row belongs to one owner, every statement names that owner, and the database checks it again.

The first wall is here: managers that add the current owner to each query and refuse to run without one. The second
is row-level security in the database, which reads the setting that `owner_scope` makes for the transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Final, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import connections, models, transaction
from django.db.models.lookups import Exact
from django.db.models.sql.where import WhereNode

from memory.errors import OwnerPurging, OwnerRequired
from memory.ids import new_id
from memory.ports.reading import reading_place
from memory.ports.statement_limits import statement_limit_ms

OWNER_SETTING = "loci.owner"

_current: ContextVar[UUID | None] = ContextVar("loci_owner", default=None)
_pseudonym: ContextVar[UUID | None] = ContextVar("loci_pseudonym", default=None)


def current_owner() -> UUID:
    """Give the owner of the present scope; raises OwnerRequired outside `owner_scope`."""
    owner_id = _current.get()
    if owner_id is None:
        raise OwnerRequired
    return owner_id


def current_pseudonym() -> UUID:
    """Give the name of the audit of the present scope's owner; raises OwnerRequired where there is no such owner."""
    pseudonym = _pseudonym.get()
    if pseudonym is None:
        raise OwnerRequired
    return pseudonym


# One statement, since every scope pays for it. A scope that is gone back to keeps its limit.
TELL_SQL: Final = """
    SELECT set_config(%(setting)s, %(owner)s, true),
           set_config('statement_timeout', coalesce(%(limit)s, current_setting('statement_timeout')), true),
           o.purging_at IS NOT NULL, o.pseudonym
    FROM (VALUES (1)) one LEFT JOIN memory_owner o ON o.id = %(id)s
"""


def _tell_database(owner_id: UUID | None, using: str, *, limit: int | None = None) -> tuple[bool, UUID | None]:
    """Set the owner of the transaction and the limit of its statements; give whether it is being erased, and who."""
    values = {
        "setting": OWNER_SETTING,
        "owner": str(owner_id) if owner_id else "",
        "limit": None if limit is None else str(limit),
        "id": owner_id,
    }
    with connections[using].cursor() as cursor:
        if settings.DATABASE_DISTRIBUTED:
            # The function below stays on the coordinator; this goes along to the server that has the owner's rows.
            cursor.execute(f"SET LOCAL {OWNER_SETTING} = '{owner_id or ''}'")
        cursor.execute(TELL_SQL, values)
        _, _, is_purging, pseudonym = cursor.fetchone()
        return bool(is_purging), pseudonym


@contextmanager
def owner_scope(owner_id: UUID, *, using: str | None = None, purging: bool = False) -> Iterator[None]:
    """Run the block in a transaction (or savepoint) in which only this owner's rows exist.

    Scopes nest; leaving an inner one restores the outer owner. An error rolls the block back.

    Args:
        owner_id: whose rows.
        using: alias of the connection; the one that is read from here when left out.
        purging: whether the block belongs to a purge of this owner; all others are refused once one has begun.

    Raises:
        OwnerPurging: a purge of this owner has begun.
    """
    using = using or reading_place()
    outer, pseudonym = _current.get(), _pseudonym.get()
    nested = connections[using].in_atomic_block
    with transaction.atomic(using=using):
        if outer != owner_id or not nested:
            is_purging, pseudonym = _tell_database(owner_id, using, limit=statement_limit_ms())
            if is_purging and not purging:
                raise OwnerPurging
        token, named = _current.set(owner_id), _pseudonym.set(pseudonym)
        try:
            yield
        finally:
            _current.reset(token)
            _pseudonym.reset(named)
        # After an error the savepoint's rollback restores the setting; after success nobody else does.
        if nested and outer != owner_id:
            _tell_database(outer, using)


R = TypeVar("R", bound=Any)
M = TypeVar("M", bound=models.Model)


def claim(row: R) -> R:
    """Give a row to the current owner; raises OwnerRequired when it belongs to another one."""
    owner_id = current_owner()
    if row.owner_id is None:
        row.owner_id = owner_id
    elif row.owner_id != owner_id:
        raise OwnerRequired("A row of one owner was to be written in the scope of another.")
    return row


class TenantQuerySet(models.QuerySet[M]):
    """A queryset that is always limited to one owner and deletes in one statement."""

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the rows in one statement; the database's own foreign keys take care of what hangs on them."""
        count = self._raw_delete(self.db)
        return count, {self.model._meta.label: count}

    def bulk_create(self, objs: Iterable[M], *args: Any, **kwargs: Any) -> list[M]:
        """Insert several rows of the current owner."""
        rows = list(objs)
        for row in rows:
            claim(row)
        return super().bulk_create(rows, *args, **kwargs)


class TenantManager(models.Manager.from_queryset(TenantQuerySet)):  # type: ignore[misc]
    """The manager of every owned table; also the base manager, so that `save`, refreshes and look-ups go through it."""

    def get_queryset(self) -> TenantQuerySet[Any]:
        """Give the current owner's rows; raises OwnerRequired outside `owner_scope`."""
        queryset: TenantQuerySet[Any] = super().get_queryset().filter(owner_id=current_owner())
        return queryset


class OwnedRow(models.Model):
    """Base of owned tables; those without an id of their own have a key that begins with the owner."""

    owner = models.ForeignKey(
        "memory.Owner", on_delete=models.DO_NOTHING, related_name="+", editable=False, db_index=False
    )

    objects: ClassVar[TenantManager] = TenantManager()

    class Meta:
        abstract = True
        base_manager_name = "objects"

    owner_id: UUID

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert or update the row within the current owner's scope."""
        claim(self)
        super().save(*args, **kwargs)


class TenantModel(OwnedRow):
    """Base of every model whose rows belong to an owner and have an id.

    In the database the primary key is `(owner_id, id)`, foreign keys between owned tables are composite, and
    row-level security is forced; the migration operation `TenantTable` does that.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)

    class Meta(OwnedRow.Meta):
        abstract = True

    def delete(self, using: str | None = None, keep_parents: bool = False) -> tuple[int, dict[str, int]]:
        """Delete the row within the current owner's scope."""
        queryset = type(self)._base_manager.using(using) if using else type(self)._base_manager
        return queryset.filter(pk=self.pk).delete()


class TenantForeignKey(models.ForeignKey):  # type: ignore[type-arg]
    """A foreign key to another owned table, kept in the database as `(owner_id, <column>)`.

    Args:
        to: the owned model referred to.
        when_deleted: what the database does when that row goes: `CASCADE`, `SET NULL` or `NO ACTION`.
    """

    ACTIONS = frozenset({"CASCADE", "SET NULL", "NO ACTION"})

    def __init__(self, to: Any, *, when_deleted: str = "CASCADE", **kwargs: Any) -> None:
        """Build the field; see the class for the arguments."""
        if when_deleted not in self.ACTIONS:
            raise ValueError(f"when_deleted is one of {', '.join(sorted(self.ACTIONS))}")
        self.when_deleted = when_deleted
        kwargs["on_delete"] = models.DO_NOTHING
        kwargs["db_constraint"] = False
        kwargs.setdefault("related_name", "+")
        kwargs.setdefault("db_index", False)
        super().__init__(to, **kwargs)

    def get_extra_restriction(self, alias: str | None, related_alias: str | None) -> WhereNode:
        """Join by the owner too, so that a join of owned tables stays where the owner's rows are.

        Args:
            alias: of the table that is referred to.
            related_alias: of the table that refers.
        """
        theirs: Any = self.related_model._meta.get_field("owner")
        ours: Any = self.model._meta.get_field("owner")
        same: Any = Exact(theirs.get_col(alias), ours.get_col(related_alias))
        return WhereNode([same])

    def deconstruct(self) -> tuple[str, str, Any, dict[str, Any]]:
        """Describe the field for migrations."""
        name, path, args, kwargs = super().deconstruct()
        for implied in ("on_delete", "db_constraint"):
            kwargs.pop(implied, None)
        kwargs["when_deleted"] = self.when_deleted
        return name, path, args, kwargs
