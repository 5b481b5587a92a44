"""Stage "skills": what a session shows about how to do something, learned once, and skills that are alike made one.

A session is looked at when it is closed or has been idle for a while, each part of it once. It teaches something when
it used tools often enough: by the model, which may say that there is nothing to learn, else by the tools that were
called with success one after the other again and again. What is learned begins as a candidate.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Q

from memory.consolidation.reflecting import Episode, quote
from memory.consolidation.skills import ALIKE, ToolCall, enough, repeated_sequence, similarity, usable_name
from memory.errors import InvalidInput, TooLarge
from memory.models import EdgeKind, Kind, Memory, Role, Session, Skill, SkillOrigin, SkillState, Status, owner_scope
from memory.services.actors import Target
from memory.services.consolidation.asked import ask_json
from memory.services.consolidation.derived import ORIGIN, Derivation, link, note_sources, prepare, write
from memory.services.consolidation.groups import MORE
from memory.services.consolidation.merging_skills import merge_alike
from memory.services.consolidation.stages import SKIPPED, StageContext, StageReport
from memory.services.graph.writing import change_graph
from memory.services.opening import opened
from memory.services.skill_drafts import SkillDraft, check_draft, memory_draft
from memory.services.skills import insert_skill, name_hash, target_of_skill

SOURCE: Final = f"{ORIGIN}/skills"
MOST_SESSIONS: Final = 50
MOST_TURNS: Final = 2_000
MOST_EARLIER: Final = 400
MOST_COMPARED: Final = 200
TOLD_TURNS: Final = 60
TOLD_CHARACTERS: Final = 200
LONGEST_TOOL: Final = 80

SYSTEM: Final = (
    "These are turns of a conversation in which an assistant used tools. If it shows a procedure that will be useful "
    'again, describe it: a short name, when to use it, and its steps in general words. Answer {"skip": true} where it '
    "shows none, where it failed, or where it was a trial."
)
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "skip": {"type": "boolean"},
        "name": {"type": "string"},
        "description": {"type": "string"},
        "steps": {"type": "array", "items": {"type": "string"}},
    },
}
_FAILED: Final = re.compile(
    r"\A\W*(?:error|exception|traceback|failed|failure|fatal|timed out|http [45]\d\d)\b"
    r"|\"(?:error|exception)\"\s*:\s*(?:\"|\{|true)|\"(?:ok|success)\"\s*:\s*false|\"status\"\s*:\s*\"(?:error|failed)\"",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call with the turn that shows it."""

    memory_id: UUID
    call: ToolCall


@dataclass(frozen=True, slots=True)
class _Lesson:
    """What a session teaches: the skill, who drew it, and the turns that show it."""

    draft: SkillDraft
    origin: SkillOrigin
    sources: tuple[UUID, ...]


def learn_skills(context: StageContext) -> Sequence[StageReport]:
    """Learn from sessions that have ended, then make alike skills one; repeating it changes nothing."""
    report = StageReport("skills")
    if not context.settings["skills"]:
        report.state, report.skipped_reason = SKIPPED, "skills.off"
        return [report]
    for session in _due(context, report):
        context.beat()
        _learn_from(context, report, session)
    merge_alike(context, report)
    return [report]


def _due(context: StageContext, report: StageReport) -> list[Session]:
    idle = context.moment - timedelta(minutes=context.settings["session_idle_minutes"])
    with owner_scope(context.actor.owner_id):
        due = Session.objects.filter(next_position__gt=F("learned_until")).filter(
            Q(closed_at__isnull=False) | Q(last_turn_at__lte=idle)
        )
        found = list(due.order_by("last_turn_at", "pk")[: MOST_SESSIONS + 1])
    if len(found) > MOST_SESSIONS:
        report.notes.append(MORE)
    return found[:MOST_SESSIONS]


