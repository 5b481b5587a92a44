"""Who may use which endpoint: every method of every endpoint, from one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.urls import URLPattern
from pytest_django import Settings
from pytest_django.plugin import DjangoDbBlocker

from memory.api.views.base import LociView
from memory.models import AgentKey, ExtractionFailure, owner_scope
from memory.services.actors import Actor, Permission, person
from memory.services.agents import pause_agent
from memory.services.archive.exporting import archive_stream
from memory.services.archive.snapshot import snapshot_stream
from memory.services.clock import now
from memory.services.review_decisions import reject
from memory.services.settings import change_settings
from telemetry.models import TunerChange
from tests.apps import API as API_ROUTES
from tests.integration.api.conftest import Client, bearing, client_of, problem, remember
from tests.integration.api.endpoints import (
    COMPARED,
    ENDPOINTS,
    HEADERS,
    LITERAL,
    NOTHING,
    PERSONS_ONLY,
    PUBLIC,
    READS_TOO,
    WITH_ID,
    Entry,
    code_of_unknown,
    needs_memory,
)
from tests.integration.api.planted import Planted, Rows, again, planted, undone
from tests.integration.consolidation.reviewing import fact, opened
from tests.integration.telemetry.telling import cluster_of

Maker = Callable[..., Client]

every_endpoint = pytest.mark.parametrize(
    ("method", "path", "body", "permission"), ENDPOINTS, ids=[f"{m} {p}" for m, p, _, _ in ENDPOINTS]
)
NAMES = (
    "memory", "session", "recall", "agent", "key", "group", "edge", "entity", "relation", "run", "review", "decided",
    "merge", "skill", "tool", "summary", "community", "message", "purge", "liked", "experiment", "change", "cluster",
    "saved", "file",
)  # fmt: skip


@pytest.fixture
def stranger(stranger: Client) -> Client:
    """The stranger with a token for the bus of its own owner."""
    return bearing(stranger)


def skill_rows(client: Client) -> dict[str, str]:
    """Store two skills, and two memories compressed into one."""
    skills = [
        client.json("post", "/skills", {"name": name, "steps": [f"{name}."]}).json()["id"]
        for name in ("Pour the tea", "Light the stove")
    ]
    for text in ("Alice drank tea in Faro.", "Alice drank tea in Porto."):
        remember(client, text, category="goal", occurred_at="2020-05-01T10:00:00Z")
    made = client.json("post", "/memories/compress", {"category": "goal", "least": 2}).json()["made"]
    return {"skill": skills[0], "tool": skills[1], "summary": made[0]["summary_id"]}


def quality_rows(client: Client, woman: Client) -> dict[str, str]:
    """Say that a recall has helped, compare profiles for a while, and note a change of the tuner."""
    liked = client.json("post", "/recall", {"query": "tea"}).json()["recall_id"]
    assert client.json("post", f"/recalls/{liked}/feedback", {"helpful": True}).status_code == 201
    experiment = woman.json("post", "/telemetry/experiments", COMPARED).json()["id"]
    assert woman.json("post", f"/telemetry/experiments/{experiment}/end").status_code == 200
    change_settings(actor=woman.actor, changes={"recall_threshold": 0.29})
    with owner_scope(woman.actor.owner_id):
        change = TunerChange.objects.create(
            setting="recall_threshold",
            before=0.3,
            after=0.29,
            ndcg=0.2,
            recalls=5,
            reason="quality.low",
            created_at=now(),
        )
    saved = woman.json("post", "/saved-searches", {"name": "Tea", "question": "tea"}).json()["id"]
    return {"liked": liked, "experiment": experiment, "change": str(change.pk), "saved": saved}


def plant(agent: Client, colleague: Client, woman: Client) -> Rows:
    """Store rows of Alice that the table's paths name; the agent that is paused is not the one that asks."""
    bearing(agent)
    memory = remember(agent, "Alice drinks tea.")
    other = remember(agent, "Alice drinks no coffee.")
    alice = agent.json("post", "/graph/entities", {"name": "Alice", "type": "person"}).json()["id"]
    thing = agent.json("post", "/graph/entities", {"name": "Tea"}).json()["id"]
    leaves = agent.json("post", "/graph/entities", {"name": "Tea leaves"}).json()["id"]
    relation = agent.json("post", "/graph/relations", {"source": "Alice", "label": "drinks", "target": "Tea"}).json()
    edge = agent.json("post", f"/memories/{memory}/edges", {"target": other, "kind": "supports"}).json()
    turns = agent.json("post", "/turns", {"session": "trip", "turns": [{"text": "hello there"}]}).json()
    with owner_scope(colleague.actor.owner_id):
        key = AgentKey.objects.get(agent_id=colleague.actor.agent_id)
        ExtractionFailure.objects.create(
            owner_id=colleague.actor.owner_id, memory_id=memory, code="llm.unusable", failed_at=now()
        )
    assert woman.json("post", "/graph/communities").json()["communities"] >= 1
    for path in ("/telemetry/budgets/month", f"/telemetry/budgets/month/agents/{colleague.actor.agent_id}"):
        assert woman.json("put", path, {"hard": "900"}).status_code == 200
    told = bearing(colleague).json("post", "/bus/messages", {"text": "The kettle sings.", "target": "owner"})
    return {
        "owner": str(woman.actor.owner_id),
        "message": told.json()["id"],
        "purge": agent.json("post", "/purges", {"source": "user:somebody"}).json()["id"],
        "file": agent.json("post", "/files", {"path": "SOUL.md", "content": "I am kind."}).json()["id"],
        "run": agent.json("post", "/consolidation/run", {}).json()["id"],
        "community": agent.json("get", "/graph/communities").json()["items"][0]["number"],
        "thing": thing,
        "merge": woman.json("post", f"/graph/entities/{thing}/merge", {"other": leaves}).json()["id"],
        "review": str(opened(woman.actor).pk),
        "decided": str(reject(actor=woman.actor, item_id=opened(woman.actor, payload=fact("No.")).pk).item.pk),
        "memory": memory,
        "other": other,
        "edge": edge["id"],
        "entity": alice,
        "relation": relation["id"],
        **skill_rows(agent),
        "session": turns["session_id"],
        "recall": agent.json("post", "/recall", {"query": "tea"}).json()["recall_id"],
        **quality_rows(agent, woman),
        "cluster": cluster_of(woman.actor),
        "agent": str(colleague.actor.agent_id),
        "key": str(key.pk),
        "group": woman.json("post", "/groups", {"kind": "project", "name": "moon"}).json()["id"],
    }


