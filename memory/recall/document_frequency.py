"""In how many of the memories that a caller may read each word stands: counted, and remembered for common words.

Counting a word costs time in proportion to its frequency, and the frequency of a common word hardly changes from one
question to the next. What is remembered is keyed hashes and counts, in this process only.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from memory.ports.reading import reading as connection

COUNT: Final = """
    SELECT q.term,
           (SELECT count(*) FROM memory_lexposting p
            WHERE p.owner_id = %(owner)s AND p.term = q.term AND p.live {scope})
    FROM unnest(%(terms)s::bigint[]) AS q (term)
"""
SCOPE: Final = "AND p.scope = ANY(%(scopes)s::uuid[])"
Scopes = tuple[UUID, ...] | None

# A rarer word is counted each time, so that small owners' statistics are exact.
REMEMBERED_FROM: Final = 1_000
REMEMBERED_FOR_SECONDS: Final = 600.0
# A count is also dropped when the owner has by now this share more or fewer memories than when it was made.
DRIFT: Final = 0.01
MOST_REMEMBERED: Final = 50_000


@dataclass(frozen=True, slots=True)
class _Counted:
    frequency: int
    rows: int
    at: float


class DocumentFrequencies:
    """Counts words and remembers the common ones; safe to use from several threads."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Begin empty; `monotonic` gives seconds and is replaced in tests."""
        self._monotonic = monotonic
        self._known: OrderedDict[tuple[UUID, Scopes, int], _Counted] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, owner_id: UUID, terms: Collection[int], *, rows: int, scopes: Scopes = None) -> dict[int, int]:
        """Give the frequency of each term that stands anywhere; one statement for those not remembered.

        Args:
            owner_id: whose memories.
            terms: keyed words.
            rows: how many memories the owner has in the postings now.
            scopes: count only what these may read; a word that stands nowhere else must not betray itself.
        """
        found = self._remembered(owner_id, scopes, terms, rows)
        unknown = [term for term in terms if term not in found]
        if unknown:
            with connection.cursor() as cursor:
                cursor.execute(
                    COUNT.format(scope="" if scopes is None else SCOPE),
                    {"owner": owner_id, "terms": unknown, "scopes": list(scopes or ())},
                )
                counted = {term: frequency for term, frequency in cursor.fetchall() if frequency}
            self._remember(owner_id, scopes, counted, rows)
            found |= counted
        return found

    def forget(self) -> None:
        """Drop everything remembered."""
        with self._lock:
            self._known.clear()

    def _remembered(self, owner_id: UUID, scopes: Scopes, terms: Collection[int], rows: int) -> dict[int, int]:
        moment = self._monotonic()
        found = {}
        with self._lock:
            for term in terms:
                known = self._known.get((owner_id, scopes, term))
                if known is None:
                    continue
                fresh = moment - known.at < REMEMBERED_FOR_SECONDS and abs(rows - known.rows) <= DRIFT * known.rows
                if fresh:
                    found[term] = known.frequency
                else:
                    del self._known[owner_id, scopes, term]
        return found

    def _remember(self, owner_id: UUID, scopes: Scopes, counted: dict[int, int], rows: int) -> None:
        moment = self._monotonic()
        with self._lock:
            for term, frequency in counted.items():
                if frequency >= REMEMBERED_FROM:
                    self._known[owner_id, scopes, term] = _Counted(frequency, rows, moment)
            while len(self._known) > MOST_REMEMBERED:
                self._known.popitem(last=False)


document_frequencies = DocumentFrequencies()
"""The frequencies that this process remembers."""
