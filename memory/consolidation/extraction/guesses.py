"""Names whose type is only guessed: a lone first name, or a name that does what people do, may be a dog's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from memory.consolidation.extraction.names import Mention
from memory.consolidation.extraction.words.people import PETS, RELATIVES, kin_label
from memory.graph.names import canonical
from memory.ports import Extract, ExtractedEntity, ExtractedRelation

GUESSED: Final = "guessed_type"
"""Property of a drawn entity whose type nothing but its name tells; it is not stored."""

_OF_PEOPLE: Final = frozenset({kin_label(kind) for kind in RELATIVES.values()} | {"works_with"})


def settle_guesses(extract: Extract, *, mentions: Iterable[Mention], speakers: Iterable[str]) -> Extract:
    """Mark the people who are only guessed to be some, and let a name that is also told to be a pet's be the pet.

    Args:
        extract: what was drawn.
        mentions: all that the texts name.
        speakers: the names of those who speak.
    """
    by_name: dict[str, list[Mention]] = {}
    for mention in mentions:
        by_name.setdefault(canonical(mention.name), []).append(mention)
    sure = {canonical(name) for name in speakers}
    sure |= {canonical(one.target) for one in extract.relations if one.label in _OF_PEOPLE}
    entities = [_settled(one, by_name.get(canonical(one.name), []), sure) for one in extract.entities]
    pets = {one.name: one.type for one, was in zip(entities, extract.entities, strict=True) if one.type != was.type}
    relations = [_retyped(one, pets) for one in extract.relations] if pets else extract.relations
    return replace(extract, entities=tuple(entities), relations=tuple(relations))


def is_guessed(entity: ExtractedEntity) -> bool:
    """Tell whether nothing but the name tells what an entity is."""
    return entity.properties.get(GUESSED) is True


def stored_properties(entity: ExtractedEntity) -> dict[str, object]:
    """Give the properties of an entity that are kept."""
    return {name: value for name, value in entity.properties.items() if name != GUESSED}


def _settled(entity: ExtractedEntity, named: list[Mention], sure: set[str]) -> ExtractedEntity:
    people = [mention for mention in named if mention.type == "person"]
    if entity.type != "person" or canonical(entity.name) in sure or not people:
        return entity
    if not all(mention.guessed for mention in people):
        return entity
    pet = next((mention for mention in named if mention.sort in PETS), None)
    if pet is not None:
        return replace(entity, type=pet.type, properties={**entity.properties, "sort": pet.sort})
    return replace(entity, properties={**entity.properties, GUESSED: True})


def _retyped(one: ExtractedRelation, types: Mapping[str, str]) -> ExtractedRelation:
    return replace(
        one,
        source_type=types.get(one.source, one.source_type),
        target_type=types.get(one.target, one.target_type),
    )
