"""Topics and entities of memories: one question about all of a window, or by rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from memory.consolidation.extraction import llm_values as values
from memory.crypto.keyring import keyring
from memory.models import EntityType, LabelKind, Memory, MemoryLabel
from memory.ports import Extractor, Passage
from memory.services.actors import Actor, Target
from memory.services.consolidation.asleep import Sleeper
from memory.services.consolidation.stages import StageReport
from memory.services.consolidation.window import Window
from memory.services.drafts import MAX_LABELS
from memory.services.graph.entities import EntityDraft, Spoken, merge_spoken

FEWEST_TOPICS, MOST_TOPICS = 2, 4
MOST_ENTITIES: Final = 6

INSTRUCTION: Final = """\
Each item of the list is a stored memory with its id. Give for every memory the two to four topics that it is about, \
each one or two words in the language of the memory, and up to six people, projects, tools, web addresses, concepts or \
organisations that it names, as they are written there. Add nothing that the memory does not say."""
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "memories": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "topics": {"type": "array", "items": {"type": "string"}},
                    "entities": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "name": {"type": "string"},
                                "type": {"type": "string", "enum": list(EntityType.values)},
                            },
                            "required": ["name", "type"],
                            "additionalProperties": False,
                        },
                    },
                },
                "required": ["id", "topics", "entities"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["memories"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Description:
    """What one memory is about; entities are pairs of name and type."""

    topics: tuple[str, ...] = ()
    entities: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Described:
    """Descriptions by the memory's id."""

    by_id: dict[UUID, Description] = field(default_factory=dict)


def describe(sleeper: Sleeper, window: Window, extractor: Extractor, report: StageReport) -> Described:
    """Describe the memories of a window: with the model where it can be asked, else by rules.

    The rules name the entities of memories from which nothing was drawn yet; of the others they are known already.
    """
    described = sleeper.json("metadata", INSTRUCTION, window.parts(), schema=SCHEMA, check=lambda v: _read(v, window))
    if described is None:
        return Described() if sleeper.awake or extractor.prompts else _by_rules(window, extractor)
    left_out = len(window.rows) - len(described.by_id)
    if left_out:
        report.count("metadata_left_out", left_out)
    return described


def store(actor: Actor, described: Described, present: Mapping[UUID, Memory], target: Target) -> tuple[int, int]:
    """Store the descriptions of memories that are still there; call it within `change_graph`.

    Returns:
        How many memories got topics, and how many mentions of entities were told.
    """
    topics = sum(_add_topics(actor, row, described.by_id[key].topics) for key, row in _of(described, present))
    spoken = [
        Spoken(EntityDraft(name=name, type=type_), [row])
        for key, row in _of(described, present)
        for name, type_ in described.by_id[key].entities
    ]
    merged = merge_spoken(actor=actor, spoken=spoken, target=target) if spoken else []
    return topics, sum(1 for one in merged if one is not None)


def _of(described: Described, present: Mapping[UUID, Memory]) -> list[tuple[UUID, Memory]]:
    return [(key, present[key]) for key in sorted(described.by_id) if key in present]


def _add_topics(actor: Actor, row: Memory, topics: Sequence[str]) -> bool:
    standing: list[str] = list(row.topics or ())
    known = {topic.casefold() for topic in standing}
    fresh = [topic for topic in topics if topic.casefold() not in known][: max(0, MAX_LABELS - len(standing))]
    if not fresh:
        return False
    row.topics = [*standing, *fresh]
    row.save(update_fields=["topics"])
    ring = keyring().of(actor.owner_id)
    labels = [
        MemoryLabel(owner_id=row.owner_id, memory_id=row.pk, kind=LabelKind.TOPIC, label=ring.name(topic.casefold()))
        for topic in fresh
    ]
    MemoryLabel.objects.bulk_create(labels, ignore_conflicts=True)
    return True


def _read(value: Any, window: Window) -> Described:
    """Read an answer; what is said of a memory in another form, or of none of these, is passed over."""
    if not isinstance(value, dict) or not isinstance(value.get("memories"), list):
        raise ValueError("An object with the list 'memories' is expected.")
    described = Described()
    for item in value["memories"]:
        row = window.at(item.get("id")) if isinstance(item, dict) else None
        if row is None or row.pk in described.by_id:
            continue
        topics = values.words(item.get("topics"), most=MOST_TOPICS) if isinstance(item.get("topics"), list) else ()
        described.by_id[row.pk] = Description(
            topics if len(topics) >= FEWEST_TOPICS else (), _entities(item.get("entities"))
        )
    return described


def _entities(value: Any) -> tuple[tuple[str, str], ...]:
    found: dict[str, tuple[str, str]] = {}
    for item in value if isinstance(value, list) else ():
        given = item if isinstance(item, dict) else {"name": item}
        name = values.name(given.get("name"))
        if name:
            found.setdefault(name.casefold(), (name, values.entity_type(given.get("type"))))
    return tuple(found.values())[:MOST_ENTITIES]


def _by_rules(window: Window, extractor: Extractor) -> Described:
    fresh = [row for row in window.rows if row.extracted_at is None]
    if not fresh:
        return Described()
    passages = [
        Passage(key=str(row.pk), text=row.text, occurred_at=row.occurred_at, role=row.role, speaker=row.speaker)
        for row in fresh
    ]
    extract = extractor.extract(passages)
    described = Described()
    for row in fresh:
        key = str(row.pk)
        entities = [(one.name, one.type) for one in extract.entities if key in one.passages]
        topics = [topic for fact in extract.facts if fact.passage == key for topic in fact.topics]
        described.by_id[row.pk] = Description(
            tuple(dict.fromkeys(topics))[:MOST_TOPICS], tuple(dict.fromkeys(entities))[:MOST_ENTITIES]
        )
    return described
