"""Spreading activation over links between memories, one step, as Engram has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from memory.models import Status, current_owner
from memory.ports.reading import reading as connection

MOST_OF_SEED: Final = 50
"""Links of one memory that are followed, the heaviest first."""

# Two branches, each along its own covering index.
LINKS: Final = """
    SELECT f.id, n.other, n.weight FROM unnest(%(seeds)s::uuid[]) AS f (id)
    CROSS JOIN LATERAL (
        (SELECT g.target_id AS other, g.weight FROM memory_memoryedge g
         WHERE g.owner_id = %(owner)s AND g.source_id = f.id AND g.weight >= %(least)s
         ORDER BY g.weight DESC LIMIT %(each)s)
        UNION ALL
        (SELECT g.source_id AS other, g.weight FROM memory_memoryedge g
         WHERE g.owner_id = %(owner)s AND g.target_id = f.id AND g.weight >= %(least)s
         ORDER BY g.weight DESC LIMIT %(each)s)
    ) n
    JOIN memory_memory m ON m.owner_id = %(owner)s AND m.id = n.other AND m.status = %(live)s {scope} {where}
"""


@dataclass(frozen=True, slots=True)
class Spreading:
    """How activation spreads.

    Attributes:
        seeds: how many of the best hits spread; 0 for no spreading.
        least_weight: links below this weight are not followed.
        to_hits: what a hit gains for each unit of activation.
        to_others: what a memory that was not hit gets for each unit.
        least_activation: a memory that was not hit needs more than this.
        most_others: such memories at most.
    """

    seeds: int = 0
    least_weight: float = 0.3
    to_hits: float = 0.2
    to_others: float = 0.15
    least_activation: float = 0.4
    most_others: int = 10


def linked(
    seeds: Sequence[UUID],
    *,
    least_weight: float,
    scopes: Sequence[UUID] | None,
    where: str = "",
    parameters: Mapping[str, Any] | None = None,
) -> list[tuple[UUID, UUID, float]]:
    """List the links of some memories in both directions, whatever their kind: from, to and weight.

    One statement in the owner's scope; only live memories that the reader may read are reached.

    Args:
        seeds: from which.
        least_weight: of a link.
        scopes: what the reader may read; None for everything of the owner.
        where: further conditions on the memory reached, under the alias `m`, each with its AND.
        parameters: of these conditions.
    """
    if not seeds:
        return []
    scope = "" if scopes is None else "AND m.scope = ANY(%(scopes)s::uuid[])"
    with connection.cursor() as cursor:
        cursor.execute(
            LINKS.format(scope=scope, where=where),
            {
                **(parameters or {}),
                "owner": current_owner(),
                "seeds": list(seeds),
                "live": Status.LIVE,
                "least": least_weight,
                "each": MOST_OF_SEED,
                "scopes": list(scopes or ()),
            },
        )
        return [(source, target, float(weight)) for source, target, weight in cursor.fetchall()]


def spread(
    scores: Mapping[UUID, float], links: Sequence[tuple[UUID, UUID, float]], spreading: Spreading
) -> dict[UUID, float]:
    """Add activation to scores.

    The activation of a memory is the sum, over the links from seeds, of the seed's score as a share of the best one,
    times the weight. Scores keep their scale, since what is added is a share of the best one again.

    Args:
        scores: of the hits, above zero where anything is to spread.
        links: from seeds to memories, see `linked`.
        spreading: how.
    """
    best = max(scores.values(), default=0.0)
    if best <= 0:
        return dict(scores)
    activation: dict[UUID, float] = {}
    for seed, other, weight in links:
        activation[other] = activation.get(other, 0.0) + scores[seed] / best * weight
    raised = {one: score + best * spreading.to_hits * activation.get(one, 0.0) for one, score in scores.items()}
    others = sorted(
        ((one, level) for one, level in activation.items() if one not in scores and level > spreading.least_activation),
        key=lambda pair: (-pair[1], pair[0]),
    )
    raised.update((one, best * spreading.to_others * level) for one, level in others[: spreading.most_others])
    return raised
