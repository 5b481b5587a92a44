"""How rows get into the tables: one transaction for the rows and everything that recall finds them by."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from memory.crypto.sealing import NONCE_BYTES, TAG_BYTES
from memory.ids import new_id
from memory.models import (
    DueWork,
    Memory,
    MemoryLabel,
    MemorySource,
    PendingVector,
    Status,
    Tier,
    current_owner,
)
from memory.ports import TokenMatrix, Vectors
from memory.ports.stored import memories_stored
from memory.services.actors import Actor, Target
from memory.services.announcing import memories_changed
from memory.services.clock import now
from memory.services.drafts import Ready
from memory.services.hidden_places import HIDDEN
from memory.services.times import insert_times, remove_times
from memory.services.token_vectors import insert_token_vectors, remove_token_vectors
from memory.text.tokens import ANALYZER_VERSION
from memory.text.vectors import vector_text

LONG_BYTES: Final = 999
"""From so many bytes on a text counts as long; the first length that base64 tells from a shorter one below 1,000."""
LONG_SEALED: Final = len("enc:v1:") + 4 * math.ceil((LONG_BYTES + NONCE_BYTES + TAG_BYTES) / 3)
"""How many characters a long text has at least as it is stored."""

PUT_VECTORS: Final = """
    INSERT INTO memory_memoryvector (owner_id, memory_id, space_id, scope, live, vec)
    SELECT %(owner)s, v.memory_id, v.space_id, v.scope, v.live, v.vec::halfvec
    FROM unnest(%(ids)s::uuid[], %(spaces)s::integer[], %(scopes)s::uuid[], %(live)s::boolean[], %(vectors)s::text[])
         AS v (memory_id, space_id, scope, live, vec)
    JOIN memory_embeddingspace s ON s.id = v.space_id AND s.state <> 'retired'
    ORDER BY v.memory_id, v.space_id
    ON CONFLICT (owner_id, memory_id, space_id)
    DO UPDATE SET vec = excluded.vec, scope = excluded.scope, live = excluded.live
"""
# In one statement, so that it sees the spaces of the moment at which it writes, and costs no further round trip. What
# the writer queues for the space in use takes no owner the right to be served by the one beside it, and is not noted.
INSERT_VECTORS: Final = f"""
    WITH put AS ({PUT_VECTORS})
    INSERT INTO memory_duework (owner_id, job, due_at)
    SELECT %(owner)s, %(job)s, %(now)s WHERE EXISTS (
        SELECT FROM memory_embeddingspace s
        WHERE s.state IN ('active', 'filling', 'standby') AND s.pause = '' AND s.id <> ALL (%(given)s::integer[])
          AND NOT (s.state = 'active' AND %(pending)s)
    )
    ON CONFLICT (owner_id, job) DO UPDATE SET due_at = LEAST(memory_duework.due_at, excluded.due_at)
"""
CALL_FOR_VECTORS: Final = """
    INSERT INTO memory_duework (owner_id, job, due_at)
    SELECT %(owner)s, wanted.job, %(now)s FROM (
        SELECT %(spaces)s::text AS job FROM memory_embeddingspace
        WHERE state IN ('filling', 'standby') AND pause = ''
        UNION ALL SELECT %(vectors)s::text
    ) wanted ORDER BY wanted.job
    ON CONFLICT (owner_id, job) DO UPDATE SET due_at = LEAST(memory_duework.due_at, excluded.due_at)
"""

# What a memory counts for before consolidation has rated it (Praxis: episodic 0.6, durable 1.0).
FIRST_SALIENCE = {Tier.EPISODIC: 0.6}


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of some rows in one space, in the rows' order.

    `tokens` are the rows' token vectors and `reduction` says how they were made, where the embedder gives them.
    `beside` are their vectors in the space beside the one in use, and `pending` says that those of the one in use are
    still to be made.
    """

    space_id: int
    vectors: Vectors
    tokens: Sequence[TokenMatrix] | None = None
    reduction: bytes = b""
    beside: Embedded | None = None
    pending: bool = False

    def chosen(self, places: Sequence[int]) -> Embedded:
        """Give the vectors of some of the rows, in the order of their places."""
        tokens = None if self.tokens is None else [self.tokens[place] for place in places]
        beside = self.beside and self.beside.chosen(places)
        return replace(self, vectors=self.vectors[list(places)], tokens=tokens, beside=beside)

    @property
    def spaces(self) -> list[Embedded]:
        """Give the vectors of each space."""
        return [self] if self.beside is None else [self, self.beside]


