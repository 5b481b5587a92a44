"""Every statement of every route, page, job and socket names the owner for each table of owners that it touches.

Row-level security would still keep owners apart without it, but where owners are spread over servers a statement
without an owner is asked of all of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from django.db import connection
from django.utils.module_loading import import_string
from pytest_django.plugin import DjangoDbBlocker

from memory.live.sorts import SORTS
from memory.models import User
from memory.services.actors import Actor
from memory.services.jobs import plans
from tests.gatherers import written_when_asked
from tests.integration.leaks import test_admin, test_pages, test_scraped, test_walk
from tests.integration.leaks.asking import send
from tests.integration.leaks.world import World, make_world, undone
from tests.live_server import as_person, place
from tests.statements.capture import Caught, catching
from tests.statements.reader import Unreadable, findings

__all__ = ["place"]


@dataclass(frozen=True, slots=True)
class Exempt:
    """Statements that name no owner for a table, found by a part of their text, and why that must be so."""

    table: str
    part: str
    reason: str


WORK = "workers look for whose work is due; the table stands outside row-level security for that"
EXEMPT = (
    Exempt(
        "memory_auditevent",
        "IF EXISTS (SELECT FROM memory_auditevent WHERE owner_id = one AND sealed_in IS NULL)",
        "goes from owner to owner within the database, and each look names the owner",
    ),
    Exempt("memory_duework", "UPDATE memory_duework SET due_at", WORK),
    Exempt("memory_duework", 'SELECT %s AS "a" FROM "memory_duework" WHERE ("memory_duework"."due_at" <= %s', WORK),
    Exempt("memory_duework", '"memory_owner"."id" IN (SELECT U0."owner_id"', "finds owners of whom nothing is noted"),
    Exempt("memory_duework", "SELECT count(*) FROM memory_duework WHERE job = %(vectors)s", "health of all work"),
    Exempt("memory_spacefill", "SELECT count(*) FROM memory_duework WHERE job = %(vectors)s", "health of all work"),
    Exempt("memory_duework", 'COUNT("memory_duework"."id") AS "owners"', "health of all work"),
    Exempt("memory_graphprojection", "count(*) FILTER (WHERE failures > 0)", "health of all projections, in counts"),
    Exempt("memory_duework", "extract(epoch FROM now() - min(due_at)) FROM memory_duework", "the metric of all work"),
)


class Walk:
    """What is being asked for at the moment, and all that was sent so far."""

    def __init__(self) -> None:
        self.caught: Caught = {}
        self.step = ""

    def at(self) -> str:
        return self.step


@pytest.fixture(scope="module")
def walk(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Walk:
    """Make the planted world and ask for everything once, with all statements caught."""
    made = Walk()
    with written_when_asked(), django_db_blocker.unblock(), catching(made.caught, made.at):
        made.step = "planting"
        with undone():
            world = make_world()
            for part in (endpoints, pages, admin, metrics, jobs):
                part(world, made)
    return made


def endpoints(world: World, made: Walk) -> None:
    """Ask for every action, as a person and as an agent, with baits."""
    for name in ("person", "insider"):
        for route in test_walk.ROUTES:
            made.step = f"{name}: {route.id}"
            reader, rows = world.readers[name], world.rows["owner"]
            send(reader, route, rows)
            for body in test_walk.BAITS.get(route.id, ()):
                send(reader, route, rows, body=body)
            for query in test_walk.LOOKS.get(route.id, ()):
                send(reader, route, rows, query=query)


def pages(world: World, made: Walk) -> None:
    """Ask for every page of the palace in every way."""
    for name in test_pages.PAGES:
        made.step = f"page {name}"
        test_pages.visits(world.readers["person"], name, world.rows["owner"])


def admin(world: World, made: Walk) -> None:
    """Ask for every page of the admin as staff."""
    User.objects.filter(username="first").update(is_staff=True, is_superuser=True)
    made.step = "admin"
    for method, path, _ in test_admin.visits(world.readers["person"], world.rows["owner"]):
        made.step = f"admin {method} {path}"
    User.objects.filter(username="first").update(is_staff=False, is_superuser=False)


def metrics(world: World, made: Walk) -> None:
    """Have the metrics read."""
    made.step = "metrics"
    test_scraped.visits(world.readers["anonymous"], test_scraped.TOKEN)


def jobs(world: World, made: Walk) -> None:
    """Run everything that runs again and again."""
    for plan in plans():
        made.step = plan.name
        with undone():
            import_string(plan.task)()


def owned_tables() -> frozenset[str]:
    """List every table and partition with an owner's id."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.relname FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'owner_id' AND NOT a.attisdropped
            WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace"""
        )
        return frozenset(name for (name,) in cursor.fetchall())


@dataclass(slots=True)
class Told:
    """What is wrong with the statements of a walk, and which exemptions were needed."""

    wrong: list[str]
    needed: set[Exempt]


def judge(caught: Caught, owned: frozenset[str]) -> Told:
    """Look at each statement; several that differ in numbers of parameters alone are told once."""
    told = Told([], set())
    seen = set()
    for sql, step in caught.items():
        plain = re.sub(r"\s+", " ", sql)
        shape = re.sub(r"(?:%s, )+%s", "%s", plain)
        if shape in seen:
            continue
        seen.add(shape)
        try:
            found = findings(sql, owned)
        except Unreadable as error:
            told.wrong.append(f"{step}: cannot be read: {error}")
            continue
        for one in found:
            exempt = next((e for e in EXEMPT if e.table == one.table and e.part in plain), None)
            if exempt is None:
                told.wrong.append(f"{step}: {one}\n    {plain[:2000]}")
            else:
                told.needed.add(exempt)
    return told


def test_every_statement_names_the_owner(walk: Walk, django_db_blocker: DjangoDbBlocker) -> None:
    with django_db_blocker.unblock():
        owned = owned_tables()
    assert len(owned) > 70, "the partitions too"
    touching = [sql for sql in walk.caught if any(name in sql for name in owned)]
    assert len(touching) > 1_000, "the walk has asked for things"
    told = judge(walk.caught, owned)
    assert told.wrong == [], "\n".join(told.wrong)
    assert [e.part for e in EXEMPT if e not in told.needed] == [], "exempt without need"


def test_the_walk_catches_what_does_not_go_through_django(walk: Walk) -> None:
    """The driver's own connections and its COPY, beside what the ORM and raw cursors send."""
    assert any(sql.lstrip().startswith("COPY (") for sql in walk.caught)
    assert any("percentile" in sql or "pg_stat" in sql or "min(due_at)" in sql for sql in walk.caught)
    assert any(sql.startswith('SELECT "memory_') for sql in walk.caught)


def test_a_forgotten_owner_would_be_told(walk: Walk, django_db_blocker: DjangoDbBlocker) -> None:
    with django_db_blocker.unblock():
        owned = owned_tables()
    told = judge({"SELECT text FROM memory_memory WHERE id = %s": "somewhere"}, owned)
    assert len(told.wrong) == 1
    assert told.wrong[0].startswith("somewhere: memory_memory: ")


@pytest.mark.django_db(transaction=True)
def test_sockets_name_the_owner(place: str, alice: Actor, django_db_blocker: DjangoDbBlocker) -> None:
    caught: Caught = {}
    with catching(caught), as_person(place, alice) as opened:
        assert opened.watch(*sorted(SORTS))
    owned = owned_tables()
    assert any("memory_owner" in sql for sql in caught), "the server's threads were heard"
    assert judge(caught, owned).wrong == []
