"""Stage "patterns": memories that are about the same, found by the nearness of their vectors, and said once.

The stored vectors are compared for each scope by itself. A group that shares most of its members with a pattern that is
there already adds to it, so that a pattern keeps its identity while its group grows. One that has faded comes back when
its group grows, and one that somebody has put away stays away; neither is made a second time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np
from django.db import connection

from memory.consolidation.clusters import LEAST, by_closeness, clusters_of
from memory.consolidation.pleasantries import is_pleasantry
from memory.consolidation.summarising import Passage, choose, split_sentences
from memory.crypto.keyring import keyring
from memory.errors import Conflict
from memory.models import (
    EdgeKind,
    EmbeddingSpace,
    Kind,
    Memory,
    MemoryEdge,
    MemorySource,
    SpaceState,
    Status,
    owner_scope,
)
from memory.ports import Vectors
from memory.services.actors import Target
from memory.services.consolidation.asked import ask_text
from memory.services.consolidation.derived import (
    ABOUT,
    MOST_LINKS,
    ORIGIN,
    Derivation,
    link,
    made_here,
    note_sources,
    prepare,
    supersede,
    target_of,
    write,
)
from memory.services.consolidation.forgetting import REASON as FADED
from memory.services.consolidation.stages import SKIPPED, StageContext, StageReport
from memory.services.drafts import Draft, content_hash
from memory.services.graph.writing import change_graph
from memory.services.opening import opened
from memory.services.retirement import restore_memory
from memory.services.writing import note_uses

SOURCE: Final = f"{ORIGIN}/patterns"
WINDOW: Final = 2_000
MOST_NEW: Final = 20
MOST_TOLD: Final = 20
SHARED: Final = 0.5
"""Share of the smaller of two member lists from which a group is a known pattern's."""
LONGEST: Final = 280

WORDS: Final = ("id", "owner_id", "agent_id", "visibility", "text")

SYSTEM: Final = (
    "These memories of one person are about the same. Say in one sentence, in their language, what recurs in them. Add "
    "nothing that they do not say. Write the sentence alone."
)
MADE_HERE: Final = (Kind.SUMMARY, Kind.INSIGHT, Kind.PATTERN, Kind.REFLECTION, Kind.SKILL)
SCOPES: Final = """
    SELECT DISTINCT v.scope FROM memory_memoryvector v
    WHERE v.owner_id = %(owner)s AND v.space_id = %(space)s AND v.live ORDER BY v.scope
"""
NEWEST: Final = """
    SELECT v.memory_id, v.vec::real[] FROM memory_memoryvector v
    JOIN memory_memory m ON m.owner_id = v.owner_id AND m.id = v.memory_id
    WHERE v.owner_id = %(owner)s AND v.space_id = %(space)s AND v.live AND v.scope = %(scope)s AND m.status = 'live'
      AND m.tier IN ('episodic', 'semantic') AND m.kind <> ALL(%(made)s) AND m.role NOT IN ('system', 'tool')
    ORDER BY m.created_at DESC, m.id DESC LIMIT %(window)s
"""


@dataclass(frozen=True, slots=True)
class Group:
    """Memories that are about the same, the nearest to their middle first."""

    members: tuple[UUID, ...]


def find_patterns(context: StageContext) -> Sequence[StageReport]:
    """Find what recurs among the newest memories of each scope; repeating it changes nothing."""
    report = StageReport("patterns", counts={"rows": 0, "clusters": 0, "singletons": 0})
    with owner_scope(context.actor.owner_id):
        space = EmbeddingSpace.objects.filter(state=SpaceState.ACTIVE).first()
        scopes = _scopes(context, space.pk) if space else []
    if space is None:
        report.state, report.skipped_reason = SKIPPED, "vectors.none"
        return [report]
    for scope in scopes:
        context.beat()
        for group in _groups(context, report, space.pk, scope):
            context.beat()
            _keep(context, report, group)
    return [report]


def _scopes(context: StageContext, space_id: int) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(SCOPES, {"owner": context.actor.owner_id, "space": space_id})
        return [row[0] for row in cursor.fetchall()]


