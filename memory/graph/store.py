"""Where an owner's graph is read: the port, and PostgreSQL behind it.

A store gives ids, numbers and hashes only. Rows, texts and who may read them always come from PostgreSQL, whichever
store was asked; `memory.graph.projection.store` is the other one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol
from uuid import UUID

from memory.graph import traversal
from memory.graph.traversal import Found, Reached, Step, View


class GraphStore(Protocol):
    """Looks entities up and takes steps over relations, of one owner.

    Every store gives the same answers in the same order; `tests/contract/graph` holds them to that.
    """

    def by_whole_name(
        self, hashes: Iterable[int], *, scopes: Sequence[UUID] | None, type_: str | None = None
    ) -> dict[int, list[Found]]:
        """Find entities by hashes of their whole names and aliases, the most mentioned first."""

    def one_hop(self, frontier: Sequence[UUID], *, view: View, each: int, most: int) -> list[Step]:
        """Take one step from some entities in both directions, over their heaviest relations."""

    def neighbours(self, seeds: Sequence[UUID], *, hops: int, view: View, limit: int) -> Reached:
        """Walk one to three steps from some entities, nearest and heaviest first."""


class PostgresStore:
    """The graph in PostgreSQL, within the scope of its owner that the caller has opened."""

    def by_whole_name(
        self, hashes: Iterable[int], *, scopes: Sequence[UUID] | None, type_: str | None = None
    ) -> dict[int, list[Found]]:
        """Find entities in one statement, see `traversal.by_whole_name`."""
        return traversal.by_whole_name(hashes, scopes=scopes, type_=type_)

    def one_hop(self, frontier: Sequence[UUID], *, view: View, each: int, most: int) -> list[Step]:
        """Take a step in one statement, see `traversal.one_hop`."""
        return traversal.one_hop(frontier, view=view, each=each, most=most)

    def neighbours(self, seeds: Sequence[UUID], *, hops: int, view: View, limit: int) -> Reached:
        """Walk in one statement for each step, see `traversal.neighbours`."""
        return traversal.neighbours(seeds, hops=hops, view=view, limit=limit)


POSTGRES: Final = PostgresStore()
