"""The words of an owner's memories in plain, in this process only: for completing and correcting what a person types.

The database knows words as keyed hashes, which neither begin alike nor lie close to each other. So the words are read
from opened texts, newest first, in small steps that the requests make which need them: nobody waits for a whole list,
and no thread of its own holds a database connection. A recall never comes here. What is kept is bounded in words, rows,
owners and time, and is never stored or logged.
"""

from __future__ import annotations

import heapq
import logging
import re
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from rapidfuzz import process
from rapidfuzz.distance import OSA

from memory.errors import KeysUnavailable
from memory.models import LexStats, Memory, Status
from memory.privacy import meaning, pii
from memory.text.languages import FUNCTION_WORDS
from memory.text.scripts import HAN, KANA, MARKS, SOUTH_EAST_ASIAN, fold_diacritics

logger = logging.getLogger(__name__)

Scopes = tuple[UUID, ...] | None

MOST_ROWS: Final = 20_000
"""Memories, the newest, whose words are read."""
MOST_WORDS: Final = 50_000
"""Distinct words of one list; about 10 MB."""
MOST_LISTS: Final = 16
"""Lists that are kept; the one not used for longest makes room."""
KEPT_SECONDS: Final = 600.0
"""After this time a list is made anew, so that words of changed texts leave it."""
STEP_ROWS: Final = 500
"""Memories opened in one step: about 25 ms."""
STEPS_AT_ONCE: Final = 4
"""Steps that one call may make, and that a list may be given each second."""
READ_CHARACTERS: Final = 20_000
LEAST_LETTERS, MOST_LETTERS = 3, 32
CORRECTED_FROM: Final = 4
"""Letters of the shortest word that is corrected."""
TWO_SLIPS_FROM: Final = 8
"""Letters from which a word may be two slips away from the one that was meant."""

# Letters of scripts that set words apart; of the others nobody types a beginning.
_CHAR = rf"(?:[^\W\d_{HAN}{KANA}{SOUTH_EAST_ASIAN}]|[{MARKS}])"
# No part of an address or an identifier: those are found whole.
_WORD = re.compile(rf"(?<![\w@./:\\-]){_CHAR}{{{LEAST_LETTERS},{MOST_LETTERS}}}(?![\w@/\\]|[.:-]\w|:/)")
_REPLACED = re.compile(r"\[[A-Z_]+\]")


def folded(word: str) -> str:
    """Give the form of a word in which words are compared: without case and diacritics."""
    return fold_diacritics(word.casefold())