def _learn_from(context: StageContext, report: StageReport, session: Session) -> None:
    until = session.next_position
    by_target: dict[Target, list[Memory]] = defaultdict(list)
    with owner_scope(context.actor.owner_id):
        turns = Memory.objects.filter(kind=Kind.TURN, status=Status.LIVE, session_id=session.pk)
        part = turns.filter(position__gte=session.learned_until, position__lt=until).exclude(role=Role.SYSTEM)
        for row in opened(list(part.order_by("position")[:MOST_TURNS])):
            by_target[Target(row.visibility, row.scope, row.group_id)].append(row)
    report.count("sessions")
    for target, rows in sorted(by_target.items(), key=lambda one: str(one[0].scope)):
        lesson = _lesson(context, report, target, rows)
        if lesson is not None:
            _keep(context, report, target, lesson)
    with owner_scope(context.actor.owner_id):
        # After its skills: a run that dies before looks again and finds them there.
        Session.objects.filter(pk=session.pk, learned_until__lt=until).update(learned_until=until)


def _lesson(context: StageContext, report: StageReport, target: Target, rows: Sequence[Memory]) -> _Lesson | None:
    calls = tool_calls(rows)
    if not enough([one.call for one in calls]):
        report.count("too_few_calls")
        return None
    sources = tuple(one.memory_id for one in calls)
    answer = ask_json(context, report, SYSTEM, _told(rows), schema=SCHEMA, check=_read, max_tokens=1_024)
    if answer is not None:
        if not answer:
            report.count("nothing_to_learn")
            return None
        draft = SkillDraft(**answer, tags=("learned",), source=SOURCE)
        return _checked(report, draft, SkillOrigin.LLM, sources)
    earlier = _earlier(context, target, rows[0])
    tools = repeated_sequence([one.call for one in calls], earlier)
    if not tools:
        report.count("nothing_to_learn")
        return None
    shown = tuple(one.memory_id for one in calls if one.call.tool in tools)
    draft = SkillDraft(
        name=f"Use {', then '.join(tools)}",
        steps=[f"Call {tool}." for tool in tools],
        description=_when(rows),
        tags=("learned",),
        source=SOURCE,
    )
    return _checked(report, draft, SkillOrigin.RULES, shown)


def _checked(report: StageReport, draft: SkillDraft, origin: SkillOrigin, sources: tuple[UUID, ...]) -> _Lesson | None:
    try:
        return _Lesson(check_draft(draft), origin, sources)
    except (InvalidInput, TooLarge):
        report.count("unusable")
        return None


def _read(value: Any) -> dict[str, Any]:
    """Read what a model learned; empty where it says that there is nothing. Raises ValueError for another shape."""
    if not isinstance(value, dict):
        raise ValueError("The answer is an object.")
    if value.get("skip") is True:
        return {}
    name, steps, description = value.get("name"), value.get("steps"), value.get("description")
    if not isinstance(name, str) or not usable_name(name):
        raise ValueError("'name' has 5 to 120 characters and says what the procedure does.")
    lines = [step for step in steps if isinstance(step, str) and step.strip()] if isinstance(steps, list) else []
    if not lines:
        raise ValueError("'steps' is a list of at least one sentence.")
    return {"name": name, "steps": lines, "description": description if isinstance(description, str) else None}


def tool_calls(rows: Sequence[Memory]) -> list[_Call]:
    """List the calls of tools that turns show, in order.

    A call and its result are one: turns with the same call id, or a result that follows its call at once.
    """
    found: list[_Call] = []
    by_id: dict[str, int] = {}
    waiting = ""
    for row in rows:
        tool = " ".join((row.tool_name or "").split())[:LONGEST_TOOL]
        if not tool or row.role not in (Role.ASSISTANT, Role.TOOL):
            waiting = ""
            continue
        failed = row.role == Role.TOOL and _FAILED.search(str(row.text)[:2_000]) is not None
        place = by_id.get(row.call_id) if row.call_id else None
        if place is None and row.role == Role.TOOL and waiting == tool and not row.call_id:
            place = len(found) - 1
        if place is None:
            if row.call_id:
                by_id[row.call_id] = len(found)
            found.append(_Call(row.pk, ToolCall(tool, not failed)))
        elif failed:
            found[place] = _Call(found[place].memory_id, ToolCall(tool, False))
        waiting = tool if row.role == Role.ASSISTANT else ""
    return found


