"""Settings and recall profiles."""

from __future__ import annotations

from typing import Any

import pytest

from memory.recall.profiles import SHIPPED
from memory.services.settings_table import OWNER_SETTINGS
from tests.integration.api.conftest import Client, problem, remember


def test_settings_have_defaults_and_can_be_changed(agent: Client, stranger: Client) -> None:
    first = agent.json("get", "/settings")
    assert first.json() == {"values": {name: s.default for name, s in OWNER_SETTINGS.items()}, "version": 0}
    assert first["ETag"] == '"0"'
    changed = agent.json("patch", "/settings", {"recall_limit": 7, "context_format": "cortex"})
    assert changed.status_code == 200
    assert changed["ETag"] == '"1"'
    assert (changed.json()["values"]["recall_limit"], changed.json()["values"]["context_format"]) == (7, "cortex")
    again = agent.json("patch", "/settings", {"recall_limit": None}).json()
    assert again["values"]["recall_limit"] == OWNER_SETTINGS["recall_limit"].default
    assert agent.json("get", "/settings").json() == again
    assert stranger.json("get", "/settings").json() == first.json()


def test_the_chosen_format_is_used(agent: Client) -> None:
    remember(agent, "Tea is warm.")
    agent.json("patch", "/settings", {"context_format": "cortex"})
    block = agent.json("post", "/context", {"query": "tea"}).json()
    assert block["text"].startswith("--- Relevant Memory ---")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, "change.empty"),
        ({"colour": "red"}, "setting.unknown"),
        ({"recall_limit": 0}, "setting.invalid"),
        ({"recall_limit": 101}, "setting.invalid"),
        ({"recall_limit": "7"}, "field.type"),
        ({"recall_limit": True}, "field.type"),
        ({"recall_threshold": 2}, "setting.invalid"),
        ({"recall_profile": "best"}, "setting.invalid"),
        ({"recall_profile": []}, "field.type"),
        ({"context_tokens": 49}, "setting.invalid"),
        ({"recall_limit": 7, "context_tokens": 1}, "setting.invalid"),
    ],
)
def test_settings_that_cannot_be_chosen(agent: Client, changes: dict[str, Any], code: str) -> None:
    problem(agent.json("patch", "/settings", changes), 422, code)
    assert agent.json("get", "/settings").json()["version"] == 0


def test_outdated_settings_are_not_changed(agent: Client) -> None:
    agent.json("patch", "/settings", {"recall_limit": 7})
    response = agent.json("patch", "/settings", {"recall_limit": 8}, **{"If-Match": '"0"'})
    problem(response, 412, "precondition.failed")
    assert agent.json("patch", "/settings", {"recall_limit": 8}, **{"If-Match": '"1"'}).status_code == 200


def test_profiles_are_changed_and_reset_by_version(agent: Client, stranger: Client) -> None:
    names = [profile["name"] for profile in agent.json("get", "/profiles").json()["items"]]
    assert names == list(SHIPPED)
    shipped = agent.json("get", "/profiles/default").json()
    assert shipped["version"] == 0
    changes = {"limit": 3, "weights": {"dense": 0.1, "lexical": 0.9}, "arms": ["lexical"], "importance_base": None}
    changed = agent.json("patch", "/profiles/default", changes).json()
    assert changed == {**shipped, **changes, "version": 1}
    assert agent.json("get", "/profiles/default").json() == changed
    assert stranger.json("get", "/profiles/default").json() == shipped
    reset = agent.json("delete", "/profiles/default").json()
    assert reset == {**shipped, "version": 2}
    assert agent.json("delete", "/profiles/default").json() == reset


def test_a_changed_profile_is_used(agent: Client) -> None:
    for number in range(5):
        remember(agent, f"tea number {number}")
    agent.json("patch", "/profiles/praxis", {"limit": 2})
    assert len(agent.json("post", "/recall", {"query": "tea", "profile": "praxis"}).json()["hits"]) == 2


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, "profile.invalid"),
        ({"colour": "red"}, "field.unknown"),
        ({"name": "mine"}, "field.unknown"),
        ({"version": 7}, "field.unknown"),
        ({"arms": []}, "arms.too_few"),
        ({"arms": [[]]}, "arms.invalid"),
        ({"arms": ["psychic"]}, "arms.invalid"),
        ({"fusion": "magic"}, "fusion.invalid"),
        ({"limit": 0}, "profile.invalid"),
        ({"limit": 2.5}, "field.type"),
        ({"rrf_k": 10**30}, "profile.invalid"),
        ({"weights": {"dense": "much"}}, "field.type"),
        ({"weights": {"psychic": 1}}, "profile.invalid"),
        ({"weights": {"dense": -1}}, "profile.invalid"),
        ({"weights": [1]}, "field.type"),
        ({"half_life_days": {"semantic": 0}}, "profile.invalid"),
        ({"half_life_days": {"forever": 1}}, "profile.invalid"),
        ({"threshold": 1.5}, "profile.invalid"),
        ({"fallback": "no"}, "field.type"),
        ({"mmr_lambda": None}, "field.null"),
    ],
)
def test_profiles_that_cannot_be(agent: Client, changes: dict[str, Any], code: str) -> None:
    problem(agent.json("patch", "/profiles/default", changes), 422, code)
    assert agent.json("get", "/profiles/default").json()["version"] == 0


@pytest.mark.parametrize("name", ["best", "DEFAULT", "%00", "\N{SNOWMAN}", "x" * 500])
def test_unknown_profiles_are_not_found(agent: Client, name: str) -> None:
    problem(agent.json("get", f"/profiles/{name}"), 404, "profile.unknown")
    problem(agent.json("patch", f"/profiles/{name}", {"limit": 1}), 404, "profile.unknown")
    problem(agent.json("delete", f"/profiles/{name}"), 404, "profile.unknown")
