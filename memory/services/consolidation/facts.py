"""Facts become memories: each once, with every turn that says it as a source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from django.db import connection

from memory.consolidation.contradiction import Held
from memory.consolidation.paraphrases import LEAST_COSINE, adds_detail, content, equal_content, says_the_same
from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, KeysUnavailable, TooLarge
from memory.models import Kind, Memory, MemorySource, Status, Tier, Visibility, current_owner, owner_scope
from memory.ports import ExtractedFact, Vectors
from memory.services.actors import Target
from memory.services.consolidation.claims import Same, claiming_the_same, held, same, write_claims
from memory.services.consolidation.derived import ORIGIN
from memory.services.consolidation.graph_writing import Names, entity_ids
from memory.services.consolidation.stages import StageContext, StageReport
from memory.services.drafts import Draft, Ready, make_ready
from memory.services.embedding import embed_texts
from memory.services.graph.entities import mention
from memory.services.writing import Embedded, build_row, insert_rows, note_uses, source_of
from memory.text.vectors import vector_text

LONGEST: Final = 280
STATED: Final = frozenset({Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.INSTRUCTION})
MOST_TOPICS: Final = 20
_SENTENCE_END: Final = re.compile(r"[.!?。！？](?:\s|$)|\n")

MOST_ALIKE: Final = 40
"""Nearest statements whose words are compared with those of one fact."""

# Every vector of the owner's statements in the scope is compared: the nearest of all owners would leave a small one
# with nothing. Both sides are made once, since the planner would cast the vectors again for each pair.
LIKE: Final = """
    WITH mine AS MATERIALIZED (
        SELECT v.memory_id, v.vec FROM memory_memoryvector v
        JOIN memory_memory m ON m.owner_id = v.owner_id AND m.id = v.memory_id
        WHERE v.owner_id = %(owner)s AND v.space_id = %(space)s AND v.live AND v.scope = %(scope)s
          AND m.tier = %(tier)s AND m.status = %(live)s AND m.session_id IS NULL
    ), asked AS MATERIALIZED (
        SELECT a.place, a.vec::halfvec AS vec FROM unnest(%(places)s::integer[], %(vectors)s::text[]) AS a (place, vec)
    )
    SELECT a.place, near.memory_id FROM asked a CROSS JOIN LATERAL (
        SELECT m.memory_id, m.vec <=> a.vec AS distance FROM mine m ORDER BY 2, 1 LIMIT %(each)s
    ) near WHERE near.distance <= %(most)s ORDER BY a.place, near.distance, near.memory_id
