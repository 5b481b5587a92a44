"""Caches, kept answers, jobs and commands: what was done for one reader or owner reaches no other."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command, get_commands, load_command_class
from django.db import connection

from memory.models import Memory, RunTrigger, owner_scope
from memory.recall.vocabulary import vocabularies
from memory.services.actors import person
from memory.services.clock import now
from memory.services.consolidation.groups import Group
from memory.services.consolidation.runner import run_consolidation
from memory.services.due_work import JOBS
from memory.services.keys.rotation import begin_rotation
from memory.services.suggestions import completed, completions, corrected
from tests.apps import APPS, ours
from tests.integration.leaks.asking import Answer, answer_of, leaks, send
from tests.integration.leaks.routes import Route, routes
from tests.integration.leaks.world import LURE, MARKS, SCOPES, STEM, World, undone

ROUTES = {route.id: route for route in routes()}


def checksums(owner_id: UUID) -> dict[str, str]:
    """Give a checksum of every row of an owner, by table, as the database shows them."""
    found = {}
    with owner_scope(owner_id, purging=True), connection.cursor() as cursor:
        for model in ours():
            table = model._meta.db_table
            if any(field.column == "owner_id" for field in model._meta.local_fields):
                cursor.execute(
                    f"SELECT md5(coalesce(string_agg(md5(t::text), '' ORDER BY md5(t::text)), '')) FROM \"{table}\" t "
                    "WHERE owner_id = %s",
                    [owner_id],
                )
                found[table] = cursor.fetchone()[0]
    return found


@pytest.fixture
def untouched(world: World) -> Iterator[None]:
    """Check that no row of the first owner differs after the test, and undo what it did."""
    with undone():
        before = checksums(world.owner.owner_id)
        assert len(before) > 35
        yield
        assert checksums(world.owner.owner_id) == before


def test_checksums_see_a_change(world: World) -> None:
    with undone():
        before = checksums(world.owner.owner_id)
        with owner_scope(world.owner.owner_id):
            Memory.objects.filter(pk=world.rows["agent"]["memory"]).update(importance=0.123)
        after = checksums(world.owner.owner_id)
        assert {table for table in before if before[table] != after[table]} == {"memory_memory"}


@pytest.mark.parametrize("job", sorted(JOBS))
def test_a_job_for_one_owner_leaves_the_other_alone(world: World, untouched: None, job: str) -> None:
    JOBS[job](owner_id=world.other.owner_id, at=now())


def test_consolidation_of_one_owner_leaves_the_other_alone(world: World, untouched: None) -> None:
    before = checksums(world.other.owner_id)
    run_consolidation(owner_id=world.other.owner_id, groups=list(Group), trigger=RunTrigger.HAND)
    assert checksums(world.other.owner_id) != before


def test_a_rotation_of_one_owner_leaves_the_other_alone(world: World, untouched: None) -> None:
    begin_rotation(owner_id=world.other.owner_id)
    count, _ = JOBS["rekey"](owner_id=world.other.owner_id, at=now())
    assert count > 20


# How each action of a command that takes an owner is called; what it prints must be the named owner's.
CALLS: dict[tuple[str, str], list[str]] = {
    ("agent", "list"): [],
    ("agent", "create"): ["{new}"],
    ("agent", "key"): ["{agent}"],
    ("agent", "pause"): ["{agent}"],
    ("agent", "resume"): ["{agent}"],
    ("agent", "revoke"): ["{agent}", "{key}"],
    ("agent", "capability"): ["{agent}"],
    ("agent", "trust"): ["{agent}", "0.5"],
    ("audit", "show"): [],
    ("audit", "verify"): [],
    ("outbound", ""): [],
    ("purge", "preview"): [],
    ("purge", "run"): [],
    ("memory", "archive"): ["/nonexistent/loci"],
    ("memory", "archive-import"): ["/nonexistent/loci"],
    ("memory", "snapshot"): ["/nonexistent/loci"],
    ("memory", "snapshot-restore"): ["/nonexistent/loci"],
    ("consolidation", "status"): [],
    ("consolidation", "run"): [],
    ("consolidation", "enable"): [],
    ("consolidation", "disable"): [],
    ("graph", "forget"): [],
    ("graph", "moved"): [],
    ("graph", "project"): [],
    ("graph", "rebuild"): [],
    ("graph", "status"): [],
    ("graph", "verify"): [],
    ("keys", "status"): [],
    ("keys", "rotate"): [],
    ("keys", "verify"): ["--all"],
    ("memory", "purge"): ["--expired"],
    ("memory", "restore"): ["{memory}"],
    ("telemetry", "budgets"): [],
    ("telemetry", "events"): [],
    ("telemetry", "experiments"): ["{experiment}", "--end"],
    ("telemetry", "explain"): ["{asked}"],
    ("telemetry", "prune"): [],
    ("telemetry", "recall"): [],
    ("telemetry", "report"): [],
    ("telemetry", "score"): [],
    ("telemetry", "status"): [],
    ("telemetry", "test-mode"): ["on"],
    ("telemetry", "tuner"): ["--undo", "{change}"],
    ("telemetry", "usage"): [],
}


def actions_with_owner() -> Iterator[tuple[str, str]]:
    """List every action of every command of this project that takes `--owner`."""
    for name, app in get_commands().items():
        if app not in APPS or name in ("test", "migrate"):
            continue
        parser = load_command_class(app, name).create_parser("manage.py", name)
        inner = [action.choices for action in parser._actions if isinstance(action.choices, dict)]
        parsers = {"": parser, **(inner[0] if inner else {})}
        for action, one in parsers.items():
            if any("--owner" in option.option_strings for option in one._actions):
                yield name, action


def test_every_command_that_takes_an_owner_is_tried() -> None:
    assert sorted(actions_with_owner()) == sorted(CALLS), "say in CALLS how these are called"


@pytest.mark.parametrize("call", sorted(CALLS), ids=lambda call: " ".join(call).strip())
def test_a_command_for_one_owner_leaves_the_other_alone(world: World, untouched: None, call: tuple[str, str]) -> None:
    """Called for the second owner, once with that owner's rows and once with the first one's."""
    told = io.StringIO()
    for rows in (world.foreign, world.rows["owner"]):
        arguments = [argument.format(new=f"new {LURE}", **rows) for argument in CALLS[call]]
        try:
            call_command(*filter(None, call), *arguments, "--owner", "foreign", stdout=told, stderr=told)
        except (Exception, SystemExit) as error:
            told.write(str(error))
    for scope in (*SCOPES, "admin"):
        assert MARKS[scope] not in told.getvalue()


def suggested(actor: Any) -> str:
    """Give everything that is offered to somebody who types."""
    typed = [STEM, f"{STEM}a", f"{STEM}p", f"{STEM}o", f"{STEM}s"]
    words = [word for text in typed for word in completions(actor=actor, typed=text)]
    near = [word for scope in SCOPES for word in (f"{STEM}{scope}txt", f"{STEM}{scope}turm", f"{STEM}{scope}tex")]
    others = [corrected(actor=actor, query=word) or completed(actor=actor, typed=word) or "" for word in near]
    return " ".join(words + [other for other, word in zip(others, near, strict=True) if other != word])


def test_words_of_one_reader_are_offered_to_no_other(world: World) -> None:
    vocabularies.forget()
    everything = suggested(person(world.owner.owner_id)) + suggested(world.insider)
    assert {MARKS[scope] for scope in SCOPES if MARKS[scope] not in everything} == set()
    for reader in ("half inside", "outsider", "plain outsider", "foreign agent", "foreign person"):
        one = world.readers[reader]
        offered = suggested(one.client.actor)
        assert [mark for mark in one.marks if mark in offered] == [], reader
        assert offered != ""


@pytest.mark.parametrize("warm", ["insider", "person"])
def test_what_was_computed_for_one_reader_reaches_no_other(world: World, warm: str) -> None:
    """Neighbourhoods, document frequencies, communities and plans are kept in the process after the first question."""
    asked = ("recall", "build_context", "graph_query", "get_neighbours", "list_bridges", "get_community", "get_stats")
    for _ in range(2):
        for name in ("insider" if warm == "insider" else "person", "outsider", "foreign agent", "half inside"):
            reader = world.readers[name]
            rows = world.foreign if name == "foreign agent" else world.rows["owner"]
            for one in asked:
                answer = send(reader, ROUTES[one], rows)
                assert answer.status == 200, answer
                assert leaks(world, reader, answer) == []


def test_counts_of_a_reader_are_not_those_of_another(world: World) -> None:
    def count(name: str, route: str) -> Any:
        return send(world.readers[name], ROUTES[route], world.rows["owner"]).json

    whole, part, other = (count(name, "get_stats")["total"] for name in ("person", "outsider", "foreign agent"))
    assert whole == 4 * part == 4 * other
    whole, part = (count(name, "get_graph_stats") for name in ("person", "outsider"))
    assert {name: whole[name] for name in ("entities", "relations")} == {
        name: 4 * part[name] for name in ("entities", "relations")
    }


WRITES = [
    route
    for route in ROUTES.values()
    if route.method == "post" and route.action is not None and route.action.rate == "write"
]


def test_a_kept_answer_is_given_to_nobody_else(world: World) -> None:
    """The same key and the same request of another caller is done for that caller, and never answered again."""
    key = {"Idempotency-Key": "the same for all"}
    rows = world.rows["owner"]
    for route in WRITES:
        with undone():
            first = ask(world, "insider", route, rows, key)
            assert ask(world, "insider", route, rows, key).headers.get("Idempotency-Replayed") == "true" or (
                first.status >= 400
            ), route.id
            for name in ("outsider", "person", "foreign agent"):
                answer = ask(world, name, route, rows, key)
                assert "Idempotency-Replayed" not in answer.headers, answer
                assert leaks(world, world.readers[name], answer) == []


def ask(world: World, name: str, route: Route, rows: dict[str, str], headers: dict[str, str]) -> Answer:
    """Send one request and let its effects stand until the end of the test's block."""
    response = world.readers[name].client.json(route.method, route.path(rows), route.body(rows), **headers)
    return answer_of(response, f"{name}: {route.id}", str(route.body(rows)))


