"""One memory with everything that is known about it, as plain values for its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.models import Memory, MemorySource, MemoryVersion, Status
from memory.palace.covering import coverer, former_text, is_covered
from memory.palace.dates import Moment, moment, optional_moment, relative
from memory.palace.presenters import Tag, label, tag, ten
from memory.privacy import meaning
from memory.privacy.masking import masked
from memory.services.retirement import CONTRADICTED

STATUS_SENTENCES: Final = {
    Status.LIVE: "I remember this.",
    Status.SUPERSEDED: "A newer memory has taken the place of this one.",
    Status.ARCHIVED: "Archived: no search finds this, and it can be restored.",
    Status.ERASING: "Being forgotten.",
}
TELLING: Final = ("tags", "topics", "source", "metadata")
"""Former values that may tell what a text hides."""
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
    """A memory as its page shows it: masked, or revealed. `masked` says that something is hidden."""

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
    masked: bool
    revealed: bool
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
    revealed: bool = False,
) -> MemoryView:
    """Describe a memory with its sources and history.

    Args:
        row: the memory.
        used: how often and when last it was recalled, if ever.
        sources: its statements, newest first.
        versions: what it said before, newest first.
        agents: names of the owner's agents.
        now: the present moment.
        revealed: show personal data, which is masked otherwise.
    """
    shown_label = _plainly if revealed else coverer(row)
    former = _versions(row, versions, agents, now, revealed=revealed)
    said = [_source(source, agents, now, shown_label) for source in sources]
    hidden = not revealed and (
        is_covered(row)
        or any(one.words != (source.source or "") for one, source in zip(said, sources, strict=True))
        or former != _versions(row, versions, agents, now, revealed=True)
    )
    return MemoryView(
        id=row.pk,
        text=row.text if revealed else masked(row.text, row.pii_kinds, row.pii_tier).text,
        speaker=shown_label(row.speaker or ""),
        tag=tag(row.category),
        kind=row.kind,
        importance=ten(row.importance),
        status=row.status,
        status_sentence=STATUS_SENTENCES[Status(row.status)],
        version=row.version,
        tags=shown_label(_labels(row.tags, row, revealed=revealed)),
        facts=_facts(row, used, agents, now, shown_label),
        warnings=_warnings(row),
        sources=said,
        versions=former,
        erase_at=optional_moment(row.erase_at, now),
        masked=hidden,
        revealed=revealed,
        can_change=row.status == Status.LIVE,
        can_restore=row.status in (Status.ARCHIVED, Status.ERASING) or row.archive_reason == CONTRADICTED,
    )


Labelled = Callable[[Any], Any]


def _plainly(value: Any) -> Any:
    return value


def _labels(labels: Sequence[str] | None, row: Memory, *, revealed: bool) -> list[str]:
    """Give labels, but none that could tell what a text hides by its meaning."""
    return [] if not revealed and meaning.kinds_in(row.pii_kinds) else list(labels or ())


def _facts(
    row: Memory,
    used: tuple[int, datetime] | None,
    agents: Mapping[UUID, str],
    now: datetime,
    shown_label: Labelled,
) -> list[Fact]:
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
        ("source", shown_label(row.source or "")),
        ("topics", ", ".join(shown_label(_labels(row.topics, row, revealed=shown_label is _plainly)))),
        ("role", row.role),
        ("tool", shown_label(row.tool_name or "")),
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
        warnings.append(
            f"Personal data ({PII_SENTENCES.get(row.pii_tier, 'confidential')}): {kinds}. Masked until you reveal it."
        )
    if row.injection_kinds:
        kinds = ", ".join(label(kind) for kind in row.injection_kinds)
        warnings.append(f"Reads like orders to an agent ({kinds}); what agents get of it is cleaned.")
    return warnings


def _source(source: MemorySource, agents: Mapping[UUID, str], now: datetime, shown_label: Labelled) -> SourceView:
    by = agents.get(source.agent_id, "an agent") if source.agent_id else "you"
    return SourceView(shown_label(source.source or ""), by, moment(source.created_at, now), source.turn_id)


def _versions(
    row: Memory, versions: Sequence[MemoryVersion], agents: Mapping[UUID, str], now: datetime, *, revealed: bool
) -> list[VersionView]:
    later = row.text
    # What is personal by meaning in a text may have been so in what it said before, which no model has read.
    kinds = set(meaning.kinds_in(row.pii_kinds))
    covered = coverer(row)
    shown = []
    for version in versions:
        kinds |= set(meaning.kinds_in(version.changes.get("pii_kinds", ())))
        changes = [(_former_name(name), _plain(value)) for name, value in version.changes.items()]
        text = version.text if version.text != later else None
        if not revealed:
            changes = [(name, "masked" if kinds and name in TELLING else covered(value)) for name, value in changes]
            text = None if text is None else former_text(text, kinds)
        shown.append(
            VersionView(version.number, text, changes, _actor(version.actor, agents), moment(version.created_at, now))
        )
        later = version.text
    return shown


def _former_name(name: str) -> str:
    return "personal data" if name == "pii_kinds" else label(name)


def _actor(written: str, agents: Mapping[UUID, str]) -> str:
    kind, _, agent_id = written.partition(":")
    if kind == "agent" and agent_id:
        return agents.get(UUID(agent_id), "an agent")
    return {"person": "you", "operator": "whoever runs this server"}.get(kind, "Loci")


def _plain(value: Any) -> str:
    if value in (None, "", []):
        return "none"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return str(value)
