"""Keys that may write or delete but not read: they learn what became of a memory, and nothing of what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from memory.api.views import documentation
from memory.services.actors import Actor, Permission
from memory.services.agents import create_key
from tests.integration.api.conftest import API, Client, client_of, problem, remember

SECRET = "Alice hides the marmalade behind the atlas."
BRIEF = {"id", "status", "version", "erase_at"}
CHANGES: list[tuple[str, str, Any]] = [
    ("patch", "", {"importance": 0.9}),
    ("delete", "", None),
    ("post", "/archive", None),
    ("post", "/restore", None),
]
each_change = pytest.mark.parametrize(("method", "path", "body"), CHANGES)


@pytest.fixture
def blind(alice: Actor, make_client: Callable[..., Client]) -> Client:
    """An agent of Alice with every permission but reading."""
    return make_client(alice, "blind", scopes=[one for one in Permission if one != Permission.READ])


@each_change
def test_a_change_tells_nothing_of_the_text(agent: Client, blind: Client, method: str, path: str, body: Any) -> None:
    memory = remember(agent, SECRET, source="user:alice/diary", tags=["kitchen"])
    if path == "/restore":
        agent.json("delete", f"/memories/{memory}")
    response = blind.json(method, f"/memories/{memory}{path}", body)
    assert response.status_code == 200
    shown = response.json()
    assert set(shown) == BRIEF
    assert shown["id"] == memory
    assert response["ETag"] == f'"{shown["version"]}"'
    stored = agent.json("get", f"/memories/{memory}").json()
    assert shown == {name: stored[name] for name in BRIEF}


@pytest.mark.parametrize(("method", "body"), [("patch", {"importance": 0.9}), ("delete", None)])
def test_any_form_of_if_match_is_heeded(agent: Client, blind: Client, method: str, body: Any) -> None:
    memory = remember(agent, SECRET)
    for tags in ('"7"', '"7", "8"', "garbage"):
        problem(blind.json(method, f"/memories/{memory}", body, **{"If-Match": tags}), 412, "precondition.failed")
    assert blind.json(method, f"/memories/{memory}", body, **{"If-Match": '"7", "1"'}).status_code == 200


def test_another_owners_version_is_not_told(stranger: Client, blind: Client) -> None:
    memory = remember(stranger, "A stranger's note.")
    for tags in ('"1"', '"1", "2"'):
        problem(blind.json("delete", f"/memories/{memory}", None, **{"If-Match": tags}), 404, "not_found")


def test_several_versions_of_settings_may_be_named(blind: Client) -> None:
    body = {"recall_limit": 7}
    problem(blind.json("patch", "/settings", body, **{"If-Match": '"7", "8"'}), 412, "precondition.failed")
    assert blind.json("patch", "/settings", body, **{"If-Match": '"0", "8"'}).status_code == 200


@each_change
def test_a_key_that_reads_too_is_shown_the_whole(agent: Client, method: str, path: str, body: Any) -> None:
    memory = remember(agent, SECRET)
    assert agent.json(method, f"/memories/{memory}{path}", body).json()["text"] == SECRET


@each_change
def test_an_answer_given_again_tells_no_more(alice: Actor, agent: Client, method: str, path: str, body: Any) -> None:
    memory = remember(agent, SECRET)
    assert agent.actor.agent_id is not None
    lesser = create_key(
        actor=alice, agent_id=agent.actor.agent_id, label="lesser", scopes=[Permission.WRITE, Permission.DELETE]
    )
    address = f"/memories/{memory}{path}"
    whole = agent.json(method, address, body, **{"Idempotency-Key": "once"})
    assert whole.json()["text"] == SECRET
    again = client_of(lesser.secret).json(method, address, body, **{"Idempotency-Key": "once"})
    problem(again, 422, "idempotency.mismatch")
    assert SECRET not in again.content.decode()


@each_change
def test_the_schema_says_so(method: str, path: str, body: Any) -> None:
    document = json.loads(json.dumps(documentation.described(), default=str))
    answers = document["paths"][f"{API}/memories/{{memory_id}}{path}"][method]["responses"]
    shapes = document["components"]["schemas"]
    union = shapes[answers["200"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]]
    whole, brief = (shapes[one["$ref"].rpartition("/")[2]] for one in union["oneOf"])
    assert set(brief["properties"]) == set(brief["required"]) == BRIEF
    # So that a whole answer is not a brief one as well.
    assert brief["additionalProperties"] is False
    assert "text" in whole["required"]


def test_a_changed_entity_is_not_told(agent: Client, blind: Client) -> None:
    entity = agent.json("post", "/graph/entities", {"name": "Renée", "type": "person"}).json()["id"]
    response = blind.json("patch", f"/graph/entities/{entity}", {"importance": 0.9})
    assert (response.status_code, response.json()) == (200, {"id": entity})
