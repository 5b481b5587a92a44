"""Agents, their keys and what they did, as plain values for templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.models import AgentGroup, AgentKey
from memory.palace.dates import Moment, moment, optional_moment
from memory.palace.numbers import local
from memory.palace.permission_words import group_name, permission_name, scope_name
from memory.services.agent_figures import AgentFigures
from memory.services.legible import UNREADABLE, legible


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent as its list and its page show it."""

    id: UUID
    name: str
    paused: Moment | None
    trust: str
    groups: list[str]
    permissions: list[str]
    keys: str
    used: Moment | None
    written: str
    read: str
    last_read: Moment | None
    costs: Sequence[str]
    made: Moment


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key of an agent; `state` is `works`, `paused`, `ended` or `revoked`."""

    id: UUID
    label: str
    prefix: str
    state: str
    state_word: str
    permissions: list[str]
    scope: str
    made: Moment
    used: Moment | None
    expires: Moment | None
    revoked: Moment | None


def agent_row(figures: AgentFigures, now: datetime, costs: Mapping[UUID, Sequence[str]]) -> AgentRow:
    """Describe an agent."""
    agent, read = figures.agent, figures.read
    working = 0 if agent.paused_at else figures.keys
    return AgentRow(
        id=agent.pk,
        name=legible(agent, "name") or _(UNREADABLE),
        paused=optional_moment(agent.paused_at, now),
        trust="" if agent.trust is None else local(f"{agent.trust:g}"),
        groups=[group_name(group) for group in figures.groups],
        permissions=[permission_name(scope) for scope in figures.permissions],
        keys=ngettext("%(count)d key works", "%(count)d keys work", working) % {"count": working},
        used=optional_moment(figures.used_at, now),
        written=ngettext("wrote %(count)d memory", "wrote %(count)d memories", figures.written)
        % {"count": figures.written},
        read=_read(figures),
        last_read=optional_moment(read.last_at if read else None, now),
        costs=costs.get(agent.pk, ()),
        made=moment(agent.created_at, now),
    )


def key_row(key: AgentKey, now: datetime, groups: Mapping[UUID, AgentGroup], *, paused: bool) -> KeyRow:
    """Describe a key."""
    state = _state(key, now, paused=paused)
    group = groups.get(key.default_group_id) if key.default_group_id else None
    return KeyRow(
        id=key.pk,
        label=legible(key, "label") or _(UNREADABLE),
        prefix=f"loci_{key.prefix}…",
        state=state,
        state_word=_state_word(state),
        permissions=[permission_name(scope) for scope in key.scopes],
        scope=scope_name(key.default_visibility, group_name(group) if group else None),
        made=moment(key.created_at, now),
        used=optional_moment(key.last_used_at, now),
        expires=optional_moment(key.expires_at, now),
        revoked=optional_moment(key.revoked_at, now),
    )


def _read(figures: AgentFigures) -> str:
    if figures.read is None:
        return _("has read nothing yet")
    words = ngettext("read %(count)d memory", "read %(count)d memories", figures.read.memories)
    times = ngettext("%(count)d time", "%(count)d times", figures.read.reads) % {"count": figures.read.reads}
    return f"{words % {'count': figures.read.memories}}, {times}"


def _state(key: AgentKey, now: datetime, *, paused: bool) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is not None and key.expires_at <= now:
        return "ended"
    return "paused" if paused else "works"


def _state_word(state: str) -> str:
    return {"works": _("works"), "paused": _("paused"), "ended": _("has ended"), "revoked": _("revoked")}[state]
