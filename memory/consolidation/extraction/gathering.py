"""Gathers what is drawn from passages: entities once, everything else within its limits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from memory.consolidation.extraction.clause import Subject
from memory.consolidation.extraction.dated_text import with_dates
from memory.consolidation.extraction.names import Mention
from memory.consolidation.extraction.sentences import Sentence
from memory.graph.names import canonical
from memory.ports import (
    Extract,
    ExtractedCause,
    ExtractedEntity,
    ExtractedEvent,
    ExtractedFact,
    ExtractedRelation,
    Passage,
)

MAX_ENTITIES: Final = 40
"""Entities of one passage."""
MAX_FACTS: Final = 20
MAX_EVENTS: Final = 12
MAX_CAUSES: Final = 8
MAX_PAIRS: Final = 10
"""Relations of one passage that say no more than that two are named in one sentence."""
MAX_RELATIONS: Final = 40
USER: Final = "user"
LONGEST_SPEAKER: Final = 100

# What is known more narrowly wins over what is known less.
_RANKS: Final = {"person": 6, "organization": 5, "project": 5, "tool": 4, "url": 3, "concept": 1, "topic": 0}


@dataclass(slots=True)
class _Kept:
    name: str
    type: str
    importance: float
    confidence: float
    sort: str
    passages: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Reading:
    """One passage as it is read.

    Attributes:
        passage: what was given.
        text: the part that is read.
        sentences: its sentences.
        mentions: what it names, in order.
        speaker: who speaks, as a subject.
        moment: when.
    """

    passage: Passage
    text: str
    sentences: list[Sentence]
    mentions: list[Mention]
    speaker: Subject
    moment: datetime
    entities: int = 0
    facts: int = 0
    events: int = 0
    causes: int = 0
    relations: int = 0
    pairs: int = 0

    def named_in(self, start: int, end: int) -> list[Mention]:
        """List what is named between two places."""
        return [mention for mention in self.mentions if start <= mention.start and mention.end <= end]


def speaker_of(passage: Passage) -> Subject:
    """Give the speaker of a passage as the subject of what he says."""
    name = " ".join((passage.speaker or "").split())[:LONGEST_SPEAKER].strip()
    if not name or canonical(name) == USER:
        return Subject("The user", USER, own=True)
    return Subject(name, name, own=True)


class Gathered:
    """Collects what is drawn from the passages of one call and counts what goes beyond the limits."""

    def __init__(self) -> None:
        self._entities: dict[str, _Kept] = {}
        self._facts: dict[tuple[str, str], ExtractedFact] = {}
        self._relations: dict[tuple[str, str, str, str, bool], ExtractedRelation] = {}
        self._events: dict[tuple[str, str], ExtractedEvent] = {}
        self._causes: dict[tuple[str, str, str], ExtractedCause] = {}
        self.left_out: Counter[str] = Counter()

    def entity(self, reading: Reading, mention: Mention, *, importance: float = 0.0) -> str | None:
        """Keep an entity; gives the name it is kept under, or None beyond the limit of its passage."""
        name = " ".join(mention.name.split())
        key = canonical(name)
        if not key:
            return None
        kept = self._entities.get(key)
        here = reading.passage.key
        if kept is None or here not in kept.passages:
            if reading.entities >= MAX_ENTITIES:
                self.left_out["extraction.entities"] += 1
                return None
            reading.entities += 1
        if kept is None:
            kept = self._entities[key] = _Kept(name, mention.type, mention.importance, mention.confidence, mention.sort)
        elif _RANKS[mention.type] > _RANKS[kept.type]:
            kept.type, kept.sort = mention.type, mention.sort
        if here not in kept.passages:
            kept.passages.append(here)
        kept.sort = kept.sort or mention.sort
        kept.importance = max(kept.importance, importance, mention.importance)
        kept.confidence = max(kept.confidence, mention.confidence)
        return kept.name

    def known(self, name: str) -> tuple[str, str] | None:
        """Give the name and type that an entity is kept with."""
        kept = self._entities.get(canonical(name))
        return (kept.name, kept.type) if kept else None

    def fact(self, reading: Reading, fact: ExtractedFact) -> bool:
        """Keep a statement once for its passage, with the dates of what counts from the moment it was said."""
        fact = replace(fact, text=with_dates(fact.text, moment=reading.moment))
        key = (reading.passage.key, canonical(fact.text))
        if key in self._facts:
            return False
        if reading.facts >= MAX_FACTS:
            self.left_out["extraction.facts"] += 1
            return False
        reading.facts += 1
        self._facts[key] = fact
        return True

    def relation(self, reading: Reading, relation: ExtractedRelation, *, weak: bool = False) -> None:
        """Keep a relation once for its passage; the weak ones have a limit of their own."""
        if canonical(relation.source) == canonical(relation.target):
            return
        key = (reading.passage.key, relation.source, relation.label, relation.target, relation.ended)
        if key in self._relations:
            return
        if (weak and reading.pairs >= MAX_PAIRS) or reading.relations >= MAX_RELATIONS:
            self.left_out["extraction.relations"] += 1
            return
        reading.pairs += weak
        reading.relations += not weak
        self._relations[key] = relation

    def event(self, reading: Reading, event: ExtractedEvent) -> None:
        """Keep an event once for its passage."""
        key = (reading.passage.key, canonical(event.text))
        if key in self._events:
            return
        if reading.events >= MAX_EVENTS:
            self.left_out["extraction.events"] += 1
            return
        reading.events += 1
        self._events[key] = event

    def cause(self, reading: Reading, cause: ExtractedCause) -> None:
        """Keep a cause once for its passage."""
        key = (reading.passage.key, canonical(cause.cause), canonical(cause.effect))
        if key in self._causes or canonical(cause.cause) == canonical(cause.effect):
            return
        if reading.causes >= MAX_CAUSES:
            self.left_out["extraction.causes"] += 1
            return
        reading.causes += 1
        self._causes[key] = cause

    def extract(self) -> Extract:
        """Give all that was gathered; relations have the types that their entities ended up with."""
        return Extract(
            entities=tuple(
                ExtractedEntity(
                    name=kept.name,
                    type=kept.type,
                    properties={"sort": kept.sort} if kept.sort else {},
                    importance=kept.importance,
                    confidence=kept.confidence,
                    passages=tuple(kept.passages),
                )
                for kept in self._entities.values()
            ),
            relations=tuple(self._typed(relation) for relation in self._relations.values()),
            facts=tuple(self._facts.values()),
            events=tuple(self._events.values()),
            causes=tuple(self._causes.values()),
            left_out=dict(self.left_out),
        )

    def _typed(self, relation: ExtractedRelation) -> ExtractedRelation:
        source, target = self._entities[canonical(relation.source)], self._entities[canonical(relation.target)]
        if (relation.source_type, relation.target_type) == (source.type, target.type):
            return relation
        values = {name: getattr(relation, name) for name in relation.__slots__}
        return ExtractedRelation(**values | {"source_type": source.type, "target_type": target.type})
