"""Comparing what Neo4j holds of an owner with the rows: counts, every id, and a sample of whole rows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.graph.projection import cypher
from memory.graph.projection.shape import (
    CAUSE,
    CAUSED_BY,
    ENTITY,
    ENTITY_NAME,
    EVENT,
    PARTICIPATED_IN,
    RELATES_TO,
)
from memory.models import GraphPart, GraphProjection, owner_scope
from memory.providers.composition import neo4j_client
from memory.services.projection.foreign import count_foreign
from memory.services.projection.rows import Row, load_rows, wording

PAGE: Final = 5_000
SAMPLE: Final = 500
LAST: Final = UUID(int=2**128 - 1)
NAMES: Final[Mapping[GraphPart, str]] = {
    GraphPart.ENTITY: ENTITY,
    GraphPart.RELATION: RELATES_TO,
    GraphPart.EVENT: EVENT,
    GraphPart.CAUSE: CAUSE,
}
LOOKS: Final[Mapping[GraphPart, str]] = {
    GraphPart.ENTITY: cypher.LOOK_AT_ENTITIES,
    GraphPart.RELATION: cypher.LOOK_AT_RELATIONS,
    GraphPart.EVENT: cypher.LOOK_AT_EVENTS,
    GraphPart.CAUSE: cypher.LOOK_AT_CAUSES,
}
# What is projected of each table, and the counts of what hangs on it.
PRESENT: Final[Mapping[GraphPart, str]] = {
    GraphPart.ENTITY: "memory_entity t WHERE t.owner_id = %(owner)s",
    GraphPart.RELATION: "memory_relation t WHERE t.owner_id = %(owner)s AND t.retracted_at IS NULL",
    GraphPart.EVENT: "memory_temporalevent t WHERE t.owner_id = %(owner)s",
    GraphPart.CAUSE: "memory_causallink t WHERE t.owner_id = %(owner)s",
}
IDS: Final = "SELECT t.id FROM {present} AND t.id > %(after)s ORDER BY t.id LIMIT %(most)s"
SAMPLED: Final = "SELECT t.id FROM {present} AND t.id >= %(from)s ORDER BY t.id LIMIT %(most)s"
HANGING: Final = """
    SELECT (SELECT count(*) FROM memory_entityname WHERE owner_id = %(owner)s AND kind IN (1, 2)),
           (SELECT count(*) FROM memory_eventparticipant WHERE owner_id = %(owner)s),
           (SELECT count(cause_entity_id) + count(effect_entity_id) FROM memory_causallink WHERE owner_id = %(owner)s)
"""
COUNTED: Final = (
    (ENTITY_NAME, cypher.COUNT_NAMES),
    (PARTICIPATED_IN, cypher.COUNT_PARTICIPATIONS),
    (CAUSED_BY, cypher.COUNT_CAUSED),
)


@dataclass(slots=True)
class Comparison:
    """What a comparison has found.

    Attributes:
        counts: by label or type of relationship, rows here and there.
        sampled: rows compared whole.
        missing, extra, different: ids by part of rows that Neo4j lacks, holds too many, or holds otherwise.
        hanging: labels and types of what hangs on rows whose counts differ.
        foreign: nodes and relationships that no projector can have written, by label or type; counted, as `hanging`
            is, where the rows do not differ. Also nodes that stand there twice and keep a constraint from being made.
    """

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    sampled: int = 0
    missing: dict[GraphPart, list[UUID]] = field(default_factory=dict)
    extra: dict[GraphPart, list[UUID]] = field(default_factory=dict)
    different: dict[GraphPart, list[UUID]] = field(default_factory=dict)
    hanging: list[str] = field(default_factory=list)
    foreign: dict[str, int] = field(default_factory=dict)

    @property
    def mismatches(self) -> int:
        """Count what differs."""
        found = (self.missing, self.extra, self.different)
        ids = sum(len(ids) for kind in found for ids in kind.values())
        return ids + len(self.hanging) + sum(self.foreign.values())

    def as_json(self) -> dict[str, Any]:
        """Give the counts, without ids."""
        return {
            "counts": {name: {"postgres": here, "neo4j": there} for name, (here, there) in self.counts.items()},
            "sampled": self.sampled,
            "missing": sum(map(len, self.missing.values())),
            "extra": sum(map(len, self.extra.values())),
            "different": sum(map(len, self.different.values())),
            "hanging": self.hanging,
            "foreign": self.foreign,
            "mismatches": self.mismatches,
        }


def compare(*, owner_id: UUID, sample: int = SAMPLE) -> Comparison:
    """Compare an owner's projection with the rows without changing anything; raises ProjectionUnavailable."""
    compared = Comparison()
    for part in GraphPart:
        _compare_ids(owner_id, part, compared)
        _compare_rows(owner_id, part, compared, sample)
    # What hangs on rows may differ with these, and is put right with them.
    alone = not (compared.missing or compared.extra or compared.different)
    _compare_hanging(owner_id, compared, alone=alone)
    if alone:
        compared.foreign = count_foreign(owner_id)
    return compared


