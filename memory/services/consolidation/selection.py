"""Which rows are drawn from next: the oldest of an owner, in batches of one scope and conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.errors import KeysUnavailable
from memory.models import ExtractionFailure, Kind, Memory, Role, Status, owner_scope
from memory.ports import Passage
from memory.services.actors import Target
from memory.services.agent_settings import chosen_by_agents
from memory.services.consolidation.derived import made_here, target_of
from memory.services.consolidation.recalled import without_blocks
from memory.services.consolidation.situation import MADE_HERE, UNHEARD
from memory.services.consolidation.stages import StageContext, StageReport

PAGE: Final = 200
MOST_ROWS: Final = 100
"""Rows of one batch, however short they are."""
MOST_BEFORE: Final = 500
"""Characters of the turn before that are shown for understanding."""

GroupKey = tuple[str, UUID, UUID | None, UUID | None]


@dataclass(slots=True)
class Batch:
    """Rows of one scope and conversation that are drawn from together, with what each is read as."""

    target: Target
    session_id: UUID | None
    rows: list[Memory] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    size: int = 0

    @property
    def by_key(self) -> dict[str, Memory]:
        """Give the rows by the keys of their passages."""
        return {str(row.pk): row for row in self.rows}

    def alone(self) -> list[Batch]:
        """Give the rows each in a batch of its own."""
        return [
            Batch(self.target, self.session_id, [row], [passage], len(passage.text))
            for row, passage in zip(self.rows, self.passages, strict=True)
        ]


@dataclass(slots=True)
class _Filling:
    """Batches while they are filled: one open for each scope and conversation."""

    characters: int
    most: int
    batches: list[Batch] = field(default_factory=list)
    open: dict[GroupKey, Batch] = field(default_factory=dict)

    def add(self, row: Memory, text: str) -> bool:
        """Put a row into a batch; gives False when it would need one more than a run has."""
        key = (row.visibility, row.scope, row.group_id, row.session_id)
        batch = self.open.get(key)
        if batch is None or batch.size + len(text) > self.characters or len(batch.rows) == MOST_ROWS:
            if len(self.batches) == self.most:
                return False
            batch = self.open[key] = Batch(target_of(row), row.session_id)
            self.batches.append(batch)
        batch.rows.append(row)
        batch.passages.append(
            Passage(key=str(row.pk), text=text, role=row.role, speaker=row.speaker, occurred_at=row.occurred_at)
        )
        batch.size += len(text)
        return True


def select(context: StageContext, report: StageReport) -> list[Batch]:
    """Choose the rows of a run and mark those that are not to be drawn from.

    Oldest first. A turn of a system or a tool, one of an agent for which auto-capture is off, a text that Loci made
    itself and our own recalled text coming back are marked as extracted and counted; where a turn holds more than such
    text, only the rest of it is read. What could not be drawn from waits for its next attempt. A row longer than a
    batch has one of its own; the extractor divides it as it needs.
    """
    filling = _Filling(context.settings["consolidation_batch_characters"], context.settings["consolidation_batches"])
    unheard: list[UUID] = []
    uncaptured: list[UUID] = []
    ours: list[UUID] = []
    closed: dict[UUID, str] = {}
    with owner_scope(context.actor.owner_id):
        captures, by_agent = context.settings["auto_capture"], chosen_by_agents("auto_capture")
        for page in _pages(context.moment):
            echoes = _echoes(page)
            full = False
            for row in page:
                if row.kind == Kind.TURN and not (by_agent.get(row.agent_id, captures) if row.agent_id else captures):
                    uncaptured.append(row.pk)
                    continue
                try:
                    if _is_ours(row):
                        unheard.append(row.pk)
                        continue
                    text = without_blocks(row.text)
                    _ = row.speaker
                except KeysUnavailable as error:
                    closed[row.pk] = error.machine_code
                    continue
                if row.pk in echoes or not text:
                    ours.append(row.pk)
                elif not filling.add(row, text):
                    full = True
                    break
            if full:
                break
        mark_extracted([*unheard, *uncaptured, *ours], context.moment)
        for batch in filling.batches:
            _in_order(batch)
        _show_before(filling.batches)
    report.counts |= {"rows": sum(len(batch.rows) for batch in filling.batches), "batches": len(filling.batches)}
    counts = {"skipped_kind": unheard, "skipped_capture": uncaptured, "skipped_recalled": ours, "closed": closed}
    for name, rows in counts.items():
        report.count(name, len(rows))
    return filling.batches


def _is_ours(row: Memory) -> bool:
    """Tell whether a row says nothing that could be drawn; what a person has changed since it was made does."""
    return row.kind in MADE_HERE or row.role in UNHEARD or (made_here(row) and row.version == 1)


def mark_extracted(memory_ids: Iterable[UUID], moment: datetime) -> None:
    """Note that rows have been drawn from; locked in order, so that two who mark the same do not deadlock."""
    ids = sorted(memory_ids)
    if ids:
        rows = Memory.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk")
        Memory.objects.filter(pk__in=list(rows.values_list("pk", flat=True))).update(extracted_at=moment)


def _pages(moment: datetime) -> Iterator[list[Memory]]:
    waits = ExtractionFailure.objects.filter(Q(next_at=None) | Q(next_at__gt=moment)).values("memory_id")
    rows: QuerySet[Memory] = (
        Memory.objects.filter(extracted_at=None, status=Status.LIVE)
        .exclude(pk__in=waits)
        .defer("tags", "topics", "metadata", "tool_name", "call_id")
        .order_by("created_at", "pk")
    )
    last: Memory | None = None
    while True:
        after = rows
        if last is not None:
            after = rows.filter(Q(created_at__gt=last.created_at) | Q(created_at=last.created_at, pk__gt=last.pk))
        page = list(after[:PAGE])
        if page:
            yield page
        if len(page) < PAGE:
            return
        last = page[-1]


def _echoes(page: Sequence[Memory]) -> set[UUID]:
    """Find turns of an assistant that repeat a stored statement word for word: it was told that by us."""
    spoken = [row for row in page if row.session_id is not None and row.role == Role.ASSISTANT]
    if not spoken:
        return set()
    stored = Memory.objects.filter(
        status=Status.LIVE, session__isnull=True, content_hash__in={bytes(row.content_hash) for row in spoken}
    )
    known = {(bytes(digest), scope) for digest, scope in stored.values_list("content_hash", "scope")}
    return {
        row.pk
        for row in spoken
        if {(bytes(row.content_hash), row.scope), (bytes(row.content_hash), row.owner_id)} & known
    }


def _in_order(batch: Batch) -> None:
    """Sort a batch as it was said."""
    order = sorted(
        range(len(batch.rows)),
        key=lambda place: (batch.rows[place].position or 0, batch.rows[place].occurred_at, batch.rows[place].pk),
    )
    batch.rows = [batch.rows[place] for place in order]
    batch.passages = [batch.passages[place] for place in order]


def _show_before(batches: Sequence[Batch]) -> None:
    """Give each turn the one before it in the conversation, where those who may read the one may read the other."""
    for batch in batches:
        if batch.session_id is None:
            continue
        first = batch.rows[0]
        earlier: Memory | None = (
            Memory.objects.filter(
                session_id=batch.session_id, position__lt=first.position, scope=first.scope, status=Status.LIVE
            )
            .exclude(role__in=UNHEARD)
            .defer("tags", "topics", "metadata", "tool_name", "call_id")
            .order_by("-position")
            .first()
        )
        before = _said(earlier)
        for place, passage in enumerate(batch.passages):
            batch.passages[place] = Passage(
                key=passage.key,
                text=passage.text,
                role=passage.role,
                speaker=passage.speaker,
                occurred_at=passage.occurred_at,
                before=before,
            )
            before = passage.text[:MOST_BEFORE]


def _said(row: Memory | None) -> str:
    if row is None:
        return ""
    try:
        return without_blocks(row.text)[:MOST_BEFORE]
    except KeysUnavailable:
        # The turn itself is reported where it is drawn from.
        return ""
