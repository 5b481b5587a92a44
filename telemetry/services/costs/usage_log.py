"""Calls of models, added up by the hour in the process and written in batches.

What waits is added to what others have written, so that nothing is counted twice and nothing is lost on a clean stop;
a killed process loses what it took in within its last second.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid5

from django.conf import settings
from django.db import connection

from memory.ids import new_id
from memory.models import Agent, current_owner
from memory.ports.live import announce_change
from memory.ports.recorder import ModelCalled
from memory.services.clock import now
from memory.services.gathering import Gatherer, Gathering
from telemetry.models import ModelUsage
from telemetry.services.costs.limits import SORT, Limit, limits, spent
from telemetry.services.costs.periods import hour_of
from telemetry.services.costs.prices import NOTHING, cost_of
from telemetry.services.costs.reached import note_reached, take_turn
from telemetry.services.costs.sums import NAMES, Sums

KEYS: Final = UUID("6f2b0c58-3c5e-4f0e-9d57-0f6a6a1c1d2e")


class Key(NamedTuple):
    """What is added up in one row."""

    hour: datetime
    agent_id: UUID | None
    kind: str
    component: str
    provider: str
    model: str
    currency: str

    @property
    def order(self) -> tuple[str, ...]:
        """Give what rows are sorted by, the same in every process."""
        return (self.hour.isoformat(), str(self.agent_id or ""), *self[2:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Sums):
    """Calls of one key."""

    key: Key

    @classmethod
    def of(cls, call: ModelCalled) -> Count:
        """Count one call at the prices of this moment."""
        cost = cost_of(call)
        return cls(
            key=Key(
                hour=hour_of(call.at),
                agent_id=call.agent_id,
                kind=call.kind,
                component=call.component,
                provider=call.provider,
                model=call.model,
                currency=settings.PRICE_CURRENCY,
            ),
            calls=1,
            failures=int(not call.ok),
            input_tokens=call.input_tokens,
            output_tokens=call.output_tokens,
            duration_us=max(round(call.seconds * 1_000_000), 0),
            cost=cost or NOTHING,
            unpriced_calls=int(cost is None),
            estimated_calls=int(call.estimated),
        )


TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(Key._fields, "text"),
    "hour": "timestamptz",
    "agent_id": "uuid",
    **dict.fromkeys(NAMES, "bigint"),
    "cost": "numeric",
}
"""The columns of a count, with their types."""
COLUMNS: Final = ", ".join(TYPES)
# Rows of an agent that was erased meanwhile go with it.
ADD: Final = f"""
    INSERT INTO {ModelUsage._meta.db_table} AS u (id, owner_id, {COLUMNS})
    SELECT n.id, %(owner)s, {", ".join(f"n.{name}" for name in TYPES)}
    FROM unnest(%(id)s::uuid[], {", ".join(f"%({name})s::{kind}[]" for name, kind in TYPES.items())})
        WITH ORDINALITY AS n (id, {COLUMNS}, place)
    WHERE n.agent_id IS NULL OR EXISTS (
        SELECT FROM {Agent._meta.db_table} a WHERE a.owner_id = %(owner)s AND a.id = n.agent_id
    )
    ORDER BY n.place
    ON CONFLICT (owner_id, {", ".join(Key._fields)}) DO UPDATE SET
        {", ".join(f"{name} = u.{name} + excluded.{name}" for name in NAMES)}
"""


class UsageLog(Gatherer[Count]):
    """Gathers calls and writes them; while nobody holds `writing`, all that is not written waits."""

    def __init__(self, *, writes_itself: bool = True) -> None:
        """Begin empty; as `Gatherer` does."""
        gathering = Gathering("counts of model calls", Count.plus, write_usage)
        super().__init__(gathering, writes_itself=writes_itself)

    def _empty(self) -> None:
        super()._empty()
        self.writing = threading.RLock()

    def note(self, owner_id: UUID, count: Count) -> None:
        """Take a call; costs no query."""
        self.gather(owner_id, {uuid5(KEYS, "\n".join(count.key.order)): count})

    def waiting(self, owner_id: UUID) -> Iterator[Count]:
        """Give what waits of an owner."""
        with self._lock:
            return iter(list(self._waiting.get(owner_id, {}).values()))

    def flush(self) -> None:
        """Write what has been gathered, now; as `Gatherer` does."""
        with self.writing:
            super().flush()


def write_usage(rows: Mapping[UUID, Count]) -> None:
    """Add calls to the current owner's rows; announce each budget whose limit they reach, and note it for health."""
    owner_id, moment = current_owner(), now()
    counts = sorted(rows.values(), key=lambda one: one.key.order)
    watched: Sequence[Limit] = ()
    if any(one.cost for one in counts):
        take_turn()
        watched = limits()
    before = spent(moment) if watched else None
    with connection.cursor() as cursor:
        cursor.execute(ADD, _columns(owner_id, counts))
    if before is None:
        return
    after = spent(moment)
    reached = [limit for limit in watched if _is_reached(limit, before.of(limit.place), after.of(limit.place))]
    if reached:
        note_reached(at=moment)
    for limit in reached:
        announce_change(owner_id, SORT, str(limit.agent_id or ""), limit.version)


def _is_reached(limit: Limit, before: Decimal, after: Decimal) -> bool:
    return any(before < one <= after for one in (limit.soft, limit.hard) if one is not None)


def _columns(owner_id: UUID, counts: list[Count]) -> dict[str, Any]:
    columns: dict[str, Any] = {"owner": owner_id, "id": [new_id() for _ in counts]}
    columns |= {name: [getattr(one.key, name) for one in counts] for name in Key._fields}
    return columns | {name: [getattr(one, name) for one in counts] for name in NAMES}
