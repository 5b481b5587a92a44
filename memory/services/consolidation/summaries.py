"""Stage "summaries": what was said in a session, on a day, in a week and over all, summed up for each scope.

A session is summed up when it is closed or has been idle for a while, and again when it goes on. A day is summed up on
the first run of a later day in UTC, from its turns; a week from the Sunday after it on, from its days; everything, from
the weeks and the most important statements, when a week was: what is newer than the summary that it belongs to tells
so, whichever run has written it. Weeks and everything are also looked at when what they may tell was contradicted. A
summary whose sources stay the same is left as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import F, Max, Q

from memory.models import EdgeKind, Kind, Memory, OwnerActivity, Role, Session, Status, SummaryLevel, owner_scope
from memory.services.actors import Target
from memory.services.consolidation.derived import made_here, told_about
from memory.services.consolidation.groups import MORE
from memory.services.consolidation.outdated import STATEMENTS, said_before
from memory.services.consolidation.stages import SKIPPED, StageContext, StageReport
from memory.services.consolidation.summary_writing import Subject, write_summary

MOST_SESSIONS: Final = 50
MOST_DAYS: Final = 60
LEAST_TURNS: Final = 2
MOST_WEEKS_TOLD: Final = 8
MOST_STATEMENTS: Final = 20
SPOKEN: Final = (Role.USER, Role.ASSISTANT)
SCOPE: Final = ("visibility", "scope", "group_id")
WEEK: Final = timedelta(days=7)

Rows = list[tuple[UUID, int]]

DAYS: Final = """
    SELECT m.scope, m.visibility, m.group_id, (m.occurred_at AT TIME ZONE 'UTC')::date AS day, max(m.created_at)
    FROM memory_memory m
    WHERE m.owner_id = %(owner)s AND m.kind = 'turn' AND m.status = 'live' AND m.role = ANY(%(roles)s)
      AND m.occurred_at < %(today)s
    GROUP BY 1, 2, 3, 4 ORDER BY day, m.scope
