"""Both stores, asked in one way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import pytest
from django.test import override_settings

from memory.graph.projection.store import Neo4jStore
from memory.graph.store import POSTGRES, GraphStore
from memory.models import owner_scope
from memory.ports.recorder import GraphRead, add_recorder, remove_recorder
from memory.providers.composition import neo4j_client
from memory.services.actors import Actor
from tests.integration.graph.conftest import time
from tests.integration.projection.conftest import catch_up, projected

__all__ = ["projected", "time"]

T = TypeVar("T")


@dataclass(frozen=True)
class Store:
    """A store by its name."""

    name: str

    def ask(self, actor: Actor, work: Callable[[GraphStore], T]) -> T:
        """Ask about an owner's graph, as it stands now."""
        self.catch_up(actor)
        if self.name == "neo4j":
            return neo4j_client().reading(lambda ask: work(Neo4jStore(ask, actor.owner_id)))
        with owner_scope(actor.owner_id):
            return work(POSTGRES)

    def catch_up(self, actor: Actor) -> None:
        """Have the store know what was written."""
        if self.name == "neo4j":
            catch_up(actor)


@pytest.fixture(params=["postgres", "neo4j"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """Each of the stores, chosen to answer."""
    if request.param == "neo4j":
        request.getfixturevalue("projected")
    with override_settings(GRAPH_READS=request.param, NEO4J_READ_TIMEOUT=20):
        yield Store(request.param)


class Told:
    """Which stores answered."""

    def __init__(self) -> None:
        self.reads: list[GraphRead] = []

    def recalled(self, observed: object) -> None: ...
    def model_called(self, call: object) -> None: ...
    def job_ran(self, ran: object) -> None: ...

    def graph_read(self, read: GraphRead) -> None:
        self.reads.append(read)


@pytest.fixture
def told() -> Iterator[Told]:
    """What is told of reads of the graph."""
    recorder = Told()
    add_recorder(recorder)
    yield recorder
    remove_recorder(recorder)
