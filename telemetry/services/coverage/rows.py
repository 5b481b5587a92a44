"""What a report reads of its rows: narrow columns in binary form, which numpy takes over without a step for each row.

`COPY (SELECT …) TO STDOUT` runs under row-level security like any query. Its binary form has a length before each
value; where no value is null and all of a column are equally long, all rows are, so that they are one array.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.backends.postgresql.psycopg_any import mogrify
from numpy.typing import NDArray

from memory.models import current_owner
from memory.privacy.masking import masked_value
from memory.services.legible import UNREADABLE, legible
from telemetry.coverage.clusters import NONE
from telemetry.coverage.turns import Distinct, NamedSpoke, Numbers, Turns
from telemetry.models import RequestVector, Spoke, TurnEvent

MOST_VECTOR_BYTES: Final = 256 * 1024 * 1024
"""Vectors that one report holds; of more requests, the newest are compared and the others go by their spoke."""

_HEADER_BYTES: Final = 19
_TRAILER_BYTES: Final = 2
# The type of times counts from 2000.
_FROM_1970: Final = 946_684_800 * 1_000_000
_LENGTH: Final = ">i4"
_TURN: Final = np.dtype(
    [
        ("", ">i2"),
        ("", _LENGTH),
        ("id", "S16"),
        ("", _LENGTH),
        ("spoke", "S16"),
        ("", _LENGTH),
        ("request", ">i8"),
        ("", _LENGTH),
        ("at", ">i8"),
        ("", _LENGTH),
        ("failed", "?"),
        ("", _LENGTH),
        ("size", ">i4"),
    ]
)
_WINDOW: Final = f"""
    FROM {TurnEvent._meta.db_table}
    WHERE owner_id = %(owner)s AND stream = %(stream)s AND occurred_at >= %(since)s AND occurred_at < %(until)s
      AND (%(agent)s::uuid IS NULL OR agent_id = %(agent)s::uuid)
"""
TURNS: Final = f"""
    COPY (
        SELECT id, spoke_id, request_hash, occurred_at, outcome <> 'completed', octet_length(request) {_WINDOW}
        ORDER BY occurred_at DESC, id DESC
    ) TO STDOUT (FORMAT binary)
"""
# Vectors of another width than the space has now are as good as none. The database takes an equation with a function
# for one that hardly any row fulfils, and would look for the events of each vector on their own; hence the negation.
VECTORS: Final = f"""
    COPY (
        SELECT request_hash, vec FROM {RequestVector._meta.db_table}
        WHERE owner_id = %(owner)s AND space_id = %(space)s AND NOT vector_dims(vec) <> %(width)s
          AND request_hash IN (SELECT request_hash {_WINDOW})
    ) TO STDOUT (FORMAT binary)
"""


@dataclass(frozen=True, slots=True)
class Window:
    """Which turns a report is about: those of a stream from `since` up to `until`, of one agent or of all."""

    stream: str
    since: datetime
    until: datetime
    agent_id: UUID | None


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Vectors of requests as they are stored, in half precision; see `VectorRows`.

    Attributes:
        places: of each request, the place of its vector in `vectors`, `NONE` where it has none.
        vectors: as the database sent them.
    """

    places: Numbers
    vectors: NDArray[np.float16]

    def __len__(self) -> int:
        """Count the requests."""
        return len(self.places)

    def rows(self, first: int, last: int) -> NDArray[np.floating]:
        """Give vectors in single precision, zeros where there is none."""
        places = self.places[first:last]
        found = np.zeros((len(places), self.vectors.shape[1]), dtype=np.float32)
        there = places != NONE
        found[there] = self.vectors[places[there]]
        return found

    @property
    def missing(self) -> int:
        """Count the requests that have none."""
        return int(np.count_nonzero(self.places == NONE))