"""


@dataclass(slots=True)
class Fact:
    """A fact on its way: what it is drawn from, what it claims, and the memory that says it in the end."""

    drawn: ExtractedFact
    ready: Ready
    row: Memory
    of_statement: bool
    claim: Held | None = None
    memory_id: UUID | None = None


@dataclass(slots=True)
class Prepared:
    """The facts of a batch, checked; `vectors` has those that may be new, by their place among the facts."""

    facts: list[Fact]
    embedded: Embedded | None = None
    vectors: dict[int, int] = field(default_factory=dict)


def prepare(
    context: StageContext, facts: Sequence[ExtractedFact], rows: Mapping[str, Memory], report: StageReport
) -> Prepared:
    """Check the facts of a batch and embed those that are not stored word for word; never inside a transaction."""
    ring = keyring().of(context.actor.owner_id)
    found: list[Fact] = []
    for one in facts:
        row = rows.get(one.passage)
        if row is None:
            report.count("unusable")
            continue
        try:
            found.append(Fact(one, make_ready(_draft(context, one, row), ring=ring), row, _is_statement(one, row)))
        except (InvalidInput, TooLarge):
            report.count("unusable")
    prepared = Prepared(found)
    known = _stored_already(context, [one for one in found if not one.of_statement])
    places = [
        place
        for place, one in enumerate(found)
        if not one.of_statement and (one.ready.content_hash, one.row.scope) not in known
    ]
    if places:
        texts = [found[place].ready.embeddable for place in places]
        prepared.embedded = embed_texts(texts, owner_id=context.actor.owner_id)
        if prepared.embedded is not None:
            prepared.vectors = {place: vector for vector, place in enumerate(places)}
    return prepared


def store(
    context: StageContext,
    prepared: Prepared,
    rows: Mapping[str, Memory],
    names: Names,
    target: Target,
    report: StageReport,
) -> set[UUID]:
    """Store the facts of a batch; call it while the graph is the caller's.

    A fact that a memory of the scope says already becomes one more source of that: the same text, the same claim
    without a number, date or name that it lacks, or the same words in nearly the same order among those whose vectors
    are alike. What a statement says stands in the statement.

    Args:
        context: of the run.
        prepared: the facts.
        rows: the rows that are still there as they were read, by the keys of their passages.
        names: the entities of the batch.
        target: the scope of the batch.
        report: counts.

    Returns:
        The memories that claim something by this batch.
    """
    ring = keyring().of(context.actor.owner_id)
    places = [place for place, one in enumerate(prepared.facts) if one.drawn.passage in rows]
    for place in places:
        one = prepared.facts[place]
        if one.drawn.claim is not None:
            one.claim = held(one.drawn.claim, subject=names.spelled(one.drawn.claim.subject), ring=ring)
    known = _Known.load(prepared, places, target)
    fresh: list[int] = []
    for place in places:
        one = prepared.facts[place]
        one.memory_id = one.row.pk if one.of_statement else known.find(place, one)
        if one.memory_id is None:
            row = _row_of(context, one, target)
            one.memory_id = row.pk
            known.add(place, one, row)
            fresh.append(place)
    inserted = _insert(context, prepared, fresh, known, target)
    report.count("new", len(inserted))
    stated = [prepared.facts[place] for place in places]
    report.count("of_statements", sum(one.of_statement for one in stated))
    again = _add_sources(context, stated, known.rows, inserted, report)
    mention(
        [
            (entity_id, one.memory_id)
            for one in stated
            if one.memory_id is not None and (one.memory_id in inserted | again or one.of_statement)
            for entity_id in entity_ids(names, one.drawn.entities)
        ]
    )
    claims: dict[UUID, list[Held]] = {}
    for one in stated:
        if one.claim is not None and one.memory_id is not None:
            claims.setdefault(one.memory_id, []).append(one.claim)
    write_claims(claims, scope=target.scope, anew=[row.pk for row in rows.values() if row.session_id is None])
    return set(claims)


@dataclass(slots=True)
class _Known:
    """What the scope's memories say already, and what the batch has added to it."""

    rows: dict[UUID, Memory]
    by_hash: dict[bytes, UUID]
    by_claim: dict[Same, list[UUID]]
    alike: dict[int, list[UUID]]
    vectors: Vectors | None
    places: dict[int, int]
    added: dict[UUID, int] = field(default_factory=dict)
    contents: dict[UUID, list[str]] = field(default_factory=dict)

    @classmethod
    def load(cls, prepared: Prepared, places: Sequence[int], target: Target) -> _Known:
        """Look up all candidates of a batch at once."""
        wanted = [place for place in places if not prepared.facts[place].of_statement]
        claims = [claim for place in wanted if (claim := prepared.facts[place].claim) is not None]
        by_claim = claiming_the_same(claims, scope=target.scope)
        alike = _alike(prepared, [place for place in wanted if place in prepared.vectors], target)
        ids = {one for found in (*by_claim.values(), *alike.values()) for one in found}
        live = Memory.objects.filter(scope=target.scope, status=Status.LIVE, session__isnull=True).defer("metadata")
        hashes = {prepared.facts[place].ready.content_hash for place in wanted}
        equal = {bytes(row.content_hash): row for row in live.filter(content_hash__in=hashes)} if hashes else {}
        rows = {row.pk: row for row in live.filter(pk__in=ids)} if ids else {}
        rows |= {row.pk: row for row in equal.values()}
        return cls(
            rows=rows,
            by_hash={digest: row.pk for digest, row in equal.items()},
            by_claim=by_claim,
            alike=alike,
            vectors=prepared.embedded.vectors if prepared.embedded is not None else None,
            places=prepared.vectors,
        )

    def find(self, place: int, one: Fact) -> UUID | None:
        """Give the memory that says what a fact says."""
        equal: UUID | None = self.by_hash.get(one.ready.content_hash)
        if equal is not None:
            return equal
        if one.claim is not None and one.drawn.claim is not None:
            apart = (one.drawn.claim.subject, one.drawn.claim.value)
            for claimant in self.by_claim.get(same(one.claim), ()):
                text = self._text(claimant)
                if text is not None and not adds_detail(one.ready.text, text, apart_from=apart):
                    return claimant
        candidates: list[UUID] = list(self.alike.get(place, ()))
        candidates += [other for other in self.added if self._near(place, other)]
        mine = content(one.ready.text) if candidates else []
        return next((memory_id for memory_id in candidates if equal_content(mine, self._content(memory_id))), None)

    def add(self, place: int, one: Fact, row: Memory) -> None:
        """Note a fact that becomes a memory."""
        self.rows[row.pk] = row
        self.added[row.pk] = place
        self.by_hash[one.ready.content_hash] = row.pk
        if one.claim is not None:
            self.by_claim.setdefault(same(one.claim), []).append(row.pk)

    def _text(self, memory_id: UUID) -> str | None:
        row = self.rows.get(memory_id)
        try:
            return None if row is None else str(row.text)
        except KeysUnavailable:
            # A damaged row says nothing that could be compared.
            return None

    def _content(self, memory_id: UUID) -> list[str]:
        if memory_id not in self.contents:
            self.contents[memory_id] = content(self._text(memory_id) or "")
        return self.contents[memory_id]

    def _near(self, place: int, memory_id: UUID) -> bool:
        first, second = self.places.get(place), self.places.get(self.added[memory_id])
        if self.vectors is None or first is None or second is None:
            return True
        return float(self.vectors[first] @ self.vectors[second]) >= LEAST_COSINE