def _compare_ids(owner_id: UUID, part: GraphPart, compared: Comparison) -> None:
    """Compare all ids of a part, page by page, in their order."""
    here_all = there_all = 0
    after = UUID(int=0)
    while True:
        here = _asked(owner_id, IDS.format(present=PRESENT[part]), {"after": after, "most": PAGE})
        until = here[-1] if len(here) == PAGE else LAST
        there = _ids_there(owner_id, part, after, until)
        known, shown = set(here), set(there)
        _add(compared.missing, part, sorted(known - shown))
        # An id that stands there twice is one too many, too.
        _add(compared.extra, part, sorted((shown - known) | _repeated(there)))
        here_all, there_all = here_all + len(here), there_all + len(there)
        if until == LAST:
            break
        after = until
    compared.counts[NAMES[part]] = here_all, there_all


def _repeated(ids: Sequence[UUID]) -> set[UUID]:
    return {one for one, other in pairwise(ids) if one == other}


def _add(found: dict[GraphPart, list[UUID]], part: GraphPart, ids: Sequence[UUID]) -> None:
    if ids:
        found.setdefault(part, []).extend(ids)


def _ids_there(owner_id: UUID, part: GraphPart, after: UUID, until: UUID) -> list[UUID]:
    label = NAMES[part]
    statement = cypher.IDS_OF_RELATIONS if part == GraphPart.RELATION else cypher.IDS_OF_LABEL.format(label=label)
    # Ids are written in small letters, so that their order as text is that of the database. The first page begins
    # before the lowest of all ids.
    between = {"after": str(after) if after.int else "", "until": str(until)}
    rows = neo4j_client().rows(statement, {"owner": str(owner_id), **between, "form": cypher.ID_FORM})
    return [UUID(row["id"]) for row in rows]


def _compare_rows(owner_id: UUID, part: GraphPart, compared: Comparison, sample: int) -> None:
    """Compare rows from some random places on, whole."""
    for ids in _samples(owner_id, part, sample):
        with owner_scope(owner_id):
            text = GraphProjection.objects.values_list("text", flat=True).get(owner_id=owner_id)
            expected = {row["id"]: row for row in load_rows(part, ids, wording(text)).rows}
        shown = neo4j_client().rows(LOOKS[part], {"owner": str(owner_id), "ids": list(expected)})
        there = {row["id"]: row for row in shown}
        known = set(compared.missing.get(part, ())) | set(compared.different.get(part, ()))
        differing = [UUID(one) for one in expected if one in there and not _alike(expected[one], there[one])]
        _add(compared.different, part, [one for one in differing if one not in known])
        compared.sampled += len(expected)


def _samples(owner_id: UUID, part: GraphPart, sample: int) -> Iterator[list[UUID]]:
    """Give ids of a part: all, where these are few, else some in a row from each of a few places."""
    everything = _asked(owner_id, SAMPLED.format(present=PRESENT[part]), {"from": UUID(int=0), "most": sample + 1})
    if len(everything) <= sample:
        if everything:
            yield everything
        return
    last = _asked(owner_id, f"SELECT t.id FROM {PRESENT[part]} ORDER BY t.id DESC LIMIT 1", {})[0]
    spots = 10
    for _ in range(spots):
        spot = UUID(int=random.randint(everything[0].int, last.int))  # noqa: S311 - which rows are looked at is no secret
        ids = _asked(owner_id, SAMPLED.format(present=PRESENT[part]), {"from": spot, "most": max(1, sample // spots)})
        if ids:
            yield ids


def _alike(expected: Row, there: Row) -> bool:
    return {name: _plain(value) for name, value in expected.items()} == {
        name: _plain(there.get(name)) for name in expected
    }


def _plain(value: Any) -> Any:
    """Give a value as it can be compared, whatever somebody has written: moments of both sides, lists without order."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return sorted(value, key=repr)
    to_native: Callable[[], datetime] | None = getattr(value, "to_native", None)
    return to_native() if to_native is not None else value


def _compare_hanging(owner_id: UUID, compared: Comparison, *, alone: bool) -> None:
    with owner_scope(owner_id), connection.cursor() as cursor:
        cursor.execute(HANGING, {"owner": owner_id})
        here = cursor.fetchone()
    for (name, statement), count in zip(COUNTED, here, strict=True):
        there = int(neo4j_client().rows(statement, {"owner": str(owner_id)})[0]["count"])
        compared.counts[name] = int(count), there
        if alone and count != there:
            compared.hanging.append(name)


def _asked(owner_id: UUID, statement: str, parameters: Mapping[str, Any]) -> list[UUID]:
    with owner_scope(owner_id), connection.cursor() as cursor:
        cursor.execute(statement, {"owner": owner_id, **parameters})
        return [row[0] for row in cursor.fetchall()]