def build_row(ready: Ready, *, actor: Actor, target: Target, now: datetime, session_id: UUID | None = None) -> Memory:
    """Make the unsaved row of a checked memory."""
    moments = ready.moments
    signals = ready.signals
    return Memory(
        id=new_id(),
        owner_id=actor.owner_id,
        agent_id=actor.agent_id,
        visibility=target.visibility,
        group_id=target.group_id,
        scope=target.scope,
        session_id=session_id,
        position=ready.position,
        role=ready.role,
        speaker=ready.speaker,
        tool_name=ready.tool_name,
        call_id=ready.call_id,
        reply_to_id=ready.reply_to,
        tier=ready.tier,
        kind=ready.kind,
        category=ready.category,
        summary_level=ready.summary_level,
        text=ready.text,
        source=ready.source,
        tags=ready.tags or None,
        topics=ready.topics or None,
        metadata=ready.metadata,
        content_hash=ready.content_hash,
        importance=ready.importance,
        salience=FIRST_SALIENCE.get(Tier(ready.tier), 1.0),
        confidence=ready.confidence,
        created_at=now,
        updated_at=now,
        recorded_at=now,
        occurred_at=moments["occurred_at"] or now,
        valid_from=moments["valid_from"],
        valid_until=moments["valid_until"],
        expires_at=moments["expires_at"],
        pii_kinds=ready.pii_kinds,
        pii_tier=ready.pii_tier,
        injection_kinds=ready.injection_kinds,
        token_count=ready.length,
        highest_tf=max(ready.terms.values(), default=0),
        is_question=signals.is_question,
        has_time=signals.has_time,
        has_number=signals.has_number,
        speaker_hashes=ready.speaker_hashes,
        name_hashes=ready.name_hashes,
        analyzer_version=ANALYZER_VERSION,
    )


def insert_rows(
    rows: Sequence[Memory],
    ready: Sequence[Ready],
    *,
    embedded: Embedded | None,
    now: datetime,
    drawn_from: Mapping[UUID, UUID] | None = None,
) -> set[UUID]:
    """Insert rows with their sources, labels, postings, times and vectors, leaving out those that a constraint refuses.

    Open pages are told once, however many rows there are.

    Args:
        rows: unsaved rows of the current owner, in an order that all writers share (constraint keys sorted).
        ready: what each row was made from.
        embedded: their vectors; None queues the vectors for later.
        now: the moment of writing.
        drawn_from: by row, the turn or statement that it was drawn from.

    Returns:
        The ids that were inserted.
    """
    Memory.objects.bulk_create(rows, ignore_conflicts=True)
    present = set(Memory.objects.filter(pk__in=[row.pk for row in rows]).values_list("pk", flat=True))
    kept = [index for index, row in enumerate(rows) if row.pk in present]
    if not kept:
        return present
    inserted = [rows[index] for index in kept]
    memories_changed()
    drawn = drawn_from or {}
    MemorySource.objects.bulk_create(
        [source_of(row, agent_id=row.agent_id, now=now, turn_id=drawn.get(row.pk)) for row in inserted]
    )
    _insert_labels((rows[index], ready[index].labels) for index in kept)
    insert_postings([(rows[index], ready[index].terms, ready[index].length) for index in kept])
    insert_times(inserted)
    note_expiry(inserted)
    call_for_look([ready[index] for index in kept], now=now)
    if embedded is None:
        queue_vectors([row.pk for row in inserted], now=now)
    else:
        insert_vectors(inserted, embedded.chosen(kept))
    counts = Counter(str(row.kind) for row in inserted)
    transaction.on_commit(lambda: memories_stored(counts))
    return present


def source_of(
    row: Memory, *, agent_id: UUID | None, now: datetime, source: str | None = None, turn_id: UUID | None = None
) -> MemorySource:
    """Make the unsaved record of one statement of a memory; `turn_id` is the memory that it was drawn from."""
    return MemorySource(
        owner_id=row.owner_id,
        memory_id=row.pk,
        agent_id=agent_id,
        turn_id=turn_id,
        sealed_for=row.sealing_agent_id,
        scope=row.scope,
        source=source or row.source,
        created_at=now,
    )


def _insert_labels(labelled: Iterable[tuple[Memory, list[tuple[int, int]]]]) -> None:
    MemoryLabel.objects.bulk_create(
        [
            MemoryLabel(owner_id=row.owner_id, memory_id=row.pk, kind=kind, label=label)
            for row, labels in labelled
            for kind, label in labels
        ],
        ignore_conflicts=True,
    )


