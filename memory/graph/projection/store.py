"""The graph as it is projected to Neo4j, read in Cypher: the same look-ups and steps as in PostgreSQL, ids only.

What it gives is to be believed only where the projection was caught up, and only after PostgreSQL has confirmed what
the caller may see; `memory.services.graph.stores` does both. No statement holds a value: all are parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from memory.errors import ProjectionUnavailable
from memory.graph import traversal
from memory.graph.projection import shape
from memory.graph.traversal import Found, Reached, Step, View
from memory.models import NameKind

Ask = Callable[[str, Mapping[str, Any]], list[dict[str, Any]]]
"""Sends one reading statement with its parameters and gives the rows."""

MOST_FOUND: Final = 1_000
"""Entities of some names; each name stands for at most one of a type in a scope."""

MARKED: Final = f"""
    MATCH (p:{shape.MARK} {{user_id: $owner}}) RETURN p.generation AS generation, p.projected_seq AS seq
"""
NAMED: Final = f"""
    UNWIND $names AS name
    MATCH (n:{shape.ENTITY_NAME} {{user_id: $owner, hash: name}})-[:{shape.NAMES}]->(e:{shape.ENTITY})
    WHERE e.user_id = $owner AND e.scope IS NOT NULL
      AND ($scopes IS NULL OR e.scope IN $scopes) AND ($type IS NULL OR e.type = $type)
    RETURN name, e.id AS id, e.mention_count AS mentions, e.scope AS scope,
           CASE WHEN e.name_hash = name THEN $canonical ELSE $alias END AS kind
    ORDER BY mentions DESC, kind, id LIMIT $most
"""
# As in SQL: each direction's heaviest relations of each entity, then the heaviest of all.
STEP: Final = f"""
    UNWIND $frontier AS via
    MATCH (f:{shape.ENTITY} {{user_id: $owner, id: via}})
    CALL {{
        WITH f
        MATCH (f)-[r:{shape.RELATES_TO}]->(o:{shape.ENTITY})
        WHERE r.user_id = $owner AND o.user_id = $owner AND {{conditions}}
        RETURN r, o ORDER BY r.weight DESC, r.id LIMIT $each
        UNION ALL
        WITH f
        MATCH (f)<-[r:{shape.RELATES_TO}]-(o:{shape.ENTITY})
        WHERE r.user_id = $owner AND o.user_id = $owner AND {{conditions}}
        RETURN r, o ORDER BY r.weight DESC, r.id LIMIT $each
    }}
    RETURN r.id AS id, via, o.id AS other, r.weight AS weight ORDER BY weight DESC, id LIMIT $most
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """How far an owner's projection was when it was read: which one it is, and the last change that it holds."""

    generation: str
    seq: int


class Neo4jStore:
    """An owner's projection, read through a session that the caller has opened."""

    def __init__(self, ask: Ask, owner_id: UUID) -> None:
        """Build it; nothing is asked yet.

        Args:
            ask: sends a statement.
            owner_id: whose graph.
        """
        self._ask = ask
        self._owner = str(owner_id)

    def mark(self) -> Mark | None:
        """Give how far the projection is; None where this owner has none. To be asked before anything else."""
        rows = self._rows(MARKED, {})
        if not rows:
            return None
        with _usable():
            return Mark(str(UUID(rows[0]["generation"])), _bigint(rows[0]["seq"]))

    def by_whole_name(
        self, hashes: Iterable[int], *, scopes: Sequence[UUID] | None, type_: str | None = None
    ) -> dict[int, list[Found]]:
        """Find entities in one statement, along the index of name hashes."""
        asked = list(dict.fromkeys(hashes))
        parameters = {
            "names": asked,
            "scopes": _texts(scopes),
            "type": type_,
            "most": MOST_FOUND,
            "canonical": int(NameKind.CANONICAL),
            "alias": int(NameKind.ALIAS),
        }
        found: dict[int, list[Found]] = {}
        rows = self._rows(NAMED, parameters) if asked else []
        with _usable():
            for row in rows:
                one = Found(UUID(row["id"]), int(row["mentions"]), int(row["kind"]), UUID(row["scope"]))
                found.setdefault(int(row["name"]), []).append(one)
        return found

    def one_hop(self, frontier: Sequence[UUID], *, view: View, each: int, most: int) -> list[Step]:
        """Take a step in one statement.

        Raises:
            ValueError: the view asks for what was believed at another moment, which only PostgreSQL knows.
        """
        if not frontier:
            return []
        conditions, parameters = conditions_of(view)
        rows = self._rows(
            STEP.replace("{conditions}", conditions),
            {**parameters, "frontier": _texts(frontier), "each": each, "most": most},
        )
        with _usable():
            return [
                (UUID(row["id"]), UUID(row["via"]), UUID(row["other"]), float(row["weight"])) for row in rows[:most]
            ]

    def neighbours(self, seeds: Sequence[UUID], *, hops: int, view: View, limit: int) -> Reached:
        """Walk in one statement for each step.

        A single pattern of variable length would read every path through a hub before it could be cut to the heaviest.
        """
        return traversal.neighbours(seeds, hops=hops, view=view, limit=limit, step=self.one_hop)

    def _rows(self, statement: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        return self._ask(statement, {**parameters, "owner": self._owner})


def conditions_of(view: View) -> tuple[str, dict[str, Any]]:
    """Write a view's conditions on a relation `r` in Cypher, and their parameters.

    Raises:
        ValueError: the view asks for what was believed at another moment.
    """
    if view.known_at is not None:
        raise ValueError("only PostgreSQL knows what was believed at another moment")
    written = ["r.scope IS NOT NULL"]
    parameters: dict[str, Any] = {}
    if view.valid_at is not None:
        written.append("r.valid_from <= $valid_at AND (r.valid_until IS NULL OR r.valid_until > $valid_at)")
        parameters["valid_at"] = view.valid_at
    if view.scopes is not None:
        written.append("r.scope IN $scopes")
        parameters["scopes"] = _texts(view.scopes)
    if view.labels is not None:
        written.append("r.label_hash IN $labels")
        parameters["labels"] = list(view.labels)
    return " AND ".join(written), parameters


def _bigint(value: Any) -> int:
    number = int(value)
    if not 0 <= number < 2**63:
        raise ValueError("PostgreSQL knows no such number")
    return number


def _texts(ids: Iterable[UUID] | None) -> list[str] | None:
    return None if ids is None else [str(one) for one in ids]


@contextmanager
def _usable() -> Iterator[None]:
    """Take rows that are not what was projected as a projection that cannot be used: anybody may write to Neo4j."""
    try:
        yield
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ProjectionUnavailable("Neo4j holds what was not projected there.", code="projection.foreign") from error
