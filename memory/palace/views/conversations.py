"""Conversations: the list of them, and one with its turns in order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from memory.errors import InvalidInput
from memory.models import Memory, Session
from memory.palace.access import person_page
from memory.palace.covering import coverer, former_text
from memory.palace.dates import Moment, moment, optional_moment
from memory.palace.places import place_of, written_place
from memory.palace.presenters import label
from memory.palace.privacy_view import named
from memory.palace.surroundings import surroundings
from memory.privacy.masking import masked
from memory.services.actors import Actor
from memory.services.agents import list_agents
from memory.services.clock import now
from memory.services.conversations import turns_of
from memory.services.legible import UNREADABLE, legible
from memory.services.sessions import get_session, list_sessions

PAGE: Final = 50
LISTED: Final = 30


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """A conversation in the list."""

    id: UUID
    name: str
    agent: str
    turns: int
    started: Moment
    last: Moment | None
    closed: bool


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn as it was said, masked."""

    id: UUID
    number: str
    speaker: str
    role: str
    text: str
    masked: bool
    when: Moment
    status: str
    status_word: str
    here: bool


@person_page("GET", "HEAD")
def conversations(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List conversations, the newest first."""
    after = place_of(request.GET.get("after", ""))
    rows = list_sessions(actor=actor, after=after, size=LISTED + 1)
    agents = _agents(actor)
    moment_now = now()
    context = {
        "rows": [_row(row, agents, moment_now) for row in rows[:LISTED]],
        "next": written_place(rows[LISTED - 1].started_at, rows[LISTED - 1].pk) if len(rows) > LISTED else "",
        "further": bool(after),
        **surroundings(request, actor),
    }
    return render(request, "palace/conversations/list.html", context)


@person_page("GET", "HEAD")
def conversation(request: HttpRequest, actor: Actor, session_id: UUID) -> HttpResponse:
    """Show a conversation from a turn on, the one that was asked for marked."""
    session = get_session(actor=actor, session_id=session_id)
    since = _position(request.GET.get("from", ""))
    rows = turns_of(actor=actor, session_id=session_id, since=since, size=PAGE + 1)
    moment_now = now()
    here = request.GET.get("turn", "")
    context: dict[str, Any] = {
        "conversation": _row(session, _agents(actor), moment_now),
        "turns": [_turn(row, moment_now, here) for row in rows[:PAGE]],
        "earlier": None if since == 0 else str(max(0, since - PAGE)),
        "later": str(rows[PAGE].position) if len(rows) > PAGE else None,
        **surroundings(request, actor),
    }
    return render(request, "palace/conversations/page.html", context)


def _position(value: str) -> int:
    if not value:
        return 0
    if not (value.isascii() and value.isdecimal() and len(value) <= 9):
        raise InvalidInput(_("The place in the conversation is a number."), code="field.type", field="from")
    return int(value)


def _agents(actor: Actor) -> dict[UUID, str]:
    return {agent.pk: named(agent) for agent in list_agents(actor=actor)}


def _row(row: Session, agents: dict[UUID, str], now: datetime) -> ConversationRow:
    return ConversationRow(
        id=row.pk,
        name=former_text(legible(row, "label") or _(UNREADABLE), ()),
        agent=agents.get(row.agent_id, _("an agent")) if row.agent_id else _("you"),
        turns=row.turn_count,
        started=moment(row.started_at, now),
        last=optional_moment(row.last_turn_at, now),
        closed=row.closed_at is not None,
    )


def _turn(row: Memory, now: datetime, here: str) -> TurnView:
    shown = masked(row.text, row.pii_kinds, row.pii_tier)
    speaker = str(coverer(row)(row.speaker or ""))
    return TurnView(
        id=row.pk,
        number=str((row.position or 0) + 1),
        speaker=speaker or label(row.role or ""),
        role=row.role,
        text=shown.text,
        masked=shown.hidden,
        when=moment(row.occurred_at, now),
        status=row.status,
        status_word=label(row.status),
        here=str(row.pk) == here,
    )
