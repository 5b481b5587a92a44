"""A query made ready: its keyed terms, its vector and what the rows found must satisfy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.crypto.keyring import OwnerRing
from memory.ports import Vectors
from memory.recall.filters import Filters
from memory.text.tokens import query_terms, term_frequencies

MAX_TERMS: Final = 16


@dataclass(frozen=True, slots=True)
class Query:
    """What the arms are asked.

    `terms` maps keyed terms to how often they stand in the query; `words` maps them back to the plain terms for
    explanations and is never stored unsealed. `vector` is None where the embedder is unavailable. `reference` is the
    moment from which the query speaks: what its date words are counted from.
    """

    text: str
    owner_id: UUID
    scopes: tuple[UUID, ...] | None
    terms: Mapping[int, int]
    words: Mapping[int, str]
    vector: Vectors | None
    space_id: int | None
    dimension: int
    filters: Filters
    now: datetime
    reference: datetime

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


def keyed_terms(text: str, ring: OwnerRing) -> tuple[dict[int, int], dict[int, str]]:
    """Split a query into keyed terms with their counts, and the plain terms behind them."""
    counts: Counter[str] = term_frequencies(text)
    words = query_terms(text)
    hashes = ring.words(words)
    return (
        {term: max(1, counts[word]) for term, word in zip(hashes, words, strict=True)},
        dict(zip(hashes, words, strict=True)),
    )
