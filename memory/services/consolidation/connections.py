"""Links between the memories of a window: those that the model sees, or by what they share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.consolidation.extraction import llm_values as values
from memory.errors import InvalidInput
from memory.graph.edge_kinds import meaning_of
from memory.graph.names import canonical
from memory.models import EdgeKind, EntityMention, Memory, MemoryEdge, SpaceState, current_owner, owner_scope
from memory.services.actors import Actor
from memory.services.consolidation.asleep import Sleeper
from memory.services.consolidation.described import Described
from memory.services.consolidation.stages import StageReport
from memory.services.consolidation.window import Window
from memory.services.graph.edges import link_memories

WEIGHT: Final = 0.7
LEAST_COSINE: Final = 0.6
# What one shared entity adds to the cosine when pairs are compared.
SHARED: Final = 0.15
SHARED_WEIGHT: Final = 0.5

INSTRUCTION: Final = """\
Each item of the list is a stored memory with its id. Find pairs of memories that belong together in a way that \
matters and is not obvious from one of them alone: one supports, contradicts, causes or is part of another, or both \
are about the same plan, person or problem. Give at most {most} pairs, the most telling first, each with the kind of \
link and the relationship in one short sentence. `from` and `to` are ids. Give an empty list where nothing belongs \
together."""
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "connections": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "from": {"type": "integer"},
                    "to": {"type": "integer"},
                    "kind": {"type": "string", "enum": [kind for kind in EdgeKind.values if kind != "followed_by"]},
                    "relationship": {"type": "string"},
                },
                "required": ["from", "to", "kind", "relationship"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["connections"],
    "additionalProperties": False,
}
COSINES: Final = """
    SELECT a.memory_id, b.memory_id, 1 - (a.vec <=> b.vec) FROM memory_memoryvector a
    JOIN memory_embeddingspace s ON s.id = a.space_id AND s.state = %(active)s
    JOIN memory_memoryvector b ON b.owner_id = a.owner_id AND b.space_id = a.space_id AND b.memory_id > a.memory_id
    WHERE a.owner_id = %(owner)s AND a.memory_id = ANY(%(ids)s::uuid[]) AND b.memory_id = ANY(%(ids)s::uuid[])
