"""Both walls round owners' rows: in the managers and, without any help from them, in the database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, IntegrityError, connection, models
from django.test.utils import CaptureQueriesContext

from memory.errors import OwnerRequired
from memory.ids import new_id
from memory.models import Agent, LexPosting, Memory, MemoryLabel, MemoryVersion, current_owner, owner_scope
from memory.models.tenancy import TenantManager
from memory.services.actors import Actor, person
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.remember import remember
from tests.apps import ours

# Tables with an owner_id that stand outside row-level security, each with the reason.
OUTSIDE = {
    "memory_duework": "ids and times only; workers read it to find whose work is due",
    "memory_graphprojection": "ids, counts and times only; health and metrics read whose projection is behind",
    "memory_spacefill": "ids, counts and times only; health and operators see how far the whole is",
}
# Unique indexes that do not begin with the owner, each with the reason.
OTHER_UNIQUE = {"agent_key_digest_once": "found by a digest of 256 random bits before the owner is known"}


def owned_models() -> list[type[models.Model]]:
    return [
        model
        for model in ours()
        if any(field.column == "owner_id" for field in model._meta.local_fields) and model._meta.db_table not in OUTSIDE
    ]


def rows(sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, list(parameters))
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


@pytest.mark.django_db
def test_the_application_role_is_under_row_level_security() -> None:
    assert rows("SELECT current_user, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user") == [
        ("loci_app", False, False)
    ]


@pytest.mark.django_db
def test_every_table_with_an_owner_forces_row_level_security() -> None:
    tables = rows(
        """SELECT c.relname, c.relrowsecurity, c.relforcerowsecurity,
                  EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'only_the_owner')
           FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'owner_id' AND NOT a.attisdropped
           WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace"""
    )
    assert {model._meta.db_table for model in owned_models()} <= {name for name, *_ in tables}
    assert len(tables) > 50, "the partitions are tables too"
    unguarded = {name for name, *walls in tables if not all(walls)} - set(OUTSIDE)
    assert unguarded == set(), "tables that leak"


@pytest.mark.django_db
def test_every_owned_table_is_keyed_and_referenced_with_its_owner() -> None:
    owned = {model._meta.db_table for model in owned_models()}
    keys = rows(
        """SELECT c.conrelid::regclass::text, c.confrelid::regclass::text, c.contype::text,
                  (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY k (n, place)
                   JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.n)
           FROM pg_constraint c WHERE c.contype IN ('p', 'f') AND c.conparentid = 0"""
    )
    primary = {table: columns for table, _, kind, columns in keys if kind == "p"}
    assert {table: primary[table][0] for table in owned} == dict.fromkeys(owned, "owner_id")
    simple = [
        (table, target, columns)
        for table, target, kind, columns in keys
        if kind == "f" and table in owned and target in owned and columns[0] != "owner_id"
    ]
    assert simple == [], "foreign keys between owned tables that forget the owner"
    declared = {
        (model._meta.db_table, field.column)
        for model in owned_models()
        for field in model._meta.local_fields
        if isinstance(field, models.ForeignKey) and field.related_model._meta.db_table in owned
    }
    kept = {(table, columns[1]) for table, _, kind, columns in keys if kind == "f" and len(columns) == 2}
    assert declared <= kept, "references that the database does not check"


@pytest.mark.django_db
def test_every_unique_index_begins_with_the_owner() -> None:
    owned = {model._meta.db_table for model in owned_models()}
    found = rows(
        """SELECT i.indexrelid::regclass::text, i.indrelid::regclass::text, a.attname
           FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
           WHERE i.indisunique"""
    )
    others = {name for name, table, column in found if table in owned and column != "owner_id"}
    assert others == set(OTHER_UNIQUE)


@pytest.mark.parametrize("model", owned_models(), ids=lambda model: model.__name__)
def test_a_query_without_an_owner_raises(model: type[models.Model]) -> None:
    assert isinstance(model._default_manager, TenantManager)
    assert isinstance(model._base_manager, TenantManager)
    with pytest.raises(OwnerRequired):
        model._default_manager.all()
    with pytest.raises(OwnerRequired):
        model._base_manager.all()


def test_the_orm_names_the_owner_in_every_statement(alice: Actor) -> None:
    stored = remember(actor=alice, draft=Draft(text="The kettle whistles."))
    with (
        owner_scope(alice.owner_id),
        CaptureQueriesContext(
            connection,
        ) as captured,
    ):
        row = Memory.objects.get(pk=stored.memory_id)
        row.importance = 0.9
        row.save()
        row.refresh_from_db()
        version = MemoryVersion(
            memory_id=row.pk,
            scope=row.scope,
            number=1,
            text="x",
            changes={},
            actor="person",
            reason="changed",
            created_at=now(),
        )
        version.save()
        assert version.memory.pk == row.pk
        assert Memory.objects.filter(pk=row.pk).update(salience=0.3) == 1
        assert Memory.objects.filter(pk=row.pk).exists()
        version.delete()
        MemoryLabel.objects.filter(memory_id=row.pk).delete()
    statements = [query["sql"] for query in captured if "memory_" in query["sql"]]
    assert len(statements) >= 8
    assert [sql for sql in statements if "owner_id" not in sql] == []


def test_rows_of_another_owner_do_not_exist(alice: Actor, mallory: Actor) -> None:
    stored = remember(actor=alice, draft=Draft(text="The kettle whistles."))
    with owner_scope(mallory.owner_id):
        assert not Memory.objects.filter(pk=stored.memory_id).exists()
        for table in ("memory_memory", "memory_lexposting", "memory_memoryvector", "memory_lexposting_03"):
            assert rows(f"SELECT count(*) FROM {table}") == [(0,)], table
        assert rows("UPDATE memory_memory SET importance = 0 RETURNING id") == []
        assert rows("DELETE FROM memory_memorysource RETURNING id") == []
    with owner_scope(alice.owner_id):
        assert rows("SELECT count(*) FROM memory_memory") == [(1,)]


def test_without_a_scope_the_database_shows_nothing(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="The kettle whistles."))
    assert rows("SELECT count(*) FROM memory_memory") == [(0,)]


def test_rows_cannot_be_written_for_another_owner(alice: Actor, mallory: Actor) -> None:
    with pytest.raises(DatabaseError, match="row-level security"), owner_scope(mallory.owner_id):
        rows("INSERT INTO memory_lexstats (owner_id, n, total) VALUES (%s, 1, 1) RETURNING owner_id", alice.owner_id)
    with pytest.raises(OwnerRequired), owner_scope(mallory.owner_id):
        Agent(owner_id=alice.owner_id, name="spy", name_hash=1).save()


def test_rows_cannot_refer_to_another_owner(alice: Actor, mallory: Actor) -> None:
    stored = remember(actor=alice, draft=Draft(text="The kettle whistles."))
    with pytest.raises(IntegrityError), owner_scope(mallory.owner_id):
        MemoryLabel(memory_id=stored.memory_id, kind=1, label=1).save()
    with pytest.raises(IntegrityError), owner_scope(mallory.owner_id):
        LexPosting(
            memory_id=stored.memory_id, term=1, tf=1, highest_tf=1, length=1, scope=mallory.owner_id, live=True
        ).save(force_insert=True)


def test_scopes_nest_and_restore(alice: Actor, mallory: Actor) -> None:
    def told() -> str:
        return str(rows("SELECT current_setting('loci.owner', true)")[0][0])

    with owner_scope(alice.owner_id):
        with owner_scope(mallory.owner_id):
            assert (current_owner(), told()) == (mallory.owner_id, str(mallory.owner_id))
        assert (current_owner(), told()) == (alice.owner_id, str(alice.owner_id))
        with pytest.raises(ZeroDivisionError), owner_scope(mallory.owner_id):
            raise ZeroDivisionError
        assert (current_owner(), told()) == (alice.owner_id, str(alice.owner_id))
    with pytest.raises(OwnerRequired):
        current_owner()
    assert told() == ""


@pytest.mark.django_db(transaction=True)
def test_the_owner_ends_with_the_transaction(make_owner: Callable[..., Actor]) -> None:
    owner = make_owner("alice")
    with owner_scope(owner.owner_id):
        assert rows("SELECT current_setting('loci.owner', true)") == [(str(owner.owner_id),)]
    assert rows("SELECT current_setting('loci.owner', true)") in ([("",)], [(None,)])
    assert rows("SELECT count(*) FROM memory_memory") == [(0,)]


@pytest.mark.django_db
def test_an_unknown_owner_has_nothing() -> None:
    with owner_scope(uuid4()):
        assert Memory.objects.count() == 0
    assert person(new_id()).readable is None
