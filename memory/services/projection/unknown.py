"""Nodes in Neo4j of owners that Loci does not know: left by a restore, or made by somebody else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Final
from uuid import UUID

from memory.graph.projection import cypher
from memory.graph.projection.shape import LABELS
from memory.models import Owner
from memory.providers.composition import neo4j_client
from memory.services.projection.building import EMPTIED_AT_ONCE, emptying
from memory.services.projection.turn import Turn

PAGE: Final = 10_000
MOST: Final = 1_000
# As texts, before and behind every id.
BEFORE: Final = ""
BEHIND: Final = "\U0010ffff"


def unknown_owners() -> dict[str, int]:
    """Count nodes with labels of the projection by the `user_id` that no owner here has; at most 1,000 of these.

    One statement here and one for each label there for 10,000 owners. Nodes without a `user_id` are not looked at.

    Raises:
        ProjectionUnavailable: Neo4j did not answer usably.
    """
    found: Counter[str] = Counter()
    for gaps in _gaps():
        for label in LABELS:
            parameters = {"gaps": gaps, "most": MOST}
            for row in neo4j_client().rows(cypher.COUNT_UNKNOWN.format(label=label), parameters):
                found[row["owner"]] += row["count"]
    # Whoever came while that was asked is known.
    since = {str(owner_id) for owner_id in Owner.objects.filter(pk__in=_ids(found)).values_list("pk", flat=True)}
    return {owner: found[owner] for owner in sorted(found)[:MOST] if owner not in since}


def delete_unknown(owners: dict[str, int], *, turn: Turn) -> None:
    """Delete all that Neo4j holds of owners that `unknown_owners` has found.

    Raises:
        ProjectionUnavailable: Neo4j did not answer usably; it can be repeated.
    """
    for owner in owners:
        for statement in (cypher.EMPTY_MARK, *emptying()):
            parameters = {"owner": owner, "most": EMPTIED_AT_ONCE}
            while count := neo4j_client().rows(statement, parameters)[0]["count"]:
                turn.count(count, "deleted")


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