def _draft(context: StageContext, one: ExtractedFact, row: Memory) -> Draft:
    text = one.text.strip()
    return Draft(
        text=text if len(text) <= LONGEST + 1 else f"{text[:LONGEST].rstrip()}…",
        kind=one.kind if one.kind in STATED else Kind.FACT,
        category=one.category,
        tier=Tier.SEMANTIC,
        importance=min(max(one.importance, 0.0), 1.0),
        confidence=min(max(one.confidence, 0.0), 1.0),
        topics=list(one.topics)[:MOST_TOPICS],
        source=f"{ORIGIN}/{context.extractor.name}",
        occurred_at=row.occurred_at,
        valid_from=one.valid_from,
        valid_until=one.valid_until,
    )


def _is_statement(one: ExtractedFact, row: Memory) -> bool:
    """Tell whether a fact says what the statement says that it is drawn from, so that it needs no memory of its own."""
    if row.session_id is not None:
        return False
    text = row.text.strip()
    single = len(text) <= LONGEST and len([part for part in _SENTENCE_END.split(text) if part.strip()]) == 1
    return single or says_the_same(one.text, text)


def _stored_already(context: StageContext, facts: Sequence[Fact]) -> set[tuple[bytes, UUID]]:
    if not facts:
        return set()
    with owner_scope(context.actor.owner_id):
        rows = Memory.objects.filter(
            content_hash__in={one.ready.content_hash for one in facts}, status=Status.LIVE, session__isnull=True
        ).values_list("content_hash", "scope")
        return {(bytes(digest), scope) for digest, scope in rows}


