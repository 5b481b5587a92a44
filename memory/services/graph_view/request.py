"""What part of the graph is asked for, checked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.errors import InvalidInput
from memory.text import limits

MOST_DEPTH: Final = 3
LAYERS: Final = ("both", "memories", "entities")
MOST_NODES: Final = 2_000
MOST_LINKS: Final = 6_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRequest:
    """A part of the graph as it came in, before any check. Without a seed it starts from today.

    Attributes:
        memory_id, entity_id, community: one seed; a community is named by its number.
        query: words; the memories that fit them and the entities that they name are the seeds.
        depth: steps from the seeds, 1 to 3.
        layer: `memories` with the links between them, `entities` with their relations, or `both` with what joins them.
        valid_at: what was true at this moment; for relations now, or `known_at`, when left out.
        known_at: what was known at this moment; now when left out.
        most: most things, 1 to 2,000.
        labelled: of how many of them, the first by rank, the words are opened.
        dated: whether the times of the links are wanted.
    """

    memory_id: UUID | None = None
    entity_id: UUID | None = None
    community: int | None = None
    query: str = ""
    depth: int = 1
    layer: str = "both"
    valid_at: Any = None
    known_at: Any = None
    most: int = MOST_NODES
    labelled: int = MOST_NODES
    dated: bool = True


@dataclass(frozen=True, slots=True)
class Times:
    """The two moments of a view: of truth and of knowledge; None where the present is meant."""

    valid: datetime | None
    known: datetime | None


def checked(request: ViewRequest) -> Times:
    """Check a request and give its moments.

    Raises:
        InvalidInput: more than one seed, or a depth, layer, number or moment that cannot be used.
    """
    seeds = (request.memory_id, request.entity_id, request.community, request.query.strip() or None)
    if sum(one is not None for one in seeds) > 1:
        raise InvalidInput("Name one thing to start from.", code="seed.one_only", field="seed")
    if not 1 <= request.depth <= MOST_DEPTH:
        raise InvalidInput(f"depth lies between 1 and {MOST_DEPTH}.", code="depth.out_of_range", field="depth")
    if request.layer not in LAYERS:
        raise InvalidInput(f"layer is one of {', '.join(LAYERS)}.", code="layer.invalid", field="layer")
    if not 1 <= request.most <= MOST_NODES:
        raise InvalidInput(f"limit lies between 1 and {MOST_NODES:,}.", code="limit.out_of_range", field="limit")
    return Times(
        valid=None if request.valid_at is None else limits.checked_moment(request.valid_at, field="valid_at"),
        known=None if request.known_at is None else limits.checked_moment(request.known_at, field="known_at"),
    )