def _told(rows: Sequence[Memory]) -> list[dict[str, str]]:
    return [
        {"who": str(row.role or Role.USER), "tool": row.tool_name or "", "text": str(row.text)[:TOLD_CHARACTERS]}
        for row in rows[-TOLD_TURNS:]
    ]


def _when(rows: Sequence[Memory]) -> str | None:
    """Say for which request the tools were used, in the words of the first one."""
    for row in rows:
        if row.role == Role.USER:
            assert row.session_id is not None
            words = quote([Episode(key=row.pk, session=row.session_id, text=str(row.text), at=row.occurred_at)])
            if words:
                return f"For requests such as “{words}”"
    return None


def _earlier(context: StageContext, target: Target, first: Memory) -> list[list[ToolCall]]:
    """List the calls of earlier sessions of a scope, as many as the newest 400 turns with tools show."""
    with owner_scope(context.actor.owner_id):
        turns = Memory.objects.filter(kind=Kind.TURN, status=Status.LIVE, scope=target.scope, tool_name__isnull=False)
        turns = turns.filter(created_at__lte=first.created_at).exclude(session_id=first.session_id)
        rows = opened(list(turns.order_by("-created_at", "-pk")[:MOST_EARLIER]))
    by_session: dict[Any, list[Memory]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (str(row.session_id), row.position or 0)):
        by_session[row.session_id].append(row)
    return [[one.call for one in tool_calls(members)] for members in by_session.values()]


def _keep(context: StageContext, report: StageReport, target: Target, lesson: _Lesson) -> None:
    """Store a skill, or add what shows it to the one of its scope that is the same; never doubled."""
    prepared = prepare(
        context.actor, Derivation(draft=memory_draft(lesson.draft), target=target, sources=lesson.sources)
    )
    with change_graph(context.actor, now=context.moment):
        known = _same(context, target, lesson.draft)
        if known is not None:
            _confirm(known, lesson.sources, context.moment)
            report.count("known")
            return
        row = write(context.actor, prepared, moment=context.moment)
        if row is None or Skill.objects.filter(memory_id=row.pk).exists():
            report.count("sources_gone" if row is None else "known")
            return
        insert_skill(context.actor, lesson.draft, target, memory_id=row.pk, origin=lesson.origin, moment=context.moment)
    report.count("learned")


def _same(context: StageContext, target: Target, draft: SkillDraft) -> Skill | None:
    """Find the skill of a scope that is like a new one, in whatever state: what was archived is not learned again."""
    skills = Skill.objects.filter(scope=target.scope).order_by("-updated_at", "-pk")
    named = skills.filter(name_hash=name_hash(context.actor, draft.name)).first()
    if named is not None:
        return named if isinstance(named, Skill) else None
    alike = [(similarity((draft.name, draft.steps), (row.name, row.steps)), row) for row in skills[:MOST_COMPARED]]
    best = max(alike, key=lambda one: one[0], default=None)
    return best[1] if best is not None and best[0] >= ALIKE else None


def _confirm(row: Skill, sources: Sequence[UUID], moment: datetime) -> None:
    memory = Memory.objects.filter(pk=row.memory_id).first()
    if memory is None or memory.status != Status.LIVE or row.state == SkillState.ARCHIVED:
        return
    present = list(Memory.objects.filter(pk__in=sources).order_by("pk").values_list("pk", flat=True))
    note_sources(memory, present, moment=moment)
    link(
        [(memory.pk, one) for one in present],
        kind=EdgeKind.DERIVED_FROM,
        target=target_of_skill(row),
        moment=moment,
    )
