"""`/agents/{id}/settings`, renaming, and changing keys, over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory.services.actors import Actor
from memory.services.agents import create_key
from tests.integration.api.conftest import Client, client_of, problem

Make = Callable[..., Client]


def test_what_holds_for_an_agent_and_what_was_chosen(alice: Actor, woman: Client, make_client: Make) -> None:
    agent = make_client(alice, "quiet")
    path = f"/agents/{agent.actor.agent_id}/settings"
    found = woman.json("get", path)
    assert (found.json()["chosen"], found.json()["values"]["recall_limit"], found["ETag"]) == ({}, 5, '"0"')
    changed = woman.json("patch", path, {"auto_recall": False, "recall_limit": 2}, **{"If-Match": '"0"'})
    assert changed.status_code == 200
    assert changed.json()["chosen"] == {"auto_recall": False, "recall_limit": 2}
    problem(woman.json("patch", path, {"recall_limit": 3}, **{"If-Match": '"0"'}), 412, "precondition.failed")
    back = woman.json("patch", path, {"recall_limit": None})
    assert (back.json()["chosen"], back.json()["values"]["recall_limit"]) == ({"auto_recall": False}, 5)


def test_a_block_is_empty_for_an_agent_without_auto_recall(alice: Actor, woman: Client, make_client: Make) -> None:
    agent = make_client(alice, "quiet")
    woman.json("post", "/memories", {"text": "The kettle is blue."})
    woman.json("patch", f"/agents/{agent.actor.agent_id}/settings", {"auto_recall": False})
    silent = agent.json("post", "/context", {"query": "kettle", "threshold": 0}).json()
    assert (silent["text"], silent["degraded"], silent["gate"]) == ("", ["auto_recall.off"], "skip")
    asked = agent.json("post", "/context", {"query": "kettle", "threshold": 0, "asked": True}).json()
    assert "kettle" in asked["text"]


def test_what_agents_do_not_have_is_refused(alice: Actor, woman: Client, make_client: Make) -> None:
    agent = make_client(alice, "quiet")
    path = f"/agents/{agent.actor.agent_id}/settings"
    problem(woman.json("patch", path, {"sleep": "off"}), 422, "setting.unknown")
    problem(woman.json("patch", path, {"recall_limit": 0}), 422, "setting.invalid")
    problem(woman.json("patch", path, {}), 422, "change.empty")


def test_a_key_and_a_name_are_changed(alice: Actor, woman: Client, make_client: Make) -> None:
    agent = make_client(alice, "quiet", scopes=["memory:read"])
    assert agent.actor.agent_id is not None
    made = create_key(actor=alice, agent_id=agent.actor.agent_id, label="laptop", scopes=["memory:read"])
    holder = client_of(made.secret)
    assert holder.json("post", "/memories", {"text": "x"}).status_code == 403
    body: dict[str, Any] = {"label": "phone", "scopes": ["memory:read", "memory:write"]}
    changed = woman.json("patch", f"/keys/{made.key_id}", body)
    assert (changed.status_code, changed.json()["label"]) == (200, "phone")
    assert holder.json("post", "/memories", {"text": "The kettle is blue."}).status_code == 201
    problem(woman.json("patch", f"/keys/{made.key_id}", {}), 422, "change.empty")
    woman.json("delete", f"/keys/{made.key_id}")
    problem(woman.json("patch", f"/keys/{made.key_id}", {"label": "again"}), 409, "key.revoked")
    renamed = woman.json("patch", f"/agents/{agent.actor.agent_id}", {"name": "Chronicler"})
    assert renamed.json()["name"] == "Chronicler"


def test_no_key_is_raised_beyond_who_changes_it(alice: Actor, make_client: Make) -> None:
    manager = make_client(alice, "manager", scopes=["agents:manage", "memory:read"])
    agent = make_client(alice, "quiet", scopes=["memory:read"])
    problem(manager.json("patch", f"/keys/{agent.actor.key_id}", {"scopes": ["transfer"]}), 403, "auth.forbidden")
