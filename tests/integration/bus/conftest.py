"""Agents of Alice that speak on her bus, with tokens from her, and a clock that stands until it is moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from memory.models import AuditEvent, BusMessage, owner_scope
from memory.services import clock
from memory.services.actors import Actor, Permission
from memory.services.agents import create_group, set_membership
from memory.services.bus.capabilities import Grant, issue_capability
from memory.services.bus.publishing import Publication, publish
from memory.services.bus.reading import Delivered, ReadRequest, read_messages

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
Agents = Callable[..., Actor]


class StandingClock:
    """A clock that stands."""

    def __init__(self) -> None:
        self.moment = NOON

    def now(self) -> datetime:
        return self.moment

    def forward(self, **by: float) -> None:
        """Move on by so much time."""
        self.moment += timedelta(**by)


@pytest.fixture
def standing() -> Iterator[StandingClock]:
    """Let the clock stand."""
    one = StandingClock()
    clock.set_clock(one)
    yield one
    clock.set_clock(None)


@pytest.fixture
def agents(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> Agents:
    """Give a function that makes an agent of Alice with every permission."""

    def make(name: str, **key: Any) -> Actor:
        return make_agent(alice, name, **{"scopes": list(Permission), **key})[0]

    return make


@pytest.fixture
def sender(agents: Agents) -> Actor:
    """An agent that publishes."""
    return agents("sender")


@pytest.fixture
def reader(agents: Agents) -> Actor:
    """An agent that reads."""
    return agents("reader")


def person_of(actor: Actor) -> Actor:
    """Give the person whose agent this is."""
    return Actor(owner_id=actor.owner_id, kind="person")


def token_for(actor: Actor, **grant: Any) -> str:
    """Issue a token to an agent, by its owner."""
    assert actor.agent_id is not None
    return issue_capability(actor=person_of(actor), agent_id=actor.agent_id, grant=Grant(**grant)).token


def say(
    actor: Actor, text: str = "The deploy runs on Monday.", *, token: str | None = None, **values: Any
) -> BusMessage:
    """Publish a message, for all agents of the owner unless told otherwise."""
    publication = Publication(**{"text": text, "target": "owner", **values})
    return publish(actor=actor, token=token or token_for(actor), publication=publication)


def hear(
    actor: Actor, *, token: str | None = None, after: Any = None, size: int = 20, **request: Any
) -> list[Delivered]:
    """Read messages."""
    shown = token or (token_for(actor) if actor.agent_id else None)
    return read_messages(actor=actor, token=shown, request=ReadRequest(**request), after=after, size=size)


def texts(delivered: list[Delivered]) -> list[str]:
    """Give the texts of messages."""
    return [one.message.text for one in delivered]


def group(owner: Actor, kind: str, name: str, *members: Actor) -> UUID:
    """Make a squad or project with some members."""
    found = create_group(actor=owner, kind=kind, name=name)
    for member in members:
        assert member.agent_id is not None
        set_membership(actor=owner, group_id=found.pk, agent_id=member.agent_id, member=True)
    return found.pk


def leave(owner: Actor, group_id: UUID, member: Actor) -> None:
    """Take an agent out of a group."""
    assert member.agent_id is not None
    set_membership(actor=owner, group_id=group_id, agent_id=member.agent_id, member=False)


def stored(owner: Actor) -> int:
    """Count an owner's messages."""
    with owner_scope(owner.owner_id):
        return int(BusMessage.objects.count())


def audited(owner: Actor, verb: str) -> list[tuple[str, str, UUID | None, str]]:
    """Give the audit rows of a verb: who, what kind of object, which, and why."""
    with owner_scope(owner.owner_id):
        rows = AuditEvent.objects.filter(verb=verb).order_by("created_at", "pk")
        return [(row.actor, row.object_kind, row.object_id, row.reason) for row in rows]
