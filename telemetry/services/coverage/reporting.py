"""The coverage report: how often nothing fitted, for which requests, and what that says about the next step."""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import connection

from memory.errors import EmbedderUnavailable, InvalidInput
from memory.models import owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import is_recorded, reads, record_read
from memory.services.clock import now
from memory.services.spaces.in_use import active_space
from telemetry.models import Stream, TelemetryState, TurnEvent
from telemetry.services.asked import require_agents, require_days
from telemetry.services.coverage.analysis import Analysis, analyse, load
from telemetry.services.coverage.cache import Made, reports
from telemetry.services.coverage.parts import CoverageReport, assembled
from telemetry.services.coverage.request_vectors import (
    AT_ONCE,
    MOST_SECONDS,
    Reach,
    announce_made,
    call_for_vectors,
    make_vectors,
    missing_events,
    reach,
)
from telemetry.services.coverage.rows import Window, uuid_of
from telemetry.services.turns.events import ShownEvent, shown_events
from telemetry.services.turns.recording import flush
from telemetry.services.turns.state import shown_stream, state

logger = logging.getLogger(__name__)

DEFAULT_DAYS: Final = 14
DEFAULT_TOP_N: Final = 20
MOST_TOP_N: Final = 100
MANY_TURNS: Final = 20_000
"""A report of more takes so long that it is not made anew for every change that an open page hears of."""
RECENT: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """Which report is wanted.

    Attributes:
        days: how many days it looks back, from 1 to as many as events are kept.
        top_n: how many clusters, bars and failures it lists, 1 to 100.
        agent: the turns of one agent; an id, as such or as text. None for those of all.
        stream: `live` or `test`; None for the one that events go to now.
        until: the end of its window, aware; None for now, which is the end of the present minute.
    """

    days: int = DEFAULT_DAYS
    top_n: int = DEFAULT_TOP_N
    agent: UUID | str | None = None
    stream: str | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Ground:
    """What a report of the present moment is made of."""

    window: Window
    made: Made
    reach: Reach
    test_mode: bool


def coverage_report(*, actor: Actor, request: ReportRequest, live: bool = False) -> CoverageReport:
    """Make the coverage report of an owner, or give the one that this process made of the same events.

    Requests are grouped by what was asked as far as they have vectors, and else by their spokes. At most 64 missing
    vectors are made at once where the embedder runs in this process; more are left to a worker, and the report says so.

    Args:
        actor: who asks; it needs `telemetry:read`, and sees the turns of all of the owner's agents.
        request: which report.
        live: whether it is for a page that asks again when something changes. It gets a report of more than 20,000
            turns that was made less than five seconds ago as it is, `outdated` where turns came or went since.

    Raises:
        PermissionRefused: the permission is missing.
        InvalidInput: `days.out_of_range`, `top_n.out_of_range`, `stream.invalid`, `id.invalid`, `until.invalid`.
        NotFound: `agent.unknown`.
    """
    actor.require(Permission.TELEMETRY_READ)
    wanted = _checked(request)
    flush()
    report, there = _report(actor, wanted, live=live)
    if report.pending and report.pending_requests <= AT_ONCE and there.in_process and _filled(actor.owner_id):
        report, _ = _report(actor, wanted, live=False)
    if is_recorded(actor):
        with owner_scope(actor.owner_id):
            record_read(actor=actor, sort="coverage", count=len(report.clusters), at=now())
    return report


@reads("coverage")
def cluster_events(
    *, actor: Actor, request: ReportRequest, key: str, after: tuple[datetime, UUID] | None, size: int
) -> list[ShownEvent]:
    """List the turns of one cluster, newest first.

    Args:
        actor: who asks; it needs `telemetry:read`.
        request: the report that the cluster is of.
        key: the cluster's.
        after: time and id of the last one of the page before.
        size: most rows.

    Raises:
        PermissionRefused: the permission is missing.
        InvalidInput: as `coverage_report`.
        NotFound: `agent.unknown`; `coverage.cluster_unknown` where turns came or went since and no cluster of this
            window has this key any more.
    """
    actor.require(Permission.TELEMETRY_READ)
    wanted = _checked(request)
    with owner_scope(actor.owner_id):
        ground = _ground(wanted)
    analysis = _analysis(actor.owner_id, ground)
    members = analysis.groups.members(analysis.place(key))
    if after is not None:
        members = members[_later(analysis, members, after) :]
    ids = [uuid_of(analysis.turns.ids[place]) for place in members[:size]]
    with owner_scope(actor.owner_id):
        rows = TurnEvent.objects.filter(pk__in=ids).order_by("-occurred_at", "-pk")
        return shown_events(list(rows))


