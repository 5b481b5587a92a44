"""The time arm: a date phrase in the query opens a window, and what happened in it or speaks of it is found.

How well a memory fits a window is a number from 0 to 1. A span that the memory mentions counts by

    overlap / mention × (1 + √(overlap / window)) / 2

so a mention as precise as the window counts 1, one that lies inside a wider window at least a half, and one that is
wider than the window only by its share in it. A memory that happened in the window counts a half, whatever it says.
The best of these is rounded to tenths, so that what tells equally well is ordered by closeness to the query.

A wide window is cut into equal buckets that give their best in turn, so that no single day answers for a year. Where
it holds more rows than can be compared, each eighth of a bucket gives its newest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from memory.models import Status
from memory.ports.reading import reading as connection
from memory.recall.id_arrays import id_array
from memory.recall.query import Query
from memory.text.dates import TimeSpan, find_spans
from memory.text.vectors import vector_text

MOST_WINDOWS: Final = 4
BUCKETS: Final = 8
"""Most parts of one window; a part is never shorter than a day."""
SLICES: Final = 4
"""How many parts of a bucket are looked at on their own in a window that holds too many rows."""

# Rows of either table that one search looks at, and rows of those that it may see whose vectors it compares.
SCANNED: Final = 8_000
KEPT: Final = 800

HAPPENED: Final = 0.5
# Rows of equal fit keep the order that the search gave them by less than any difference of fit.
TIE: Final = 0.001

# A longer window is surveyed first: where its rows lie, and whether it holds too many.
NARROW: Final = timedelta(days=BUCKETS)
# Mentions that begin before the window reach into it only when they are this much longer; longer ones fit too badly.
LONGEST_MENTION: Final = timedelta(days=400)
REACH: Final = 8
FIRST_MOMENT: Final = datetime.min.replace(tzinfo=UTC)

VISIBLE: Final = "m.status = %(live)s AND (m.expires_at IS NULL OR m.expires_at > %(now)s)"
OVERLAP: Final = "extract(epoch FROM least(t.ends_at, b.closes) - greatest(t.starts_at, b.opens))::float8"
MENTION: Final = "extract(epoch FROM t.ends_at - t.starts_at)::float8"
WINDOW: Final = "extract(epoch FROM b.closes - b.opens)::float8"
PLACE: Final = (
    "b.base + least(b.buckets - 1, greatest(0, floor(extract(epoch FROM {moment} - b.first)::float8 / b.width)))::int"
)
# The inner queries bound what is scanned, whatever the filters leave over; they must stay subqueries with a limit.
SEARCH: Final = f"""
    WITH slice AS MATERIALIZED (
        SELECT * FROM unnest(%(starts)s::timestamptz[], %(ends)s::timestamptz[], %(reaches)s::timestamptz[],
                             %(untils)s::timestamptz[], %(opens)s::timestamptz[], %(closes)s::timestamptz[],
                             %(firsts)s::timestamptz[], %(widths)s::float8[], %(bases)s::int[], %(buckets)s::int[])
                      AS b (starts, ends, reach, until, opens, closes, first, width, base, buckets)
    ), found AS (
        SELECT {PLACE.format(moment="r.occurred_at")} AS place, r.id, r.occurred_at, {HAPPENED}::float8 AS fit
        FROM slice b CROSS JOIN LATERAL (
            SELECT m.id, m.occurred_at FROM (
                SELECT * FROM memory_memory o
                WHERE o.owner_id = %(owner)s AND o.occurred_at >= b.starts AND o.occurred_at < b.ends
                ORDER BY o.occurred_at DESC LIMIT %(scanned)s
            ) m WHERE {VISIBLE} {{where}} LIMIT %(kept)s
        ) r
        UNION ALL
        SELECT {PLACE.format(moment="r.starts_at")}, r.id, r.occurred_at, r.fit
        FROM slice b CROSS JOIN LATERAL (
            SELECT m.id, m.occurred_at, t.starts_at,
                   {OVERLAP} / {MENTION} * (1 + sqrt({OVERLAP} / {WINDOW})) / 2 AS fit
            FROM (
                SELECT s.memory_id, s.starts_at, s.ends_at FROM memory_mentionedtime s
                WHERE s.owner_id = %(owner)s AND s.starts_at >= b.reach AND s.starts_at < b.until
                  AND s.ends_at > b.opens
                ORDER BY s.starts_at DESC LIMIT %(scanned)s
            ) t CROSS JOIN LATERAL (
                SELECT * FROM memory_memory o WHERE o.owner_id = %(owner)s AND o.id = t.memory_id LIMIT 1
            ) m WHERE {VISIBLE} {{where}} LIMIT %(kept)s
        ) r
    ), graded AS (
        SELECT id, max(occurred_at) AS occurred_at, floor(10 * max(fit) + 0.5) / 10 AS fit, max(place) AS place
        FROM found GROUP BY id
    ), placed AS (
        SELECT g.id, g.fit, g.place, row_number() OVER (
            PARTITION BY g.place, g.fit ORDER BY {{closeness}} g.occurred_at DESC, g.id
        ) AS turn
        FROM graded g {{join}} WHERE g.fit > 0
    )
    SELECT id, fit FROM placed ORDER BY fit DESC, turn, place DESC, id LIMIT %(limit)s
