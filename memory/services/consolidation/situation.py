"""What is known of an owner that decides which stages are due: one statement and a few look-ups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection
from django.db.models import QuerySet

from memory.models import ConsolidationRun, Kind, Memory, Role, RunState, Status, current_owner
from memory.services.clock import now
from memory.services.consolidation.cadence import Situation
from memory.services.consolidation.groups import MORE, Group
from memory.services.consolidation.reports import STOPPED, WAITING
from memory.services.consolidation.stages import DONE, FAILED

MADE_HERE: Final = (Kind.SUMMARY, Kind.INSIGHT, Kind.PATTERN, Kind.REFLECTION, Kind.SKILL)
"""Kinds of memories from which nothing is drawn, since they were drawn themselves."""
UNHEARD: Final = (Role.SYSTEM, Role.TOOL)
"""Roles whose turns say nothing about the owner."""
# How long a run that has made way for users' work waits.
DEFERRED_FOR: Final = timedelta(seconds=60)
LOOKED_AT: Final = 10
AWAY: Final = "extractor.away"
"""What a run notes that drew from nothing more because what draws was away, or its owner's budget used up."""

WAITS: Final = """
    m.owner_id = %(owner)s AND m.extracted_at IS NULL AND m.status = %(live)s
    AND m.kind <> ALL(%(made)s) AND m.role <> ALL(%(unheard)s)
"""
SITUATION: Final = f"""
    SELECT coalesce(a.turns_since_consolidation, 0) AS turns,
        (SELECT m.created_at FROM memory_memory m WHERE {WAITS} AND NOT EXISTS (
            SELECT FROM memory_extractionfailure f WHERE f.owner_id = m.owner_id AND f.memory_id = m.id
        ) ORDER BY m.created_at LIMIT 1) AS backlog_since,
        (SELECT min(f.next_at) FROM memory_extractionfailure f
         JOIN memory_memory m ON m.id = f.memory_id AND {WAITS} WHERE f.owner_id = %(owner)s) AS retry_at,
        u.rows AS unslept, u.since AS unslept_since,
        EXISTS (SELECT FROM memory_memory WHERE owner_id = %(owner)s) AS memories,
        EXISTS (SELECT FROM memory_agentsettings WHERE owner_id = %(owner)s
                AND "values"->>'retention_policy' <> 'keep') AS agents_fade,
        s.first IS NOT NULL AS sessions_open, s.due AS session_due_at,
        CASE WHEN g.version IS DISTINCT FROM c.graph_version THEN g.changed_at END AS graph_changed_at,
        c.computed_at AS divided_at,
        a.last_turn_at, a.last_consolidated_at AS consolidated_at, a.last_slept_at AS slept_at,
        a.last_forgotten_at AS forgotten_at, a.last_summarised_at AS summarised_at,
        a.last_reflected_at AS reflected_at, a.consolidate_after AS not_before
    FROM (SELECT) AS one
    LEFT JOIN memory_owneractivity a ON a.owner_id = %(owner)s
    LEFT JOIN memory_graphstate g ON g.owner_id = %(owner)s
    LEFT JOIN memory_communitystate c ON c.owner_id = %(owner)s
    CROSS JOIN LATERAL (
        SELECT count(*) AS rows, min(created_at) AS since FROM (
            SELECT created_at FROM memory_memory m
            WHERE m.owner_id = %(owner)s AND m.slept_at IS NULL AND m.status = %(live)s AND m.kind <> ALL(%(made)s)
            ORDER BY created_at LIMIT %(least)s
        ) AS waiting
    ) AS u
    CROSS JOIN LATERAL (
        -- An imported conversation is idle from its import on, however old its turns are.
        SELECT min(i.at) AS first, min(i.at) FILTER (WHERE i.at > coalesce(a.last_summarised_at, '-infinity')) AS due
        FROM memory_session s, LATERAL (SELECT coalesce(s.closed_at, greatest(
            s.started_at, least(coalesce(s.last_turn_at, s.started_at), coalesce(a.last_turn_at, s.started_at))
        ) + %(idle)s) AS at) AS i
        WHERE s.owner_id = %(owner)s AND s.turn_count > 0 AND s.next_position > s.summarised_until
    ) AS s
"""
BACKLOG: Final = f"""
    SELECT count(*), coalesce(sum(octet_length(m.text)), 0) FROM memory_memory m
    WHERE {WAITS} AND NOT EXISTS (
        SELECT FROM memory_extractionfailure f WHERE f.owner_id = m.owner_id AND f.memory_id = m.id
          AND (f.next_at IS NULL OR f.next_at > %(now)s)
    )
"""


