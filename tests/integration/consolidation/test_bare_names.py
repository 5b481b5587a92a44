"""A bare name is the only known bearer's, and what exists needs no review."""

from __future__ import annotations

import pytest

from tests.integration.api.conftest import Client, agent, make_client, woman  # noqa: F401
from tests.integration.consolidation.told import MAY, entities, run, tell

pytestmark = pytest.mark.django_db


def named(client: Client, name: str) -> list[str]:
    items = client.json("get", "/graph/entities?limit=100").json()["items"]
    return [item["type"] for item in items if item["name"] == name]


@pytest.mark.parametrize("together", [True, False], ids=["one run", "two runs"])
def test_a_dog_stays_one_entity(agent: Client, together: bool) -> None:  # noqa: F811
    tell(agent, "one", "Our dog Oscar is asleep.", at=MAY)
    if not together:
        run(agent)
    tell(agent, "two", "Oscar hates thunder.", at=MAY)
    run(agent)
    assert named(agent, "Oscar") == ["concept"]


def test_a_brother_of_the_same_name_is_another(agent: Client) -> None:  # noqa: F811
    tell(agent, "one", "Our dog Oscar is asleep.", at=MAY)
    run(agent)
    tell(agent, "two", "My brother Oscar lives in Porto.", at=MAY)
    run(agent)
    assert sorted(named(agent, "Oscar")) == ["concept", "person"]


def test_a_bare_name_that_nobody_bears_is_a_persons(agent: Client) -> None:  # noqa: F811
    tell(agent, "one", "Oscar hates thunder.", at=MAY)
    run(agent)
    assert named(agent, "Oscar") == ["person"]
    assert "guessed_type" not in str(entities(agent)["Oscar"])


def test_what_exists_is_not_asked_about(agent: Client, woman: Client) -> None:  # noqa: F811
    tell(agent, "one", "Marek plays tennis.", at=MAY)
    run(agent)
    known = entities(agent)["Marek"]["mention_count"]
    assert woman.json("patch", "/settings", {"gate_confidence": 0.99}).status_code == 200
    tell(agent, "two", "Marek and Greta Lind met in Porto.", at=MAY)
    run(agent)
    asked = woman.json("get", "/reviews?kind=entity").json()["items"]
    assert "Greta Lind" in {item["payload"]["name"] for item in asked}
    assert "Marek" not in {item["payload"]["name"] for item in asked}
    assert entities(agent)["Marek"]["mention_count"] == known + 1
    assert "guessed_type" not in str(asked)