"""


@dataclass(frozen=True, slots=True)
class Connection:
    """A link to make; `relationship` says in words how the two belong together, empty where nothing is to be said."""

    source: UUID
    target: UUID
    kind: EdgeKind
    relationship: str
    weight: float = WEIGHT


def connect(
    actor: Actor, sleeper: Sleeper, window: Window, *, about: Described, most: int, report: StageReport
) -> list[Connection]:
    """Find links between the memories of a window: with the model where it can be asked, else by rules.

    Args:
        actor: whose memories they are.
        sleeper: the model.
        window: the memories.
        about: what the pass has found out about them, which is not stored yet.
        most: most links; with 0 or less nothing is looked for and the model is not asked.
        report: counts what the model told and cannot be used.
    """
    if most <= 0 or len(window.rows) < 2:
        return []
    answer = sleeper.json(
        "connections", INSTRUCTION.format(most=most), window.parts(), schema=SCHEMA, check=lambda v: _read(v, window)
    )
    if answer is not None:
        found, rejected = answer
        if rejected:
            report.count("connections_rejected", rejected)
        return found[:most]
    return [] if sleeper.awake else _by_rules(actor, window, about, most)


def store(
    actor: Actor, connections: Sequence[Connection], present: Mapping[UUID, Memory], *, insight_id: UUID | None
) -> tuple[int, int]:
    """Link the memories that are still there; call it within `change_graph`.

    Returns:
        How many links are new, and how many were there already.
    """
    created = known = 0
    for one in connections:
        if one.source not in present or one.target not in present:
            continue
        _, new = link_memories(
            actor=actor,
            source_id=one.source,
            target_id=one.target,
            kind=one.kind,
            weight=one.weight,
            relationship=one.relationship or None,
            insight_id=insight_id,
        )
        created, known = (created + 1, known) if new else (created, known + 1)
    return created, known


def _read(value: Any, window: Window) -> tuple[list[Connection], int]:
    if not isinstance(value, dict) or not isinstance(value.get("connections"), list):
        raise ValueError("An object with the list 'connections' is expected.")
    found: dict[tuple[UUID, UUID, str, str], Connection] = {}
    rejected = 0
    for item in value["connections"]:
        one = _connection(item, window)
        if one is None:
            rejected += 1
        else:
            found.setdefault((one.source, one.target, one.kind, one.relationship.casefold()), one)
    return list(found.values()), rejected


def _connection(item: Any, window: Window) -> Connection | None:
    if not isinstance(item, dict):
        return None
    source, target = window.at(item.get("from")), window.at(item.get("to"))
    relationship = values.line(item.get("relationship"))
    if source is None or target is None or source.pk == target.pk or not relationship:
        return None
    try:
        meaning = meaning_of(item.get("kind"))
    except InvalidInput:
        return Connection(source.pk, target.pk, EdgeKind.RELATED_TO, relationship)
    if meaning.reverse:
        source, target = target, source
    return Connection(source.pk, target.pk, meaning.kind, relationship)


def _by_rules(actor: Actor, window: Window, about: Described, most: int) -> list[Connection]:
    """Link what shares entities or is near in meaning, the nearest first, and nothing that is linked already."""
    rows = {row.pk: row for row in window.rows}
    with owner_scope(actor.owner_id):
        cosines = _cosines(list(rows))
        shared = _shared_entities(list(rows), about)
        linked = MemoryEdge.objects.filter(source_id__in=rows, target_id__in=rows).values_list("source_id", "target_id")
        known = {tuple(sorted(pair)) for pair in linked}
    scored: list[tuple[float, UUID, UUID]] = []
    for first, second in combinations(sorted(rows), 2):
        near, common = cosines.get((first, second), 0.0), shared.get((first, second), 0)
        if (
            (near >= LEAST_COSINE or common)
            and (first, second) not in known
            and not _adjacent(rows[first], rows[second])
        ):
            scored.append((near + SHARED * common, first, second))
    best = sorted(scored, key=lambda one: (-round(one[0], 6), one[1], one[2]))[:most]
    return [_linked(first, second, cosines.get((first, second), 0.0)) for _, first, second in best]


def _linked(older: UUID, newer: UUID, near: float) -> Connection:
    # Ids rise with time, so the newer memory points at the one that it belongs to.
    if near >= LEAST_COSINE:
        return Connection(newer, older, EdgeKind.SIMILAR_TO, "", round(min(1.0, near), 4))
    return Connection(newer, older, EdgeKind.RELATED_TO, "", SHARED_WEIGHT)


def _cosines(ids: list[UUID]) -> dict[tuple[UUID, UUID], float]:
    with connection.cursor() as cursor:
        cursor.execute(COSINES, {"owner": current_owner(), "ids": ids, "active": SpaceState.ACTIVE})
        return {(first, second): float(near) for first, second, near in cursor.fetchall()}


def _shared_entities(ids: list[UUID], about: Described) -> dict[tuple[UUID, UUID], int]:
    """Count for each pair the entities that both speak of, without those that most of the memories speak of."""
    memories: dict[UUID | str, set[UUID]] = defaultdict(set)
    for entity, memory in EntityMention.objects.filter(memory_id__in=ids).values_list("entity_id", "memory_id"):
        memories[entity].add(memory)
    for memory, description in about.by_id.items():
        for name, _ in description.entities:
            memories[canonical(name)].add(memory)
    counts: Counter[tuple[UUID, UUID]] = Counter()
    for speaking in memories.values():
        if len(speaking) <= max(2, len(ids) // 2):
            counts.update((first, second) for first, second in combinations(sorted(speaking), 2))
    return counts


def _adjacent(first: Memory, second: Memory) -> bool:
    """Tell neighbours in a conversation, which belong together without a link that says so."""
    if first.session_id is None or first.session_id != second.session_id:
        return False
    return first.position is not None and second.position is not None and abs(first.position - second.position) <= 1
