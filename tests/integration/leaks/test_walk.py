"""Every endpoint, every method, asked by everybody: no answer holds what its reader may not know."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from memory.services.actors import Permission
from memory.services.agents import create_key
from tests.integration.api.conftest import client_of
from tests.integration.leaks.asking import Answer, leaks, send, shape
from tests.integration.leaks.routes import (
    IN_FIELDS,
    NO_IDS,
    TAKES_FILE,
    TELLS_IDS,
    UNUSABLE_SCOPES,
    Route,
    foreign_scopes,
    routes,
    wrong_methods,
)
from tests.integration.leaks.world import LURE, MARKS, PLANTED, SCOPED_ROWS, SCOPES, STEM, Reader, Rows, World

NOTHING = "0190aaaa-0000-7000-8000-000000000000"
ROUTES = routes()
READERS = ("half inside", "outsider", "plain outsider", "foreign agent", "foreign person", "anonymous")
# Query parameters and bodies with which somebody fishes for more than is shown of itself.
BAITS: dict[str, list[dict[str, Any]]] = {
    "recall": [
        {"query": LURE, "limit": 50, "threshold": 0, "explain": True},
        {"query": LURE, "profile": "praxis", "limit": 50, "threshold": 0, "explain": True},
        {"query": STEM, "profile": "cortex", "limit": 50, "threshold": 0, "explain": True},
    ],
    "build_context": [{"query": LURE, "limit": 50, "threshold": 0}],
    "graph_query": [{"question": f"What about the {LURE} entity?", "limit": 20}],
    "compress_memories": [{"category": "goal", "least": 2, "older_than_days": 0}],
    "purge_memories": [{"decay_days": 1, "dry_run": True}],
    "run_consolidation": [{"wait": True}],
}
LOOKS: dict[str, list[dict[str, Any]]] = {
    "list_memories": [{"status": ["live", "archived", "superseded"], "limit": 100}, {"category": "goal"}],
    "list_entities": [{"q": STEM}, {"q": LURE}, {"limit": 100}],
    "list_skills": [{"q": LURE}],
    "list_reviews": [{"state": "rejected"}, {"state": "open"}],
    "list_facts": [{"superseded": "include"}],
    "export_memories": [{"form": "engram"}],
}


def everything(reader: Reader, *sets: Rows) -> list[Answer]:
    """Send every request that some sets of rows give; those that name no row only once."""
    found = []
    for route in ROUTES:
        found += [send(reader, route, rows) for rows in (sets if route.names_a_row else sets[:1])]
        rows = sets[0]
        found += [send(reader, route, rows, body=body) for body in BAITS.get(route.id, ())]
        found += [send(reader, route, rows, query=query) for query in LOOKS.get(route.id, ())]
    return found


def nobody() -> Rows:
    """Give rows that nobody has."""
    names = {*IN_FIELDS.values(), "edge", "merge", "relation", "summary", "skill", "tool", "review", "recall", "key"}
    rows = dict.fromkeys(
        {
            *names,
            "group",
            "decided",
            "second",
            "spare",
            "third",
            "message",
            "purge",
            "experiment",
            "change",
            "file",
            "saved",
        },
        NOTHING,
    )
    return {**rows, "cluster": NOTHING, "number": "1", "profile": "default", "period": "day"}


def test_every_endpoint_can_be_exercised(world: World) -> None:
    """A request that fails of itself would prove nothing when a stranger's fails."""
    failed = []
    for route in ROUTES:
        tried = [send(world.readers[name], route, world.rows["owner"]) for name in ("insider", "person")]
        if route.id in TAKES_FILE:
            assert all(400 <= answer.status < 500 for answer in tried), tried
        elif not any(200 <= answer.status < 300 for answer in tried):
            failed += [f"{route.id}: {answer.asked} -> {answer.status} {answer.content[:300]}" for answer in tried]
    assert not failed, "say in routes.py how these are asked:\n" + "\n".join(failed)


def test_whoever_may_read_everything_sees_every_planted_word(world: World) -> None:
    """The search finds what is there, or it would be blind where it finds nothing."""
    person = world.readers["person"]
    answers = everything(person, *world.rows.values())
    text = " ".join(answer.text for answer in answers)
    wanted = {MARKS[scope] + kind for scope in SCOPES for kind in PLANTED} | {f"{MARKS['admin']} label"}
    assert sorted(word for word in wanted if word not in text) == []
    assert [one for answer in answers for one in leaks(world, person, answer)] == []
    insider = world.readers["insider"]
    answers = everything(insider, world.rows["agent"])
    mine = " ".join(answer.text for answer in answers)
    assert {word for word in ("question", "text") if MARKS["agent"] + word not in mine} == set()
    assert [one for answer in answers for one in leaks(world, insider, answer)] == []


@pytest.mark.parametrize("name", READERS)
def test_no_answer_tells_what_is_hidden(world: World, name: str) -> None:
    reader = world.readers[name]
    found: list[str] = []
    rows = {"foreign": world.foreign, **world.rows}
    may_read = [rows[scope] for scope in ("owner", *rows) if scope not in reader.hidden]
    for answer in everything(reader, *(may_read or rows.values())):
        found += leaks(world, reader, answer)
        assert answer.status != 500, answer
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", ["plain outsider", "foreign agent", "anonymous"])
def test_methods_that_are_not_taken_tell_nothing(world: World, name: str) -> None:
    reader = world.readers[name]
    for route in wrong_methods():
        answer = send(reader, route, world.rows["agent"], body={"text": LURE})
        assert answer.status in (401, 403, 405), answer
        assert leaks(world, reader, answer) == []


def hidden_rows(world: World, reader: Reader) -> list[tuple[str, Rows]]:
    """List the sets of rows that a reader may not read."""
    return [(scope, world.rows[scope]) for scope in SCOPES if scope in reader.hidden]


