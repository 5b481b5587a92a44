"""The live schema has a plan; what it changes first is carried out on a database, and the application runs on that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import sqlglot
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test import override_settings
from pytest_django.plugin import DjangoDbBlocker
from sqlglot import exp

from memory.models import Agent, LexPosting, Memory, MemoryVector, Owner, Purge, current_owner, owner_scope
from memory.models.purge import PurgeState
from memory.services.accounts import create_owner
from memory.services.actors import Actor, person
from memory.services.distribution.applying import carry_out
from memory.services.distribution.catalogue import Catalogue, read_catalogue
from memory.services.distribution.places import LOCAL, REFERENCE, Place
from memory.services.distribution.planning import Plan, make_plan
from memory.services.drafts import Draft
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import run_purge
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.spaces.filling import call_for_all
from runtime.postgres.cluster import Cluster
from tests.apps import ours
from tests.gatherers import written_when_asked
from tests.integration.leaks import test_walk, test_walls
from tests.integration.leaks.asking import send
from tests.integration.leaks.routes import TAKES_FILE
from tests.integration.leaks.world import World, make_world
from tests.integration.storage.databases import own_database
from tests.statements.capture import catching


@pytest.fixture(scope="module")
def live(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Catalogue:
    """Give the catalogue of the migrated database."""
    with django_db_blocker.unblock():
        found = read_catalogue("schema")
        connections["schema"].close()
    return found


@pytest.fixture(scope="module")
def planned(live: Catalogue) -> Plan:
    """Give its plan."""
    return make_plan(live)


def test_every_table_and_key_has_a_place(planned: Plan, live: Catalogue) -> None:
    assert planned.problems == ()
    places = {one.table: one for one in planned.tables}
    assert set(places) == set(live.tables)
    for model in ours():
        table = model._meta.db_table
        owned = any(field.column == "owner_id" for field in model._meta.local_fields)
        expected = Place.LOCAL if table in LOCAL else Place.DISTRIBUTED if owned else None
        assert expected in (None, places[table].place), table
    assert places["memory_owner"].column == "id"
    assert (set(REFERENCE) | set(LOCAL)) <= set(places), "placed, and not there any more"


def test_every_statement_can_be_read(planned: Plan) -> None:
    names = {one.table for one in planned.tables}
    spread = set()
    for step in planned.spread:
        for text in step.statements:
            [parsed] = sqlglot.parse(text, dialect="postgres")
            assert parsed is not None
            call = parsed.find(exp.Anonymous)
            if isinstance(parsed, exp.Select):
                assert call is not None, text
                assert call.name in ("create_distributed_table", "create_reference_table"), text
                spread.add(call.expressions[0].name)
            elif not text.endswith("FORCE ROW LEVEL SECURITY"):
                assert re.match(r"(ALTER DATABASE \"\w+\" )?SET citus\.\w+ = '\w+'$", text), text
    assert spread == {one.table for one in planned.tables if one.place in (Place.DISTRIBUTED, Place.REFERENCE)}
    assert spread < names


@dataclass(slots=True)
class Prepared:
    """A database that is prepared, and what the application role could do before and after."""

    before: dict[str, str]
    after: dict[str, str]
    former: Catalogue
    catalogue: Catalogue
    owner: Actor


def privileges() -> dict[str, str]:
    """Say what the application role may do with each table."""
    with connections["schema"].cursor() as cursor:
        cursor.execute(
            """SELECT c.relname, string_agg(p, ' ' ORDER BY p) FROM pg_class c,
                unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p
            WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
              AND has_table_privilege('loci_app', c.oid, p) GROUP BY 1"""
        )
        return dict(cursor.fetchall())


@pytest.fixture(scope="module")
def prepared(django_db_setup: None, cluster: Cluster, django_db_blocker: DjangoDbBlocker) -> Iterator[Prepared]:
    """Migrate a database, store something, and change all that must change before it can be spread."""
    with own_database(cluster, django_db_blocker, "spread"):
        call_command("migrate", verbosity=0, interactive=False)
        before = privileges()
        with written_when_asked():
            owner = person(create_owner(username="early", password="a kettle of tea for all").pk)
            remember(actor=owner, draft=Draft(text="The early kettle whistles."))
        former = read_catalogue("schema")
        carry_out(make_plan(former).prepare, using="schema")
        yield Prepared(before, privileges(), former, read_catalogue("schema"), owner)


def test_nothing_is_left_to_prepare(prepared: Prepared) -> None:
    again = make_plan(prepared.catalogue)
    assert [(step.table, step.subject) for step in again.prepare] == []
    assert again.problems == ()
    assert not any(table.is_partitioned for table in prepared.catalogue.tables.values())
    for one in again.tables:
        if one.place == Place.DISTRIBUTED:
            keys = [index for index in prepared.catalogue.tables[one.table].indexes if index.unique]
            assert keys, one.table
            assert all(one.column in index.columns for index in keys), one.table


def test_no_trigger_asks_for_what_an_owners_server_lacks(prepared: Prepared) -> None:
    """Those that note changes for Neo4j go, and no other; a function of another one would be named as a problem."""
    gone = {
        (table.name, trigger.function)
        for table in prepared.former.tables.values()
        for trigger in table.triggers
        if trigger not in prepared.catalogue.tables[table.name].triggers
    }
    assert {function for name, function in gone if name not in REFERENCE} == {"loci_note_graph_change"}
    assert {name for name, function in gone if function == "loci_note_graph_change"} >= {
        "memory_entity", "memory_relation", "memory_temporalevent", "memory_causallink"
    }  # fmt: skip
    sources = {one.name: one.source for one in prepared.catalogue.functions}
    for one in make_plan(prepared.catalogue).tables:
        for trigger in prepared.catalogue.tables[one.table].triggers if one.place == Place.DISTRIBUTED else ():
            assert not [name for name in LOCAL if name in sources[trigger.function]], trigger


def test_what_is_kept_is_as_it_was(prepared: Prepared) -> None:
    changed = {name for name in prepared.before if prepared.before[name] != prepared.after.get(name)}
    assert changed == {"memory_retiredauditevent", "memory_retiredauditseal"}
    for name, table in prepared.former.tables.items():
        now = prepared.catalogue.tables[name]
        assert now.columns == table.columns, name
        assert now.policies == table.policies, name
        assert now.has_row_security == table.has_row_security, name
        assert {one.name for one in table.indexes} <= {one.name for one in now.indexes}, name


def test_what_was_stored_before_is_still_found(prepared: Prepared) -> None:
    with written_when_asked():
        found = recall(actor=prepared.owner, request=RecallRequest(query="early kettle"))
    assert [hit.memory.text for hit in found.hits] == ["The early kettle whistles."]
    with owner_scope(prepared.owner.owner_id):
        assert (MemoryVector.objects.count(), LexPosting.objects.count()) == (1, 4)


@pytest.fixture
def world(prepared: Prepared) -> Iterator[World]:
    """Plant the world of the leak tests in the prepared database."""
    with written_when_asked(), transaction.atomic():
        yield make_world()
        transaction.set_rollback(True)


def test_every_endpoint_answers_on_the_prepared_schema(world: World) -> None:
    failed = []
    for route in test_walk.ROUTES:
        if route.id in TAKES_FILE:
            continue
        tried = [send(world.readers[name], route, world.rows["owner"]) for name in ("insider", "person")]
        if not any(200 <= answer.status < 300 for answer in tried):
            failed += [f"{answer.asked} -> {answer.status} {answer.content[:200]}" for answer in tried]
    assert failed == []


def test_the_walls_stand_on_the_prepared_schema(world: World) -> None:
    assert len(test_walls.owned_tables()) > 50
    test_walls.test_another_owner_sees_changes_and_deletes_nothing(world, "other")
    test_walls.test_no_row_can_be_written_for_another_owner(world)
    test_walls.test_a_reference_to_a_row_of_another_owner_is_refused(world)
    test_walls.test_without_an_owner_nothing_is_there(world)


def test_triggers_empty_what_referred_to_deleted_rows(world: World) -> None:
    """Several at once, of which some refer to each other, and what refers to an agent."""
    with owner_scope(world.owner.owner_id):
        kept, *gone = [
            remember(actor=world.owner, draft=Draft(text=f"Sentence number {number}.")).memory_id for number in range(4)
        ]
        Memory.objects.filter(pk__in=[kept, gone[1]]).update(reply_to_id=gone[0])
        assert Memory.objects.filter(pk__in=gone).delete()[0] == 3
        assert Memory.objects.get(pk=kept).reply_to_id is None
        agent = Agent(name="gone", name_hash=7)
        agent.save()
        Memory.objects.filter(pk=kept).update(agent_id=agent.pk)
        agent.delete()
        assert Memory.objects.get(pk=kept).agent_id is None


def test_an_owner_is_purged_from_the_prepared_schema(prepared: Prepared) -> None:
    """Last of those that use it: guards, triggers and the index of the whole table are gone through to the receipt."""
    with written_when_asked():
        made = begin_purge(actor=prepared.owner)
        run_purge(purge_id=made.purge.pk)
    purge = Purge.objects.get(pk=made.purge.pk)
    assert (purge.state, purge.error_code) == (PurgeState.DONE, "")
    assert purge.receipt is not None
    assert "not_rebuilt" not in str(purge.receipt)
    assert not Owner.objects.filter(pk=prepared.owner.owner_id).exists()


def told() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('loci.owner', true)")
        return str(cursor.fetchone()[0])


@override_settings(DATABASE_DISTRIBUTED=True)
def test_no_rows_of_several_servers_are_locked_together(prepared: Prepared) -> None:
    with written_when_asked(), catching({}) as caught:
        call_for_all()
    [statement] = [one for one in caught if "memory_duework" in one]
    assert "memory_owner" in statement
    assert "FOR KEY SHARE" not in statement


@override_settings(DATABASE_DISTRIBUTED=True)
def test_the_owner_is_told_so_that_it_travels(alice: Actor, mallory: Actor) -> None:
    stored = remember(actor=alice, draft=Draft(text="The kettle whistles."))
    with catching({}) as caught, owner_scope(alice.owner_id):
        assert Memory.objects.filter(pk=stored.memory_id).exists()
        with owner_scope(mallory.owner_id):
            assert told() == str(mallory.owner_id) == str(current_owner())
        assert told() == str(alice.owner_id)
    assert f"SET LOCAL loci.owner = '{alice.owner_id}'" in caught
    assert Owner.objects.filter(pk=alice.owner_id).exists()
