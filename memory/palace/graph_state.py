"""What the graph page shows is decided by its address alone: this reads the address and writes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from memory.errors import InvalidInput
from memory.services.graph_view.request import LAYERS, MOST_DEPTH, ViewRequest

COLOURS: Final = ("category", "community")
ROWS: Final = 60
"""Rows of the list that a page begins with, and by which it grows."""

MOST_ROWS: Final = 2_000
MOST_TYPED: Final = 1_000
SEEDS: Final = ("memory", "entity", "community")


@dataclass(frozen=True, slots=True)
class GraphState:
    """A view of the graph as the address holds it; blank means the default.

    Attributes:
        q, memory, entity, community: the seed, one of them or none.
        depth, layer, colour: as chosen.
        true_on, known_on: days, as `2026-05-03`.
        rows: how many rows the list shows.
    """

    q: str = ""
    memory: str = ""
    entity: str = ""
    community: str = ""
    depth: int = 1
    layer: str = "both"
    colour: str = "category"
    true_on: str = ""
    known_on: str = ""
    rows: int = ROWS

    def request(self) -> ViewRequest:
        """Give what the service is asked for.

        Raises:
            InvalidInput: an id, number or day cannot be read.
        """
        return ViewRequest(
            memory_id=_uuid(self.memory, "memory"),
            entity_id=_uuid(self.entity, "entity"),
            community=None if not self.community else _whole(self.community, "community"),
            query=self.q,
            depth=self.depth,
            layer=self.layer,
            valid_at=_end_of(self.true_on, "true_on"),
            known_at=_end_of(self.known_on, "known_on"),
            dated=False,
        )

    def query(self, **changes: Any) -> str:
        """Write the query of the address with some parts changed; parts at their default are left out."""
        state = replace(self, **changes)
        default = GraphState()
        pairs = {name: getattr(state, name) for name in NAMES if getattr(state, name) != getattr(default, name)}
        return urlencode(pairs)

    def address(self, page: str = "palace:graph", **changes: Any) -> str:
        """Write the whole address with some parts changed."""
        query = self.query(**changes)
        return f"{reverse(page)}?{query}" if query else reverse(page)

    def seeded(self, **seed: str) -> str:
        """Write the address that starts from another thing, the rest as it is."""
        cleared: dict[str, Any] = {"q": "", "memory": "", "entity": "", "community": "", "rows": ROWS}
        return self.address(**{**cleared, **seed})


NAMES: Final = ("q", "memory", "entity", "community", "depth", "layer", "colour", "true_on", "known_on", "rows")


def state_of(asked: QueryDict) -> GraphState:
    """Read an address; what is none of the choices is taken for the default."""
    depth = _number(asked.get("depth", ""), 1)
    rows = _number(asked.get("rows", ""), ROWS)
    layer, colour = asked.get("layer", "both"), asked.get("colour", "category")
    words = asked.get("q", "").strip()[:MOST_TYPED]
    # Words that are typed take the place of what the view started from.
    memory, entity, community = ("" if words else asked.get(name, "").strip() for name in SEEDS)
    return GraphState(
        q=words,
        memory=memory[:36],
        entity=entity[:36],
        community=community[:9],
        depth=min(MOST_DEPTH, max(1, depth)),
        layer=layer if layer in LAYERS else "both",
        colour=colour if colour in COLOURS else "category",
        true_on=asked.get("true_on", "").strip()[:10],
        known_on=asked.get("known_on", "").strip()[:10],
        rows=min(MOST_ROWS, max(ROWS, rows)),
    )


def _number(typed: str, default: int) -> int:
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) <= 4 else default


def _whole(typed: str, field: str) -> int:
    if not (typed.isascii() and typed.isdigit()):
        raise InvalidInput(_("This is no number of a community."), code="community.invalid", field=field)
    return int(typed)


def _uuid(typed: str, field: str) -> UUID | None:
    if not typed:
        return None
    try:
        return UUID(typed)
    except ValueError as error:
        raise InvalidInput(_("This is no id."), code="id.invalid", field=field) from error


def _end_of(day: str, field: str) -> datetime | None:
    """Give the last moment of a day, since what was learned on it was known on it."""
    if not day:
        return None
    try:
        return datetime.combine(date.fromisoformat(day), time.max, tzinfo=UTC)
    except ValueError as error:
        raise InvalidInput(_("Write a day as in 2026-05-03."), code="date.invalid", field=field) from error
