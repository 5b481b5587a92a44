"""One memory with everything that is known about it, as plain values for its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from memory.models import Memory, MemorySource, MemoryVersion, Status
from memory.palace.covering import coverer, is_covered
from memory.palace.dates import Moment, moment, optional_moment, relative
from memory.palace.memory_history import VersionView, version_views
from memory.palace.numbers import local, whole
from memory.palace.presenters import Tag, label, reason_words, tag, ten
from memory.privacy import meaning
from memory.privacy.masking import masked
from memory.services.retirement import CONTRADICTED

STATUS_SENTENCES: Final = {
    Status.LIVE: lazy("I remember this."),
    Status.SUPERSEDED: lazy("A newer memory has taken the place of this one."),
    Status.ARCHIVED: lazy("Archived: no search finds this, and it can be restored."),
    Status.ERASING: lazy("Being forgotten."),
}
BEFORE: Final = 5
"""Turns that are shown before the one that is asked for."""
PII_SENTENCES: Final = {1: lazy("sensitive"), 2: lazy("confidential")}


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
    validity: str
    warnings: list[str]
    sources: list[SourceView]
    versions: list[VersionView]
    erase_at: Moment | None
    session_id: UUID | None
    since: str
    turn_number: str
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
    former = version_views(row, versions, agents, now, revealed=revealed)
    said = [_source(source, agents, now, shown_label) for source in sources]
    hidden = not revealed and (
        is_covered(row)
        or any(one.words != (source.source or "") for one, source in zip(said, sources, strict=True))
        or former != version_views(row, versions, agents, now, revealed=True)
    )
    return MemoryView(
        id=row.pk,
        text=row.text if revealed else masked(row.text, row.pii_kinds, row.pii_tier).text,
        speaker=shown_label(row.speaker or ""),
        tag=tag(row.category),
        kind=label(row.kind),
        importance=ten(row.importance),
        status=row.status,
        status_sentence=str(STATUS_SENTENCES[Status(row.status)]),
        version=row.version,
        tags=shown_label(_labels(row.tags, row, revealed=revealed)),
        facts=_facts(row, used, agents, now, shown_label),
        validity=_validity(row),
        warnings=_warnings(row),
        sources=said,
        versions=former,
        erase_at=optional_moment(row.erase_at, now),
        session_id=row.session_id,
        since=str(max(0, (row.position or 0) - BEFORE)),
        turn_number=str((row.position or 0) + 1),
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
        Fact(_("happened"), moment=moment(row.occurred_at, now)),
        Fact(_("stored"), moment=moment(row.created_at, now)),
    ]
    if row.updated_at != row.created_at:
        facts.append(Fact(_("last changed"), moment=moment(row.updated_at, now)))
    for name, value in (
        (_("holds from"), row.valid_from),
        (_("holds until"), row.valid_until),
        (_("expires"), row.expires_at),
        (_("archived"), row.archived_at if row.status == Status.ARCHIVED else None),
    ):
        if value is not None:
            facts.append(Fact(name, moment=moment(value, now)))
    if row.status == Status.ARCHIVED and row.archive_reason:
        facts.append(Fact(_("because"), reason_words(row.archive_reason)))
    facts += [
        Fact(_("memory"), label(row.tier)),
        Fact(_("certainty"), local(f"{row.confidence:.0%}")),
        Fact(_("recalled"), _uses(used, now)),
        Fact(_("who may read it"), _readers(row, agents)),
    ]
    for name, words in (
        (_("source"), shown_label(row.source or "")),
        (_("topics"), ", ".join(shown_label(_labels(row.topics, row, revealed=shown_label is _plainly)))),
        (_("role"), label(row.role or "")),
        (_("tool"), shown_label(row.tool_name or "")),
        (_("conversation"), _("turn %(number)s") % {"number": (row.position or 0) + 1} if row.session_id else ""),
    ):
        if words:
            facts.append(Fact(name, words))
    return facts


def _uses(used: tuple[int, datetime] | None, now: datetime) -> str:
    if used is None:
        return _("not yet")
    times = ngettext("once, last %(when)s", "%(count)s times, last %(when)s", used[0])
    return times % {"count": whole(used[0]), "when": relative(used[1], now)}


def _readers(row: Memory, agents: Mapping[UUID, str]) -> str:
    if row.visibility == "agent":
        name = agents.get(row.agent_id, _("one agent")) if row.agent_id else _("one agent")
        return _("you and %(agent)s") % {"agent": name}
    if row.visibility == "owner":
        return _("you and all your agents")
    if row.visibility == "squad":
        return _("you and the agents of one squad")
    return _("you and the agents of one project")


def _warnings(row: Memory) -> list[str]:
    warnings = []
    if row.pii_tier:
        warnings.append(
            _("Personal data (%(tier)s): %(kinds)s. Masked until you reveal it.")
            % {
                "tier": PII_SENTENCES.get(row.pii_tier, PII_SENTENCES[2]),
                "kinds": ", ".join(label(kind) for kind in row.pii_kinds),
            }
        )
    if row.injection_kinds:
        kinds = ", ".join(label(kind) for kind in row.injection_kinds)
        warnings.append(
            _("Reads like orders to an agent (%(kinds)s); what agents get of it is cleaned.") % {"kinds": kinds}
        )
    return warnings


def _source(source: MemorySource, agents: Mapping[UUID, str], now: datetime, shown_label: Labelled) -> SourceView:
    by = agents.get(source.agent_id, _("an agent")) if source.agent_id else _("you")
    return SourceView(shown_label(source.source or ""), by, moment(source.created_at, now), source.turn_id)


def _validity(row: Memory) -> str:
    """Say in words from when until when a memory holds."""
    begins, ends = (None if one is None else f"{one:%Y-%m-%d}" for one in (row.valid_from, row.valid_until))
    if begins and ends:
        return _("It holds from %(begin)s until %(end)s.") % {"begin": begins, "end": ends}
    if begins:
        return _("It has held since %(begin)s, and no end is known.") % {"begin": begins}
    if ends:
        return _("It holds until %(end)s; from when is not known.") % {"end": ends}
    return _("No time is known from which or until which it holds.")