"""
VECTORS: Final = """LEFT JOIN memory_memoryvector v
    ON v.owner_id = %(owner)s AND v.memory_id = g.id AND v.space_id = %(space)s"""
CLOSENESS: Final = "v.vec <=> %(vector)s::halfvec NULLS LAST,"
SURVEY: Final = """
    SELECT (SELECT min(o.occurred_at) FROM memory_memory o
            WHERE o.owner_id = %(owner)s AND o.occurred_at >= w.starts AND o.occurred_at < w.ends),
           (SELECT max(o.occurred_at) FROM memory_memory o
            WHERE o.owner_id = %(owner)s AND o.occurred_at >= w.starts AND o.occurred_at < w.ends),
           (SELECT count(*) FROM (
                SELECT FROM memory_memory o
                WHERE o.owner_id = %(owner)s AND o.occurred_at >= w.starts AND o.occurred_at < w.ends
                LIMIT %(enough)s
            ) AS counted),
           (SELECT count(*) FROM (
                SELECT FROM memory_mentionedtime s
                WHERE s.owner_id = %(owner)s AND s.starts_at >= w.starts AND s.starts_at < w.ends
                LIMIT %(enough)s
            ) AS counted)
    FROM unnest(%(starts)s::timestamptz[], %(ends)s::timestamptz[]) WITH ORDINALITY AS w (starts, ends, number)
    ORDER BY w.number
"""
GIVEN: Final = """
    SELECT m.id, m.occurred_at, t.starts_at, t.ends_at
    FROM memory_memory m LEFT JOIN memory_mentionedtime t ON t.owner_id = m.owner_id AND t.memory_id = m.id
    WHERE m.owner_id = %(owner)s AND m.id = ANY(%(ids)s::uuid[])