def load_turns(window: Window) -> Turns:
    """Load the current owner's turns, newest first: one statement for them and one for the names of their spokes."""
    rows = _copied(TURNS, _parameters(window), _TURN)
    names = _spoke_names([uuid_of(one) for one in np.unique(rows["spoke"])])
    # A spoke goes with its last turn, so turns whose spoke has gone between the two statements have gone too.
    rows = rows[np.isin(rows["spoke"], np.array([one.id.bytes for one in names], dtype="S16"))]
    _, places = np.unique(rows["spoke"], return_inverse=True)
    return Turns(
        ids=rows["id"],
        at=rows["at"].astype(np.int64) + _FROM_1970,
        requests=rows["request"].astype(np.int64),
        spokes=places.astype(np.int64),
        failed=rows["failed"].astype(np.bool_),
        sizes=rows["size"].astype(np.int64),
        spoke_names=names,
    )


def load_vectors(window: Window, turns: Turns, found: Distinct, *, space_id: int, width: int) -> StoredVectors:
    """Load the vectors of turns' different requests in one statement, of the newest ones as many as may be held.

    Args:
        window: whose turns they are.
        turns, found: the turns, and their different requests.
        space_id: the embedding space.
        width: of its vectors.
    """
    most = max(MOST_VECTOR_BYTES // (2 * width), 1)
    parameters = {**_parameters(window), "space": space_id, "width": width}
    wanted = found.requests[:most]
    if len(wanted) < len(found.requests):
        newest = int(np.argmax(found.places == most - 1))
        parameters["since"] = datetime.fromtimestamp(int(turns.at[newest]) // 1_000_000, UTC)
    record = np.dtype(
        [("", ">i2"), ("", _LENGTH), ("request", ">i8"), ("", _LENGTH), ("", ">i4"), ("vec", ">f2", (width,))]
    )
    rows = _copied(VECTORS, parameters, record)
    stored = rows["request"].astype(np.int64)
    if not len(stored):
        return StoredVectors(np.full(len(wanted), NONE, dtype=np.int64), np.empty((0, width), dtype=np.float16))
    # Sorted here by their numbers: the database would sort the vectors with them, on disk.
    order = np.argsort(stored)
    places = order[np.searchsorted(stored, wanted, sorter=order).clip(max=len(stored) - 1)]
    return StoredVectors(np.where(stored[places] == wanted, places, NONE), rows["vec"])


def uuid_of(written: bytes) -> UUID:
    """Read an id of `Turns.ids`; numpy leaves out bytes of zero at the end."""
    return UUID(bytes=bytes(written).ljust(16, b"\0"))


class _StoredSpoke:
    """A spoke whose name is opened and covered when it is first shown: of many, that takes longer than all else."""

    def __init__(self, row: Spoke) -> None:
        self.id: UUID = row.pk
        self.is_fallback: bool = row.is_fallback
        self._row = row

    @cached_property
    def name(self) -> str:
        shown: str = masked_value(legible(self._row, "name") or UNREADABLE)
        return shown


def _spoke_names(ids: list[UUID]) -> tuple[NamedSpoke, ...]:
    rows = {row.pk: row for row in Spoke.objects.filter(pk__in=ids)} if ids else {}
    return tuple(_StoredSpoke(rows[one]) for one in ids if one in rows)


def _parameters(window: Window) -> dict[str, Any]:
    return {
        "owner": current_owner(),
        "stream": window.stream,
        "since": window.since,
        "until": window.until,
        "agent": window.agent_id,
    }


def _copied(statement: str, parameters: dict[str, Any], row: np.dtype[Any]) -> NDArray[Any]:
    taken = bytearray()
    # The cursor that keeps account of statements takes no parameters here.
    composed = mogrify(statement, parameters, connection)
    with connection.cursor() as cursor, cursor.copy(composed) as copy:
        for piece in copy:
            taken += piece
    count, rest = divmod(len(taken) - _HEADER_BYTES - _TRAILER_BYTES, row.itemsize)
    assert not rest, "a row of another length than the statement gives"
    return np.frombuffer(taken, dtype=row, count=count, offset=_HEADER_BYTES)
