"""What Neo4j holds of owners that Loci does not know, or of none: left by a restore, or made by somebody else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from uuid import UUID

from memory.errors import ProjectionElsewhere
from memory.graph.projection import cypher
from memory.graph.projection.shape import LABELS, RELATES_TO
from memory.models import Owner
from memory.providers.composition import neo4j_client
from memory.services.projection.building import EMPTIED_AT_ONCE, emptying
from memory.services.projection.standing import standing
from memory.services.projection.turn import Turn

PAGE: Final = 10_000
MOST: Final = 1_000
ELSEWHERE: Final = (
    "Graphs of owners stand in another Neo4j or database than NEO4J_URI and NEO4J_DATABASE name now, so what this one "
    "holds of others may be somebody else's. Nothing was deleted. See `manage.py graph status`."
)
# As texts, before and behind every id.
BEFORE: Final = ""
BEHIND: Final = "\U0010ffff"
BOUNDS: Final = {"before": BEFORE, "behind": BEHIND}
# By label or type: the statement that counts what names no owner, and the one that deletes some of it.
UNOWNED: Final[Mapping[str, tuple[str, str]]] = {
    **{label: (cypher.COUNT_UNOWNED.format(label=label), cypher.EMPTY_UNOWNED.format(label=label)) for label in LABELS},
    RELATES_TO: (cypher.COUNT_UNOWNED_RELATIONS, cypher.EMPTY_UNOWNED_RELATIONS),
}


@dataclass(frozen=True, slots=True)
class Unknown:
    """What Neo4j holds of owners that Loci does not know, or of none.

    Attributes:
        owners: the number of their nodes by `user_id`, at most 1,000 of these.
        more: whether there are others.
        unowned: the number of nodes whose `user_id` is missing, empty or no text, by label, and of relations that stand
            at no entity.
    """

    owners: dict[str, int]
    more: bool
    unowned: dict[str, int]


def unknown_owners() -> Unknown:
    """Count nodes with labels of the projection by the `user_id` that no owner here has, and what names no owner.

    One statement here and one for each label there for 10,000 owners, and then one for each label and one for relations
    that look at all that the database holds of these. Nodes and relations of other products are not counted: those with
    other labels, and relations without a `user_id` between them.

    Raises:
        ProjectionUnavailable: Neo4j did not answer usably.
    """
    found: Counter[str] = Counter()
    for gaps in _gaps():
        for label in LABELS:
            # One more than is told shows that there are others.
            parameters = {"gaps": gaps, "most": MOST + 1}
            for row in neo4j_client().rows(cypher.COUNT_UNKNOWN.format(label=label), parameters):
                found[row["owner"]] += row["count"]
    # Whoever came while that was asked is known.
    since = {str(owner_id) for owner_id in Owner.objects.filter(pk__in=_ids(found)).values_list("pk", flat=True)}
    told = {owner: found[owner] for owner in sorted(found)[:MOST] if owner not in since}
    return Unknown(told, more=len(found) > MOST, unowned=_unowned())


def delete_unknown(*, turn: Turn) -> Unknown:
    """Delete all that Neo4j holds of owners that Loci does not know, or of none, until nothing is left.

    Returns:
        What was deleted, as `unknown_owners` tells it; it may be more.

    Raises:
        ProjectionElsewhere: the graph of an owner stands in another Neo4j, so that this one may be somebody else's.
        ProjectionUnavailable: Neo4j did not answer usably; it can be repeated.
    """
    if standing().elsewhere:
        raise ProjectionElsewhere(ELSEWHERE)
    first = found = unknown_owners()
    _delete(found, turn)
    while found.more:
        found = unknown_owners()
        _delete(found, turn)
    return first


def _delete(found: Unknown, turn: Turn) -> None:
    for owner in found.owners:
        for statement in (cypher.EMPTY_MARK, *emptying()):
            _empty(statement, {"owner": owner}, turn)
    for name in found.unowned:
        _empty(UNOWNED[name][1], BOUNDS, turn)


def _empty(statement: str, parameters: Mapping[str, str], turn: Turn) -> None:
    while count := neo4j_client().rows(statement, {**parameters, "most": EMPTIED_AT_ONCE})[0]["count"]:
        turn.count(count, "deleted")


def _unowned() -> dict[str, int]:
    counts = {name: int(neo4j_client().rows(count, BOUNDS)[0]["count"]) for name, (count, _) in UNOWNED.items()}
    return {name: count for name, count in counts.items() if count}


def _gaps() -> Iterator[list[tuple[str, str]]]:
    """Give what lies between the ids of owners as texts, page by page."""
    after = BEFORE
    while True:
        rows = Owner.objects.filter(pk__gt=after) if after else Owner.objects.all()
        page = [str(one) for one in rows.order_by("pk").values_list("pk", flat=True)[:PAGE]]
        last = len(page) < PAGE
        yield list(pairwise([after, *page, *([BEHIND] if last else [])]))
        if last:
            return
        after = page[-1]


def _ids(texts: Counter[str]) -> list[UUID]:
    ids = []
    for text in texts:
        try:
            ids.append(UUID(text))
        except ValueError:
            continue
    return ids
