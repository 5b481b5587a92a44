"""One memory with everything that is known about it, as plain values for its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.models import Memory, MemorySource, MemoryVersion, Status
from memory.palace.dates import Moment, moment, optional_moment, relative
from memory.palace.presenters import Tag, label, tag, ten
from memory.services.retirement import CONTRADICTED

STATUS_SENTENCES: Final = {
    Status.LIVE: "I remember this.",
    Status.SUPERSEDED: "A newer memory has taken the place of this one.",
    Status.ARCHIVED: "Archived: no search finds this, and it can be restored.",
    Status.ERASING: "Being forgotten.",
}
PII_SENTENCES: Final = {1: "sensitive", 2: "confidential"}


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of what is known: its name and its value, a moment or words."""

    name: str
    words: str = ""
    moment: Moment | None = None


@dataclass(frozen=True, slots=True)
class SourceView:
    """One time that the memory was stated."""

    words: str
    by: str
    when: Moment
    turn_id: UUID | None


@dataclass(frozen=True, slots=True)
class VersionView:
    """What the memory said before a change: the former text and the former values that the change replaced."""

    number: int
    text: str | None
    changes: list[tuple[str, str]]
    by: str
    when: Moment


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory as its page shows it."""

    id: UUID
    text: str
    speaker: str
    tag: Tag
    kind: str
    importance: int
    status: str
    status_sentence: str
    version: int
    tags: list[str]
    facts: list[Fact]
    warnings: list[str]
    sources: list[SourceView]
    versions: list[VersionView]
    erase_at: Moment | None
    can_change: bool
    can_restore: bool


def memory_view(
    row: Memory,
    *,
    used: tuple[int, datetime] | None,
    sources: Sequence[MemorySource],
    versions: Sequence[MemoryVersion],
    agents: Mapping[UUID, str],
    now: datetime,
) -> MemoryView:
    """Describe a memory with its sources and history.

    Args:
        row: the memory.
        used: how often and when last it was recalled, if ever.
        sources: its statements, newest first.
        versions: what it said before, newest first.
        agents: names of the owner's agents.
        now: the present moment.
    """
    return MemoryView(
        id=row.pk,
        text=row.text,
        speaker=row.speaker or "",
        tag=tag(row.category),
        kind=row.kind,
        importance=ten(row.importance),
        status=row.status,
        status_sentence=STATUS_SENTENCES[Status(row.status)],
        version=row.version,
        tags=list(row.tags or ()),
        facts=_facts(row, used, agents, now),
        warnings=_warnings(row),
        sources=[_source(source, agents, now) for source in sources],
        versions=_versions(row, versions, agents, now),
        erase_at=optional_moment(row.erase_at, now),
        can_change=row.status == Status.LIVE,
        can_restore=row.status in (Status.ARCHIVED, Status.ERASING) or row.archive_reason == CONTRADICTED,
    )


def _facts(row: Memory, used: tuple[int, datetime] | None, agents: Mapping[UUID, str], now: datetime) -> list[Fact]:
    facts = [
        Fact("happened", moment=moment(row.occurred_at, now)),
        Fact("stored", moment=moment(row.created_at, now)),
    ]
    if row.updated_at != row.created_at:
        facts.append(Fact("last changed", moment=moment(row.updated_at, now)))
    for name, value in (
        ("holds from", row.valid_from),
        ("holds until", row.valid_until),
        ("expires", row.expires_at),
        ("archived", row.archived_at if row.status == Status.ARCHIVED else None),
    ):
        if value is not None:
            facts.append(Fact(name, moment=moment(value, now)))
    if row.status == Status.ARCHIVED and row.archive_reason:
        facts.append(Fact("because", row.archive_reason))
    facts += [
        Fact("memory", row.tier),
        Fact("certainty", f"{row.confidence:.0%}"),
        Fact("recalled", _uses(used, now)),
        Fact("who may read it", _readers(row, agents)),
    ]
    for name, words in (
        ("source", row.source or ""),
        ("topics", ", ".join(row.topics or ())),
        ("role", row.role),
        ("tool", row.tool_name or ""),
        ("conversation", f"turn {(row.position or 0) + 1}" if row.session_id else ""),
    ):
        if words:
            facts.append(Fact(name, words))
    return facts


def _uses(used: tuple[int, datetime] | None, now: datetime) -> str:
    if used is None:
        return "not yet"
    times = "once" if used[0] == 1 else f"{used[0]:,} times"
    return f"{times}, last {relative(used[1], now)}"


def _readers(row: Memory, agents: Mapping[UUID, str]) -> str:
    if row.visibility == "agent":
        return f"you and {agents.get(row.agent_id, 'one agent') if row.agent_id else 'one agent'}"
    if row.visibility == "owner":
        return "you and all your agents"
    return f"you and the agents of one {row.visibility}"


def _warnings(row: Memory) -> list[str]:
    warnings = []
    if row.pii_tier:
        kinds = ", ".join(label(kind) for kind in row.pii_kinds)
        warnings.append(f"Personal data ({PII_SENTENCES.get(row.pii_tier, 'confidential')}): {kinds}. Lists mask it.")
    if row.injection_kinds:
        kinds = ", ".join(label(kind) for kind in row.injection_kinds)
        warnings.append(f"Reads like orders to an agent ({kinds}); what agents get of it is cleaned.")
    return warnings


def _source(source: MemorySource, agents: Mapping[UUID, str], now: datetime) -> SourceView:
    by = agents.get(source.agent_id, "an agent") if source.agent_id else "you"
    return SourceView(source.source or "", by, moment(source.created_at, now), source.turn_id)


def _versions(
    row: Memory, versions: Sequence[MemoryVersion], agents: Mapping[UUID, str], now: datetime
) -> list[VersionView]:
    later = row.text
    shown = []
    for version in versions:
        changes = [(label(name), _plain(value)) for name, value in version.changes.items()]
        text = version.text if version.text != later else None
        shown.append(
            VersionView(version.number, text, changes, _actor(version.actor, agents), moment(version.created_at, now))
        )
        later = version.text
    return shown


def _actor(written: str, agents: Mapping[UUID, str]) -> str:
    kind, _, agent_id = written.partition(":")
    if kind == "agent" and agent_id:
        return agents.get(UUID(agent_id), "an agent")
    return "you" if kind == "person" else "Loci"


def _plain(value: Any) -> str:
    if value in (None, "", []):
        return "none"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return str(value)
