"""Every query of the page on Neo4j runs as it is written there, and gives what it is said to give."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest

from memory.services.actors import Actor
from memory.services.graph.relations import supersede_relation
from tests.bolt.server import BoltServer
from tests.environment import PROJECT
from tests.integration.graph.conftest import entity, relate
from tests.integration.projection.conftest import asked, catch_up, small_graph

pytestmark = pytest.mark.django_db

PAGE = PROJECT / "docs" / "how-to" / "neo4j.md"
QUERIES = re.findall(r"^```cypher\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
USER = "usr_abc123"
# The three of the design that this projection follows, word for word.
PUBLISHED = (
    "MATCH (e:Entity {user_id: 'usr_abc123'})\nRETURN e ORDER BY e.mention_count DESC\n",
    "MATCH (e:Entity {user_id: 'usr_abc123'})-[r:RELATES_TO]-(other)\nRETURN e, r, other\n",
    (
        "MATCH (e:Entity {user_id: 'usr_abc123'})-[r:RELATES_TO]-()\n"
        "RETURN e.display_name, e.type, count(r) AS connections\nORDER BY connections DESC\n"
    ),
)


@pytest.fixture
def made(alice: Actor, mallory: Actor, projected: BoltServer) -> dict[str, Any]:
    """A graph of one owner, with something that has ended, and one of another owner."""
    ids = small_graph(alice)
    for _ in range(2):
        entity(alice, "Aurora", "project")
    entity(alice, "Renée Müller")
    old = relate(alice, ids["anna"], "lives_in", entity(alice, "Graz", "topic"), valid_from="2020-01-01")
    supersede_relation(actor=alice, relation_id=old.relation.pk)
    small_graph(mallory)
    for owner in (alice, mallory):
        catch_up(owner)
    return ids


def answers(query: str, owner_id: UUID) -> list[dict[str, Any]]:
    """Ask what is written, with an owner's id in the place of the example's."""
    assert USER in query
    return asked(query.replace(USER, str(owner_id)))


def test_the_published_queries_stand_on_the_page() -> None:
    assert [query for query in PUBLISHED if query not in QUERIES] == []


def test_entities_the_most_mentioned_first(alice: Actor, made: dict[str, Any]) -> None:
    rows = answers(PUBLISHED[0], alice.owner_id)
    assert [row["e"]["display_name"] for row in rows][0] == "Aurora"
    assert {row["e"]["display_name"] for row in rows} == {"Aurora", "Anna Weber", "Graz", "Renée Müller"}
    counts = [row["e"]["mention_count"] for row in rows]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == 3


def test_how_entities_stand_to_each_other(alice: Actor, made: dict[str, Any]) -> None:
    rows = answers(PUBLISHED[1], alice.owner_id)
    pairs = {(row["e"]["display_name"], row["other"]["display_name"]) for row in rows}
    one_way = {("Anna Weber", "Aurora"), ("Anna Weber", "Graz")}
    assert pairs == one_way | {(second, first) for first, second in one_way}


def test_the_most_connected_first(alice: Actor, made: dict[str, Any]) -> None:
    assert answers(PUBLISHED[2], alice.owner_id)[0] == {
        "e.display_name": "Anna Weber",
        "e.type": "person",
        "connections": 2,
    }


def test_one_by_its_name_without_diacritics(alice: Actor, made: dict[str, Any]) -> None:
    (query,) = (query for query in QUERIES if "name: 'renee muller'" in query)
    assert answers(query, alice.owner_id) == [{"e.display_name": "Renée Müller", "e.type": "person"}]


@pytest.mark.parametrize("place", range(len(QUERIES)))
def test_every_query_gives_rows_of_its_owner_only(
    alice: Actor, mallory: Actor, made: dict[str, Any], place: int
) -> None:
    rows = answers(QUERIES[place], alice.owner_id)
    assert rows
    assert str(mallory.owner_id) not in str(rows)
    assert answers(QUERIES[place], made["anna"]) == []


def test_what_holds_and_what_held(alice: Actor, made: dict[str, Any]) -> None:
    now, then = (query for query in QUERIES if "valid_" in query)
    assert [row["r.type"] for row in answers(now, alice.owner_id)] == ["works_on"]
    assert [row["r.type"] for row in answers(then, alice.owner_id)] == ["lives_in"]