def _alike(prepared: Prepared, places: Sequence[int], target: Target) -> dict[int, list[UUID]]:
    embedded = prepared.embedded
    if not places or embedded is None:
        return {}
    found: dict[int, list[UUID]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            LIKE,
            {
                "owner": current_owner(),
                "space": embedded.space_id,
                "scope": target.scope,
                "tier": Tier.SEMANTIC,
                "live": Status.LIVE,
                "places": list(places),
                "vectors": [vector_text(embedded.vectors[prepared.vectors[place]]) for place in places],
                "most": 1 - LEAST_COSINE,
                "each": MOST_ALIKE,
            },
        )
        for place, memory_id in cursor.fetchall():
            found.setdefault(place, []).append(memory_id)
    return found


def _row_of(context: StageContext, one: Fact, target: Target) -> Memory:
    row = build_row(one.ready, actor=context.actor, target=target, now=context.moment)
    # Private rows are sealed for the one agent that may read them.
    row.agent_id = target.scope if target.visibility == Visibility.AGENT else one.row.agent_id
    row.extracted_at = context.moment
    return row


def _insert(
    context: StageContext, prepared: Prepared, fresh: Sequence[int], known: _Known, target: Target
) -> set[UUID]:
    """Insert the new memories, sorted by the constraint's key; one that somebody stored meanwhile takes their place."""
    facts = prepared.facts
    order = sorted(fresh, key=lambda place: facts[place].ready.content_hash)
    drawn_from = {memory_id: facts[place].row.pk for memory_id, place in known.added.items()}
    inserted: set[UUID] = set()
    embedded = prepared.embedded
    for part in ([p for p in order if p in prepared.vectors], [p for p in order if p not in prepared.vectors]):
        if not part:
            continue
        vectors = None
        if embedded is not None and part[0] in prepared.vectors:
            vectors = embedded.chosen([prepared.vectors[place] for place in part])
        rows = [known.rows[memory_id] for place in part if (memory_id := facts[place].memory_id) is not None]
        ready = [facts[place].ready for place in part]
        inserted |= insert_rows(rows, ready, embedded=vectors, now=context.moment, drawn_from=drawn_from)
    refused = {
        bytes(known.rows[memory_id].content_hash): memory_id for memory_id in known.added if memory_id not in inserted
    }
    if refused:
        standing = Memory.objects.filter(
            scope=target.scope, status=Status.LIVE, session__isnull=True, content_hash__in=list(refused)
        )
        instead = {refused[bytes(row.content_hash)]: row for row in standing}
        for one in facts:
            if one.memory_id is not None and one.memory_id in known.added and one.memory_id not in inserted:
                row = instead.get(one.memory_id)
                one.memory_id = None if row is None else row.pk
                if row is not None:
                    known.rows[row.pk] = row
    return inserted


def _add_sources(
    context: StageContext,
    facts: Sequence[Fact],
    rows: Mapping[UUID, Memory],
    inserted: set[UUID],
    report: StageReport,
) -> set[UUID]:
    """Name every turn that says a fact as a source of its memory, and count that as a use of what was there before.

    Returns:
        The memories that were drawn from the same turn already; the entities of which they spoke may be gone since.
    """
    pairs = {
        (one.memory_id, one.row.pk): one.row for one in facts if one.memory_id is not None and not one.of_statement
    }
    if not pairs:
        return set()
    noted = MemorySource.objects.filter(
        memory_id__in={memory_id for memory_id, _ in pairs}, turn_id__in={turn_id for _, turn_id in pairs}
    )
    standing = set(noted.values_list("memory_id", "turn_id"))
    new = [pair for pair in sorted(pairs) if pair not in standing and pair[0] in rows]
    MemorySource.objects.bulk_create(
        [
            source_of(
                rows[memory_id],
                agent_id=pairs[memory_id, turn_id].agent_id,
                now=context.moment,
                source=f"{ORIGIN}/{context.extractor.name}",
                turn_id=turn_id,
            )
            for memory_id, turn_id in new
        ]
    )
    uses = Counter(memory_id for memory_id, _ in new if memory_id not in inserted)
    if uses:
        note_uses({memory_id: (count, context.moment) for memory_id, count in uses.items()})
    report.count("known", len(new))
    return {memory_id for memory_id, _ in standing & pairs.keys()}
