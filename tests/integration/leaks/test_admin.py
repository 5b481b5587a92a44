"""Every address of the admin: staff see their own owner's things there, and nobody else sees anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from memory.models import User
from tests.integration.leaks.asking import answer_of, leaks
from tests.integration.leaks.routes import ADMIN, IN_PATHS, METHODS, endpoints
from tests.integration.leaks.world import LURE, STEM, Reader, Rows, World, undone

_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)\$?")
# What stands for a parameter of an address: a planted row where one is named, else a word that is no address.
FILLED = {"url": f"{STEM}nothing/", "space_id": "1"}
# Which planted row the page of a model shows; of others the id of a memory is asked for, which finds nothing there.
PLANTED = {
    "memoryedge": "edge", "entity": "entity", "entitymerge": "merge", "relation": "relation", "consolidationrun": "run",
    "skill": "skill", "reviewitem": "review", "session": "session", "recallrecord": "recall", "agent": "agent",
    "agentkey": "key", "agentgroup": "group", "busmessage": "message", "purge": "purge",
    "recallexperiment": "experiment", "tunerchange": "change",
}  # fmt: skip
_MODEL = re.compile(r"^admin/(?:memory|telemetry)/(\w+)/")
QUERIES: tuple[dict[str, str], ...] = (
    {},
    {"next": f"/admin/?q={STEM}"},
    {"q": LURE, "days": "30", "key": "{cluster}"},
    {"agent": "{agent}", "key": "{cluster}"},
)


def addresses(rows: Rows) -> list[str]:
    """List the addresses of the admin."""
    found = [pattern for pattern, _ in endpoints() if pattern.startswith(ADMIN)]
    return [_filled(pattern, rows) for pattern in found]


def _filled(pattern: str, rows: Rows) -> str:
    model = _MODEL.match(pattern)
    planted = {**rows, "object_id": rows.get(PLANTED.get(model[1], "memory") if model else "memory", rows["memory"])}
    planted |= {name: rows[key] for name, key in IN_PATHS.items() if key in rows}
    return "/" + _PARAMETER.sub(lambda one: FILLED.get(one[1] or one[2]) or planted[one[1]], pattern)


def is_of_rows(path: str) -> bool:
    """Tell whether an address is one of the many that all models have."""
    return _MODEL.match(path.removeprefix("/")) is not None and "/telemetry/coverage/" not in path


def visits(reader: Reader, rows: Rows) -> Iterator[tuple[str, str, Any]]:
    """Ask for every address in every way, and for those that all models have in the ways that they take."""
    for path in addresses(rows):
        of_rows = is_of_rows(path)
        for method in ("get", "post") if of_rows else METHODS[:-1]:
            asked = QUERIES[2:3] if of_rows else QUERIES
            for query in ({name: value.format(**rows) for name, value in one.items()} for one in asked):
                for headers in ({},) if of_rows else ({}, {"HX-Request": "true"}):
                    with undone():
                        if method in ("get", "head", "post"):
                            multipart = {"format": "multipart"} if method == "post" else {}
                            response = getattr(reader.client, method)(path, query, headers=headers, **multipart)
                        else:
                            response = getattr(reader.client, method)(path, headers=headers)
                        yield method, path, answer_of(response, f"{reader.name}: {method} {path}", f"{path} {query}")


def staffed(world: World, username: str, staff: bool) -> None:
    User.objects.filter(username=username).update(is_staff=staff)


def test_there_are_addresses_to_walk(world: World) -> None:
    assert "/admin/" in addresses(world.rows["owner"])


@pytest.mark.parametrize("name", ["person", "foreign person", "foreign agent", "outsider", "anonymous"])
def test_who_is_no_staff_gets_nothing(world: World, name: str) -> None:
    reader = world.readers[name]
    found = []
    for method, path, answer in visits(reader, world.rows["owner"]):
        assert answer.status in (302, 403, 405) or (answer.status, answer.content) == (200, ""), (method, path)
        found += leaks(world, reader, answer)
        if answer.status == 302:
            assert answer.headers["Location"].startswith("/login/?next="), (method, path)
    assert not found, "\n".join(found)


def test_staff_of_another_owner_see_nothing_of_this_one(world: World) -> None:
    reader = world.readers["foreign person"]
    staffed(world, "foreign", True)
    found = []
    for rows in world.rows.values():
        for _, _, answer in visits(reader, rows):
            assert answer.status < 500, answer
            found += leaks(world, reader, answer)
    staffed(world, "foreign", False)
    assert not found, "\n".join(found)


def test_staff_see_the_pages(world: World) -> None:
    staffed(world, "first", True)
    seen = {
        path for method, path, answer in visits(world.readers["person"], world.rows["owner"]) if answer.status == 200
    }
    staffed(world, "first", False)
    assert {"/admin/", "/admin/telemetry/coverage/", "/admin/telemetry/coverage/requests/"} <= seen
