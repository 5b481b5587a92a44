"""What is sent to Neo4j for some rows: everything once, and what only takes away without what stays."""

from __future__ import annotations

from memory.graph.projection import cypher
from memory.models import GraphPart
from memory.services.projection.rows import Loaded
from memory.services.projection.statements import statements_for

ENTITY = {"id": "1", "properties": {"id": "1", "name": "Aurora"}, "names": [7]}
RELATION = {"id": "2", "properties": {"id": "2", "type": "likes"}, "source": "1", "target": "3"}


def test_properties_are_sent_once_and_ends_and_names_with_each() -> None:
    sent = statements_for({GraphPart.ENTITY: Loaded([ENTITY], []), GraphPart.RELATION: Loaded([RELATION], [])})
    assert sent == [
        (cypher.WRITE_ENTITIES[0], {"rows": [ENTITY]}),
        (cypher.WRITE_ENTITIES[1], {"rows": [{"id": "1", "names": [7]}]}),
        (cypher.WRITE_RELATIONS[0], {"rows": [RELATION]}),
        (cypher.WRITE_RELATIONS[1], {"rows": [{"id": "2", "source": "1", "target": "3"}]}),
    ]


def test_nothing_is_taken_away_where_nothing_was() -> None:
    sent = statements_for(
        {GraphPart.ENTITY: Loaded([ENTITY], []), GraphPart.RELATION: Loaded([RELATION], [])}, fresh=True
    )
    assert [statement for statement, _ in sent] == [cypher.WRITE_ENTITIES[0], cypher.WRITE_RELATIONS[0]]


def test_relations_go_before_the_entities_that_they_hang_on() -> None:
    sent = statements_for({GraphPart.ENTITY: Loaded([], ["1"]), GraphPart.RELATION: Loaded([], ["2"])})
    assert [statement for statement, _ in sent] == [*cypher.DELETE_RELATIONS, *cypher.DELETE_ENTITIES]