def _groups(context: StageContext, report: StageReport, space_id: int, scope: UUID) -> list[Group]:
    """Group the newest memories of a scope, and count how many stand alone."""
    with owner_scope(context.actor.owner_id), connection.cursor() as cursor:
        cursor.execute(
            NEWEST,
            {
                "owner": context.actor.owner_id,
                "space": space_id,
                "scope": scope,
                "made": [str(kind) for kind in MADE_HERE],
                "window": WINDOW,
            },
        )
        rows = cursor.fetchall()[::-1]
    if not rows:
        return []
    ids = [row[0] for row in rows]
    vectors: Vectors = np.asarray([row[1] for row in rows], dtype=np.float32)
    found = _said_often(ids, _telling(ids, clusters_of(vectors), context), context)
    report.count("rows", len(rows))
    report.count("clusters", len(found))
    report.count("singletons", len(rows) - sum(len(members) for members in found))
    return [Group(tuple(ids[place] for place in by_closeness(vectors, members))) for members in found]


def _telling(ids: Sequence[UUID], found: list[list[int]], context: StageContext) -> list[list[int]]:
    """Take out of groups what only greets, thanks or agrees: it is alike, and about nothing."""
    members = [ids[place] for group in found for place in group]
    with owner_scope(context.actor.owner_id):
        rows = opened(list(Memory.objects.filter(pk__in=members).only(*WORDS)))
    silent = {row.pk for row in rows if all(is_pleasantry(one) for one in split_sentences(row.text))}
    return [[place for place in group if ids[place] not in silent] for group in found]


def _said_often(ids: Sequence[UUID], found: list[list[int]], context: StageContext) -> list[list[int]]:
    """Keep the groups that were said often enough: what was drawn from a turn says once more what that turn said."""
    members = [ids[place] for group in found for place in group]
    drawn: dict[UUID, set[UUID]] = {}
    with owner_scope(context.actor.owner_id):
        sources = MemorySource.objects.filter(memory_id__in=members, turn__isnull=False)
        for memory_id, turn_id in sources.values_list("memory_id", "turn_id"):
            drawn.setdefault(memory_id, set()).add(turn_id)
    origins = ({one for place in group for one in drawn.get(ids[place], {ids[place]})} for group in found)
    return [group for group, said in zip(found, origins, strict=True) if len(said) >= LEAST]


def _keep(context: StageContext, report: StageReport, group: Group) -> None:
    with owner_scope(context.actor.owner_id):
        known = _known(group)
    if known:
        _add(context, report, group, known[0])
        return
    if report.counts.get("patterns", 0) >= MOST_NEW:
        report.count("left")
        return
    _make(context, report, group)


def _known(group: Group) -> list[Memory]:
    """List the patterns that share most of their members with a group: those in use first, which share most first."""
    members = set(group.members)
    patterns = Memory.objects.filter(kind=Kind.PATTERN, status__in=(Status.LIVE, Status.ARCHIVED))
    edges = MemoryEdge.objects.filter(kind=EdgeKind.DERIVED_FROM, source_id__in=patterns.values("pk"))
    touching = set(edges.filter(target_id__in=members).values_list("source_id", flat=True))
    sizes: Counter[UUID] = Counter()
    shared: Counter[UUID] = Counter()
    for source, target in edges.filter(source_id__in=touching).values_list("source_id", "target_id"):
        sizes[source] += 1
        shared[source] += target in members
    most = [one for one in touching if shared[one] >= SHARED * min(sizes[one], len(members))]
    rows = [row for row in Memory.objects.filter(pk__in=most) if made_here(row)]
    return sorted(rows, key=lambda row: (row.status != Status.LIVE, -shared[row.pk], row.created_at, row.pk))


def _add(context: StageContext, report: StageReport, group: Group, known: Memory) -> None:
    """Link a pattern to the members that are new, and let those go whose groups have become this one."""
    with owner_scope(context.actor.owner_id):
        fresh = _fresh(group, known.pk)
        others = [row.pk for row in _known(group) if row.status == Status.LIVE and row.pk != known.pk]
    if not (fresh or others) or not _in_use_again(context, known):
        report.count("unchanged")
        return
    with change_graph(context.actor, now=context.moment):
        row = Memory.objects.select_for_update().filter(pk=known.pk, status=Status.LIVE).first()
        if row is None:
            return
        fresh = _fresh(group, row.pk)
        note_sources(row, fresh, moment=context.moment)
        link(
            [(row.pk, one) for one in fresh],
            kind=EdgeKind.DERIVED_FROM,
            target=target_of(row),
            moment=context.moment,
        )
        if fresh:
            # Said again, as a statement is that somebody repeats: what still recurs does not fade.
            note_uses({row.pk: (1, context.moment)})
        for other in Memory.objects.select_for_update().filter(pk__in=others, status=Status.LIVE).order_by("pk"):
            supersede(other, moment=context.moment)
    report.count("grown")


