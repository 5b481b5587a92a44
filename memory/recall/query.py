"""A query made ready: its keyed terms, its vector and what the rows found must satisfy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.crypto.keyring import OwnerRing
from memory.ports import Vectors
from memory.text.tokens import query_terms, term_frequencies

MAX_TERMS: Final = 16


@dataclass(frozen=True, slots=True)
class Filters:
    """What rows must satisfy besides being visible; empty means anything.

    `labels` maps a label's kind to the keyed hashes of which one must be on the row.
    """

    tiers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    labels: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    session_id: UUID | None = None
    agent_id: UUID | None = None
    occurred_from: datetime | None = None
    occurred_until: datetime | None = None
    least_importance: float = 0.0

    def conditions(self) -> tuple[list[str], dict[str, Any]]:
        """Give SQL conditions on the memory table under the alias `m`, with their named parameters."""
        sql: list[str] = []
        parameters: dict[str, Any] = {}

        def add(condition: str, **values: Any) -> None:
            sql.append(condition)
            parameters.update(values)

        for column, values in (("tier", self.tiers), ("kind", self.kinds), ("category", self.categories)):
            if values:
                add(f"m.{column} = ANY(%(filter_{column})s)", **{f"filter_{column}": list(values)})
        for kind, hashes in self.labels.items():
            add(
                "EXISTS (SELECT FROM memory_memorylabel l WHERE l.owner_id = m.owner_id "
                f"AND l.kind = {int(kind)} AND l.label = ANY(%(filter_label_{kind})s) AND l.memory_id = m.id)",
                **{f"filter_label_{kind}": list(hashes)},
            )
        if self.session_id is not None:
            add("m.session_id = %(filter_session)s", filter_session=self.session_id)
        if self.agent_id is not None:
            add("m.agent_id = %(filter_agent)s", filter_agent=self.agent_id)
        if self.occurred_from is not None:
            add("m.occurred_at >= %(filter_from)s", filter_from=self.occurred_from)
        if self.occurred_until is not None:
            add("m.occurred_at < %(filter_until)s", filter_until=self.occurred_until)
        if self.least_importance > 0:
            add("m.importance >= %(filter_importance)s", filter_importance=self.least_importance)
        return sql, parameters


@dataclass(frozen=True, slots=True)
class Query:
    """What the arms are asked.

    `terms` maps keyed terms to how often they stand in the query; `words` maps them back to the plain terms for
    explanations and is never stored unsealed. `vector` is None where the embedder is unavailable.
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
