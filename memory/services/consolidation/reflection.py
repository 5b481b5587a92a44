"""Stage "reflection": once a week, what recurs in the conversations of each scope, kept as memories of their own.

A pattern is told from the others by a keyed hash. Each turn counts once as evidence for it, so a run that is repeated
changes nothing; new evidence reinforces it. Patterns that two events or more speak for are drawn together into at most
five patterns of patterns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from datetime import timedelta
from typing import Final
from uuid import UUID

from memory.consolidation.reflecting import Episode, Found, Sort, recurring
from memory.models import EntityMention, Kind, Memory, OwnerActivity, Reflection, Role, Status, owner_scope
from memory.services.actors import Target
from memory.services.consolidation.asked import ask_json
from memory.services.consolidation.cadence import week_over_at
from memory.services.consolidation.reflecting_with_model import META, META_SCHEMA, META_SYSTEM, SCHEMA, SYSTEM, Reader
from memory.services.consolidation.reflection_writing import Insight, keep
from memory.services.consolidation.stages import SKIPPED, StageContext, StageReport
from memory.services.opening import opened
from memory.text.signals import names

WEEK: Final = timedelta(days=7)
# How far a run looks back that comes after others have been missed.
LONGEST_BACK: Final = timedelta(days=28)
MOST_TURNS: Final = 2_000
TOLD_CHARACTERS: Final = 12_000
TOLD_PER_TURN: Final = 400
LEAST_EVENTS: Final = 2
MOST_META: Final = 5
META_CONFIDENCE: Final = 0.8
META_WINDOW: Final = timedelta(days=28)
MOST_DRAWN_TOGETHER: Final = 30
TITLES: Final = {
    Sort.TOPIC: "Topics that recur",
    Sort.REQUEST: "Requests that recur",
    Sort.TOOLS: "Tools that are used together",
}


def reflect(context: StageContext) -> Sequence[StageReport]:
    """Draw patterns of behaviour from the last week; repeating it changes nothing."""
    report = StageReport("reflection")
    reason = _why_not(context)
    if reason:
        report.state, report.skipped_reason = SKIPPED, reason
        return [report]
    for target, episodes in _episodes(context):
        context.beat()
        report.count("turns", len(episodes))
        for found in _found(context, report, episodes):
            context.beat()
            insight = Insight(
                identity=found.identity,
                text=found.text,
                confidence=found.confidence,
                sources=found.events,
                sessions=found.sessions,
                tags=("reflection", str(found.sort)),
            )
            keep(context, report, target, insight)
        _draw_together(context, report, target)
    return [report]


def _why_not(context: StageContext) -> str:
    if not context.settings["reflection"]:
        return "reflection.off"
    if context.by_hand:
        return ""
    with owner_scope(context.actor.owner_id):
        activity = OwnerActivity.objects.first()
    if activity is None or activity.last_turn_at is None:
        return "turns.none"
    due = week_over_at(activity.last_turn_at, activity.last_reflected_at)
    return "" if due is not None and due <= context.moment else "not.due"


def _episodes(context: StageContext) -> list[tuple[Target, list[Episode]]]:
    """Open the turns of the last week, and older ones that no run has looked back on, in the order of their times.

    Of each scope the newest 2,000 count.
    """
    by_target: dict[Target, list[Episode]] = defaultdict(list)
    with owner_scope(context.actor.owner_id):
        reflected = OwnerActivity.objects.values_list("last_reflected_at", flat=True).first()
        since = max(context.moment - LONGEST_BACK, min(context.moment - WEEK, reflected or context.moment))
        week = Memory.objects.filter(kind=Kind.TURN, status=Status.LIVE, session__isnull=False)
        week = week.filter(created_at__gt=since, created_at__lte=context.moment).exclude(role=Role.SYSTEM)
        scopes = list(week.order_by("scope").values_list("scope", flat=True).distinct())
        for scope in scopes:
            newest = week.filter(scope=scope).order_by("-occurred_at", "-pk")
            ids = list(newest.values_list("pk", flat=True)[:MOST_TURNS])
            rows = opened(list(Memory.objects.filter(pk__in=ids).order_by("occurred_at", "pk")))
            mentioned = _mentioned(ids)
            # Who speaks comes up in every conversation, which tells nothing.
            speakers = {row.speaker.casefold() for row in rows if row.speaker}
            for row in rows:
                target = Target(row.visibility, row.scope, row.group_id)
                by_target[target].append(_episode(row, mentioned.get(row.pk, ()), speakers))
    return sorted(by_target.items(), key=lambda one: str(one[0].scope))


def _mentioned(ids: Sequence[UUID]) -> dict[UUID, list[str]]:
    """Give the names of the entities that memories speak of, as the graph knows them."""
    found: dict[UUID, list[str]] = defaultdict(list)
    mentions = EntityMention.objects.filter(memory_id__in=ids).select_related("entity")
    for mention in mentions.order_by("memory_id", "entity_id"):
        found[mention.memory_id].append(mention.entity.name)
    return found


def _episode(row: Memory, mentioned: Sequence[str], speakers: Set[str]) -> Episode:
    known = {name.casefold() for name in mentioned}
    words = {word for name in known for word in name.split()}
    spoken = [name.title() for name in names(str(row.text)) if name not in words]
    named = [name for name in (*mentioned, *spoken) if name.casefold() not in speakers]
    assert row.session_id is not None
    called = row.role in (Role.ASSISTANT, Role.TOOL) and row.tool_name
    return Episode(
        key=row.pk,
        session=row.session_id,
        text=str(row.text),
        at=row.occurred_at,
        asks=row.role == Role.USER,
        names=tuple(named) if row.role == Role.USER else (),
        tool=row.tool_name if called else "",
    )


def _found(context: StageContext, report: StageReport, episodes: Sequence[Episode]) -> list[Found]:
    """Find patterns by the model, else by counting."""
    spoken = [one for one in episodes if not one.tool]
    told: list[Episode] = []
    room = TOLD_CHARACTERS
    for one in reversed(spoken):
        room -= min(len(one.text), TOLD_PER_TURN)
        if room < 0:
            break
        told.insert(0, one)
    if len(told) < LEAST_EVENTS:
        return recurring(episodes)
    parts = [
        {
            "number": number,
            "when": f"{one.at:%Y-%m-%d %H:%M}",
            "who": "person" if one.asks else "assistant",
            "text": one.text[:TOLD_PER_TURN],
        }
        for number, one in enumerate(told, start=1)
    ]
    answer = ask_json(context, report, SYSTEM, parts, schema=SCHEMA, check=Reader(told).patterns, max_tokens=1_024)
    return recurring(episodes) if answer is None else answer


def _draw_together(context: StageContext, report: StageReport, target: Target) -> None:
    """Make patterns of the patterns that were reinforced lately and that two events or more speak for."""
    with owner_scope(context.actor.owner_id):
        lately = Reflection.objects.filter(
            scope=target.scope,
            supporting_events__gte=LEAST_EVENTS,
            last_reinforced_at__gt=context.moment - META_WINDOW,
            memory__status=Status.LIVE,
        )
        ids = list(lately.order_by("-supporting_events", "pk").values_list("memory_id", flat=True))
        by_id = {row.pk: row for row in opened(list(Memory.objects.filter(pk__in=ids)))}
        rows = [by_id[one] for one in ids if META not in (by_id[one].tags or ())][:MOST_DRAWN_TOGETHER]
    for place, (text, members) in enumerate(_metas(context, report, rows)[:MOST_META], start=1):
        insight = Insight(
            identity=f"{META}:{place}",
            text=text,
            confidence=META_CONFIDENCE,
            sources=tuple(members),
            sessions=(),
            tags=("reflection", META),
            fixed=True,
        )
        keep(context, report, target, insight)


def _metas(context: StageContext, report: StageReport, rows: Sequence[Memory]) -> list[tuple[str, list[UUID]]]:
    if len(rows) < LEAST_EVENTS:
        return []
    parts = [{"number": number, "pattern": str(row.text)} for number, row in enumerate(rows, start=1)]
    answer = ask_json(
        context, report, META_SYSTEM, parts, schema=META_SCHEMA, check=Reader(rows).metas, max_tokens=1_024
    )
    if answer is not None:
        return answer
    found = []
    for sort, title in TITLES.items():
        alike = sorted((row for row in rows if str(sort) in (row.tags or ())), key=lambda row: str(row.pk))
        if len(alike) >= LEAST_EVENTS:
            found.append((f"{title}: {' '.join(str(row.text) for row in alike)}", [row.pk for row in alike]))
    return found
