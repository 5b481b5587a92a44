"""The vocabulary of the audit: every word that services write into events is in it, and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final
from uuid import UUID

import pytest

import memory
import telemetry
from memory.errors import InvalidInput
from memory.models import PurgeSubject
from memory.services.archive.writing import OBJECT
from memory.services.audit.vocabulary import (
    ACTORS,
    KINDS,
    OBJECTS,
    READS,
    VERBS,
    checked_actor,
    checked_kind,
    checked_verb,
)

SERVICES: Final = [Path(app.__path__[0]) / "services" for app in (memory, telemetry)]
# Where a verb or kind stands among the plain arguments of functions that hand it on to an event.
VERB_AT: Final = {
    "_record": 1,
    "_audit": 1,
    "_decide": 3,
    "_set_state": 3,
    "_move": 3,
    "record_sign_in": 1,
    "_record_name": 1,
}
KIND_AT: Final = {"_record": 2}


def words(node: ast.expr) -> Iterator[str]:
    """Give the text constants that an argument can be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from words(node.body)
        yield from words(node.orelse)


@cache
def calls() -> list[ast.Call]:
    """Give every call in the services."""
    paths = [path for services in SERVICES for path in services.rglob("*.py")]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    return [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]


def called(keyword: str, places: dict[str, int]) -> set[str]:
    """Give the words that services pass under a keyword, or at a place, to whatever writes an event."""
    found: set[str] = set()
    for call in calls():
        given = [one.value for one in call.keywords if one.arg == keyword]
        place = places.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if place is not None and len(call.args) > place:
            given.append(call.args[place])
        for one in given:
            found.update(words(one))
    return found


def test_every_verb_is_known_and_every_known_verb_is_written() -> None:
    assert called("verb", VERB_AT) | {"read", "export"} == VERBS


def test_every_kind_is_known_and_every_known_kind_is_written() -> None:
    named = {OBJECT, "login", "memory", "agent", *PurgeSubject.values}
    consolidated = {"relation", "entity"}
    assert called("object_kind", KIND_AT) | named | consolidated == OBJECTS


def test_every_sort_of_read_is_known() -> None:
    sorts = called("sort", {"reads": 0}) | {"recall"}
    assert sorts | {"memory"} == READS


def test_words() -> None:
    assert {checked_verb(word) for word in VERBS} == VERBS
    assert {checked_kind(word) for word in OBJECTS | READS} == KINDS
    for check, known in ((checked_verb, VERBS), (checked_kind, KINDS)):
        with pytest.raises(InvalidInput) as refused:
            check("Read")
        assert refused.value.details["known"] == sorted(known)


def test_actors() -> None:
    one = UUID(int=7)
    assert {checked_actor(actor) for actor in ACTORS} == ACTORS
    assert checked_actor(f"agent:{str(one).upper()}") == f"agent:{one}"
    for label in ("agent", "agent:", "agent:7", "nobody", "Person"):
        with pytest.raises(InvalidInput, match="actor is one of"):
            checked_actor(label)
