"""Lists while somebody erases: what goes between the two looks of a page neither fails it nor ends the list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from memory.models import Entity, Memory
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.facts import facts
from memory.services.graph.searching import search_entities
from memory.services.memories import ListRequest, list_memories
from memory.services.remember import remember
from tests.integration.graph.conftest import entity

pytestmark = pytest.mark.django_db


@contextmanager
def erased_between(table: str, erase: Callable[[UUID], Any]) -> Iterator[None]:
    """Erase the first row of a page once, after its ids were read."""
    gone: list[UUID] = []

    def then(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        found = execute(sql, params, many, context)
        if not gone and f"FROM {table} " in sql and "LIMIT %(size)s" in sql:
            gone.append(context["cursor"].fetchone()[0])
            erase(gone[0])
            execute(sql, params, many, context)
            # The ids as they were: the erased one among them.
            rows = [(gone[0],), *((row[0],) for row in context["cursor"].fetchall())]
            context["cursor"].execute("SELECT * FROM unnest(%s::uuid[])", [[row[0] for row in rows]])
        return found

    with connection.execute_wrapper(then):
        yield
    assert gone


def test_memories(alice: Actor) -> None:
    for number in range(4):
        remember(actor=alice, draft=Draft(text=f"note {number}"))
    with erased_between("memory_memory m", lambda pk: Memory.objects.filter(pk=pk).delete()):
        rows = list_memories(actor=alice, request=ListRequest(), after=None, size=3)
    assert [row.text for row in rows] == ["note 2", "note 1", "note 0"]


def test_entities(alice: Actor) -> None:
    for name in ("Ann", "Bob", "Cid", "Dan"):
        entity(alice, name)
    with erased_between("memory_entity e", lambda pk: Entity.objects.filter(pk=pk).delete()):
        rows = search_entities(actor=alice, query="", size=3)
    assert len(rows) == 3


def test_facts(alice: Actor) -> None:
    for number in range(3):
        remember(actor=alice, draft=Draft(text=f"fact {number}", kind="fact"))
    seen: list[UUID] = []

    def then(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if not seen and "AS begins" in sql:
            found = execute(sql, params, many, context)
            rows = context["cursor"].fetchall()
            seen.append(rows[0][0])
            Memory.objects.filter(pk=seen[0]).delete()
            ids, moments = [row[0] for row in rows], [row[1] for row in rows]
            context["cursor"].execute("SELECT * FROM unnest(%s::uuid[], %s::timestamptz[])", [ids, moments])
            return found
        return execute(sql, params, many, context)

    with connection.execute_wrapper(then):
        rows = facts(actor=alice, size=3)
    assert [one.memory.text for one in rows] == ["fact 1", "fact 0"]
