"""What the rows found must satisfy besides being visible, and the SQL of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Filters:
    """What rows must satisfy besides being visible; empty means anything.

    `labels` maps a label's kind to the keyed hashes of which one must be on the row.
    """

    tiers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    labels: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    session_id: UUID | None = None
    agent_id: UUID | None = None
    occurred_from: datetime | None = None
    occurred_until: datetime | None = None
    least_importance: float = 0.0

    def conditions(self) -> tuple[list[str], dict[str, Any]]:
        """Give SQL conditions on the memory table under the alias `m`, with their named parameters."""
        sql: list[str] = []
        parameters: dict[str, Any] = {}

        def add(condition: str, **values: Any) -> None:
            sql.append(condition)
            parameters.update(values)

        for column, values in (("tier", self.tiers), ("kind", self.kinds), ("category", self.categories)):
            if values:
                add(f"m.{column} = ANY(%(filter_{column})s)", **{f"filter_{column}": list(values)})
        for kind, hashes in self.labels.items():
            add(
                "EXISTS (SELECT FROM memory_memorylabel l WHERE l.owner_id = m.owner_id "
                f"AND l.kind = {int(kind)} AND l.label = ANY(%(filter_label_{kind})s) AND l.memory_id = m.id)",
                **{f"filter_label_{kind}": list(hashes)},
            )
        if self.session_id is not None:
            add("m.session_id = %(filter_session)s", filter_session=self.session_id)
        if self.agent_id is not None:
            add("m.agent_id = %(filter_agent)s", filter_agent=self.agent_id)
        if self.occurred_from is not None:
            add("m.occurred_at >= %(filter_from)s", filter_from=self.occurred_from)
        if self.occurred_until is not None:
            add("m.occurred_at < %(filter_until)s", filter_until=self.occurred_until)
        if self.least_importance > 0:
            add("m.importance >= %(filter_importance)s", filter_importance=self.least_importance)
        return sql, parameters


def refuse_empty_span(start: datetime | None, end: datetime | None, *, until: str) -> None:
    """Raise InvalidInput with `date.order` for a span of time that no moment lies in.

    Args:
        start: its first moment, None for open.
        end: the first moment after it, None for open.
        until: the name of the input that gave the end, for the error.
    """
    if start is not None and end is not None and end <= start:
        raise InvalidInput(
            f"{until} does not lie after the moment that the span begins.", code="date.order", field=until
        )
