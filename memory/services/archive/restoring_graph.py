"""The graph and the skills of an archive, handed to the imports of a graph and of skills page by page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from memory.errors import TooLarge
from memory.services.archive import limits
from memory.services.archive.following import Following
from memory.services.archive.outcome import ArchiveImported, Progress
from memory.services.archive.placing import Place, Places
from memory.services.archive.reading import Archive, Record
from memory.services.graph.importing import import_graph
from memory.services.skill_transfer import MOST_ITEMS, import_skills

PAGE: Final = 500

Item = dict[str, Any]
Describe = Callable[[Record, Mapping[str, list[Record]]], Item]


@dataclass(slots=True)
class Joining:
    """A graph on its way in: what the archive's memories and entities are here."""

    places: Places
    memories: Mapping[str, UUID]
    result: ArchiveImported
    entities: dict[str, UUID] = field(default_factory=dict)


def take_graph(joining: Joining, archive: Archive, progress: Progress) -> None:
    """Take the graph of an archive over as `import_graph` does, each row for the scope that it had.

    What refers to memories or entities that were not taken over is skipped.
    """
    for part, hanging, column, describe in _PARTS:
        following = {name: Following(archive, name, column, joining.result) for name in hanging}
        total, done = archive.manifest.rows(part), 0
        for page in archive.pages(part, PAGE):
            for place, items in _placed(joining, part, page, following, describe):
                _import(joining, part, place, items)
            done += len(page)
            progress(part, done, total)
        for one in following.values():
            one.finish()


def _placed(
    joining: Joining,
    part: str,
    page: list[tuple[int, Record]],
    following: Mapping[str, Following],
    describe: Describe,
) -> Iterator[tuple[Place, list[tuple[int, Item]]]]:
    """Describe a page of rows as an import takes them, by where they go."""
    found: dict[tuple[str, UUID], tuple[Place, list[tuple[int, Item]]]] = {}
    for index, line in page:
        key = line.get("id")
        told = {name: one.of(key) for name, one in following.items()} if isinstance(key, str) else {}
        place = _place(joining.places, part, line)
        if place is None:
            joining.result.leave(part)
            continue
        _, items = found.setdefault((place.target.visibility, place.target.scope), (place, []))
        items.append((index, describe(line, told)))
    yield from found.values()


def _place(places: Places, part: str, line: Record) -> Place | None:
    if part == "edges":
        # Who may read a link follows from its memories.
        return places.place(places.owner, "owner")
    return places.place(line.get("scope"), line.get("visibility"))


def _import(joining: Joining, part: str, place: Place, items: list[tuple[int, Item]]) -> None:
    taken = import_graph(
        actor=place.actor,
        document={part: [item for _, item in items]},
        memories=joining.memories,
        scope=place.scope,
        entities=joining.entities,
    )
    counts = joining.result.graph.setdefault(part, {})
    for outcome, count in taken.counts[part].items():
        counts[outcome] = counts.get(outcome, 0) + count
    for error in taken.errors:
        joining.result.refuse_told({**error, "index": items[error["index"]][0]})


def take_skills(joining: Joining, archive: Archive) -> None:
    """Put the skills of an archive beside their memories, as `import_skills` does, each for the scope that it had.

    Raises:
        TooLarge: `archive.too_large`, more than 20,000 skills, or 64 MiB.
    """
    held = sum(archive.manifest.size(part) for part in ("skills", "skill_dependencies"))
    if archive.manifest.rows("skills") > MOST_ITEMS or held > limits.MOST_SKILL_BYTES:
        raise TooLarge(f"An archive holds at most {MOST_ITEMS} skills.", code="archive.too_large")
    lines = list(enumerate(archive.lines("skills")))
    memory_of = {str(line.get("id")): line.get("memory_id") for _, line in lines}
    needs: dict[str, list[Any]] = defaultdict(list)
    for line in archive.lines("skill_dependencies"):
        needs[str(line.get("skill_id"))].append(memory_of.get(str(line.get("needs_id"))))
    found: dict[UUID, tuple[Place, list[tuple[int, Item]]]] = {}
    for index, line in lines:
        place = joining.places.place(line.get("scope"), line.get("visibility"))
        if place is None:
            joining.result.leave("skills")
            continue
        item = {**line, "memory": line.get("memory_id"), "needs": needs.get(str(line.get("id")), [])}
        found.setdefault(place.target.scope, (place, []))[1].append((index, item))
    for place, items in found.values():
        taken = import_skills(
            actor=place.actor,
            items=[item for _, item in items],
            memories=joining.memories,
            scope=place.scope,
        )
        for outcome, count in taken.counts.items():
            joining.result.skills[outcome] = joining.result.skills.get(outcome, 0) + count
        for error in taken.errors:
            joining.result.refuse_told({**error, "index": items[error["index"]][0]})


def _entity(line: Record, told: Mapping[str, list[Record]]) -> Item:
    return {**line, "mentions": [one.get("memory_id") for one in told.get("mentions", ())]}


def _evidence(told: Mapping[str, list[Record]], part: str) -> list[Item]:
    return [{"memory": one.get("memory_id"), "text": one.get("text")} for one in told.get(part, ())]


def _relation(line: Record, told: Mapping[str, list[Record]]) -> Item:
    ends = {"source": line.get("source_id"), "target": line.get("target_id")}
    return {**line, **ends, "evidence": _evidence(told, "relation_evidence")}


def _event(line: Record, told: Mapping[str, list[Record]]) -> Item:
    took_part = [one.get("entity_id") for one in told.get("participants", ())]
    return {**line, "participants": took_part, "evidence": _evidence(told, "event_evidence")}


def _cause(line: Record, told: Mapping[str, list[Record]]) -> Item:
    about = {"cause_entity": line.get("cause_entity_id"), "effect_entity": line.get("effect_entity_id")}
    return {**line, **about, "evidence": _evidence(told, "cause_evidence")}


def _edge(line: Record, told: Mapping[str, list[Record]]) -> Item:
    ends = {"source": line.get("source_id"), "target": line.get("target_id"), "insight": line.get("insight_id")}
    return {**line, **ends}


_PARTS: Final[tuple[tuple[str, tuple[str, ...], str, Describe], ...]] = (
    ("entities", ("mentions",), "entity_id", _entity),
    ("relations", ("relation_evidence",), "relation_id", _relation),
    ("events", ("event_evidence", "participants"), "event_id", _event),
    ("causes", ("cause_evidence",), "cause_id", _cause),
    ("edges", (), "", _edge),
)
TAKEN: Final = frozenset({part for part, *_ in _PARTS} | {one for _, hanging, *_ in _PARTS for one in hanging})
"""The parts of an archive that are taken over here."""
