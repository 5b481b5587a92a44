"""Turn a model's answer into what is drawn: item by item, so that one that cannot be used costs no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from memory.consolidation.extraction import llm_values as values
from memory.consolidation.extraction.dated_text import with_dates
from memory.consolidation.extraction.llm_pieces import Piece
from memory.consolidation.extraction.llm_prompt import USER, speaker_of
from memory.graph.labels import SINGLE_VALUED
from memory.graph.names import canonical
from memory.models import EntityType
from memory.ports import (
    Claim,
    ExtractedCause,
    ExtractedEntity,
    ExtractedEvent,
    ExtractedFact,
    ExtractedRelation,
    Passage,
)

SHORTEST_FACT: Final = 10
MOST_ITEMS: Final = 200
MOST_ALIASES: Final = 10
LISTS: Final = ("entities", "relations", "facts", "events", "causes")
_SPEAKER_WORDS: Final = frozenset({"i", "me", "myself", "speaker", "the speaker", "narrator"})
_USER_WORDS: Final = frozenset({"user", "the user", "users"})


@dataclass(slots=True)
class Drawn:
    """What was drawn so far; entities by their compared name, so that each stands here once."""

    entities: dict[str, ExtractedEntity] = field(default_factory=dict)
    relations: list[ExtractedRelation] = field(default_factory=list)
    facts: list[ExtractedFact] = field(default_factory=list)
    events: list[ExtractedEvent] = field(default_factory=list)
    causes: list[ExtractedCause] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def checked(value: Any) -> Mapping[str, list[Any]]:
    """Check that an answer is an object with any of the five lists, for `Asking.json`.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, dict):
        raise ValueError(f"An object with the lists {', '.join(LISTS)} is expected.")
    if not any(name in value for name in LISTS):
        raise ValueError(f"The object has none of the lists {', '.join(LISTS)}.")
    return {name: values.items(value.get(name)) for name in LISTS}


def read_into(drawn: Drawn, answer: Mapping[str, list[Any]], group: Sequence[Piece]) -> None:
    """Add what an answer about some pieces says to what was drawn."""
    _Reading(drawn, group).read(answer)


