"""What a model is asked for when the week is looked back on, and how its answer is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from memory.consolidation.reflecting import Episode, Found, Sort
from memory.models import Memory
from memory.privacy import injection

META: Final = "meta"
MOST_PATTERNS: Final = 8
MOST_META: Final = 5
LEAST_EVENTS: Final = 2
LEAST_CHARACTERS: Final = 10
MOST_CHARACTERS: Final = 280

SYSTEM: Final = (
    "These are turns of one person's conversations of a week. Find patterns of behaviour that at least two turns show: "
    "habits, recurring topics, requests that are put again, ways of working. Leave out what happened once. For each "
    "give one sentence, the numbers of the turns that show it, and how sure you are from 0 to 1. At most eight; an "
    "empty list where nothing recurs."
)
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["patterns"],
    "properties": {
        "patterns": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["pattern", "turns", "confidence"],
                "properties": {
                    "pattern": {"type": "string"},
                    "turns": {"type": "array", "items": {"type": "integer"}},
                    "confidence": {"type": "number"},
                },
            },
        }
    },
}
META_SYSTEM: Final = (
    "These are patterns of one person's behaviour. Draw them together into at most five statements that hold for "
    "several of them. For each give one sentence and the numbers of the patterns that it is drawn from, at least two. "
    "An empty list where they have nothing in common."
)
META_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["statements"],
    "properties": {
        "statements": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["statement", "patterns"],
                "properties": {
                    "statement": {"type": "string"},
                    "patterns": {"type": "array", "items": {"type": "integer"}},
                },
            },
        }
    },
}


class Reader:
    """Reads an answer about numbered things; single items that cannot be used are passed over."""

    def __init__(self, told: Sequence[Any]) -> None:
        """Take what the numbers, from 1 on, stand for."""
        self._told = told

    def patterns(self, value: Any) -> list[Found]:
        """Read patterns; raises ValueError when the answer has another shape."""
        found: list[Found] = []
        for item in _items(value, "patterns")[:MOST_PATTERNS]:
            text, events = _sentence(item, "pattern"), self._numbered(item, "turns")
            if not text or len(events) < LEAST_EVENTS:
                continue
            turns: list[Episode] = events
            found.append(
                Found(
                    Sort.MODEL,
                    f"{Sort.MODEL}:{text.casefold()}",
                    text,
                    tuple(one.key for one in turns),
                    tuple(dict.fromkeys(one.session for one in turns)),
                    _unit(item.get("confidence")),
                )
            )
        return found

    def metas(self, value: Any) -> list[tuple[str, list[UUID]]]:
        """Read statements; raises ValueError when the answer has another shape."""
        found: list[tuple[str, list[UUID]]] = []
        for item in _items(value, "statements")[:MOST_META]:
            text = _sentence(item, "statement")
            rows: list[Memory] = self._numbered(item, "patterns")
            if text and len(rows) >= LEAST_EVENTS:
                found.append((text, [row.pk for row in rows]))
        return found

    def _numbered(self, item: Mapping[str, Any], name: str) -> list[Any]:
        numbers = item.get(name)
        chosen = {
            number
            for number in (numbers if isinstance(numbers, list) else [])
            if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= len(self._told)
        }
        return [self._told[number - 1] for number in sorted(chosen)]


def _items(value: Any, name: str) -> list[Mapping[str, Any]]:
    items = value.get(name) if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise ValueError(f"The answer needs a list '{name}'.")
    return [item for item in items if isinstance(item, dict)]


def _sentence(item: Mapping[str, Any], name: str) -> str:
    text = item.get(name)
    flat = " ".join(text.split()) if isinstance(text, str) else ""
    if len(flat) < LEAST_CHARACTERS or injection.scan(flat):
        return ""
    return flat if len(flat) <= MOST_CHARACTERS else f"{flat[: MOST_CHARACTERS - 1].rstrip()}…"


def _unit(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.5
    return min(1.0, max(0.0, float(value)))