def look(settings: Mapping[str, Any]) -> Situation:
    """Look at the current owner.

    Args:
        settings: the owner's, by name, with defaults.
    """
    parameters: dict[str, Any] = {
        **_waiting(),
        "least": settings["sleep_least_rows"],
        "idle": timedelta(minutes=settings["session_idle_minutes"]),
    }
    with connection.cursor() as cursor:
        cursor.execute(SITUATION, parameters)
        assert cursor.description is not None
        names = [column.name for column in cursor.description]
        values = dict(zip(names, cursor.fetchone(), strict=True))
    recent = list(_ended()[:LOOKED_AT])
    if recent:
        looked = _reached(Group.COMMUNITIES, recent)
        values["divided_at"] = max(filter(None, [values["divided_at"], looked]), default=None)
    if settings["privacy_model"] == "all":
        values["unclassified_since"] = _unclassified_since()
        values["classified_at"] = _reached(Group.PRIVACY, recent)
    return Situation(settings=settings, left=left_over(recent[0] if recent else None), **values)


def backlog() -> tuple[int, int]:
    """Count the current owner's rows that the next run would draw from, and their bytes as they are stored.

    What failed and is not tried again now is not among them. Reads all of these rows' entries, so it is for the end of
    a run and for pages that somebody asks for.
    """
    with connection.cursor() as cursor:
        cursor.execute(BACKLOG, {**_waiting(), "now": now()})
        rows, stored = cursor.fetchone()
    return rows, int(stored)


def last_run() -> ConsolidationRun | None:
    """Give the current owner's newest run that has ended."""
    return _ended().first()


def _ended() -> QuerySet[ConsolidationRun]:
    rows: QuerySet[ConsolidationRun] = ConsolidationRun.objects.filter(finished_at__isnull=False)
    return rows.order_by("-started_at", "-pk")


def _unclassified_since() -> datetime | None:
    rows = Memory.objects.filter(status=Status.LIVE, classified_at=None).order_by("created_at", "pk")
    since: datetime | None = rows.values_list("created_at", flat=True).first()
    return since


def _reached(group: Group, runs: Sequence[ConsolidationRun]) -> datetime | None:
    """Give when one of these runs last got to the end of a group, also when it found nothing to do there."""
    got_there = (
        run.finished_at
        for run in runs
        if any(report["group"] == group and report["state"] in (DONE, FAILED) for report in run.stages)
    )
    return next(got_there, None)


def left_over(run: ConsolidationRun | None) -> dict[Group, datetime]:
    """Give the groups that a run has left work of, and from when on that may be done."""
    if run is None or run.finished_at is None:
        return {}
    left: dict[Group, datetime] = {}
    again = run.finished_at + (DEFERRED_FOR if run.error_code == "work.waiting" else timedelta(0))
    for report in run.stages:
        undone = run.state in (RunState.DEFERRED, RunState.INTERRUPTED) and report["state"] in (WAITING, STOPPED)
        if undone or MORE in report["notes"]:
            left[Group(report["group"])] = again
    # A run that saw nothing although there is a backlog would see nothing again; what was away still is.
    if run.backlog_rows and run.rows_seen and not any(AWAY in report["notes"] for report in run.stages):
        left[Group.KNOWLEDGE] = again
    return left


def _waiting() -> dict[str, Any]:
    return {
        "owner": current_owner(),
        "live": str(Status.LIVE),
        "made": [str(kind) for kind in MADE_HERE],
        "unheard": [str(role) for role in UNHEARD],
    }
