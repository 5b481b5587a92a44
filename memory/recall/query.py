"""A query made ready: its keyed terms, its vector and what the rows found must satisfy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.crypto.keyring import OwnerRing
from memory.ports import Vectors
from memory.recall.filters import Filters
from memory.recall.late_interaction import QueryTokens
from memory.text.dates import TimeSpan
from memory.text.signals import NOTHING_ASKED, QuerySignals
from memory.text.tokens import query_shares, term_frequencies

MAX_TERMS: Final = 16


@dataclass(frozen=True, slots=True)
class KeyedTerms:
    """The keyed terms of a query: how often each stands in it, what share of its word it is, and its plain word.

    `telling` is False where they are function words only.
    """

    counts: Mapping[int, int]
    shares: Mapping[int, float]
    words: Mapping[int, str]
    telling: bool


@dataclass(frozen=True, slots=True)
class Query:
    """What the arms are asked.

    `terms` maps keyed terms to how often they stand in the query, and `shares` to how much of its word each stands for,
    since a word may have a stem in two languages; `words` maps them back to the plain terms for explanations and is
    never stored unsealed. `vector` is None where there is none, and `no_vector` says why. `reference` is the
    moment from which the query speaks: what its date words are counted from. `asks` says what sort of answer is wanted,
    and `names` are the keyed names that stand in the query. `tokens` are its token vectors where there are any,
    and `windows` the spans of time that it names. `telling` is False where its words are function words only.
    `appended` is the vector of the text with its key terms once more, where a profile asks for that (Prax).
    """

    text: str
    owner_id: UUID
    scopes: tuple[UUID, ...] | None
    terms: Mapping[int, int]
    shares: Mapping[int, float]
    words: Mapping[int, str]
    vector: Vectors | None
    space_id: int | None
    dimension: int
    filters: Filters
    now: datetime
    reference: datetime
    asks: QuerySignals = NOTHING_ASKED
    names: frozenset[int] = frozenset()
    tokens: QueryTokens | None = None
    windows: tuple[TimeSpan, ...] = ()
    no_vector: str = "embedder.unavailable"
    telling: bool = True
    appended: Vectors | None = None

    def narrowing(self, alias: str) -> tuple[str, str, dict[str, Any]]:
        """Give the join, the further conditions and their parameters that limit an arm's table under an alias."""
        conditions, parameters = self.filters.conditions()
        join = (
            f"JOIN memory_memory m ON m.owner_id = {alias}.owner_id AND m.id = {alias}.memory_id" if conditions else ""
        )
        if self.scopes is not None:
            conditions.append(f"{alias}.scope = ANY(%(scopes)s::uuid[])")
            parameters["scopes"] = list(self.scopes)
        return join, "".join(f" AND {condition}" for condition in conditions), parameters


def keyed_terms(text: str, ring: OwnerRing, *, windows: Sequence[TimeSpan] = ()) -> KeyedTerms:
    """Split a query into keyed terms.

    Args:
        text: the query.
        ring: the owner's keys.
        windows: the times that it names. What has been read as a time is left out: "last" and "Tuesday" stand in texts
            of any day. Only function words may remain then, and these do not count either.
    """
    counts: Counter[str] = term_frequencies(text)
    telling = query_shares(_without(text, windows), only_telling=True)
    shares = telling if windows or telling else query_shares(text)
    hashes = dict(zip(shares, ring.words(shares), strict=True))
    return KeyedTerms(
        counts={hashes[word]: max(1, counts[word]) for word in shares},
        shares={hashes[word]: share for word, share in shares.items()},
        words={hashes[word]: word for word in shares},
        telling=bool(telling),
    )


def _without(text: str, windows: Sequence[TimeSpan]) -> str:
    kept = list(text)
    for window in windows:
        end = window.offset + len(window.phrase)
        kept[window.offset : end] = " " * (min(end, len(kept)) - window.offset)
    return "".join(kept)
