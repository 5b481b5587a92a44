"""Facts over REST: both times, what took whose place, pages and refusals."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote

import pytest

from memory.services.actors import Actor
from tests.integration.api.conftest import Client, problem, remember
from tests.integration.consolidation.scripted import MAY, Scripted, consolidate, home
from tests.integration.consolidation.stage import say

pytestmark = pytest.mark.django_db

JUNE = MAY + timedelta(days=30)


@pytest.fixture
def moved(alice: Actor) -> None:
    for at, place in ((MAY, "Rome"), (JUNE, "Oslo")):
        say(alice, place, ("user", place), at=at)
        consolidate(alice, Scripted({place: [home(f"User lives in {place}.", place)]}), at=JUNE)


def test_facts_as_of_a_date(moved: None, agent: Client) -> None:
    (now,) = agent.json("get", "/facts").json()["items"]
    assert now["memory"]["text"] == "User lives in Oslo."
    (then,) = agent.json("get", f"/facts?as_of={quote(MAY.isoformat())}&kind=fact&kind=preference").json()["items"]
    assert (then["memory"]["text"], then["memory"]["valid"], then["memory"]["status"]) == (
        "User lives in Rome.",
        True,
        "superseded",
    )
    assert then["superseded_by"] == [now["memory"]["id"]]
    assert now["supersedes"] == [then["memory"]["id"]]
    both = agent.json("get", "/facts?superseded=true&limit=1").json()
    rest = agent.json("get", f"/facts?superseded=true&limit=1&cursor={both['next']}").json()
    assert [both["items"], rest["items"]] == [[now], [{**then, "memory": {**then["memory"], "valid": False}}]]
    assert rest["next"] is None
    history = agent.json("get", f"/memories/{then['memory']['id']}/history").json()
    assert [version["reason"] for version in history["items"]] == ["contradicted"]


def test_refusals(agent: Client, stranger: Client, anonymous: Client) -> None:
    remember(agent, "It is green.", kind="fact")
    assert stranger.json("get", "/facts").json()["items"] == []
    problem(anonymous.json("get", "/facts"), 401, "auth.required")
    for query, code in (
        ("as_of=yesterday", "date.invalid"),
        ("kind=turn", "kind.invalid"),
        ("superseded=perhaps", "superseded.invalid"),
        ("superseded=true&as_of=2026-01-01", "as_of.with_superseded"),
        ("scope=*", "scope.invalid"),
        ("colour=red", "query.unknown"),
        ("about=me", "id.invalid"),
        ("cursor=x", "cursor.invalid"),
    ):
        problem(agent.json("get", f"/facts?{query}"), 422, code)
    problem(agent.json("get", "/facts?about=01a22b9a-03be-7a8d-80ca-c9ccb873fa46"), 404, "not_found")