def insert_postings(rows: Sequence[tuple[Memory, dict[int, int], int]]) -> None:
    """Insert the postings of rows and count them in the owner's statistics.

    COPY is refused on tables with row-level security, hence one INSERT from arrays.
    """
    memories, terms, counts, highest, lengths, scopes = [], [], [], [], [], []
    for row, frequencies, length in rows:
        top = max(frequencies.values(), default=0)
        for term, count in frequencies.items():
            memories.append(row.pk)
            terms.append(term)
            counts.append(count)
            highest.append(top)
            lengths.append(length)
            scopes.append(row.scope)
    owner_id = current_owner()
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO memory_lexposting (owner_id, term, memory_id, tf, highest_tf, length, scope, live)
            SELECT %s, p.term, p.memory_id, p.tf, p.top, p.length, p.scope, true
            FROM unnest(%s::bigint[], %s::uuid[], %s::smallint[], %s::smallint[], %s::smallint[], %s::uuid[])
                 AS p (term, memory_id, tf, top, length, scope)
            ORDER BY p.term, p.memory_id ON CONFLICT DO NOTHING""",
            [owner_id, terms, memories, counts, highest, lengths, scopes],
        )
        cursor.execute(
            """INSERT INTO memory_lexstats (owner_id, n, total) VALUES (%s, %s, %s)
            ON CONFLICT (owner_id) DO UPDATE
            SET n = memory_lexstats.n + excluded.n, total = memory_lexstats.total + excluded.total""",
            # A text without any word has no posting by which it could be taken out of the count again.
            [owner_id, sum(1 for _, terms_of, _ in rows if terms_of), sum(length for _, _, length in rows)],
        )


def insert_vectors(rows: Sequence[Memory], embedded: Embedded) -> None:
    """Insert the vectors of rows in their spaces, and those of their tokens, replacing what is there.

    What lacks is noted in the same statement: a space in use or beside it of which no vectors are given gets them from
    the workers. A space that was given up meanwhile gets none.
    """
    _put(INSERT_VECTORS, rows, embedded)
    if embedded.pending:
        _queue([row.pk for row in rows], now=now())
        call_for_work(DueWork.VECTORS, due_at=now())


def add_vectors(rows: Sequence[Memory], embedded: Embedded) -> None:
    """Insert as `insert_vectors` does what was lacking, for the work that makes it; notes nothing."""
    _put(PUT_VECTORS, rows, embedded)


def _put(statement: str, rows: Sequence[Memory], embedded: Embedded) -> None:
    every = [
        (one.space_id, row, vector) for one in embedded.spaces for row, vector in zip(rows, one.vectors, strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            statement,
            {
                "owner": current_owner(),
                "ids": [row.pk for _, row, _ in every],
                "spaces": [space_id for space_id, _, _ in every],
                "scopes": [row.scope for _, row, _ in every],
                "live": [row.status == Status.LIVE for _, row, _ in every],
                "vectors": [vector_text(vector) for _, _, vector in every],
                "given": [one.space_id for one in embedded.spaces],
                "pending": embedded.pending,
                "job": DueWork.SPACES,
                "now": now(),
            },
        )
    for one in embedded.spaces:
        if one.tokens is not None:
            insert_token_vectors(rows, one.tokens, space_id=one.space_id, reduction=one.reduction)


def queue_vectors(memory_ids: Sequence[UUID], *, now: datetime) -> None:
    """Queue the vectors of memories for the backfill and tell the workers, also of the space beside the one in use."""
    _queue(memory_ids, now=now)
    with connection.cursor() as cursor:
        cursor.execute(
            CALL_FOR_VECTORS,
            {"owner": current_owner(), "now": now, "vectors": DueWork.VECTORS, "spaces": DueWork.SPACES},
        )


def _queue(memory_ids: Sequence[UUID], *, now: datetime) -> None:
    PendingVector.objects.bulk_create(
        [PendingVector(owner_id=current_owner(), memory_id=memory_id, next_at=now) for memory_id in memory_ids],
        ignore_conflicts=True,
    )


def note_expiry(rows: Iterable[Memory]) -> None:
    """Tell the workers when the first of some rows expires."""
    moments = [row.expires_at for row in rows if row.expires_at is not None]
    if moments:
        call_for_work(DueWork.EXPIRE, due_at=min(moments))


def call_for_work(job: str, *, due_at: datetime) -> None:
    """Note that a job of the current owner is due, keeping an earlier time."""
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO memory_duework (owner_id, job, due_at) VALUES (%s, %s, %s)
            ON CONFLICT (owner_id, job) DO UPDATE SET due_at = LEAST(memory_duework.due_at, excluded.due_at)""",
            [current_owner(), job, due_at],
        )