"""


def summarise(context: StageContext) -> Sequence[StageReport]:
    """Write the summaries that are due; repeating it changes nothing."""
    report = StageReport("summaries")
    if not context.settings["summaries"]:
        report.state, report.skipped_reason = SKIPPED, "summaries.off"
        return [report]
    _sum_up_sessions(context, report)
    _sum_up_days(context, report)
    return [report]


def _sum_up_sessions(context: StageContext, report: StageReport) -> None:
    idle = context.moment - timedelta(minutes=context.settings["session_idle_minutes"])
    with owner_scope(context.actor.owner_id):
        due = Session.objects.filter(next_position__gt=F("summarised_until")).filter(
            Q(closed_at__isnull=False) | Q(last_turn_at__lte=idle)
        )
        sessions = list(due.order_by("last_turn_at", "pk")[: MOST_SESSIONS + 1])
    if len(sessions) > MOST_SESSIONS:
        note_more(report)
    for session in sessions[:MOST_SESSIONS]:
        context.beat()
        _sum_up_session(context, report, session)


def _sum_up_session(context: StageContext, report: StageReport, session: Session) -> None:
    until = session.next_position
    with owner_scope(context.actor.owner_id):
        turns = _spoken().filter(session_id=session.pk, position__lt=until).order_by("position")
        by_target: dict[Target, list[Memory]] = defaultdict(list)
        for row in turns.only("id", "owner_id", "version", "visibility", "scope", "group_id", "occurred_at"):
            by_target[Target(row.visibility, row.scope, row.group_id)].append(row)
    for target, rows in sorted(by_target.items(), key=lambda one: str(one[0].scope)):
        if len(rows) < LEAST_TURNS:
            report.count("too_short")
            continue
        first, last = rows[0].occurred_at, rows[-1].occurred_at
        subject = Subject(
            about=f"session:{session.pk}",
            level=SummaryLevel.SESSION,
            heading=f"A conversation of {_days_text(first, last)}, {len(rows)} turns.",
            target=target,
            occurred_at=last,
            tags=("session_summary",),
        )
        write_summary(context, report, subject, [(row.pk, row.version) for row in rows])
    with owner_scope(context.actor.owner_id):
        # After its summaries, so that a run that dies before is done again; the summaries are found unchanged then.
        Session.objects.filter(pk=session.pk, summarised_until__lt=until).update(summarised_until=until)


def _sum_up_days(context: StageContext, report: StageReport) -> None:
    """Sum up days before today, and the weeks and everything that they are part of."""
    changed: list[tuple[Target, date]] = []
    for target, day in _days(context):
        if len(changed) >= MOST_DAYS:
            note_more(report)
            break
        context.beat()
        if _sum_up_day(context, report, target, day):
            changed.append((target, day))
    contradicted = said_before(context, _last_run(context))
    again = [(target, _day(at)) for target, at in contradicted]
    for target, sunday in _weeks(context, [*changed, *again]):
        context.beat()
        _sum_up_week(context, report, target, sunday)
    for target in _scopes_with_newer_weeks(context, {target.scope for target, _ in contradicted}):
        context.beat()
        _sum_up_everything(context, report, target)


def _days(context: StageContext) -> list[tuple[Target, date]]:
    """List the days before today that have to be looked at, the oldest first.

    These are days with turns that have come since the day before the last run, and days that were never summed up. A
    summary that somebody has archived is not made again as long as no turn is added.
    """
    today = _day(context.moment)
    mark = _last_run(context)
    since = _start(_day(mark), -1) if mark else None
    with owner_scope(context.actor.owner_id):
        with connection.cursor() as cursor:
            cursor.execute(DAYS, {"owner": context.actor.owner_id, "roles": list(SPOKEN), "today": _start(today)})
            found = [
                (Target(visibility, scope, group), day, newest)
                for scope, visibility, group, day, newest in cursor.fetchall()
            ]
        told = told_about(context.actor, {day_key(day) for _, day, _ in found})
    return [
        (target, day)
        for target, day, newest in found
        if since is None or newest >= since or (target.scope, day_key(day)) not in told
    ]


def _last_run(context: StageContext) -> datetime | None:
    with owner_scope(context.actor.owner_id):
        found: datetime | None = OwnerActivity.objects.values_list("last_summarised_at", flat=True).first()
        return found


def _weeks(context: StageContext, changed: Sequence[tuple[Target, date]]) -> list[tuple[Target, date]]:
    """List the weeks that have ended and have to be looked at, as the Sundays on which they ended, the oldest first.

    A week is looked at that has a changed day or one on which something was said that was contradicted since, was never
    summed up, or has a day that is newer than its summary: a run that died in between has written such a day.
    """
    today = _day(context.moment)
    days: dict[tuple[Target, date], datetime] = {}
    weeks: dict[tuple[UUID, date], datetime] = {}
    with owner_scope(context.actor.owner_id):
        dailies = _summaries(SummaryLevel.DAILY).filter(status=Status.LIVE)
        for *scope, moment, made_at in dailies.values_list(*SCOPE, "occurred_at", "created_at"):
            key = (Target(*scope), _sunday_after(_day(moment)))
            days[key] = max(made_at, days.get(key, made_at))
        written = _summaries(SummaryLevel.WEEKLY).values_list("scope", "occurred_at", "created_at")
        for scope_id, moment, made_at in written:
            week = (scope_id, _sunday_after(_day(moment)))
            weeks[week] = max(made_at, weeks.get(week, made_at))
        told = told_about(context.actor, {week_key(sunday - WEEK) for _, sunday in days})
    wanted = {(target, _sunday_after(day)) for target, day in changed}
    wanted |= {
        (target, sunday)
        for (target, sunday), made_at in days.items()
        if (target.scope, week_key(sunday - WEEK)) not in told
        or made_at > weeks.get((target.scope, sunday), context.moment)
    }
    return sorted((one for one in wanted if one[1] <= today), key=lambda one: (one[1], str(one[0].scope)))


def _scopes_with_newer_weeks(context: StageContext, contradicted: Set[UUID]) -> list[Target]:
    """List the scopes with a week that is newer than what sums up everything, or with weeks and no such summary.

    So are those with weeks in which something was contradicted.
    """
    with owner_scope(context.actor.owner_id):
        written = _summaries(SummaryLevel.GLOBAL).values_list("scope").annotate(newest=Max("created_at"))
        newest: dict[UUID, datetime] = dict(written.order_by("scope"))
        weeks = _summaries(SummaryLevel.WEEKLY).filter(status=Status.LIVE).values_list(*SCOPE)
        found = [(Target(*scope), made_at) for *scope, made_at in weeks.annotate(newest=Max("created_at")).order_by()]
    stale = [
        target
        for target, made_at in found
        if target.scope in contradicted or target.scope not in newest or made_at > newest[target.scope]
    ]
    return sorted(stale, key=lambda one: str(one.scope))


def _summaries(level: SummaryLevel) -> Any:
    return Memory.objects.filter(kind=Kind.SUMMARY, summary_level=level)


def _sum_up_day(context: StageContext, report: StageReport, target: Target, day: date) -> bool:
    with owner_scope(context.actor.owner_id):
        turns = _spoken().filter(scope=target.scope, occurred_at__gte=_start(day), occurred_at__lt=_start(day, 1))
        found = list(turns.order_by("occurred_at", "pk").values_list("pk", "version", "occurred_at"))
    if not found:
        return False
    subject = Subject(
        about=day_key(day),
        level=SummaryLevel.DAILY,
        heading=f"The day {day.isoformat()}.",
        target=target,
        occurred_at=found[-1][2],
        tags=("daily_summary", day.isoformat()),
    )
    return write_summary(context, report, subject, [(pk, version) for pk, version, _ in found]).changed


def _sum_up_week(context: StageContext, report: StageReport, target: Target, sunday: date) -> None:
    first = sunday - WEEK
    rows = _made(context, SummaryLevel.DAILY, target, Q(occurred_at__gte=_start(first), occurred_at__lt=_start(sunday)))
    if not rows:
        return
    subject = Subject(
        about=week_key(first),
        level=SummaryLevel.WEEKLY,
        heading=f"The week from {first.isoformat()} to {(sunday - timedelta(days=1)).isoformat()}.",
        target=target,
        occurred_at=rows[-1].occurred_at,
        tags=("weekly_summary", first.isoformat()),
        link=EdgeKind.PART_OF,
    )
    write_summary(context, report, subject, [(row.pk, row.version) for row in rows])


def _sum_up_everything(context: StageContext, report: StageReport, target: Target) -> None:
    weeks = _made(context, SummaryLevel.WEEKLY, target, Q())[-MOST_WEEKS_TOLD:]
    if not weeks:
        return
    with owner_scope(context.actor.owner_id):
        statements = Memory.objects.filter(kind__in=STATEMENTS, status=Status.LIVE, scope=target.scope)
        top: Rows = list(
            statements.order_by("-importance", "-created_at", "-pk").values_list("pk", "version")[:MOST_STATEMENTS]
        )
    subject = Subject(
        about="everything",
        level=SummaryLevel.GLOBAL,
        heading=f"What there is to know, up to {weeks[-1].occurred_at:%Y-%m-%d}.",
        target=target,
        occurred_at=weeks[-1].occurred_at,
        tags=("global_summary",),
        link=EdgeKind.PART_OF,
    )
    write_summary(context, report, subject, [*top, *((row.pk, row.version) for row in weeks)])


def _made(context: StageContext, level: SummaryLevel, target: Target, when: Q) -> list[Memory]:
    """List the live summaries of a level that this stage made for a scope, in the order of their times."""
    with owner_scope(context.actor.owner_id):
        rows = Memory.objects.filter(when, kind=Kind.SUMMARY, summary_level=level, status=Status.LIVE)
        return [row for row in rows.filter(scope=target.scope).order_by("occurred_at", "pk") if made_here(row)]


def _spoken() -> Any:
    return Memory.objects.filter(kind=Kind.TURN, status=Status.LIVE, role__in=SPOKEN)


def note_more(report: StageReport) -> None:
    """Note once that work is left for the next run."""
    if MORE not in report.notes:
        report.notes.append(MORE)


def day_key(day: date) -> str:
    """Name what a daily summary is about."""
    return f"day:{day.isoformat()}"


def week_key(first: date) -> str:
    """Name what a weekly summary is about, by the Sunday on which the week begins."""
    return f"week:{first.isoformat()}"


def _day(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def _start(day: date, after: int = 0) -> datetime:
    return datetime.combine(day + timedelta(days=after), time(), tzinfo=UTC)


def _sunday_after(day: date) -> date:
    """Give the Sunday on which the week of a day has ended: weeks run from Sunday to Saturday."""
    return day + timedelta(days=7 - day.isoweekday() % 7)


def _days_text(first: datetime, last: datetime) -> str:
    days = dict.fromkeys((f"{first:%Y-%m-%d}", f"{last:%Y-%m-%d}"))
    return " to ".join(days)
