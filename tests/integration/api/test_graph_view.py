"""The graph as a picture over REST."""

from __future__ import annotations

import pytest

from tests.integration.api.conftest import Client, problem


@pytest.fixture
def seed(agent: Client) -> str:
    """A memory that speaks of two who know each other."""
    said: str = agent.json("post", "/memories", {"text": "Ann met Ben at the kiln."}).json()["id"]
    for name in ("Ann", "Ben"):
        agent.json("post", "/graph/entities", {"name": name, "type": "person", "memory": said})
    agent.json("post", "/graph/relations", {"source": "Ann", "label": "knows", "target": "Ben", "weight": 0.8})
    return said


def test_it_gives_things_with_places_and_links_between_them(agent: Client, seed: str) -> None:
    view = agent.json("get", f"/graph/view?memory={seed}").json()
    assert (view["start"], view["unseen"]) == ("memory", 0)
    assert [(one["layer"], one["label"]) for one in view["things"]][0] == ("memory", "Ann met Ben at the kiln.")
    assert {one["label"] for one in view["things"][1:]} == {"Ann", "Ben"}
    assert all(isinstance(one["x"], float) and isinstance(one["y"], float) for one in view["things"])
    kinds = {link["kind"]: link for link in view["links"]}
    assert kinds["relation"]["label"] == "knows"
    assert {kinds["relation"]["source"], kinds["relation"]["target"]} == {1, 2}
    assert len(agent.json("get", f"/graph/view?memory={seed}&layer=memories").json()["things"]) == 1
    assert len(agent.json("get", f"/graph/view?memory={seed}&limit=1").json()["things"]) == 1
    assert agent.json("get", "/graph/view").json()["start"] == "today"
    assert agent.json("get", "/graph/view?known_at=2001-01-01T00:00:00Z").json()["things"] == []


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ("depth=4", 422, "depth.out_of_range"),
        ("layer=all", 422, "layer.invalid"),
        ("limit=2001", 422, "limit.out_of_range"),
        ("memory=x", 422, "id.invalid"),
        ("q=%20", 422, "q.invalid"),
        ("q=kiln&community=1", 422, "seed.one_only"),
        ("known_at=later", 422, "date.invalid"),
        ("community=5", 404, "not_found"),
        ("memory=0190aaaa-0000-7000-8000-000000000000", 404, "not_found"),
    ],
)
def test_what_cannot_be_used_is_refused(agent: Client, asked: str, status: int, code: str) -> None:
    answer = agent.json("get", f"/graph/view?{asked}")
    problem(answer, status, code)
