"""Where in sealed JSON Loci itself writes ids of rows: what stands elsewhere, somebody has typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from django.db import models

from memory.models import EntityMerge, IdempotencyRecord, RecallRecord, ReviewItem
from memory.services.remains import ID

LOCATION: Final = "Location"
IDS: Final[Mapping[type[models.Model], frozenset[str]]] = {
    IdempotencyRecord: frozenset({"id", "ids", "memory", "memories", "superseded", "kept", "reviews", LOCATION}),
    RecallRecord: frozenset({"recall_id", "memory_id"}),
    EntityMerge: frozenset({"id", "scope", "mentions", "mentions_added"}),
    ReviewItem: frozenset(
        {
            "id", "scope", "older", "newer", "first", "second", "memory", "sources", "entity", "relation", "event",
            "cause", "merge", "kept", "edge", "apart",
        }
    ),
}  # fmt: skip
"""The members that hold ids, by model; those whose names end with `_id` and `_ids` hold ids everywhere."""

FREE: Final = frozenset({"metadata", "properties", "changes"})
"""Members whose content is the caller's own, with names of its choice."""


def named_ids(model: type[models.Model], value: Any) -> Iterator[UUID]:
    """Give the ids that a sealed value of a model names as ids, and none that only stand in a text of it.

    Args:
        model: one of `IDS`; raises KeyError for others.
        value: plain JSON.
    """
    yield from _walk(value, IDS[model], holds=False)


def _walk(value: Any, names: frozenset[str], *, holds: bool, within: bool = False) -> Iterator[UUID]:
    if isinstance(value, dict):
        for name, member in value.items():
            if name not in FREE:
                held = name in names or name.endswith(("_id", "_ids"))
                yield from _walk(member, names, holds=held, within=name == LOCATION)
    elif isinstance(value, list):
        for one in value:
            yield from _walk(one, names, holds=holds)
    elif holds and isinstance(value, str):
        # An address holds ids among other words; everything else that holds an id is that id.
        found = ID.findall(value) if within else ID.fullmatch(value) and [value]
        yield from (UUID(one) for one in found or ())
