"""Samples of an owner's stored values, taken before a purge, and the search for them afterwards.

A sealed value begins with a random nonce, so its beginning is enough to tell it apart from every other. Row-level
security lets nobody look across owners, so the others are looked through one by one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.models import MemoryVector, Owner, owner_scope
from memory.services.keys.sealed_tables import TOKENS, sealed_tables
from memory.services.purge.registry import Traces

OF_EACH_TABLE: Final = 4
VECTORS: Final = 8
# `enc:v123:` and the nonce in base64, and some of what is sealed.
BEGINNING: Final = 64
BYTES: Final = 24
OWNERS_AT_ONCE: Final = 50
VECTOR_TABLE: Final = MemoryVector._meta.db_table

# With the memory that it belonged to: two owners who say the same have the same vectors.
SAME_VECTOR: Final = f"""
    (SELECT count(*) FROM {VECTOR_TABLE} v
     JOIN unnest(%(memories)s::uuid[], %(vectors)s::halfvec[]) AS s (memory_id, vec) USING (memory_id)
     WHERE v.owner_id = %(owner)s AND v.vec = s.vec)
"""


def take_samples(owner_id: UUID) -> dict[str, Any]:
    """Take samples of the current owner's stored values by chance; opens none. Gives what `traces_of` reads."""
    sealed: dict[str, dict[str, list[str]]] = {}
    for table, columns in _columns().items():
        shown = ", ".join(columns.values())
        values = _ask(
            f'SELECT {shown} FROM "{table}" WHERE owner_id = %s ORDER BY random() LIMIT %s', [owner_id, OF_EACH_TABLE]
        )
        found = {
            column: sorted({row[at] for row in values if row[at] is not None}) for at, column in enumerate(columns)
        }
        if any(found.values()):
            sealed[table] = {column: some for column, some in found.items() if some}
    vectors = _ask(
        f"SELECT memory_id::text, vec::text FROM {VECTOR_TABLE} WHERE owner_id = %s ORDER BY random() LIMIT %s",
        [owner_id, VECTORS],
    )
    return {"sealed": sealed, "vectors": [list(row) for row in vectors]}


def traces_of(samples: Mapping[str, Any] | None) -> Traces:
    """Read samples as they stand in a purge."""
    kept = samples or {}
    return Traces(sealed=kept.get("sealed", {}), vectors=[(one, vector) for one, vector in kept.get("vectors", ())])


def count_samples(traces: Traces) -> dict[str, int]:
    """Count the samples, for the receipt."""
    values = [some for columns in traces.sealed.values() for some in columns.values()]
    return {"sealed_values": sum(len(some) for some in values), "vectors": len(traces.vectors)}


@dataclass(slots=True)
class Search:
    """A search through other owners: how many, how many rows were found, and where to go on; can be kept as JSON."""

    owners: int = 0
    found: int = 0
    seconds: float = 0.0
    after: str | None = None
    complete: bool = False


def search_others(owner_id: UUID, traces: Traces, *, search: Search, seconds: float, tell: Callable[[], None]) -> None:
    """Look for samples in the rows of other owners, with one statement for each of them.

    Args:
        owner_id: whose samples they are.
        traces: the samples.
        search: what has been searched already, and gets what is found; complete when everybody was looked through.
        seconds: of all turns together, after which no further owner is begun.
        tell: called after each owner; what it raises ends the search, which can go on later.
    """
    statement, values = _statement(traces)
    while statement and search.seconds < seconds:
        others = Owner.objects.exclude(pk=owner_id).order_by("pk")
        if search.after is not None:
            others = others.filter(pk__gt=UUID(search.after))
        some = list(others.values_list("pk", flat=True)[:OWNERS_AT_ONCE])
        if not some:
            search.complete = True
            return
        for other in some:
            begun = time.monotonic()
            # Those who are purged themselves have rows, too.
            with owner_scope(other, purging=True):
                search.found += _ask(statement, {**values, "owner": other})[0][0]
            search.owners += 1
            search.after = str(other)
            search.seconds += time.monotonic() - begun
            tell()
            if search.seconds >= seconds:
                return
    search.complete = not statement


def _statement(traces: Traces) -> tuple[str, dict[str, Any]]:
    """Write the statement that counts rows of one owner in which a sample stands."""
    parts, values = [], dict[str, Any]()
    known = _columns()
    for table, columns in traces.sealed.items():
        conditions = []
        for column, some in columns.items():
            if column in known.get(table, {}):
                name = f"v{len(values)}"
                values[name] = list(some)
                conditions.append(f"{known[table][column]} = ANY (%({name})s)")
        if conditions:
            parts.append(f'(SELECT count(*) FROM "{table}" WHERE owner_id = %(owner)s AND ({" OR ".join(conditions)}))')
    if traces.vectors:
        values["memories"] = [one for one, _ in traces.vectors]
        values["vectors"] = [vector for _, vector in traces.vectors]
        parts.append(SAME_VECTOR)
    return (f"SELECT {' + '.join(parts)}" if parts else ""), values


def _columns() -> dict[str, dict[str, str]]:
    """Give, by table and column, the expression for the beginning of a sealed value."""
    found = {
        table.name: {column: f'left("{column}", {BEGINNING})' for column in table.columns} for table in sealed_tables()
    }
    found[TOKENS] = {"sealed": f"encode(substring(sealed FROM 1 FOR {BYTES}), 'hex')"}
    return found


def _ask(statement: str, values: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