def call_for_look(ready: Iterable[Ready], *, now: datetime, flagged: bool = False) -> None:
    """Call for a language model's look at what was stored, where the owner wants one; a statement at most.

    Only what the patterns have flagged and long texts are looked at soon; the rest is for consolidation. `flagged` says
    that a memory is flagged already, whatever its new text is.
    """
    if not flagged and not any(one.pii_tier or len(one.text.encode()) >= LONG_BYTES for one in ready):
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO memory_duework (owner_id, job, due_at)
            SELECT owner_id, %s, %s FROM memory_ownersettings
            WHERE owner_id = %s AND "values"->>'privacy_model' IN ('flagged', 'all')
            ON CONFLICT (owner_id, job) DO UPDATE SET due_at = LEAST(memory_duework.due_at, excluded.due_at)""",
            [DueWork.CLASSIFY, now, current_owner()],
        )


def remove_vectors(row: Memory, *, now: datetime, queued: bool) -> None:
    """Take the vectors of a live memory and of its tokens away, and queue them to be made anew or not at all."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM memory_memoryvector WHERE owner_id = %s AND memory_id = %s", [current_owner(), row.pk]
        )
    remove_token_vectors([row.pk])
    PendingVector.objects.filter(memory_id=row.pk).delete()
    if queued:
        queue_vectors([row.pk], now=now)


def remove_from_indexes(memory_ids: Sequence[UUID]) -> None:
    """Take memories out of postings, statistics, vectors, token vectors and times, so that no recall finds them.

    Open pages are told that memories have changed.
    """
    if not memory_ids:
        return
    memories_changed()
    owner_id = current_owner()
    with connection.cursor() as cursor:
        cursor.execute(
            """WITH gone AS (
                DELETE FROM memory_lexposting WHERE owner_id = %s AND memory_id = ANY(%s) RETURNING memory_id, length
            ), texts AS (SELECT memory_id, max(length) AS length FROM gone GROUP BY memory_id)
            UPDATE memory_lexstats SET n = n - (SELECT count(*) FROM texts),
                   total = total - (SELECT coalesce(sum(length), 0) FROM texts)
            WHERE owner_id = %s""",
            [owner_id, list(memory_ids), owner_id],
        )
        cursor.execute(
            "DELETE FROM memory_memoryvector WHERE owner_id = %s AND memory_id = ANY(%s)", [owner_id, list(memory_ids)]
        )
    remove_token_vectors(memory_ids)
    remove_times(memory_ids)
    PendingVector.objects.filter(memory_id__in=memory_ids).delete()


def move_scope(row: Memory) -> None:
    """Bring the scope on a row's postings and vectors in line with the row."""
    for table in ("memory_lexposting", "memory_memoryvector"):
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {table} SET scope = %s WHERE owner_id = %s AND memory_id = %s",
                [row.scope, current_owner(), row.pk],
            )


def replace_labels(row: Memory, labels: list[tuple[int, int]]) -> None:
    """Set the labels of a row to exactly these; the places that its text hides are no labels and stay."""
    MemoryLabel.objects.filter(memory_id=row.pk).exclude(kind=HIDDEN).delete()
    _insert_labels([(row, labels)])


def note_uses(uses: Mapping[UUID, tuple[int, datetime]]) -> None:
    """Count uses of memories of the current owner, in one statement and sorted, so that no two batches deadlock.

    Args:
        uses: per memory, how often and when last; memories that are gone meanwhile are passed over.
    """
    ids = sorted(uses)
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO memory_memoryaccess (owner_id, memory_id, access_count, last_accessed)
            SELECT m.owner_id, m.id, u.times, u.at
            FROM unnest(%(ids)s::uuid[], %(times)s::integer[], %(at)s::timestamptz[]) AS u (id, times, at)
            JOIN memory_memory m ON m.owner_id = %(owner)s AND m.id = u.id ORDER BY m.id
            ON CONFLICT (owner_id, memory_id) DO UPDATE
            SET access_count = memory_memoryaccess.access_count + excluded.access_count,
                last_accessed = GREATEST(memory_memoryaccess.last_accessed, excluded.last_accessed)""",
            {
                "owner": current_owner(),
                "ids": ids,
                "times": [uses[memory_id][0] for memory_id in ids],
                "at": [uses[memory_id][1] for memory_id in ids],
            },
        )
