"""Communities over REST: divided, listed, named, filtered by, and refused where they have to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory.services.actors import Permission
from tests.integration.api.conftest import Client, problem

Json = dict[str, Any]
Maker = Callable[..., Client]


@pytest.fixture
def divided(agent: Client, woman: Client) -> Json:
    """Two groups of three, divided by hand."""
    for names in (("Ann", "Ben", "Cid"), ("Dan", "Eva", "Fay")):
        for name in names:
            agent.json("post", "/graph/entities", {"name": name, "type": "person"})
        for first, second in ((0, 1), (1, 2), (0, 2)):
            body = {"source": names[first], "label": "knows", "target": names[second], "weight": 0.9}
            agent.json("post", "/graph/relations", body)
    agent.json("post", "/graph/relations", {"source": "Ann", "label": "met", "target": "Dan", "weight": 0.1})
    memory = agent.json("post", "/memories", {"text": "Ann fired the kiln."}).json()["id"]
    agent.json("post", "/graph/entities", {"name": "Ann", "type": "person", "memory": memory})
    answer = woman.json("post", "/graph/communities")
    assert answer.status_code == 200
    found: Json = answer.json()
    return found


def test_a_division_is_made_and_listed(agent: Client, woman: Client, divided: Json) -> None:
    assert {name: divided[name] for name in ("communities", "nodes", "edges", "relabelled")} == {
        "communities": 2, "nodes": 7, "edges": 8, "relabelled": 7,
    }  # fmt: skip
    listed = woman.json("get", "/graph/communities").json()
    assert [(one["number"], one["entities"], one["memories"]) for one in listed["items"]] == [(1, 3, 1), (2, 3, 0)]
    assert listed["division"]["modularity"] == pytest.approx(divided["modularity"])
    seen = agent.json("get", "/graph/communities").json()
    assert seen["division"] is None
    assert {one["inner_weight"] for one in seen["items"]} == {None}
    page = woman.json("get", "/graph/communities?limit=1").json()
    rest = woman.json("get", f"/graph/communities?limit=1&cursor={page['next']}").json()
    assert [one["number"] for one in page["items"] + rest["items"]] == [1, 2]


def test_one_and_its_members(agent: Client, divided: Json) -> None:
    assert agent.json("get", "/graph/communities/1").json()["title"].startswith("Ann")
    names = [row["name"] for row in agent.json("get", "/graph/communities/1/entities?limit=2").json()["items"]]
    assert names[0] == "Ann"
    memories = agent.json("get", "/graph/communities/1/memories").json()["items"]
    texts = [row["text"] for row in memories]
    assert texts == ["Ann fired the kiln."]
    assert 0 < memories[0]["strength"] <= 1
    assert agent.json("get", "/graph/communities/2/memories").json() == {"items": [], "next": None}
    found = agent.json("post", "/recall", {"query": "the kiln", "filter": {"community": 1}}).json()
    assert [hit["memory"]["text"] for hit in found["hits"]] == texts
    assert agent.json("post", "/recall", {"query": "the kiln", "filter": {"community": 2}}).json()["hits"] == []
    problem(agent.json("post", "/recall", {"query": "x", "filter": {"community": True}}), 422, "filter.invalid")


def test_bridges(agent: Client, divided: Json) -> None:
    (bridge,) = agent.json("get", "/graph/communities/bridges?limit=5").json()["items"]
    assert (bridge["first"], bridge["second"], bridge["count"]) == (1, 2, 1)
    assert [(row["source"]["name"], row["target"]["name"]) for row in bridge["relations"]] == [("Ann", "Dan")]
    assert agent.json("get", "/graph/communities/bridges?limit=0").status_code == 422


def test_who_may_decide_names_them(agent: Client, woman: Client, make_client: Maker, divided: Json) -> None:
    named = woman.json("patch", "/graph/communities/2", {"name": "Sailors"})
    assert (named.status_code, named.json()["title"], named.json()["name"]) == (200, "Sailors", "Sailors")
    assert agent.json("get", "/graph/communities/2").json()["name"] is None
    assert woman.json("patch", "/graph/communities/2", {"name": None}).json()["name"] is None
    ordinary = make_client(agent.actor, "ordinary", scopes=[Permission.READ, Permission.WRITE])
    problem(ordinary.json("patch", "/graph/communities/2", {"name": "x"}), 403, "auth.forbidden")
    problem(ordinary.json("post", "/graph/communities"), 403, "auth.forbidden")
    assert woman.json("patch", "/graph/communities/2", {"name": "x" * 201}).status_code == 413
    assert woman.json("patch", "/graph/communities/2", {}).status_code == 422


@pytest.mark.parametrize("number", ["3", "0", "-1", "x", "1e3", "99999999999999999999"])
def test_a_number_that_is_not_there(agent: Client, divided: Json, number: str) -> None:
    for path in ("", "/entities", "/memories"):
        problem(agent.json("get", f"/graph/communities/{number}{path}"), 404, "not_found")


def test_a_stranger_sees_nothing(stranger: Client, divided: Json) -> None:
    assert stranger.json("get", "/graph/communities").json()["items"] == []
    problem(stranger.json("get", "/graph/communities/1"), 404, "not_found")
    assert stranger.json("get", "/graph/communities/bridges").json() == {"items": []}