def test_a_version_of_a_hidden_row_is_told_to_nobody(world: World) -> None:
    """A precondition that would fail for the row is never the answer to one who may not read it."""
    versioned: list[Route] = [route for route in ROUTES.values() if route.action and route.action.versioned]
    assert len(versioned) > 5
    for name in ("outsider", "foreign agent"):
        reader = world.readers[name]
        for route in versioned:
            id_of_action = route.action.id if route.action else ""
            # Whoever may see what models cost an owner sees it of all its agents; so it is with their settings.
            whole_owner = id_of_action.endswith(("_agent_budget", "_agent_settings"))
            if not route.names_a_row or (whole_owner and name == "outsider"):
                continue
            code = "agent.unknown" if id_of_action.endswith("_agent_budget") else "not_found"
            for version in ('"1"', '"2"', '"99"'):
                answer = send(reader, route, world.rows["agent"], headers={"If-Match": version})
                assert (answer.status, answer.code) == (404, code), answer
                assert "etag" not in {header.lower() for header in answer.headers}


def test_an_explanation_is_for_its_caller_alone(world: World) -> None:
    route = ROUTES["get_recall"]
    for scope in SCOPES:
        assert send(world.readers["insider"], route, world.rows[scope]).status == 200
        for name in ("person", "half inside", "outsider", "foreign agent", "foreign person"):
            answer = send(world.readers[name], route, world.rows[scope])
            assert (answer.status, answer.code) == (404, "not_found"), answer


def rows_that_join(world: World, sql: str) -> int:
    """Count, as each owner in turn, rows that refer to something of another one."""
    found = 0
    for owner in (world.owner, world.other):
        with owner_scope(owner.owner_id), connection.cursor() as cursor:
            cursor.execute(sql)
            found += cursor.fetchone()[0]
    return found


def test_no_reference_leads_to_another_owner(world: World) -> None:
    """Every reference between owned tables is one that the database checks together with the owner."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.conrelid::regclass::text, a.attname, c.confrelid::regclass::text
            FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[2]
            WHERE c.contype = 'f' AND cardinality(c.conkey) = 2 AND c.conparentid = 0"""
        )
        references = cursor.fetchall()
    assert len(references) > 30
    for table, column, target in references:
        sql = (
            f'SELECT count(*) FROM {table} r WHERE r."{column}" IS NOT NULL AND NOT EXISTS '
            f'(SELECT FROM {target} t WHERE t.owner_id = r.owner_id AND t.id = r."{column}")'
        )
        assert rows_that_join(world, sql) == 0, (table, column)
