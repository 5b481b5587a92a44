"""What the plan says of tables as they might be: forgotten ones, narrow keys, references that lead astray, circles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sqlglot

from memory.services.distribution.catalogue import Catalogue, Function, Index, Reference, Table, Trigger
from memory.services.distribution.places import Place
from memory.services.distribution.planning import Plan, make_plan
from memory.services.distribution.preparing import Step

PRIMARY = Index("x_pkey", True, "x_pkey", True, ("owner_id", "id"), False, "", "", "PRIMARY KEY (owner_id, id)")


def table(name: str, *columns: str, **more: Any) -> Table:
    names = columns or ("owner_id", "id")
    made = Table(name, False, names, (), "owner_id" in names, 8192, 3, "")
    for field, value in more.items():
        setattr(made, field, value)
    return made


OWNERS = table("memory_owner", "id", "user_id", indexes=[Index("o", True, "o", True, ("id",), False, "", "", "")])


def plan(*tables: Table, functions: tuple[Function, ...] = (), **more: Any) -> Plan:
    found = {one.name: one for one in (OWNERS, *tables)}
    return make_plan(Catalogue("loci", found, functions, False), **more)


def changes(made: Plan) -> list[Step]:
    """Give what is changed within the walls, and see that these are put up again."""
    if not made.prepare:
        return []
    first, *steps, last = made.prepare
    assert (first.subject, last.subject) == ("down", "up")
    assert [text.replace(" NO ", " ") for text in first.statements] == list(last.statements)
    return steps


def reference(target: str, *columns: str, **more: Any) -> Reference:
    theirs = tuple("id" if name != "owner_id" else name for name in columns)
    definition = f"FOREIGN KEY ({', '.join(columns)}) REFERENCES {target}({', '.join(theirs)}) ON DELETE CASCADE"
    return replace(Reference("fk", target, columns, theirs, False, (), definition), **more)


def test_a_table_of_owners_is_distributed_without_being_told() -> None:
    made = plan(table("knowledge_page", indexes=[PRIMARY]))
    assert {one.table: (one.place, one.column) for one in made.tables} == {
        "memory_owner": (Place.DISTRIBUTED, "id"),
        "knowledge_page": (Place.DISTRIBUTED, "owner_id"),
    }
    assert made.problems == ()
    assert made.prepare == ()
    calls = [text for text in made.statements() if "create_distributed_table" in text]
    assert calls == [
        "SELECT create_distributed_table('memory_owner', 'id', shard_count => 64)",
        "SELECT create_distributed_table('knowledge_page', 'owner_id', colocate_with => 'memory_owner')",
    ]


def test_a_table_that_nobody_has_placed_is_a_problem() -> None:
    made = plan(table("knowledge_word", "id", "word"))
    assert [one.split(":")[0] for one in made.problems] == ["knowledge_word"]


def test_a_table_of_owners_without_its_wall_is_a_problem() -> None:
    made = plan(table("knowledge_page", has_row_security=False))
    assert [one.split(":")[0] for one in made.problems] == ["knowledge_page"]


@pytest.mark.parametrize(
    ("index", "statements"),
    [
        (
            Index("page_slug", True, "page_slug", False, ("slug",), False, "", "", "UNIQUE (slug)"),
            [
                'ALTER TABLE "page" DROP CONSTRAINT "page_slug"',
                'ALTER TABLE "page" ADD CONSTRAINT "page_slug" UNIQUE ("owner_id", "slug")',
                'CREATE INDEX "page_slug_lookup" ON "page" ("slug")',
            ],
        ),
        (
            Index("page_pkey", True, "page_pkey", True, ("id",), False, "", "", "PRIMARY KEY (id)"),
            [
                'ALTER TABLE "page" DROP CONSTRAINT "page_pkey"',
                'ALTER TABLE "page" ADD CONSTRAINT "page_pkey" PRIMARY KEY ("owner_id", "id")',
                'CREATE INDEX "page_pkey_lookup" ON "page" ("id")',
            ],
        ),
        (
            Index("page_live", True, "", False, ("slug",), False, "live", "", ""),
            [
                'DROP INDEX "page_live"',
                'CREATE UNIQUE INDEX "page_live" ON "page" ("owner_id", "slug") WHERE live',
                'CREATE INDEX "page_live_lookup" ON "page" ("slug") WHERE live',
            ],
        ),
    ],
)
def test_narrow_keys_are_widened(index: Index, statements: list[str]) -> None:
    made = plan(table("page", "owner_id", "id", "slug", "live", indexes=[index]))
    [step] = changes(made)
    assert list(step.statements) == statements
    for text in statements:
        sqlglot.parse_one(text, dialect="postgres")
    assert made.problems == ()


def test_keys_that_no_statement_can_widen_are_problems() -> None:
    by_expression = Index("lowered", True, "", False, (), True, "", "", "")
    referred_to = Index("page_pkey", True, "page_pkey", True, ("id",), False, "", "", "")
    page = table("page", indexes=[by_expression, referred_to])
    made = plan(page, table("word", "owner_id", "id", "page", references=[reference("page", "page")]))
    assert [one.split(":")[0] for one in made.problems] == ["word.fk", "page.lowered", "page.page_pkey"]


def test_references_between_places_go() -> None:
    lost = reference("memory_owner", "owner_id", target_columns=("id",))
    made = plan(
        table("memory_duework", "owner_id", "id", references=[lost]),
        table("memory_user", "id"),
        table("page", references=[replace(lost, name="kept")]),
    )
    assert [(step.table, step.subject) for step in changes(made)] == [("memory_duework", "fk")]
    assert changes(made)[0].statements == ('ALTER TABLE "memory_duework" DROP CONSTRAINT "fk"',)


def test_setting_null_becomes_a_trigger() -> None:
    kept = "FOREIGN KEY (owner_id, page) REFERENCES page(owner_id, id)"
    nulls = reference(
        "page", "owner_id", "page", sets_null=True, nulled=("page",), definition=f"{kept} ON DELETE SET NULL (page)"
    )
    made = plan(table("page"), table("word", "owner_id", "id", "page", references=[nulls]))
    [step] = changes(made)
    drop, add, function, trigger = step.statements
    assert add == f'ALTER TABLE "word" ADD CONSTRAINT "fk" {kept}'
    assert 'SET "page" = NULL WHERE "owner_id" = OLD."owner_id" AND "page" = OLD."id"' in function
    assert trigger.startswith('CREATE TRIGGER "A_forget_word_page" AFTER DELETE ON "page"')


def test_reference_tables_lose_triggers_and_the_right_to_change() -> None:
    retired = table("memory_retiredauditseal", "id", triggers=[Trigger("guard", "refuse", "")])
    [step] = changes(plan(retired, table("page")))
    assert step.statements[1].startswith("REVOKE UPDATE, DELETE")


def test_triggers_that_ask_the_coordinator_go_or_are_a_problem() -> None:
    graph = table("memory_relation", triggers=[Trigger("graph_change_by_insert", "loci_note_graph_change", "")])
    page = table("page", triggers=[Trigger("noted", "note", ""), Trigger("kept", "keep", "")])
    work = table("memory_duework", "owner_id", "id")
    functions = (
        Function("keep", False, "BEGIN UPDATE word SET seen = true; RETURN NULL; END", ""),
        Function("note", False, "BEGIN INSERT INTO memory_duework VALUES (1); RETURN NULL; END", ""),
    )
    made = plan(graph, page, work, functions=functions)
    dropped, by_hand = changes(made)
    assert dropped.statements == ('DROP TRIGGER "graph_change_by_insert" ON "memory_relation"',)
    assert by_hand.by_hand
    assert [one.split(":")[0] for one in made.problems] == ["page.noted"]
    assert "memory_duework" in made.problems[0]


@pytest.mark.parametrize(
    ("source", "asks"),
    [
        ("BEGIN RETURN NULL; -- it's none of memory_duework\nEND", False),
        ("BEGIN /* the owner's\nmemory_duework */ RETURN NULL; END", False),
        ("BEGIN -- said\nDELETE FROM memory_duework; RETURN NULL; END", True),
        ("BEGIN PERFORM '--', memory_duework FROM x; RETURN NULL; END", True),
        ("BEGIN EXECUTE 'DELETE FROM memory_duework /*'; RETURN NULL; END", True),
        ("BEGIN DELETE/**/FROM/**/memory_duework; RETURN NULL; END", True),
    ],
)
def test_what_stands_in_comments_of_a_function_is_not_asked(source: str, asks: bool) -> None:
    page = table("page", triggers=[Trigger("noted", "note", "")])
    made = plan(page, table("memory_duework", "owner_id", "id"), functions=(Function("note", False, source, ""),))
    assert bool(made.problems) is asks


def test_what_is_projected_is_not_spread() -> None:
    page = table("page", indexes=[PRIMARY])
    assert plan(page).problems == ()
    assert [one.split(":")[0] for one in plan(page, projects=True).problems] == ["NEO4J_URI"]


def test_functions_say_settings_so_that_they_travel() -> None:
    source = "BEGIN PERFORM set_config('loci.owner', NEW.id::text, true); END"
    made = plan(
        table("page"), functions=(Function("f", False, source, f"CREATE OR REPLACE FUNCTION f() AS $$ {source} $$"),)
    )
    [step] = changes(made)
    assert "EXECUTE format('SET LOCAL loci.owner = %L', NEW.id::text);" in step.statements[0]


def test_what_is_referred_to_comes_first_and_circles_are_refused() -> None:
    back = replace(reference("a", "owner_id", "x"), name="back")
    first, second = table("a"), table("b", references=[back])
    own = table("c", references=[replace(reference("c", "owner_id", "x"), name="self")])
    order = [step.table for step in plan(second, first, own).spread if step.kind == "distributed table"]
    assert order.index("memory_owner") == 0
    assert order.index("a") < order.index("b")
    first.references.append(replace(reference("b", "owner_id", "x"), name="forth"))
    with pytest.raises(ValueError, match="circle"):
        plan(second, first)


@pytest.mark.parametrize("shards", [0, -1, 4097])
def test_shards_have_a_range(shards: int) -> None:
    with pytest.raises(ValueError, match="shards"):
        plan(shards=shards)
