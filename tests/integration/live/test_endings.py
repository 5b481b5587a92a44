"""When somebody may not listen any more, the socket is closed, and nothing is told before."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from memory.live import consumer
from memory.live.notify_layer import NotifyLayer
from memory.live.sockets import open_sockets
from memory.models import AgentKey, Owner, User, owner_scope
from memory.ports.live import announce_change
from memory.services.actors import Actor, Permission
from memory.services.agents import pause_agent, revoke_key
from memory.services.logins import set_password
from memory.services.purge.caches import forget_owner
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import run_purge
from tests.live_server import PATIENCE, Listener, as_agent, as_person, cookie_of, listening, logged_in

READER = [Permission.TELEMETRY_READ]


def user_of(actor: Actor) -> User:
    user = Owner.objects.get(pk=actor.owner_id).user
    assert isinstance(user, User)
    return user


def watching(opened: Listener) -> Listener:
    opened.watch("coverage")
    return opened


def test_a_log_out_closes_the_pages_of_that_session_only(place: str, alice: Actor) -> None:
    first, second = logged_in(alice), logged_in(alice)
    with listening(place, cookie_of(first)) as page, listening(place, cookie_of(second)) as other:
        watching(page)
        watching(other)
        first.post("/logout/")
        assert page.closed_with() == 4401
        announce_change(alice.owner_id, "coverage", "", 3)
        assert other.hear()["version"] == 3


def test_a_session_that_an_operator_deletes(place: str, alice: Actor) -> None:
    with as_person(place, alice) as page:
        watching(page)
        Session.objects.all().delete()
        assert page.closed_with() == 4401


def test_a_session_that_ended_without_a_word_is_told_nothing(place: str, alice: Actor) -> None:
    with as_person(place, alice) as page:
        watching(page)
        Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
        announce_change(alice.owner_id, "coverage", "", 1)
        assert page.said_before_closing() == []
        assert page.closed_with() == 4401


def test_another_password_closes_all_pages(place: str, alice: Actor) -> None:
    with as_person(place, alice) as page:
        watching(page)
        set_password(username="alice", password="another horse, another battery")
        assert page.closed_with() == 4401


def test_a_closed_login_closes_its_pages(place: str, alice: Actor) -> None:
    with as_person(place, alice) as page:
        watching(page)
        user = user_of(alice)
        user.is_active = False
        user.save()
        assert page.closed_with() == 4401


def test_a_revoked_key(place: str, alice: Actor, make_agent: Callable[..., Any]) -> None:
    actor, key = make_agent(alice, scopes=READER)
    _, other_key = make_agent(alice, "other", scopes=READER)
    with as_agent(place, key) as agent, as_agent(place, other_key) as other:
        watching(agent)
        watching(other)
        revoke_key(actor=alice, key_id=actor.key_id)
        assert agent.closed_with() == 4401
        announce_change(alice.owner_id, "coverage", "", 2)
        assert other.hear()["version"] == 2


def test_a_paused_agent(place: str, alice: Actor, make_agent: Callable[..., Any]) -> None:
    actor, key = make_agent(alice, scopes=READER)
    with as_agent(place, key) as agent:
        watching(agent)
        pause_agent(actor=alice, agent_id=actor.agent_id, paused=True)
        assert agent.closed_with() == 4401


@pytest.mark.parametrize(
    "changed",
    [
        {"revoked_at": timezone.now()},
        {"scopes": [str(one) for one in Permission]},
        {"default_visibility": "agent"},
    ],
)
def test_a_key_that_was_changed_behind_our_back(
    place: str, alice: Actor, make_agent: Callable[..., Any], changed: dict[str, Any]
) -> None:
    actor, key = make_agent(alice, scopes=READER)
    with as_agent(place, key) as agent:
        watching(agent)
        with owner_scope(alice.owner_id):
            AgentKey.objects.filter(pk=actor.key_id).update(**changed)
        announce_change(alice.owner_id, "coverage", "", 1)
        assert agent.said_before_closing() == []


def test_a_key_that_runs_out_is_noticed_without_a_notice(
    place: str, alice: Actor, make_agent: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "JUDGE_SECONDS", 0.2)
    _, key = make_agent(alice, scopes=READER, expires_at=(timezone.now() + timedelta(seconds=3)).isoformat())
    with as_agent(place, key) as agent:
        watching(agent)
        assert agent.closed_with() == 4401


def test_a_purge_closes_the_owner_and_nobody_else(
    place: str, alice: Actor, mallory: Actor, make_agent: Callable[..., Any]
) -> None:
    _, key = make_agent(alice, scopes=READER)
    with (
        as_person(place, alice) as page,
        as_agent(place, key) as agent,
        as_person(place, mallory) as other,
    ):
        for one in (page, agent, other):
            watching(one)
        made = begin_purge(actor=alice)
        assert page.closed_with() == agent.closed_with() == 4410
        announce_change(mallory.owner_id, "coverage", "", 9)
        assert other.hear()["version"] == 9
        run_purge(purge_id=made.purge.pk)
    assert not Owner.objects.filter(pk=alice.owner_id).exists()


def test_a_purged_owner_comes_in_no_more(place: str, alice: Actor, make_agent: Callable[..., Any]) -> None:
    _, key = make_agent(alice, scopes=READER)
    client = logged_in(alice)
    begin_purge(actor=alice)
    with listening(place, cookie_of(client)) as page, as_agent(place, key) as agent:
        assert page.closed_with() == agent.closed_with() == 4410


def test_what_a_process_keeps_of_an_owner_is_judged_when_it_is_forgotten(place: str, alice: Actor) -> None:
    """The way on which a process learns of a purge whose notice it has missed."""
    with as_person(place, alice) as page:
        watching(page)
        Owner.objects.filter(pk=alice.owner_id).update(purging_at=timezone.now())
        forget_owner(alice.owner_id)
        assert page.closed_with() == 4410


def test_nothing_is_left_of_sockets_that_are_gone(place: str, alice: Actor) -> None:
    client: Client = logged_in(alice)
    for _ in range(20):
        with listening(place, cookie_of(client)) as page:
            watching(page)
    deadline = time.monotonic() + PATIENCE
    while len(open_sockets) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(open_sockets) == 0
    layer = get_channel_layer()
    assert isinstance(layer, NotifyLayer)
    assert (layer._inboxes, layer._groups) == ({}, {})
