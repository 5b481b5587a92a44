"""The gate: what is sure enough to be stored, and what a person has to look at first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from memory.ports import Extract


class _Rated(Protocol):
    @property
    def confidence(self) -> float: ...


T = TypeVar("T", bound=_Rated)


@dataclass(frozen=True, slots=True)
class Gated:
    """The two sides of the gate."""

    sure: Extract
    doubtful: Extract


def pass_gate(extract: Extract, *, least: float) -> Gated:
    """Divide what was drawn by its confidence: facts, entities, relations, events and causes alike.

    Args:
        extract: what was drawn; a confidence that was left out counts as 1.
        least: the least confidence of what is stored at once, 0 to 1.
    """
    entities, vague_entities = _divide(extract.entities, least)
    relations, vague_relations = _divide(extract.relations, least)
    facts, vague_facts = _divide(extract.facts, least)
    events, vague_events = _divide(extract.events, least)
    causes, vague_causes = _divide(extract.causes, least)
    return Gated(
        replace(extract, entities=entities, relations=relations, facts=facts, events=events, causes=causes),
        Extract(vague_entities, vague_relations, vague_facts, vague_events, vague_causes),
    )


def _divide(items: Sequence[T], least: float) -> tuple[list[T], list[T]]:
    return [one for one in items if one.confidence >= least], [one for one in items if one.confidence < least]
