"""Parameters, paths and headers that no client means: each gets an answer of ours, and none an error of the server."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

import pytest

from memory.api.pagination import encode
from tests.apps import API as API_ROUTES
from tests.integration.api.conftest import API, Client, remember
from tests.integration.api.hostile import HOSTILE, RAW

MOMENTS = ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0001-01-01", "9999-12-31T23:59:59.999999Z"]
# No client of this interface can send a header of more than 8 KiB or with a line end.
HEADERS = [text for text in HOSTILE if len(text) < 1_000 and text.isprintable()] + ["\x00", "\x85", "\xff\xfe", '"1']


def queries() -> list[tuple[str, str, str]]:
    """List method, pattern and name of every query parameter that there is, and one that there is not."""
    found = []
    for pattern in API_ROUTES:
        for method, action in getattr(getattr(pattern.callback, "cls", None), "actions", {}).items():
            names = action.query().fields if action.query else ()
            found += [(method, str(pattern.pattern), name) for name in (*names, "unheard")]
    return found


def asked(place: int) -> list[str]:
    """Give the queries for the parameter at a place of the list.

    The first parameter of each name gets every hostile text; those like it elsewhere, which are read in the same way,
    get every fifth, each another fifth than its neighbours. So does the parameter that there is not.
    """
    name = QUERIES[place][2]
    values = [urlencode({name: text}) for text in [*HOSTILE, *MOMENTS]] + [f"{name}={raw}" for raw in RAW]
    values.append(f"{name}=a&{name}=%00")
    first = next(at for at, (_, _, other) in enumerate(QUERIES) if other == name)
    return values if place == first else values[place % 5 :: 5]


def answered(response: Any, what: str) -> None:
    """Check that an answer is no error of the server, and a problem where it refuses."""
    assert response.status_code < 500, what
    if response.status_code >= 400:
        assert response["Content-Type"] == "application/problem+json", what
        assert response.json()["code"] != "internal", what


QUERIES = queries()


@pytest.mark.parametrize("place", range(len(QUERIES)), ids=["{} {}?{}".format(*entry) for entry in QUERIES])
def test_no_query_parameter_breaks_an_endpoint(agent: Client, place: int) -> None:
    method, path, _ = QUERIES[place]
    memory = remember(agent, "Alice drinks tea.")
    address = f"{API}/{path}".replace("<str:memory_id>", memory).replace("<str:name>", "default")
    if "<str:entity_id>" in address:
        entity = agent.json("post", "/graph/entities", {"name": "Alice", "type": "person"}).json()["id"]
        address = address.replace("<str:entity_id>", entity)
    for kind in ("session", "recall", "agent", "key", "group", "relation", "edge"):
        address = address.replace(f"<str:{kind}_id>", str(uuid4()))
    body = '{"memories": [{"content": "x"}]}' if path == "import" else "{}"
    for value in asked(place):
        response = agent.generic(method, f"{address}?{value}", body, content_type="application/json")
        answered(response, value[:60])


PATTERNS = sorted({str(one.pattern) for one in API_ROUTES if "<" in str(one.pattern)})


@pytest.mark.parametrize("place", range(len(PATTERNS)), ids=PATTERNS)
def test_no_id_breaks_an_endpoint(agent: Client, place: int) -> None:
    address = f"{API}/{PATTERNS[place]}"
    kind = re.findall("<.*?>", address)
    first = next(at for at, pattern in enumerate(PATTERNS) if re.findall("<.*?>", pattern) == kind)
    for text in HOSTILE if place == first else HOSTILE[place % 5 :: 5]:
        path = "/".join(quote(text[:500], safe="") if "<" in part else part for part in address.split("/"))
        for method in ("GET", "POST", "PATCH", "PUT", "DELETE"):
            answered(agent.generic(method, path, "{}", content_type="application/json"), f"{method} {path[:80]}")


@pytest.mark.parametrize(
    "header", ["If-Match", "Idempotency-Key", "Accept", "Authorization", "X-Api-Key", "Content-Type"]
)
def test_no_header_breaks_an_endpoint(agent: Client, anonymous: Client, header: str) -> None:
    memory = remember(agent, "Alice drinks tea.")
    client = anonymous if header in ("Authorization", "X-Api-Key") else agent
    for text in HEADERS:
        sent = f"Bearer {text}" if header == "Authorization" else text
        kind = text if header == "Content-Type" else "application/json"
        headers = {} if header == "Content-Type" else {header: sent}
        response = client.generic(
            "PATCH", f"{API}/memories/{memory}", '{"importance": 0.9}', content_type=kind, headers=headers
        )
        answered(response, repr(text))


@pytest.mark.parametrize("path", ["/memories", "/sessions"])
def test_no_cursor_breaks_a_list(agent: Client, path: str) -> None:
    remember(agent, "Alice drinks tea.")
    kind = path[1:]
    for moment in (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)):
        cursor = encode(kind, (moment, uuid4()))
        answered(agent.json("get", f"{path}?cursor={cursor}"), cursor)
        for broken in (
            cursor[:-1],
            f"{cursor}=",
            cursor.replace(":", ""),
            f":{cursor}",
            cursor.upper(),
            f"{cursor}%00",
        ):
            response = agent.json("get", f"{path}?cursor={broken}")
            assert (response.status_code, response.json()["code"]) == (422, "cursor.invalid")
