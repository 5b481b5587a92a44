"""Answers about several items at once: what became of each, and one status for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.serializers import Serializer

from memory.api.problems import item_error
from memory.errors import InvalidInput, LociError

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sorted:
    """Items of a request: the checked ones by their place, and the errors of the others."""

    good: Mapping[int, dict[str, Any]]
    refused: Mapping[int, Item]


def check_each(items: Sequence[Any], serializer: type[Serializer[Any]]) -> Sorted:
    """Check items one by one, so that a bad one does not spoil the others."""
    good: dict[int, dict[str, Any]] = {}
    refused: dict[int, Item] = {}
    for index, item in enumerate(items):
        try:
            good[index] = serializer().run_validation(item)
        except (ValidationError, LociError) as error:
            refused[index] = refusal(index, error)
    return Sorted(good, refused)


def refusal(index: int, error: Exception) -> Item:
    """Describe an item that was not stored."""
    return {"index": index, "outcome": "refused", "error": item_error(error)}


def acceptance(index: int, *, created: bool, **members: Any) -> Item:
    """Describe an item that is stored."""
    return {"index": index, "outcome": "created" if created else "existing", **members}


def summary(results: Sequence[Item]) -> Item:
    """Count the outcomes; raises InvalidInput with `batch.nothing_stored` when every item was refused."""
    counts = Counter(result["outcome"] for result in results)
    if counts["refused"] == len(results):
        raise InvalidInput(
            "Not one item could be used; `results` says why.",
            code="batch.nothing_stored",
            results=list(results),
        )
    return {
        "created": counts["created"],
        "existing": counts["existing"],
        "refused": counts["refused"],
        "results": list(results),
    }