class _Reading:
    """One answer, as it is read."""

    def __init__(self, drawn: Drawn, group: Sequence[Piece]) -> None:
        self._drawn = drawn
        self._passages = [piece.passage for piece in group]
        self._left_out = drawn.left_out
        self._known: dict[str, str] = {}

    def read(self, answer: Mapping[str, list[Any]]) -> None:
        """Read the entities first, since the others name them."""
        readers: Mapping[str, Callable[[Any], None]] = {
            "entities": self._entity,
            "relations": self._relation,
            "facts": self._fact,
            "events": self._event,
            "causes": self._cause,
        }
        for name, reader in readers.items():
            listed = answer[name]
            if len(listed) > MOST_ITEMS:
                self._left_out["items.too_many"] += len(listed) - MOST_ITEMS
            for item in listed[:MOST_ITEMS]:
                reader(item)

    def _entity(self, item: Any) -> None:
        given = {"name": item} if isinstance(item, str) else item
        name = values.name(given.get("name")) if isinstance(given, dict) else ""
        passages = self._cited(given) if name else []
        if not name or not passages:
            self._left_out["entity.invalid" if not name else "passage.unknown"] += 1
            return
        spoken = self._spoken_name(name, passages[0])
        aliases = values.words(given.get("aliases"), most=MOST_ALIASES, longest=values.LONGEST_NAME)
        self._add(
            ExtractedEntity(
                name=spoken,
                type=self._type_of(spoken, given.get("type"), passages[0]),
                aliases=tuple(alias for alias in aliases if canonical(alias) not in ("", canonical(spoken))),
                importance=values.share(given.get("importance"), 0.5),
                confidence=values.share(given.get("confidence"), 1.0),
                passages=tuple(dict.fromkeys(passage.key for passage in passages)),
            )
        )

    def _relation(self, item: Any) -> None:
        found = self._item(item, "relation.invalid")
        if found is None:
            return
        given, passage = found
        label = values.label(given.get("label"))
        confidence = values.share(given.get("confidence"), 1.0)
        source = self._named(given.get("source"), passage, confidence)
        target = self._named(given.get("target"), passage, confidence)
        if not (label and source and target):
            self._left_out["relation.invalid"] += 1
        elif source == target:
            self._left_out["relation.self"] += 1
        else:
            begins, ends = self._span(given)
            self._drawn.relations.append(
                ExtractedRelation(
                    source=source,
                    label=label,
                    target=target,
                    source_type=self._known_type(source),
                    target_type=self._known_type(target),
                    weight=values.share(given.get("weight"), 0.5),
                    confidence=confidence,
                    valid_from=begins,
                    valid_until=ends,
                    ended=given.get("ended") is True,
                    passage=passage.key,
                )
            )

    def _fact(self, item: Any) -> None:
        found = self._item({"text": item} if isinstance(item, str) else item, "fact.invalid")
        if found is None:
            return
        given, passage = found
        text = values.line(given.get("text"))
        if len(text) < SHORTEST_FACT:
            self._left_out["fact.too_short" if text else "fact.invalid"] += 1
            return
        confidence = values.share(given.get("confidence"), 1.0)
        begins, ends = self._span(given)
        self._drawn.facts.append(
            ExtractedFact(
                text=with_dates(text, moment=passage.occurred_at),
                kind=values.kind(given.get("kind")),
                category=values.category(given.get("category")),
                importance=values.share(given.get("importance"), 0.5),
                confidence=confidence,
                entities=self._all_named(given.get("entities"), passage, confidence),
                topics=values.words(given.get("topics"), most=4),
                occurred_at=self._moment(given.get("occurred_at")),
                valid_from=begins,
                valid_until=ends,
                claim=self._claim(given.get("claim"), passage, confidence),
                passage=passage.key,
            )
        )

    def _claim(self, value: Any, passage: Passage, confidence: float) -> Claim | None:
        if not isinstance(value, dict):
            return None
        attribute = values.label(value.get("attribute"))
        claimed = canonical(values.line(value.get("value")))
        if not attribute or not claimed:
            return None
        subject = self._named(value.get("subject") or speaker_of(passage), passage, confidence)
        if not subject:
            return None
        return Claim(
            subject=subject,
            attribute=attribute,
            value=claimed,
            polarity=-1 if value.get("denied") is True else 1,
            # Which attributes have one value is the product's to say: a model's word must not retire a statement.
            single=attribute in SINGLE_VALUED,
        )

    def _event(self, item: Any) -> None:
        found = self._item({"text": item} if isinstance(item, str) else item, "event.invalid")
        if found is None:
            return
        given, passage = found
        text = values.line(given.get("text"))
        if not text:
            self._left_out["event.invalid"] += 1
            return
        confidence = values.share(given.get("confidence"), 1.0)
        self._drawn.events.append(
            ExtractedEvent(
                text=text,
                occurred_at=self._moment(given.get("occurred_at")) or passage.occurred_at,
                participants=self._all_named(given.get("participants"), passage, confidence),
                confidence=confidence,
                passage=passage.key,
            )
        )

    def _cause(self, item: Any) -> None:
        found = self._item(item, "cause.invalid")
        if found is None:
            return
        given, passage = found
        cause, effect = values.line(given.get("cause")), values.line(given.get("effect"))
        if not cause or not effect or canonical(cause) == canonical(effect):
            self._left_out["cause.invalid"] += 1
            return
        confidence = values.share(given.get("confidence"), 1.0)
        self._drawn.causes.append(
            ExtractedCause(
                cause=cause,
                effect=effect,
                cause_entity=self._named(given.get("cause_entity"), passage, confidence) or None,
                effect_entity=self._named(given.get("effect_entity"), passage, confidence) or None,
                confidence=confidence,
                passage=passage.key,
            )
        )

    def _item(self, item: Any, code: str) -> tuple[dict[str, Any], Passage] | None:
        """Give an item with the passage that it cites, or count why it cannot be used."""
        if not isinstance(item, dict):
            self._left_out[code] += 1
            return None
        cited = self._cited(item)
        if not cited:
            self._left_out["passage.unknown"] += 1
            return None
        return item, cited[0]

    def _cited(self, item: Mapping[str, Any]) -> list[Passage]:
        """Give the passages that an item cites; of one passage alone everything comes from it."""
        if len({passage.key for passage in self._passages}) == 1:
            return self._passages[:1]
        numbers = [number for number in values.items(item.get("from")) if isinstance(number, int | str)]
        places = [int(number) - 1 for number in numbers if str(number).isdecimal() and str(number).isascii()]
        return [self._passages[place] for place in places if 0 <= place < len(self._passages)]

    def _all_named(self, value: Any, passage: Passage, confidence: float) -> tuple[str, ...]:
        names = [self._named(item, passage, confidence) for item in values.items(value)[: values.MOST_WORDS * 2]]
        return tuple(dict.fromkeys(name for name in names if name))

    def _named(self, value: Any, passage: Passage, confidence: float) -> str:
        """Give the one spelling of an entity's name; an entity that was not listed is added."""
        name = values.name(value)
        if not name or not canonical(name):
            return ""
        spoken = self._spoken_name(name, passage)
        known = self._known.get(canonical(spoken))
        if known is not None:
            return self._add(replace(self._drawn.entities[canonical(known)], passages=(passage.key,)))
        return self._add(
            ExtractedEntity(
                name=spoken,
                type=self._type_of(spoken, None, passage),
                confidence=confidence,
                passages=(passage.key,),
            )
        )

    def _add(self, entity: ExtractedEntity) -> str:
        """Add an entity to the one of its name, and give the name that stands."""
        key = canonical(entity.name)
        standing = self._drawn.entities.get(key)
        if standing is not None:
            entity = replace(
                standing,
                type=entity.type if standing.type == EntityType.CONCEPT else standing.type,
                aliases=tuple(dict.fromkeys((*standing.aliases, *entity.aliases)))[:MOST_ALIASES],
                importance=max(standing.importance, entity.importance),
                confidence=max(standing.confidence, entity.confidence),
                passages=tuple(dict.fromkeys((*standing.passages, *entity.passages))),
            )
        self._drawn.entities[key] = entity
        self._known[key] = entity.name
        for alias in entity.aliases:
            self._known.setdefault(canonical(alias), entity.name)
        return entity.name

    def _spoken_name(self, name: str, passage: Passage) -> str:
        """Give who speaks for the words by which a speaker names himself."""
        folded = canonical(name)
        if folded in _SPEAKER_WORDS:
            return speaker_of(passage)
        if folded in _USER_WORDS:
            return speaker_of(passage) if passage.role != "assistant" else USER
        return name

    def _type_of(self, name: str, value: Any, passage: Passage) -> str:
        if canonical(name) in (canonical(speaker_of(passage)), USER):
            return EntityType.PERSON.value
        return values.entity_type(value)

    def _known_type(self, name: str) -> str:
        return self._drawn.entities[canonical(name)].type

    def _span(self, given: Mapping[str, Any]) -> tuple[datetime | None, datetime | None]:
        begins, ends = self._moment(given.get("valid_from")), self._moment(given.get("valid_until"))
        if begins and ends and ends < begins:
            self._left_out["date.order"] += 1
            return begins, None
        return begins, ends

    def _moment(self, value: Any) -> datetime | None:
        try:
            return values.moment(value)
        except ValueError:
            self._left_out["date.invalid"] += 1
            return None