@pytest.fixture(scope="module")
def of_module(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Planted]:
    """Alice, her agents and their rows, for all tests."""
    with planted(django_db_blocker, plant) as found:
        yield found


@pytest.fixture
def db(of_module: Planted) -> Iterator[None]:
    """Undo what a test does."""
    with undone():
        yield


@pytest.fixture
def alice(db: None, of_module: Planted) -> Actor:
    """The owner of the rows."""
    return of_module.alice


@pytest.fixture
def agent(db: None, of_module: Planted) -> Client:
    """The agent that asks, with a token for the bus."""
    return again(of_module.agent)


@pytest.fixture
def rows(db: None, of_module: Planted) -> Rows:
    """What has been planted."""
    return of_module.rows


def named() -> set[tuple[str, str]]:
    """List every method and pattern that the routes have."""
    found = set()
    for pattern in API_ROUTES:
        assert isinstance(pattern, URLPattern)
        view = getattr(pattern.callback, "cls", None)
        if view is not None and issubclass(view, LociView):
            found |= {(method, str(pattern.pattern)) for method in view.actions}
    return found


def test_the_table_names_every_method_of_every_endpoint() -> None:
    listed = {
        (method.upper(), "/".join("*" if "{" in p or p in LITERAL else p for p in path[1:].split("/")))
        for method, path, _, _ in ENDPOINTS
    }
    routed = {
        (method, "/".join("*" if "<" in part else part for part in pattern.split("/")))
        for method, pattern in named()
        if pattern not in PUBLIC
    }
    assert listed == routed


def test_every_write_takes_an_idempotency_key() -> None:
    for pattern in API_ROUTES:
        view = getattr(pattern.callback, "cls", None)
        for method, action in getattr(view, "actions", {}).items():
            takes = hasattr(getattr(view, method.lower()), "takes_idempotency_key")
            assert takes == (action.rate == "write"), action.id
            # What one asks for as one recalls costs as much.
            assert (method == "GET") == (action.rate == "read" or action.id == "view_graph"), action.id


