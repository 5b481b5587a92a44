"""What the rows found must satisfy besides being visible, and the SQL of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.errors import InvalidInput
from memory.recall.filter_language import Condition, labelled, valid_at


@dataclass(frozen=True, slots=True)
class Past:
    """A moment to look from: only what was believed and held then.

    `readable` are the scopes that the caller may read, None for all: what a memory said then must have been for one of
    them, as in its history. `held_at` is the moment at which it must have held, that same one when left out.
    """

    at: datetime
    readable: tuple[UUID, ...] | None = None
    held_at: datetime | None = None

    def condition(self) -> Condition:
        """Give the SQL of what was recorded and not retracted by then, held, had not expired and could be read."""
        sql = (
            "m.recorded_at <= %(as_of)s AND (m.retracted_at IS NULL OR m.retracted_at > %(as_of)s) "
            f"AND (m.expires_at IS NULL OR m.expires_at > %(as_of)s) AND {valid_at('held_at')}"
        )
        parameters: dict[str, Any] = {"as_of": self.at, "held_at": self.held_at or self.at}
        if self.readable is not None:
            parameters["as_of_readable"] = list(self.readable)
            sql += (
                " AND coalesce((SELECT v.scope FROM memory_memoryversion v WHERE v.owner_id = m.owner_id "
                "AND v.memory_id = m.id AND v.created_at > %(as_of)s ORDER BY v.number LIMIT 1), m.scope) "
                "= ANY(%(as_of_readable)s::uuid[])"
            )
        return Condition(sql, parameters)


@dataclass(frozen=True, slots=True)
class Filters:
    """What rows must satisfy besides being visible; empty means anything.

    `labels` maps a label's kind to the keyed hashes of which one must be on the row. `expression` is a compiled filter
    expression, `past` a moment from which to look, `held_at` one at which rows must have held as is known now, and
    `unexpired_at` one at which they must not have expired.
    """

    tiers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    labels: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    session_id: UUID | None = None
    agent_id: UUID | None = None
    occurred_from: datetime | None = None
    occurred_until: datetime | None = None
    created_from: datetime | None = None
    created_until: datetime | None = None
    least_importance: float = 0.0
    expression: Condition | None = None
    past: Past | None = None
    held_at: datetime | None = None
    unexpired_at: datetime | None = None

    def conditions(self) -> tuple[list[str], dict[str, Any]]:
        """Give SQL conditions on the memory table under the alias `m`, with their named parameters."""
        found = [*self._of_columns(), *self._of_labels(), *self._of_spans()]
        if self.unexpired_at is not None:
            sql = "(m.expires_at IS NULL OR m.expires_at > %(unexpired_at)s)"
            found.append(Condition(sql, {"unexpired_at": self.unexpired_at}))
        if self.held_at is not None:
            found.append(Condition(valid_at("held_at"), {"held_at": self.held_at}))
        found += [one for one in (self.expression, self.past.condition() if self.past else None) if one is not None]
        return [one.sql for one in found], {name: value for one in found for name, value in one.parameters.items()}

    def _of_columns(self) -> Iterator[Condition]:
        for column, values in (("tier", self.tiers), ("kind", self.kinds), ("category", self.categories)):
            if values:
                yield Condition(f"m.{column} = ANY(%(filter_{column})s)", {f"filter_{column}": list(values)})
        for column, wanted in (("session_id", self.session_id), ("agent_id", self.agent_id)):
            if wanted is not None:
                yield Condition(f"m.{column} = %(filter_{column})s", {f"filter_{column}": wanted})
        if self.least_importance > 0:
            yield Condition("m.importance >= %(filter_importance)s", {"filter_importance": self.least_importance})

    def _of_labels(self) -> Iterator[Condition]:
        for kind, hashes in self.labels.items():
            yield Condition(labelled(kind, f"filter_label_{kind}"), {f"filter_label_{kind}": list(hashes)})

    def _of_spans(self) -> Iterator[Condition]:
        for name, sign, end in (
            ("occurred_at", ">=", self.occurred_from),
            ("occurred_at", "<", self.occurred_until),
            ("created_at", ">=", self.created_from),
            ("created_at", "<", self.created_until),
        ):
            if end is not None:
                parameter = f"filter_{name}_{'from' if sign == '>=' else 'until'}"
                yield Condition(f"m.{name} {sign} %({parameter})s", {parameter: end})


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
