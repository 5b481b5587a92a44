"""Every address of the admin: staff see their own owner's things there, and nobody else sees anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from memory.models import User
from tests.integration.leaks.asking import answer_of, leaks
from tests.integration.leaks.routes import ADMIN, METHODS, endpoints
from tests.integration.leaks.world import LURE, STEM, Reader, Rows, World, undone

_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)\$?")
# What stands for a parameter of an address: a planted row where one is named, else a word that is no address.
FILLED = {"url": f"{STEM}nothing/"}
QUERIES: tuple[dict[str, str], ...] = (
    {},
    {"next": f"/admin/?q={STEM}"},
    {"q": LURE, "days": "30", "key": "{cluster}"},
    {"agent": "{agent}", "key": "{cluster}"},
)


def addresses(rows: Rows) -> list[str]:
    """List the addresses of the admin."""
    found = [pattern for pattern, _ in endpoints() if pattern.startswith(ADMIN)]
    return ["/" + _PARAMETER.sub(lambda one: FILLED.get(one[1] or one[2]) or rows[one[1]], path) for path in found]


def visits(reader: Reader, rows: Rows) -> Iterator[tuple[str, str, Any]]:
    """Ask for every address in every way; what it does is undone."""
    for path in addresses(rows):
        for method in METHODS[:-1]:
            for query in ({name: value.format(**rows) for name, value in one.items()} for one in QUERIES):
                for headers in ({}, {"HX-Request": "true"}):
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
