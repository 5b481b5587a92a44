"""Agents, their keys and their groups."""

from __future__ import annotations

from typing import Any

import pytest

from memory.models import AgentKey, owner_scope
from memory.services.actors import Permission
from tests.integration.api.conftest import Client, client_of, problem, remember


def test_an_agent_is_made_with_a_key_that_works(woman: Client) -> None:
    made = woman.json("post", "/agents", {"name": "planner"})
    assert made.status_code == 201
    agent = made.json()
    assert agent["paused_at"] is None
    key = woman.json("post", f"/agents/{agent['id']}/keys", {"label": "laptop"})
    assert key.status_code == 201
    client = client_of(key.json()["secret"])
    assert remember(client, "Tea is warm.")
    (listed,) = woman.json("get", f"/agents/{agent['id']}/keys").json()["items"]
    assert listed["id"] == key.json()["id"]
    assert listed["label"] == "laptop"
    assert listed["prefix"] == key.json()["secret"].split("_")[1]
    assert set(listed["scopes"]) == {"memory:read", "memory:write", "memory:delete", "files:read", "telemetry:write"}
    assert listed["default_scope"] == "owner"
    assert listed["last_used_at"].endswith("Z")
    assert "secret" not in listed
    assert woman.json("get", "/agents").json()["items"] == [agent]


def test_the_keys_default_scope_is_used(woman: Client, agent: Client) -> None:
    path = f"/agents/{agent.actor.agent_id}/keys"
    secret = woman.json("post", path, {"label": "diary", "default_scope": "agent"}).json()["secret"]
    memory = remember(client_of(secret), "Dear diary.")
    assert woman.json("get", f"/memories/{memory}").json()["scope"] == "agent"
    assert woman.json("get", path).json()["items"][0]["default_scope"] == "agent"


def test_a_paused_agent_is_refused_until_it_is_resumed(woman: Client, agent: Client) -> None:
    paused = woman.json("post", f"/agents/{agent.actor.agent_id}/pause").json()
    assert paused["paused_at"].endswith("Z")
    problem(agent.json("get", "/memories"), 401, "auth.invalid")
    assert woman.json("post", f"/agents/{agent.actor.agent_id}/resume").json()["paused_at"] is None
    assert agent.json("get", "/memories").status_code == 200


def test_a_revoked_key_stays_in_the_list(woman: Client, agent: Client) -> None:
    assert woman.json("delete", f"/keys/{agent.actor.key_id}").status_code == 204
    assert woman.json("delete", f"/keys/{agent.actor.key_id}").status_code == 204
    (key,) = woman.json("get", f"/agents/{agent.actor.agent_id}/keys").json()["items"]
    assert key["revoked_at"].endswith("Z")
    problem(agent.json("get", "/memories"), 401, "auth.invalid")


def test_a_key_cannot_raise_itself(alice: Any, make_client: Any) -> None:
    manager = make_client(alice, "manager", scopes=[Permission.AGENTS, Permission.READ])
    path = f"/agents/{manager.actor.agent_id}/keys"
    body = problem(manager.json("post", path, {"label": "more", "scopes": ["memory:write"]}), 403, "auth.forbidden")
    assert body["permission"] == "memory:write"
    problem(manager.json("post", path, {"label": "more"}), 403, "auth.forbidden")
    assert manager.json("post", path, {"label": "same", "scopes": ["memory:read"]}).status_code == 201
    with owner_scope(alice.owner_id):
        assert AgentKey.objects.count() == 2


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "field.required"),
        ({"name": ""}, 422, "text.empty"),
        ({"name": "x" * 401}, 413, "text.too_large"),
        ({"name": "\x00"}, 422, "text.nul"),
        ({"name": 7}, 422, "field.type"),
        ({"name": "x", "owner": "y"}, 422, "field.unknown"),
        ({"name": "Assistant"}, 409, "agent.taken"),
    ],
)
def test_agents_that_cannot_be_made(agent: Client, body: dict[str, Any], status: int, code: str) -> None:
    problem(agent.json("post", "/agents", body), status, code)
    assert len(agent.json("get", "/agents").json()["items"]) == 1


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "field.required"),
        ({"label": ""}, 422, "text.empty"),
        ({"label": "x", "scopes": []}, 422, "scopes.too_few"),
        ({"label": "x", "scopes": ["memory:everything"]}, 422, "scopes.invalid"),
        ({"label": "x", "scopes": "memory:read"}, 422, "field.type"),
        ({"label": "x", "default_scope": None}, 422, "scope.invalid"),
        ({"label": "x", "default_scope": "*"}, 422, "scope.invalid"),
        ({"label": "x", "default_scope": "squad:01900000-0000-7000-8000-000000000000"}, 404, "not_found"),
        ({"label": "x", "expires_at": "soon"}, 422, "date.invalid"),
        ({"label": "x", "secret": "loci_mine"}, 422, "field.unknown"),
    ],
)
def test_keys_that_cannot_be_made(agent: Client, body: dict[str, Any], status: int, code: str) -> None:
    path = f"/agents/{agent.actor.agent_id}/keys"
    problem(agent.json("post", path, body), status, code)
    assert len(agent.json("get", path).json()["items"]) == 1


def test_groups_have_members(woman: Client, agent: Client, colleague: Client, stranger: Client) -> None:
    group = woman.json("post", "/groups", {"kind": "project", "name": "moon"})
    assert group.status_code == 201
    path = f"/groups/{group.json()['id']}/members"
    for _ in range(2):
        assert woman.json("put", f"{path}/{agent.actor.agent_id}").status_code == 204
    assert woman.json("put", f"{path}/{colleague.actor.agent_id}").status_code == 204
    (listed,) = woman.json("get", "/groups").json()["items"]
    assert listed["agent_ids"] == [str(agent.actor.agent_id), str(colleague.actor.agent_id)]
    assert (listed["kind"], listed["name"]) == ("project", "moon")
    for _ in range(2):
        assert woman.json("delete", f"{path}/{agent.actor.agent_id}").status_code == 204
    assert woman.json("get", "/groups").json()["items"][0]["agent_ids"] == [str(colleague.actor.agent_id)]
    problem(woman.json("put", f"{path}/{stranger.actor.agent_id}"), 404, "not_found")
    problem(woman.json("post", "/groups", {"kind": "project", "name": "Moon"}), 409, "group.taken")
    problem(woman.json("post", "/groups", {"kind": "family", "name": "moon"}), 422, "kind.invalid")
    assert woman.json("post", "/groups", {"kind": "squad", "name": "moon"}).status_code == 201
    assert stranger.json("get", "/groups").json()["items"] == []


def test_agents_and_keys_of_others_are_not_listed(woman: Client, agent: Client, stranger: Client) -> None:
    assert [item["name"] for item in woman.json("get", "/agents").json()["items"]] == ["assistant"]
    assert [item["name"] for item in stranger.json("get", "/agents").json()["items"]] == ["spy"]