class WordList:
    """The words that one reader may know, with in how many memories each stands.

    One thread at a time adds to it; the others read what was there before.
    """

    def __init__(self, owner_id: UUID, scopes: Scopes, *, at: float) -> None:
        """Begin empty at a moment of the monotonic clock."""
        self.owner_id = owner_id
        self.scopes = scopes
        self.made_at = at
        self.rows_read = 0
        self.rows_known = 0
        self.complete = False
        self._allowance = float(STEPS_AT_ONCE)
        self._allowed_at = at
        self._counts: dict[str, int] = {}
        self._written: dict[str, str] = {}
        self._sorted: list[str] = []
        self._newest: tuple[datetime, UUID] | None = None
        self._oldest: tuple[datetime, UUID] | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._sorted)

    def grow(self, *, at: float, steps: int = 1) -> None:
        """Read some more memories, the new ones first; without waiting where another thread does so already.

        Args:
            at: now, on the monotonic clock; a list gets at most four steps a second, whoever asks.
            steps: most steps, each of 500 memories.
        """
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._allowance = min(float(STEPS_AT_ONCE), self._allowance + (at - self._allowed_at) * STEPS_AT_ONCE)
            self._allowed_at = at
            while steps > 0 and self._allowance >= 1 and self._step():
                self._allowance -= 1
                steps -= 1
        finally:
            self._lock.release()

    def suggest(self, prefix: str, *, limit: int) -> list[str]:
        """Give words that begin so and go on, the commonest first."""
        start = folded(prefix)
        first = bisect_left(self._sorted, start)
        last = bisect_left(self._sorted, start + "\U0010ffff")
        found = (word for word in self._sorted[first:last] if word != start)
        best = heapq.nsmallest(limit, found, key=lambda word: (-self._counts[word], word))
        return [self._written[word] for word in best]

    def corrections(self, word: str, *, limit: int) -> list[str]:
        """Give known words that a word may be a slip of, the closest first; none for a known or a short one."""
        meant = folded(word)
        if meant in self._counts or len(meant) < CORRECTED_FROM:
            return []
        slips = 2 if len(meant) >= TWO_SLIPS_FROM else 1
        found = process.extract(meant, self._sorted, scorer=OSA.distance, score_cutoff=slips, limit=None)
        best = heapq.nsmallest(
            limit, found, key=lambda one: (one[1], one[0][0] != meant[0], -self._counts[one[0]], one[0])
        )
        return [self._written[one[0]] for one in best]

    def _step(self) -> bool:
        """Read one portion of memories; False when there is nothing to read."""
        rows = self._newer() or self._older()
        if not rows:
            return False
        places = [(row.created_at, row.pk) for row in rows]
        self._newest = max(places if self._newest is None else [self._newest, *places])
        self._oldest = min(places if self._oldest is None else [self._oldest, *places])
        self.rows_read += len(rows)
        fresh: set[str] = set()
        for text in _texts(rows):
            fresh |= self._add(text)
        # Two sorted runs, which are merged in one pass.
        self._sorted = sorted([*self._sorted, *sorted(fresh)])
        return True

    def _newer(self) -> list[Memory]:
        if self._newest is None:
            return []
        moment, memory_id = self._newest
        later = Q(created_at__gt=moment) | Q(created_at=moment, pk__gt=memory_id)
        return list(self._rows().filter(later).order_by("created_at", "pk")[:STEP_ROWS])

    def _older(self) -> list[Memory]:
        if self.complete:
            return []
        rows = self._rows()
        if self._oldest is not None:
            moment, memory_id = self._oldest
            rows = rows.filter(Q(created_at__lt=moment) | Q(created_at=moment, pk__lt=memory_id))
        found = list(rows.order_by("-created_at", "-pk")[:STEP_ROWS])
        self.complete = len(found) < STEP_ROWS or self.rows_read + len(found) >= MOST_ROWS
        return found

    def _rows(self) -> QuerySet[Memory]:
        rows: QuerySet[Memory] = Memory.objects.filter(status=Status.LIVE)
        rows = rows.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
        if self.scopes is not None:
            rows = rows.filter(scope__in=self.scopes)
        return rows.only("id", "owner_id", "visibility", "agent_id", "created_at", "pii_kinds", "text")

    def _add(self, text: str) -> set[str]:
        """Count a memory's words; give those that were not known."""
        fresh: set[str] = set()
        found = {folded(written): written for written in _WORD.findall(text[:READ_CHARACTERS])}
        for word, written in found.items():
            if word in self._counts:
                self._counts[word] += 1
                if written.islower():
                    self._written[word] = written
            elif len(self._counts) < MOST_WORDS and written.casefold() not in FUNCTION_WORDS:
                self._counts[word], self._written[word] = 1, written
                fresh.add(word)
        return fresh


def _texts(rows: Sequence[Memory]) -> Iterator[str]:
    """Open the rows' texts, without the personal data that every list of memories masks."""
    damaged = 0
    for row in rows:
        try:
            text = row.text
        except KeysUnavailable:
            damaged += 1
            continue
        if meaning.kinds_in(row.pii_kinds):
            # Lists hide the whole of it, so none of its words is offered.
            continue
        yield _REPLACED.sub(" ", pii.redact(text)) if row.pii_kinds else text
    if damaged:
        logger.error("%d of %d memories do not open with their owner's key", damaged, len(rows))


class Vocabularies:
    """The word lists of this process, by owner and scopes; safe to use from several threads."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Begin empty; `monotonic` gives seconds and is replaced in tests."""
        self._monotonic = monotonic
        self._lists: OrderedDict[tuple[UUID, Scopes], WordList] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, owner_id: UUID, scopes: Scopes = None, *, steps: int = 1) -> WordList:
        """Give the words that a reader may know, after reading some more; run it in the owner's scope.

        Args:
            owner_id: whose memories.
            scopes: what the reader may read; None for everything of the owner.
            steps: steps of 500 memories to make at most, about 25 ms each.
        """
        moment = self._monotonic()
        live = LexStats.objects.filter(owner_id=owner_id).values_list("n", flat=True).first() or 0
        with self._lock:
            for key in [key for key, kept in self._lists.items() if moment - kept.made_at >= KEPT_SECONDS]:
                del self._lists[key]
            found = self._lists.get((owner_id, scopes))
            # Fewer memories than before: the words of one that is gone must not be offered.
            if found is None or live < found.rows_known:
                found = self._lists[owner_id, scopes] = WordList(owner_id, scopes, at=moment)
            found.rows_known = live
            self._lists.move_to_end((owner_id, scopes))
            while len(self._lists) > MOST_LISTS:
                self._lists.popitem(last=False)
        found.grow(at=moment, steps=min(steps, STEPS_AT_ONCE))
        return found

    def forget(self, owner_id: UUID | None = None) -> None:
        """Drop the words of an owner, or of all."""
        with self._lock:
            for key in [key for key in self._lists if owner_id is None or key[0] == owner_id]:
                del self._lists[key]


vocabularies = Vocabularies()
"""The word lists that this process keeps."""
