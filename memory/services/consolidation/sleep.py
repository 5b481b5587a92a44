"""The sleep pass: what belongs together is described, linked and thought about, scope by scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.models import Memory, owner_scope
from memory.services.consolidation import connections, derived, described, insight, salience
from memory.services.consolidation.asleep import Sleeper
from memory.services.consolidation.connections import Connection
from memory.services.consolidation.derived import Prepared
from memory.services.consolidation.described import Described
from memory.services.consolidation.groups import MORE
from memory.services.consolidation.stages import SKIPPED, StageContext, StageReport
from memory.services.consolidation.window import Window, locked, waiting_scopes, window_of
from memory.services.graph.writing import change_graph

NAME: Final = "sleep"
RERATING: Final = "salience"
MOST_SCOPES: Final = 10
"""Scopes of one pass; each costs three questions."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What a pass has found out about a window, before anything is written."""

    described: Described
    connections: Sequence[Connection]
    insight: Prepared | None


def sleep_over(context: StageContext, *, again_before: datetime | None = None) -> Sequence[StageReport]:
    """Look at the newest memories of each scope that no pass has looked at, and mark them as looked at.

    For each scope with enough of them: topics and entities, links between pairs, one insight, and salience. Links stay
    also where no insight comes, and the memories are marked also where every question failed, which the report says.
    The model is asked outside transactions; what was changed or erased meanwhile is left for a later pass. Without a
    model rules describe and link, and there is no insight.

    Args:
        context: the run's.
        again_before: look again at memories that were looked at before this moment.

    Returns:
        A report of the pass and one of the re-rating.
    """
    report, rerating = StageReport(NAME), StageReport(RERATING)
    least = context.settings["sleep_least_rows"]
    with owner_scope(context.actor.owner_id):
        waiting = waiting_scopes(context.moment, again_before=again_before)
    report.count("waiting", sum(rows for _, rows in waiting))
    enough = [scope for scope, rows in waiting if rows >= least]
    if not enough:
        most = max((rows for _, rows in waiting), default=0)
        reason = f"too few unconsolidated ({most} < {least})"
        report.state = rerating.state = SKIPPED
        report.skipped_reason = rerating.skipped_reason = reason
        return [report, rerating]
    if not context.settings["sleep_rerate"]:
        rerating.state, rerating.skipped_reason = SKIPPED, "switched off"
    sleeper = Sleeper(context, report)
    for scope in enough[:MOST_SCOPES]:
        context.beat()
        _Pass(context, sleeper, report, rerating).over(scope, again_before)
    if len(enough) > MOST_SCOPES:
        report.notes.append(MORE)
    return [report, rerating]


class _Pass:
    """A pass over one scope."""

    def __init__(self, context: StageContext, sleeper: Sleeper, report: StageReport, rerating: StageReport) -> None:
        self._context = context
        self._actor = context.actor
        self._settings = context.settings
        self._sleeper = sleeper
        self._report = report
        self._rerating = rerating

    def over(self, scope: UUID, again_before: datetime | None) -> None:
        """Ask first, then write everything at once."""
        size = self._settings["sleep_window"]
        with owner_scope(self._actor.owner_id):
            window = window_of(scope, size=size, moment=self._context.moment, again_before=again_before)
        if window is None:
            self._report.count("unreadable_scopes")
            return
        found = self._ask(window)
        self._write(window, found)

    def _ask(self, window: Window) -> _Found:
        report, sleeper = self._report, self._sleeper
        about = Described()
        if self._settings["sleep_metadata"]:
            about = described.describe(sleeper, window, self._context.extractor, report)
        most = self._settings["sleep_connections"]
        links = connections.connect(self._actor, sleeper, window, about=about, most=most, report=report)
        text = insight.find(sleeper, window, links, report)
        target = derived.target_of(window.rows[0])
        thought = insight.prepare(self._actor, text, window, target, self._context.run_id) if text else None
        return _Found(about, links, thought)

    def _write(self, window: Window, found: _Found) -> None:
        report, actor, moment = self._report, self._actor, self._context.moment
        target = derived.target_of(window.rows[0])
        with change_graph(actor, now=moment):
            present = locked(window.seen)
            changed = len(window.seen) - len(present)
            if changed:
                report.count("changed_meanwhile", changed)
            if not present:
                return
            insight_id = self._write_insight(window, found, present)
            topics, entities = described.store(actor, found.described, present, target)
            created, known = connections.store(actor, found.connections, present, insight_id=insight_id)
            if self._settings["sleep_rerate"]:
                self._rerating.count("raised", salience.rerate(present, found.connections))
            Memory.objects.filter(pk__in=sorted(present)).update(slept_at=moment)
        counts = {"scopes": 1, "reviewed": len(present), "connections": created, "connections_known": known}
        counts |= {"insights": int(insight_id is not None), "topics": topics, "entities": entities}
        for name, count in counts.items():
            report.count(name, count)

    def _write_insight(self, window: Window, found: _Found, present: dict[UUID, Memory]) -> UUID | None:
        """Store the insight, unless a memory that it came from says something else by now."""
        if found.insight is None:
            return None
        insight_id = None
        if all(row.pk in present for row in window.rows):
            insight_id = insight.store(self._actor, found.insight, moment=self._context.moment)
        if insight_id is None:
            self._report.notes.append("insight.dropped")
        return insight_id