def _in_use_again(context: StageContext, pattern: Memory) -> bool:
    """Bring a pattern back that time has taken; tells whether it is in use, which one that somebody put away is not."""
    if pattern.status == Status.LIVE:
        return True
    if pattern.archive_reason != FADED:
        return False
    try:
        restore_memory(actor=context.actor, memory_id=pattern.pk)
    except Conflict:
        # Another memory says the same by now, so that this one has nothing to add.
        return False
    return True


def _fresh(group: Group, pattern_id: UUID) -> list[UUID]:
    """List the members of a group that a pattern does not name yet, as many as it may still name."""
    edges = MemoryEdge.objects.filter(kind=EdgeKind.DERIVED_FROM, source_id=pattern_id)
    named = set(edges.values_list("target_id", flat=True))
    named |= set(MemorySource.objects.filter(memory_id=pattern_id).values_list("turn_id", flat=True))
    room = max(0, MOST_LINKS - len(named))
    fresh = [one for one in group.members if one not in named][:room]
    here = set(Memory.objects.filter(pk__in=fresh, status=Status.LIVE).values_list("pk", flat=True))
    return [one for one in fresh if one in here]


def _make(context: StageContext, report: StageReport, group: Group) -> None:
    with owner_scope(context.actor.owner_id):
        wanted = group.members[:MOST_LINKS]
        rows = {row.pk: row for row in opened(list(Memory.objects.filter(pk__in=wanted, status=Status.LIVE)))}
    members = [rows[one] for one in wanted if one in rows]
    text = _text(context, report, members)
    if not text:
        report.count("empty")
        return
    target: Target = target_of(members[0])
    with owner_scope(context.actor.owner_id):
        archived = _archived(context, target, text)
    if archived is not None:
        _add(context, report, group, archived)
        return
    draft = Draft(
        text=text,
        kind=Kind.PATTERN,
        category="observation",
        importance=0.6,
        tags=("pattern",),
        source=SOURCE,
        metadata={ABOUT: f"pattern:{members[0].pk}"},
        occurred_at=max(row.occurred_at for row in members),
    )
    sources = [row.pk for row in members]
    prepared = prepare(context.actor, Derivation(draft=draft, target=target, sources=sources))
    with change_graph(context.actor, now=context.moment):
        # Looked for again in the owner's turn, so that a second run cannot make a second one.
        made = None if _known(group) else write(context.actor, prepared, moment=context.moment)
    report.count("patterns" if made else "sources_gone")


def _archived(context: StageContext, target: Target, text: str) -> Memory | None:
    """Find a pattern of the same words in the archive, most of whose members may have faded as it has."""
    digest = content_hash(text, ring=keyring().of(context.actor.owner_id))
    rows = Memory.objects.filter(
        kind=Kind.PATTERN, status=Status.ARCHIVED, scope=target.scope, content_hash=digest
    ).order_by("created_at", "pk")
    return next((row for row in rows if made_here(row)), None)


def _text(context: StageContext, report: StageReport, members: Sequence[Memory]) -> str:
    """Say what members have in common: by the model, else with the words of the one nearest to their middle."""
    said = [_passage(row) for row in members[:MOST_TOLD]]
    told = [{"when": f"{one.occurred_at:%Y-%m-%d}", "who": one.speaker, "text": one.text} for one in said]
    answer = ask_text(context, report, SYSTEM, told, max_tokens=256)
    if answer:
        return _cut(" ".join(answer.split()))
    for passage in said:
        chosen = choose([passage], most=1, characters=LONGEST)
        if chosen:
            return _cut(f"A recurring theme: {chosen[0].text}")
    return ""


def _passage(row: Memory) -> Passage[UUID]:
    return Passage(key=row.pk, text=str(row.text), speaker=row.speaker or "", occurred_at=row.occurred_at)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip()}…"