OWNER_WIDE = {"agent", "key", "group", "run", "purge", "experiment", "change", "cluster", *NO_IDS}


@pytest.mark.parametrize("name", READERS[:-1])
def test_a_hidden_row_is_like_one_that_nobody_has(world: World, name: str) -> None:
    reader = world.readers[name]
    foreign = name.startswith("foreign")
    told: list[str] = []
    for route in ROUTES:
        named = {route.row_of(parameter) for parameter in route.parameters}
        if not named - (set(NO_IDS) if foreign else OWNER_WIDE):
            continue
        expected = send(reader, route, nobody())
        # What only a person may do is refused to a key whatever it names.
        assert expected.status in (
            (403, 404) if route.action and route.action.permission in reader.may else (403,)
        ) or (route.action is not None and route.action.public and expected.status == 404), expected
        for _, rows in hidden_rows(world, reader):
            answer = send(reader, route, rows)
            told += leaks(world, reader, answer)
            if shape(answer) != shape(expected):
                told.append(f"{answer.asked} -> {answer.status} {answer.content[:200]}, not {expected.content[:200]}")
    assert not told, "\n".join(told)


@pytest.mark.parametrize("name", READERS[:-1])
def test_a_hidden_id_in_a_body_or_query_is_like_one_that_nobody_has(world: World, name: str) -> None:
    reader = world.readers[name]
    own = world.foreign if name.startswith("foreign") else world.rows["owner"]
    told: list[str] = []
    for route in ROUTES:
        for place, field in route.places_of_ids():
            row = route.row_of(field)
            if (row in OWNER_WIDE or route.id in TELLS_IDS) and not name.startswith("foreign"):
                continue
            expected = placed(reader, route, own, place, field, NOTHING)
            for _, rows in hidden_rows(world, reader):
                answer = placed(reader, route, own, place, field, rows[row])
                told += leaks(world, reader, answer)
                if shape(answer) != shape(expected):
                    told.append(f"{answer.asked} {field} -> {answer.content[:300]}, not {expected.content[:300]}")
    assert not told, "\n".join(told)


def placed(reader: Reader, route: Route, own: Rows, place: str, name: str, value: Any) -> Answer:
    """Send a request about one's own rows with one value put into its body or query."""
    if place == "query":
        return send(reader, route, own, query={name: value})
    body = {**(route.body(own) or {})}
    assert route.action is not None
    assert route.action.body is not None
    listed = hasattr(route.action.body().fields[name], "child")  # type: ignore[attr-defined]
    return send(reader, route, own, body={**body, name: [value] if listed and isinstance(value, str) else value})


OF_FILES = frozenset({"list_files", "create_file"})
SCOPED = [(route, *place) for route in ROUTES if route.id not in TAKES_FILE for place in route.places_of_scopes()]


def test_many_endpoints_take_a_scope() -> None:
    assert len(SCOPED) >= 19


@pytest.mark.parametrize("name", ["person", *READERS[:-1]])
def test_a_scope_never_opens_more(world: World, name: str) -> None:
    reader = world.readers[name]
    own = world.foreign if name.startswith("foreign") else world.rows["owner"]
    theirs = world.rows["owner"] if name.startswith("foreign") else world.foreign
    found: list[str] = []
    for route, place, field in SCOPED:
        assert route.action is not None
        if route.action.permission not in reader.may:
            continue
        for value in UNUSABLE_SCOPES:
            if place == "query" and not isinstance(value, str):
                continue
            answer = placed(reader, route, own, place, field, value)
            found += leaks(world, reader, answer)
            if (answer.status, answer.code) not in ((422, "scope.invalid"), (422, "field.type")):
                found.append(f"{answer.asked} {value!r} -> {answer.status} {answer.content[:200]}")
        for value in foreign_scopes(theirs):
            answer = placed(reader, route, own, place, field, value)
            found += leaks(world, reader, answer)
            kind, colon, _ = value.rpartition(":")
            unknown = f"{kind}{colon}{NOTHING}"
            if shape(answer) != shape(placed(reader, route, own, place, field, unknown)) or answer.status < 400:
                found.append(f"{answer.asked} {value!r} -> {answer.status} {answer.content[:200]}")
        for scope in SCOPES:
            if scope in reader.hidden and not name.startswith("foreign") and scope != "agent":
                answer = placed(reader, route, own, place, field, world.rows[scope]["scope"])
                found += leaks(world, reader, answer)
                # Files are the owner's or one agent's: no group is a scope of theirs.
                if answer.status != (422 if route.id in OF_FILES else 403):
                    found.append(f"{answer.asked} {scope} -> {answer.status} {answer.content[:200]}")
    assert not found, "\n".join(found)


def test_a_key_without_the_permission_gets_nothing(world: World) -> None:
    everything_hidden = frozenset(MARKS)
    assert world.insider.agent_id is not None
    for permission in Permission:
        scopes = [one for one in Permission if one != permission]
        made = create_key(actor=world.owner, agent_id=world.insider.agent_id, label="limited", scopes=scopes)
        reader = Reader(f"without {permission}", client_of(made.secret), everything_hidden, frozenset(scopes))
        for route in ROUTES:
            if route.action is not None and route.action.permission == permission:
                answer = send(reader, route, world.rows["owner"])
                assert (answer.status, answer.code) == (403, "auth.forbidden"), answer
                assert leaks(world, reader, answer) == []


def test_what_is_planted_has_ids_of_its_own(world: World) -> None:
    ids = [rows[name] for rows in (*world.rows.values(), world.foreign) for name in SCOPED_ROWS]
    assert len(set(ids)) == len(ids) > 70
    assert all(UUID(value) for value in ids)