def _checked(request: ReportRequest) -> ReportRequest:
    require_days(request.days, most=settings.TELEMETRY_RETENTION_DAYS)
    if not 1 <= request.top_n <= MOST_TOP_N:
        raise InvalidInput(
            f"'top_n' lies between 1 and {MOST_TOP_N}.", code="top_n.out_of_range", field="top_n", limit=MOST_TOP_N
        )
    if request.stream is not None and request.stream not in Stream.values:
        raise InvalidInput(
            f"'stream' is one of {', '.join(Stream.values)}.",
            code="stream.invalid",
            field="stream",
            known=list(Stream.values),
        )
    if request.until is not None and request.until.tzinfo is None:
        raise InvalidInput("'until' has an offset from UTC.", code="until.invalid", field="until")
    return replace(request, agent=_agent_id(request.agent))


def _agent_id(given: UUID | str | None) -> UUID | None:
    if given is None or isinstance(given, UUID):
        return given
    try:
        return UUID(given)
    except ValueError as error:
        raise InvalidInput("'agent' is the id of an agent.", code="id.invalid", field="agent") from error


def _report(actor: Actor, request: ReportRequest, *, live: bool) -> tuple[CoverageReport, Reach]:
    owner_id = actor.owner_id
    with owner_scope(owner_id):
        ground = _ground(request)
    asked = (ground.window, request.top_n)

    def make() -> tuple[CoverageReport, int]:
        analysis = _analysis(owner_id, ground)
        with owner_scope(owner_id):
            report = assembled(
                analysis,
                window=ground.window,
                days=request.days,
                top_n=request.top_n,
                test_mode=ground.test_mode,
                made=ground.made,
                at=now(),
            )
        return report, report.size

    report = _recent(owner_id, asked, ground.made) if live else None
    if report is None:
        report = reports.take(owner_id, asked, ground.made, make)
    if report.pending:
        with owner_scope(owner_id):
            call_for_vectors()
    return report, ground.reach


def _recent(owner_id: UUID, asked: Hashable, made: Made) -> CoverageReport | None:
    """Give a large report that was made a moment ago, and say of it whether another would come out now."""
    last: CoverageReport | None = reports.last(owner_id, asked)
    if last is None or last.total_turns <= MANY_TURNS or not timedelta(0) <= now() - last.as_of < RECENT:
        return None
    return last if last.version == made.version else replace(last, outdated=True)


def _ground(request: ReportRequest) -> _Ground:
    found = state()
    if isinstance(request.agent, UUID):
        require_agents((request.agent,))
    since, until = _bounds(request)
    window = Window(
        stream=str(request.stream or shown_stream(found)),
        since=since,
        until=until,
        agent_id=request.agent if isinstance(request.agent, UUID) else None,
    )
    there = reach()
    space_id = there.space.pk if there.space is not None else None
    made = Made(_version(found), space_id, there.degraded, settings.TELEMETRY_ENABLED)
    return _Ground(window, made, there, found is not None and found.test_mode)


def _bounds(request: ReportRequest) -> tuple[datetime, datetime]:
    """Give the window in whole minutes, so that what was made of the same turns is found again."""
    minute = now().astimezone(UTC).replace(second=0, microsecond=0)
    back, following = timedelta(days=request.days), minute + timedelta(minutes=1)
    if request.until is None or request.until >= following:
        return minute - back, following
    until = request.until.astimezone(UTC)
    return until - back, until


def _version(found: TelemetryState | None) -> int:
    return found.version if found is not None else 0


def _analysis(owner_id: UUID, ground: _Ground) -> Analysis:
    """Group the turns of a window, after the transaction in which they are read: that takes seconds for many."""

    def make() -> tuple[Analysis, int]:
        with owner_scope(owner_id):
            loaded = load(ground.window, ground.reach)
        if len(loaded.turns) > MANY_TURNS and not connection.in_atomic_block:
            # Others can use it meanwhile.
            connection.close()
        made = analyse(loaded)
        return made, made.size

    found: Analysis = reports.take(owner_id, ground.window, ground.made, make)
    return found


def _filled(owner_id: UUID) -> bool:
    """Make the few missing vectors now; tell whether any was made."""
    try:
        space = active_space()
        waiting = missing_events(owner_id, space, most=AT_ONCE)
        made = make_vectors(owner_id, space, waiting, deadline=time.monotonic() + MOST_SECONDS)
    except EmbedderUnavailable as error:
        logger.warning("vectors of requests wait: %s", error.machine_code)
        return False
    if made:
        announce_made(owner_id)
    return made > 0


def _later(analysis: Analysis, members: np.ndarray, after: tuple[datetime, UUID]) -> int:
    """Count the members that a page before has shown."""
    moment = (after[0] - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    at = analysis.turns.at[members]
    shown = int(np.count_nonzero(at > moment))
    same = members[at == moment]
    return shown + sum(uuid_of(analysis.turns.ids[place]) >= after[1] for place in same)