"""


@dataclass(frozen=True, slots=True)
class _Window:
    """A window and where its rows lie: from `first` until before `last`. A crowded one is looked at slice by slice."""

    span: TimeSpan
    first: datetime
    last: datetime
    crowded: bool

    @property
    def buckets(self) -> int:
        """Give into how many parts the window is cut."""
        return max(1, min(BUCKETS, (self.last - self.first) // timedelta(days=1)))

    def slices(self, number: int) -> list[dict[str, Any]]:
        """Give the parts that are looked at, each with what the search must know of its window.

        Mentions that begin before the window belong to its first part, those that begin after all that happened in
        it to its last.
        """
        count = self.buckets * SLICES if self.crowded else 1
        length = self.last - self.first
        edges = [*(self.first + length * place / count for place in range(count)), self.last]
        reach = min(LONGEST_MENTION, REACH * max(self.span.ends_at - self.span.starts_at, timedelta(days=1)))
        # A window may begin where the calendar does.
        reached = max(self.span.starts_at, FIRST_MOMENT + reach) - reach
        return [
            {
                "starts": edges[place],
                "ends": edges[place + 1],
                "reaches": reached if place == 0 else edges[place],
                "untils": self.span.ends_at if place == count - 1 else edges[place + 1],
                "opens": self.span.starts_at,
                "closes": self.span.ends_at,
                "firsts": self.first,
                "widths": max(length.total_seconds() / self.buckets, 1.0),
                "bases": number * BUCKETS,
                "buckets": self.buckets,
            }
            for place in range(count)
        ]


def windows(text: str, reference: datetime) -> list[TimeSpan]:
    """Give the windows that the date phrases of a query open, at most four; none for a query without any.

    Args:
        text: the query.
        reference: the moment that it is asked from, with a time zone.
    """
    return find_spans(text, reference=reference, limit=MOST_WINDOWS)


def fit(occurred_at: datetime, mentions: Iterable[tuple[datetime, datetime]], spans: Sequence[TimeSpan]) -> float:
    """Tell how well a memory fits the best of some windows, in tenths from 0 to 1; see the module for the formula.

    Args:
        occurred_at: when it happened.
        mentions: the spans of time that it speaks of, each with the first moment after it.
        spans: the windows.
    """
    best = HAPPENED if any(span.starts_at <= occurred_at < span.ends_at for span in spans) else 0.0
    for starts_at, ends_at in mentions:
        for span in spans:
            overlap = (min(ends_at, span.ends_at) - max(starts_at, span.starts_at)).total_seconds()
            if overlap > 0:
                mention = (ends_at - starts_at).total_seconds()
                window = (span.ends_at - span.starts_at).total_seconds()
                best = max(best, overlap / mention * (1 + math.sqrt(overlap / window)) / 2)
    return math.floor(10 * best + 0.5) / 10


def search(query: Query, spans: Sequence[TimeSpan], limit: int) -> dict[UUID, float]:
    """Give the rows that fit the windows best, with how well, best first.

    Rows of equal fit come in turns from the buckets of their window, within a bucket those closest to the query's
    vector first, or the newest where there is no vector. Their scores fall by less than a thousandth in that order.
    One statement, and one more before it where a window is longer than a week; at most 8,000 rows of either table are
    looked at.

    Args:
        query: the prepared query, in its owner's scope.
        spans: see `windows`; without any nothing is found.
        limit: most rows.
    """
    spans = spans[:MOST_WINDOWS]
    if not spans or limit < 1:
        return {}
    slices = [one for number, window in enumerate(_surveyed(query, spans)) for one in window.slices(number)]
    where, parameters = _narrowing(query)
    parameters |= {name: [one[name] for one in slices] for name in slices[0]}
    parameters |= {"scanned": SCANNED // len(slices), "kept": KEPT // len(slices), "limit": limit}
    join = closeness = ""
    if query.vector is not None:
        join, closeness = VECTORS, CLOSENESS
        parameters |= {"vector": vector_text(query.vector), "space": query.space_id}
    with connection.cursor() as cursor:
        cursor.execute(SEARCH.format(where=where, join=join, closeness=closeness), parameters)
        found = cursor.fetchall()
    return {memory_id: float(fits) - TIE * place / len(found) for place, (memory_id, fits) in enumerate(found)}


def complete(query: Query, spans: Sequence[TimeSpan], memory_ids: Sequence[UUID]) -> dict[UUID, float]:
    """Tell how well given rows fit the windows; rows that do not fit at all are left out.

    A row gets as much as a search would give it, less the thousandth by which those found are ordered.
    """
    if not spans or not memory_ids:
        return {}
    moments: dict[UUID, datetime] = {}
    mentions: dict[UUID, list[tuple[datetime, datetime]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(GIVEN, {"owner": query.owner_id, "ids": id_array(memory_ids)})
        for memory_id, occurred_at, starts_at, ends_at in cursor.fetchall():
            moments[memory_id] = occurred_at
            if starts_at is not None:
                mentions.setdefault(memory_id, []).append((starts_at, ends_at))
    fits = {memory_id: fit(moment, mentions.get(memory_id, ()), spans) for memory_id, moment in moments.items()}
    return {memory_id: value - TIE for memory_id, value in fits.items() if value > 0}


def _narrowing(query: Query) -> tuple[str, dict[str, Any]]:
    conditions, parameters = query.filters.conditions()
    if query.scopes is not None:
        conditions.append("m.scope = ANY(%(scopes)s::uuid[])")
        parameters["scopes"] = list(query.scopes)
    fixed: Mapping[str, Any] = {"owner": query.owner_id, "live": Status.LIVE, "now": query.now}
    return "".join(f" AND {condition}" for condition in conditions), {**parameters, **fixed}


def _surveyed(query: Query, spans: Sequence[TimeSpan]) -> list[_Window]:
    """Find out where in the wide windows the rows lie, and which windows hold more than can be compared."""
    if all(span.ends_at - span.starts_at <= NARROW for span in spans):
        return [_Window(span, span.starts_at, span.ends_at, False) for span in spans]
    enough = KEPT // len(spans) + 1
    with connection.cursor() as cursor:
        cursor.execute(
            SURVEY,
            {
                "owner": query.owner_id,
                "starts": [span.starts_at for span in spans],
                "ends": [span.ends_at for span in spans],
                "enough": enough,
            },
        )
        rows = cursor.fetchall()
    return [
        _Window(
            span,
            first or span.starts_at,
            last + timedelta(microseconds=1) if last else span.starts_at,
            max(happened, mentioned) >= enough,
        )
        for span, (first, last, happened, mentioned) in zip(spans, rows, strict=True)
    ]
