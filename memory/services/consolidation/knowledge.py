"""Stages 1 to 7: what was stored becomes facts and graph, one batch after the other, each in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from django.db import OperationalError

from memory.consolidation.gate import Gated, pass_gate
from memory.errors import KeysUnavailable, LociError
from memory.models import Memory, Status, owner_scope
from memory.ports import Extract
from memory.services.consolidation.contradictions import settle
from memory.services.consolidation.extracting import NOT_ASKED, extract, forget_failures, is_outage, note_failures
from memory.services.consolidation.facts import Prepared, prepare, store
from memory.services.consolidation.gating import ask_about
from memory.services.consolidation.graph_writing import write_entities, write_events, write_relations
from memory.services.consolidation.known_names import admit_known
from memory.services.consolidation.selection import Batch, mark_extracted, select
from memory.services.consolidation.situation import AWAY, backlog
from memory.services.consolidation.stages import StageContext, StageReport
from memory.services.graph.writing import change_graph

logger = logging.getLogger(__name__)

ATTEMPTS: Final = 3
DEADLOCK: Final = "40P01"


@dataclass(slots=True)
class Reports:
    """The reports of the seven stages, which take turns within each batch."""

    selection: StageReport = field(default_factory=lambda: StageReport("selection"))
    extraction: StageReport = field(default_factory=lambda: StageReport("extraction"))
    gate: StageReport = field(default_factory=lambda: StageReport("gate"))
    graph: StageReport = field(default_factory=lambda: StageReport("graph"))
    events: StageReport = field(default_factory=lambda: StageReport("events"))
    facts: StageReport = field(default_factory=lambda: StageReport("facts"))
    contradictions: StageReport = field(default_factory=lambda: StageReport("contradictions"))

    def in_order(self) -> list[StageReport]:
        """List them as the stages are numbered."""
        return [
            self.selection, self.extraction, self.gate, self.graph, self.events, self.facts, self.contradictions,
        ]  # fmt: skip

    def take(self, other: Reports) -> None:
        """Add what a batch that is committed has counted."""
        for mine, theirs in zip(self.in_order(), other.in_order(), strict=True):
            for name, count in theirs.counts.items():
                mine.count(name, count)
            mine.notes += [note for note in theirs.notes if note not in mine.notes]
            if theirs.skipped_reason:
                mine.state, mine.skipped_reason = theirs.state, theirs.skipped_reason


def run(context: StageContext) -> Sequence[StageReport]:
    """Draw knowledge from the oldest rows that wait, and report stage by stage.

    A batch is read, drawn from and embedded outside any transaction; what comes of it, and the mark that its rows have
    been drawn from, are written in one, so that a process that dies between loses nothing and doubles nothing. A batch
    that cannot be written is tried row by row, and the row at fault is listed with its code.

    Args:
        context: of the run; its totals are kept up as batches are committed.

    Raises:
        RunStopped: the run has to end; what is committed stays.
        KeysUnavailable: the owner's texts cannot be opened at all.
    """
    reports = Reports()
    try:
        batches = select(context, reports.selection)
        for place, batch in enumerate(batches):
            context.beat()
            if not _work(context, batch, reports):
                reports.extraction.notes.append(AWAY)
                if NOT_ASKED in reports.extraction.notes:
                    _leave(context, batches[place + 1 :])
                break
    finally:
        with owner_scope(context.actor.owner_id):
            context.totals.backlog_rows, context.totals.backlog_bytes = backlog()
    return reports.in_order()


def _work(context: StageContext, batch: Batch, reports: Reports) -> bool:
    """Do one batch; gives False when what draws is away, so that the next batches would fail as this one did."""
    drawn = extract(context, batch, reports.extraction)
    failed = {batch.by_key[key].pk: code for key, code in drawn.failed.items() if key in batch.by_key}
    _write(context, batch, drawn, failed, reports)
    totals = context.totals
    totals.batches += 1
    totals.rows_seen += len(batch.rows)
    totals.bytes_seen += sum(len(passage.text.encode()) for passage in batch.passages)
    return len(failed) < len(batch.rows) or not all(map(is_outage, failed.values()))


def _leave(context: StageContext, batches: Sequence[Batch]) -> None:
    """Leave batches of which nothing can be asked before the budget's next day or month."""
    with owner_scope(context.actor.owner_id):
        note_failures({row.pk: NOT_ASKED for batch in batches for row in batch.rows}, context.moment)


def _write(context: StageContext, batch: Batch, drawn: Extract, failed: Mapping[UUID, str], reports: Reports) -> None:
    gated = pass_gate(drawn, least=context.settings["gate_confidence"])
    attempt = Reports()
    prepared = prepare(context, gated.sure.facts, batch.by_key, attempt.facts)
    try:
        _commit(context, batch, gated, prepared, failed, attempt)
    except KeysUnavailable:
        raise
    except LociError as error:
        if len(batch.rows) > 1:
            for part in batch.alone():
                _write(
                    context, part, drawn, {key: code for key, code in failed.items() if key == part.rows[0].pk}, reports
                )
            return
        logger.warning("what was drawn from memory %s cannot be stored: %s", batch.rows[0].pk, error.machine_code)
        context.totals.failed_writes += 1
        reports.extraction.count("failed_writes")
        with owner_scope(context.actor.owner_id):
            note_failures({batch.rows[0].pk: error.machine_code}, context.moment)
        return
    reports.take(attempt)


def _commit(
    context: StageContext,
    batch: Batch,
    gated: Gated,
    prepared: Prepared,
    failed: Mapping[UUID, str],
    reports: Reports,
) -> None:
    """Write a batch in one transaction, again when another writer and it waited for each other."""
    for last in (False,) * (ATTEMPTS - 1) + (True,):
        attempt = Reports()
        try:
            _write_once(context, batch, gated, prepared, failed, attempt)
        except OperationalError as error:
            if last or getattr(error.__cause__, "sqlstate", None) != DEADLOCK:
                raise
            continue
        reports.take(attempt)
        return


def _write_once(
    context: StageContext,
    batch: Batch,
    gated: Gated,
    prepared: Prepared,
    failed: Mapping[UUID, str],
    reports: Reports,
) -> None:
    with change_graph(context.actor, now=context.moment):
        rows = {key: row for key, row in _unchanged(batch).items() if row.pk not in failed}
        reports.extraction.count("changed_meanwhile", len(batch.rows) - len(rows) - len(failed))
        target = batch.target
        gated = admit_known(context.actor, gated, target)
        sure = gated.sure
        names = write_entities(context, sure, rows, target, reports.graph)
        write_relations(context, sure, rows, names, target, reports.graph)
        write_events(context, sure, rows, names, target, reports.events)
        asserted = store(context, prepared, rows, names, target, reports.facts)
        settle(context, asserted, target, reports.contradictions)
        ask_about(context, gated, rows, target, reports.gate)
        note_failures(failed, context.moment)
        done = [row.pk for row in rows.values()]
        forget_failures(done)
        mark_extracted(done, context.moment)


def _unchanged(batch: Batch) -> dict[str, Memory]:
    """Lock the rows that still say what was read, and give them by the keys of their passages, as they were said."""
    read = {row.pk: row for row in batch.rows}
    rows = Memory.objects.select_for_update(no_key=True).filter(pk__in=read, status=Status.LIVE, extracted_at=None)
    locked = {pk: told for pk, *told in rows.order_by("pk").values_list("pk", "version", "scope")}
    return {str(row.pk): row for row in batch.rows if locked.get(row.pk) == [row.version, batch.target.scope]}