@pytest.mark.parametrize(("method", "path"), READS_TOO, ids=[f"{m} {p}" for m, p in READS_TOO])
def test_whoever_may_not_read_gets_no_file_of_texts(make_client: Maker, alice: Actor, method: str, path: str) -> None:
    blind = make_client(alice, "blind", scopes=[one for one in Permission if one != Permission.READ])
    response = blind.json(method, path, {} if method == "post" else None)
    assert problem(response, 403, "auth.forbidden")["permission"] == Permission.READ


@every_endpoint
def test_an_agent_with_the_permission_may(
    agent: Client, woman: Client, rows: dict[str, str], method: str, path: str, body: Any, permission: Permission
) -> None:
    client = agent
    if (method, path) in PERSONS_ONLY:
        refused(agent, (method, path, body, permission), rows, 403, "auth.person_only")
        client = woman
    headers = HEADERS.get((method, path), {})
    response = client.json(method, path.format(**rows), whole(client, body, rows), **headers)
    assert 200 <= response.status_code < 300, response.content
    assert response["Cache-Control"] == "no-store"
    # A file that is not read to its end keeps the owner's place among those that are being given.
    response.getvalue()


def filled(body: Any, rows: dict[str, str]) -> Any:
    """Put the ids of rows of Alice into a body that asks for some."""
    if isinstance(body, str):
        # Refused before anybody looks at it.
        return b"a file"
    if not isinstance(body, dict):
        return body
    asked = {name: value[1:-1] for name, value in body.items() if isinstance(value, str) and value.startswith("{")}
    return {**body, **{name: rows.get(row, str(NOTHING)) for name, row in asked.items()}}


def whole(client: Client, body: Any, rows: dict[str, str]) -> Any:
    """Give a body that a client can use: a file of Alice, or a snapshot of its own.

    The thread that writes them sees nothing of what a test has not committed.
    """
    owner = person(UUID(rows["owner"]))
    if body == "{archive}":
        return b"".join(archive_stream(actor=owner))
    return b"".join(snapshot_stream(actor=client.actor)) if body == "{snapshot}" else filled(body, rows)


def refused(client: Client, entry: Entry, rows: dict[str, str], status: int, code: str, query: str = "") -> Any:
    """Check that one endpoint refuses a client; the endpoint's name stands in a failure's message."""
    method, path, body, _ = entry
    response = client.json(method, path.format(**rows) + query, filled(body, rows))
    assert (response.status_code, response.json()["code"]) == (status, code), f"{method} {path}: {response.content!r}"
    assert response["Cache-Control"] == "no-store"
    problem(response, status, code)
    return response


def test_nobody_gets_in_without_a_key(anonymous: Client, rows: dict[str, str]) -> None:
    for entry in ENDPOINTS:
        response = refused(anonymous, entry, rows, 401, "auth.required")
        assert response["WWW-Authenticate"] == 'Bearer realm="loci"'


def test_a_key_without_the_permission_is_refused(alice: Actor, make_client: Maker, rows: dict[str, str]) -> None:
    limited = {
        permission: make_client(alice, f"without {permission}", scopes=[one for one in Permission if one != permission])
        for permission in Permission
    }
    for entry in ENDPOINTS:
        response = refused(limited[entry[3]], entry, rows, 403, "auth.forbidden")
        assert response.json()["permission"] == entry[3]


def test_a_stranger_finds_nothing(stranger: Client, strange_woman: Client, rows: dict[str, str]) -> None:
    for entry in WITH_ID:
        client = strange_woman if entry[:2] in PERSONS_ONLY else stranger
        refused(client, entry, rows, 404, code_of_unknown(entry))


@pytest.mark.parametrize(
    "bad", ["7", "not-an-id", "%00", "\N{SNOWMAN}", f"{NOTHING}x", f"{{{NOTHING}}}", NOTHING.hex, str(NOTHING)]
)
def test_an_id_that_is_none_is_like_an_unknown_one(agent: Client, woman: Client, bad: str) -> None:
    for entry in WITH_ID:
        client = woman if entry[:2] in PERSONS_ONLY else agent
        refused(client, entry, dict.fromkeys(NAMES, bad), 404, code_of_unknown(entry))


def test_an_id_may_be_written_in_capitals(agent: Client, rows: dict[str, str]) -> None:
    assert agent.json("get", f"/memories/{rows['memory'].upper()}").status_code == 200


