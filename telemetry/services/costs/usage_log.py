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

from django.db import connection

from memory.ids import new_id
from memory.models import current_owner
from memory.ports.live import announce_change
from memory.ports.recorder import ModelCalled
from memory.services.clock import now
from memory.services.gathering import Gatherer, Gathering
from telemetry.services.costs.limits import SORT, Limit, limits, spent
from telemetry.services.costs.periods import hour_of
from telemetry.services.costs.prices import NOTHING, cost_of
from telemetry.services.costs.reached import note_reached, take_turn

KEYS: Final = UUID("6f2b0c58-3c5e-4f0e-9d57-0f6a6a1c1d2e")

# Rows of an agent that was erased meanwhile go with it.
ADD: Final = """
    INSERT INTO telemetry_modelusage AS u (
        id, owner_id, hour, agent_id, kind, component, provider, model, calls, failures, input_tokens, output_tokens,
        duration_us, cost, unpriced_calls, estimated_calls
    )
    SELECT n.id, %(owner)s, n.hour, n.agent_id, n.kind, n.component, n.provider, n.model, n.calls, n.failures,
        n.input_tokens, n.output_tokens, n.duration_us, n.cost, n.unpriced_calls, n.estimated_calls
    FROM unnest(
        %(id)s::uuid[], %(hour)s::timestamptz[], %(agent_id)s::uuid[], %(kind)s::text[], %(component)s::text[],
        %(provider)s::text[], %(model)s::text[], %(calls)s::bigint[], %(failures)s::bigint[],
        %(input_tokens)s::bigint[], %(output_tokens)s::bigint[], %(duration_us)s::bigint[], %(cost)s::numeric[],
        %(unpriced_calls)s::bigint[], %(estimated_calls)s::bigint[]
    ) WITH ORDINALITY AS n (
        id, hour, agent_id, kind, component, provider, model, calls, failures, input_tokens, output_tokens,
        duration_us, cost, unpriced_calls, estimated_calls, place
    )
    WHERE n.agent_id IS NULL OR EXISTS (
        SELECT FROM memory_agent a WHERE a.owner_id = %(owner)s AND a.id = n.agent_id
    )
    ORDER BY n.place
    ON CONFLICT (owner_id, hour, agent_id, kind, component, provider, model) DO UPDATE SET
        calls = u.calls + excluded.calls,
        failures = u.failures + excluded.failures,
        input_tokens = u.input_tokens + excluded.input_tokens,
        output_tokens = u.output_tokens + excluded.output_tokens,
        duration_us = u.duration_us + excluded.duration_us,
        cost = u.cost + excluded.cost,
        unpriced_calls = u.unpriced_calls + excluded.unpriced_calls,
        estimated_calls = u.estimated_calls + excluded.estimated_calls
"""

class Key(NamedTuple):
    """What is added up in one row."""

    hour: datetime
    agent_id: UUID | None
    kind: str
    component: str
    provider: str
    model: str

    @property
    def order(self) -> tuple[str, ...]:
        """Give what rows are sorted by, the same in every process."""
        return (self.hour.isoformat(), str(self.agent_id or ""), *self[2:])


@dataclass(frozen=True, slots=True)
class Sums:
    """Calls of one key."""

    key: Key
    calls: int
    failures: int
    input_tokens: int
    output_tokens: int
    duration_us: int
    cost: Decimal
    unpriced_calls: int
    estimated_calls: int

    @classmethod
    def of(cls, call: ModelCalled) -> Sums:
        """Count one call at the prices of this moment."""
        cost = cost_of(call)
        return cls(
            key=Key(hour_of(call.at), call.agent_id, call.kind, call.component, call.provider, call.model),
            calls=1,
            failures=int(not call.ok),
            input_tokens=call.input_tokens,
            output_tokens=call.output_tokens,
            duration_us=max(round(call.seconds * 1_000_000), 0),
            cost=cost or NOTHING,
            unpriced_calls=int(cost is None),
            estimated_calls=int(call.estimated),
        )

    def plus(self, other: Sums) -> Sums:
        """Add calls of the same key."""
        return Sums(
            self.key,
            self.calls + other.calls,
            self.failures + other.failures,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.duration_us + other.duration_us,
            self.cost + other.cost,
            self.unpriced_calls + other.unpriced_calls,
            self.estimated_calls + other.estimated_calls,
        )


NUMBERS: Final = (
    "calls", "failures", "input_tokens", "output_tokens", "duration_us", "cost", "unpriced_calls", "estimated_calls",
)  # fmt: skip


class UsageLog(Gatherer[Sums]):
    """Gathers calls and writes them; while nobody holds `writing`, all that is not written waits."""

    def __init__(self, *, writes_itself: bool = True) -> None:
        """Begin empty; as `Gatherer` does."""
        gathering = Gathering("counts of model calls", Sums.plus, write_usage)
        super().__init__(gathering, writes_itself=writes_itself)

    def _empty(self) -> None:
        super()._empty()
        self.writing = threading.RLock()

    def note(self, owner_id: UUID, sums: Sums) -> None:
        """Take a call; costs no query."""
        self.gather(owner_id, {uuid5(KEYS, "\n".join(sums.key.order)): sums})

    def waiting(self, owner_id: UUID) -> Iterator[Sums]:
        """Give what waits of an owner."""
        with self._lock:
            return iter(list(self._waiting.get(owner_id, {}).values()))

    def flush(self) -> None:
        """Write what has been gathered, now; as `Gatherer` does."""
        with self.writing:
            super().flush()


def write_usage(rows: Mapping[UUID, Sums]) -> None:
    """Add calls to the current owner's rows; announce each budget whose limit they reach, and note it for health."""
    owner_id, moment = current_owner(), now()
    sums = sorted(rows.values(), key=lambda one: one.key.order)
    watched: Sequence[Limit] = ()
    if any(one.cost for one in sums):
        take_turn()
        watched = limits()
    before = spent(moment) if watched else None
    with connection.cursor() as cursor:
        cursor.execute(ADD, _columns(owner_id, sums))
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


def _columns(owner_id: UUID, sums: list[Sums]) -> dict[str, Any]:
    columns: dict[str, Any] = {"owner": owner_id, "id": [new_id() for _ in sums]}
    columns |= {name: [getattr(one.key, name) for one in sums] for name in Key._fields}
    return columns | {name: [getattr(one, name) for one in sums] for name in NUMBERS}