def test_a_wrong_method_is_refused(agent: Client, rows: dict[str, str]) -> None:
    for path in {path.replace("/day", "/month") for _, path, _, _ in ENDPOINTS}:
        has = {method for method, named_path, _, _ in ENDPOINTS if named_path.replace("/day", "/month") == path}
        for method in {"get", "post", "put", "patch", "delete", "options"} - has:
            response = refused(agent, (method, path, None, Permission.READ), rows, 405, "method.not_allowed")
            allowed = {word.strip().lower() for word in response["Allow"].split(",")} - {"head"}
            assert allowed == has


def test_an_unknown_query_parameter_is_refused(agent: Client, rows: dict[str, str]) -> None:
    for entry in ENDPOINTS:
        refused(agent, entry, rows, 422, "query.unknown", "?colour=red")


def test_without_memory_its_endpoints_say_so(agent: Client, rows: dict[str, str], settings: Settings) -> None:
    settings.MEMORY_ENABLED = False
    for entry in ENDPOINTS:
        if needs_memory(entry):
            refused(agent, entry, rows, 503, "memory.disabled")


@pytest.mark.parametrize(
    "entry", [e for e in ENDPOINTS if not needs_memory(e)], ids=lambda entry: f"{entry[0]} {entry[1]}"
)
def test_without_memory_the_rest_works(
    agent: Client, woman: Client, rows: dict[str, str], settings: Settings, entry: Entry
) -> None:
    settings.MEMORY_ENABLED = False
    method, path, body, _ = entry
    client = woman if (method, path) in PERSONS_ONLY else agent
    response = client.json(method, path.format(**rows), body)
    assert 200 <= response.status_code < 300, response.content


@pytest.mark.parametrize(
    "secret", ["loci_aaaaaaaa_bbbbbbbb", "", "x", "loci_", "sk-1234", "\xfc" * 20, "loci_" + "x" * 500]
)
def test_a_wrong_key_is_refused_although_a_session_exists(woman: Client, secret: str) -> None:
    assert woman.json("get", "/memories").status_code == 200
    problem(woman.json("get", "/memories", Authorization=f"Bearer {secret}"), 401, "auth.invalid")
    problem(woman.json("get", "/memories", **{"X-Api-Key": secret}), 401, "auth.invalid")


def test_a_key_can_come_in_either_header(alice: Actor, make_agent: Any, anonymous: Client) -> None:
    _, secret = make_agent(alice, "another")
    assert anonymous.json("get", "/memories", **{"X-Api-Key": secret}).status_code == 200
    assert anonymous.json("get", "/memories", Authorization=f"bearer {secret}").status_code == 200
    problem(anonymous.json("get", "/memories", Authorization=f"Basic {secret}"), 401, "auth.required")


def test_revoked_expired_and_paused_keys_stop_working(alice: Actor, woman: Client, make_agent: Any) -> None:
    actor, secret = make_agent(alice, "another")
    client = client_of(secret)
    assert client.json("get", "/memories").status_code == 200
    pause_agent(actor=alice, agent_id=actor.agent_id, paused=True)
    problem(client.json("get", "/memories"), 401, "auth.invalid")
    pause_agent(actor=alice, agent_id=actor.agent_id, paused=False)
    assert client.json("get", "/memories").status_code == 200
    assert woman.json("delete", f"/keys/{actor.key_id}").status_code == 204
    problem(client.json("get", "/memories"), 401, "auth.invalid")
    made = woman.json("post", f"/agents/{actor.agent_id}/keys", {"label": "old", "expires_at": "2020-01-01"}).json()
    problem(client_of(made["secret"]).json("get", "/memories"), 401, "auth.invalid")


def test_a_session_needs_its_csrf_token(alice: Actor, woman: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = woman.cookies
    assert strict.json("get", "/memories").status_code == 200
    problem(strict.json("post", "/memories", {"text": "x"}), 403, "auth.csrf")
    token = "a" * 32
    strict.cookies["loci_csrf"] = token
    assert strict.json("post", "/memories", {"text": "x"}, **{"X-CSRFToken": token}).status_code == 201
    problem(strict.json("post", "/memories", {"text": "y"}, **{"X-CSRFToken": "b" * 32}), 403, "auth.csrf")


def test_a_login_without_an_owner_is_refused(django_user_model: Any) -> None:
    client = Client()
    client.force_login(django_user_model.objects.create_user("guest", password="guest guest guest"))
    problem(client.json("get", "/memories"), 403, "account.no_owner")
